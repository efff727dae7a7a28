#include "orchestrator/loop/store_metrics.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/loop/plain_metrics.h"
#include "orchestrator/loop/retention_figures.h"

namespace millrace {

StoreMetrics::StoreMetrics(prometheus::Registry& registry)
    : data_(plain_gauge(registry, "millrace_store_data_bytes", "Size of the file data.mdb.")),
      used_(plain_gauge(registry, "millrace_store_used_bytes",
                        "Bytes of the pages of data.mdb that have rows.")),
      free_(plain_gauge(
          registry, "millrace_store_free_bytes",
          "Bytes of the free pages of data.mdb, which the next rows use before the file grows.")),
      journal_(
          plain_gauge(registry, "millrace_store_journal_bytes", "Size of the two journal files.")),
      waiting_(plain_gauge(
          registry, "millrace_store_waiting_rows",
          "Rows in memory and in the journal that are not part of a completed checkpoint.")),
      waiting_bytes_(plain_gauge(registry, "millrace_store_waiting_bytes",
                                 "Memory of these rows, with all their versions.")),
      archive_bytes_(plain_gauge(registry, "millrace_archive_bytes",
                                 "Size of the files of the archive, of all namespaces; 0: there is "
                                 "none, or its size is not known.")),
      checkpoint_rate_(plain_gauge(registry, "millrace_store_checkpoint_bytes_per_second",
                                   "How many committed bytes a second checkpoints bring into "
                                   "data.mdb, as measured; 0: not measured yet.")),
      commit_waits_(plain_counter(registry, "millrace_store_commit_wait_seconds_total",
                                  "How long commits have waited for checkpoints.")),
      oldest_ended_(plain_gauge(registry, "millrace_oldest_ended_instance_start_seconds",
                                "Unix time at which the oldest ended instance that the store has "
                                "was started; 0: the store has no ended instance.")),
      ns_live_(registry, "millrace_namespace_live_instances", "Instances that have not ended."),
      ns_ended_(registry, "millrace_namespace_ended_instances",
                "Ended instances that the store has."),
      ns_row_bytes_(registry, "millrace_namespace_row_bytes",
                    "Bytes of the rows of instances, without history."),
      ns_history_bytes_(registry, "millrace_namespace_history_bytes",
                        "Bytes of the histories of instances."),
      ns_other_bytes_(registry, "millrace_namespace_other_bytes",
                      "Bytes of the other rows that count for the quota storeBytes."),
      ns_oldest_ended_(
          registry, "millrace_namespace_oldest_ended_instance_start_seconds",
          "Unix time at which the oldest ended instance of the namespace was started.") {}

void StoreMetrics::set(const StoreFigures& figures) {
  const std::lock_guard lock(lock_);
  data_.Set(static_cast<double>(figures.size.data_bytes));
  used_.Set(static_cast<double>(figures.size.used_bytes));
  free_.Set(static_cast<double>(figures.size.free_bytes));
  journal_.Set(static_cast<double>(figures.size.journal_bytes));
  waiting_.Set(static_cast<double>(figures.size.waiting_rows));
  waiting_bytes_.Set(static_cast<double>(figures.size.waiting_bytes));
  archive_bytes_.Set(static_cast<double>(figures.archive_bytes.value_or(0)));
  checkpoint_rate_.Set(static_cast<double>(figures.checkpoint_rate.value_or(0)));
  // The total of the figures begins at 0 when the store is opened again.
  const auto before = std::exchange(commit_waits_before_, figures.commit_waits);
  const auto grown = figures.commit_waits - before;
  const auto added = grown.count() < 0 ? figures.commit_waits : grown;
  commit_waits_.Increment(std::chrono::duration<double>(added).count());
  oldest_ended_.Set(unix_seconds(figures.oldest_ended));
  const std::vector<NamespaceUsage> none;
  const std::vector<NamespaceUsage>& namespaces = figures.namespaces ? *figures.namespaces : none;
  const auto set_all = [&](NamespaceGauge& gauge, uint64_t Usage::*value) {
    std::map<std::string, double> values;
    for (const NamespaceUsage& one : namespaces) {
      values.emplace(one.ns, static_cast<double>(one.usage.*value));
    }
    gauge.set(values);
  };
  set_all(ns_live_, &Usage::live);
  set_all(ns_ended_, &Usage::ended);
  set_all(ns_row_bytes_, &Usage::row_bytes);
  set_all(ns_history_bytes_, &Usage::history_bytes);
  set_all(ns_other_bytes_, &Usage::counted_bytes);
  std::map<std::string, double> oldest;
  for (const NamespaceUsage& one : namespaces) {
    if (one.oldest_ended) oldest.emplace(one.ns, unix_seconds(one.oldest_ended));
  }
  ns_oldest_ended_.set(oldest);
}

}  // namespace millrace
