#include "orchestrator/loop/retention_metrics.h"

namespace millrace {
namespace {

prometheus::Family<prometheus::Counter>& by_namespace(prometheus::Registry& registry,
                                                      const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

void add_to(prometheus::Family<prometheus::Counter>& family, const std::string& ns,
            uint64_t number) {
  family.Add({{"namespace", ns}}).Increment(static_cast<double>(number));
}

}  // namespace

RetentionMetrics::RetentionMetrics(prometheus::Registry& registry)
    : deleted_(by_namespace(registry, "millrace_retention_deleted_instances_total",
                            "Ended instances that the retention deleted.")),
      archived_(by_namespace(registry, "millrace_retention_archived_instances_total",
                             "Instances that were archived before the retention deleted them.")),
      bytes_(by_namespace(
          registry, "millrace_retention_deleted_bytes_total",
          "Bytes of the rows and histories of the instances that the retention deleted.")),
      records_(by_namespace(registry, "millrace_retention_deleted_history_records_total",
                            "History records of the instances that the retention deleted.")),
      trimmed_(by_namespace(registry, "millrace_retention_trimmed_history_records_total",
                            "History records that left the histories of existing instances, "
                            "because the settings limit histories.")),
      letters_(by_namespace(registry, "millrace_dead_letters_deleted_total",
                            "Dead letters that the retention of their namespace deleted.")),
      archive_failures_(by_namespace(
          registry, "millrace_namespace_archive_failures_total",
          "How often instances could not be written to the archive of the namespace.")),
      passes_{pass_gauges(registry, "instances"), pass_gauges(registry, "dead_letters")},
      next_due_(registry, "millrace_retention_next_deletion_seconds",
                "Unix time before which the retention deletes no instance of the namespace by its "
                "age, as of the last pass.") {}

RetentionMetrics::PassGauges RetentionMetrics::pass_gauges(prometheus::Registry& registry,
                                                           const char* kind) {
  const auto gauge = [&](const char* name, const char* help) -> prometheus::Gauge& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({{"kind", kind}});
  };
  return {.running = gauge("millrace_retention_pass_running",
                           "1 while a pass of the retention is running."),
          .last_end = gauge("millrace_retention_last_pass_end_seconds",
                            "Unix time at which the last pass of the retention ended; 0: none has "
                            "ended since startup."),
          .next = gauge("millrace_retention_next_pass_seconds",
                        "Unix time at which the next pass of the retention begins; 0: it is not "
                        "known, or no namespace has rules.")};
}

void RetentionMetrics::count(const std::string& ns, const RetentionCounts& counts) {
  add_to(deleted_, ns, counts.instances);
  add_to(archived_, ns, counts.archived);
  add_to(bytes_, ns, counts.bytes);
  add_to(records_, ns, counts.records);
  add_to(trimmed_, ns, counts.trimmed);
  const std::lock_guard lock(mutex_);
  RetentionCounts& sum = figures_.namespaces[ns].counts;
  sum.instances += counts.instances;
  sum.archived += counts.archived;
  sum.bytes += counts.bytes;
  sum.records += counts.records;
  sum.trimmed += counts.trimmed;
}

void RetentionMetrics::count_archive(const std::string& ns,
                                     const std::optional<ArchiveFailure>& failure) {
  if (failure) add_to(archive_failures_, ns, 1);
  const std::lock_guard lock(mutex_);
  if (failure) {
    figures_.namespaces[ns].archive_failure = failure;
  } else if (const auto known = figures_.namespaces.find(ns); known != figures_.namespaces.end()) {
    known->second.archive_failure.reset();
  }
}

void RetentionMetrics::count_letters(const std::string& ns, uint64_t number) {
  if (number == 0) return;
  add_to(letters_, ns, number);
  const std::lock_guard lock(mutex_);
  figures_.namespaces[ns].dead_letters += number;
}

void RetentionMetrics::set_passes(PassKind kind, const PassTimes& times) {
  const std::lock_guard lock(mutex_);
  (kind == PassKind::kInstances ? figures_.instances : figures_.dead_letters) = times;
  const PassGauges& gauges = passes_[static_cast<size_t>(kind)];
  gauges.running.Set(times.is_running ? 1 : 0);
  gauges.last_end.Set(unix_seconds(times.last_end));
  gauges.next.Set(unix_seconds(times.next));
}

void RetentionMetrics::set_next_due(const std::map<std::string, TimePoint>& next_due) {
  const std::lock_guard lock(mutex_);
  for (auto& [ns, retention] : figures_.namespaces) retention.next_due.reset();
  std::map<std::string, double> values;
  for (const auto& [ns, time] : next_due) {
    figures_.namespaces[ns].next_due = time;
    values.emplace(ns, unix_seconds(time));
  }
  next_due_.set(values);
}

RetentionFigures RetentionMetrics::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace millrace
