#include "orchestrator/service/local_service.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "orchestrator/definition/lint.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/service/asking_instances.h"
#include "orchestrator/service/found_items.h"
#include "orchestrator/service/index_questions.h"
#include "orchestrator/service/input_schema.h"
#include "orchestrator/service/lint_context.h"
#include "orchestrator/service/mapping_programs.h"
#include "orchestrator/service/missing_instance.h"
#include "orchestrator/service/named_evaluations.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/soonest_firings.h"
#include "orchestrator/service/store_check_options.h"
#include "orchestrator/service/type_warnings.h"
#include "orchestrator/service/unserved_services.h"
#include "orchestrator/size/store_figures.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// The bound in time of all checks of one definition.
constexpr std::chrono::seconds kDefinitionCheckTime(20);

/// Collects the acknowledgements of the events of one publish_events(), and answers after the last
/// acknowledgement.
class Gathering {
 public:
  Gathering(size_t count, std::function<void(Result<Accepted>)> done)
      : left_(count), done_(std::move(done)) {}

  void take(Result<PublishAck> ack) {
    {
      const std::lock_guard guard(lock_);
      if (!ack) {
        if (accepted_) accepted_ = tl::unexpected(std::move(ack).error());
      } else if (accepted_) {
        ++accepted_->accepted;
        accepted_->duplicates += ack->duplicate ? 1 : 0;
      }
      if (--left_ > 0) return;
    }
    done_(std::move(accepted_));
  }

 private:
  std::mutex lock_;
  size_t left_;
  Result<Accepted> accepted_ = Accepted{};
  std::function<void(Result<Accepted>)> done_;
};

}  // namespace

LocalService::LocalService(Parts parts)
    : parts_(std::move(parts)),
      backups_(parts_.environment, parts_.clock, parts_.info.value("version", "")),
      admission_(parts_.clock),
      replays_({.environment = parts_.environment,
                .clock = parts_.clock,
                .events = parts_.stored_events,
                .publisher = parts_.publisher,
                .admit = std::bind_front(&LocalService::admit_events, this),
                .command = std::bind_front(&LocalService::command, this)}),
      event_desk_({.environment = parts_.environment,
                   .clock = parts_.clock,
                   .events = parts_.stored_events,
                   .publisher = parts_.publisher,
                   .replays = replays_,
                   .admit = std::bind_front(&LocalService::admit_events, this),
                   .applied = [this] { return parts_.intake.applied(); }}),
      letter_desk_({.environment = parts_.environment,
                    .clock = parts_.clock,
                    .letters = parts_.stored_letters,
                    .publisher = parts_.publisher,
                    .prefix = parts_.stream_prefix,
                    .admit = std::bind_front(&LocalService::admit_events, this)}),
      why_desk_({.environment = parts_.environment,
                 .clock = parts_.clock,
                 .definitions = parts_.definitions,
                 .started = parts_.queries.started(),
                 .events = parts_.stored_events,
                 .letters = parts_.stored_letters,
                 .ask_index = index_asker(parts_.intake, kIndexPatience),
                 .reads_events = parts_.reads_events,
                 .applied = [this] { return parts_.intake.applied(); },
                 .evaluations = [this] { return parts_.levels().namespace_evaluations; }}),
      scenarios_(parts_.environment, parts_.definitions, parts_.stored_events),
      trials_(parts_.evaluate, parts_.clock),
      live_reader_(parts_.stored_events, parts_.stored_letters, parts_.clock),
      live_({.environment = parts_.environment,
             .queries = parts_.queries,
             .ring = parts_.watch,
             .reads = live_reader_,
             .clock = parts_.clock,
             .applied = [this] { return parts_.intake.applied(); },
             .levels = [this] { return shown_levels(); },
             .totals = [this] { return parts_.metrics.totals(); },
             .boot = parts_.boot,
             .version = parts_.info.value("version", "")},
            [this] { sample_series(); }) {}

LocalService::~LocalService() {
  stopping_ = true;
  end_live();
  const std::lock_guard lock(verify_lock_);
  if (verifying_.joinable()) verifying_.join();
}

/// Names the pending start that has the id of the command, if there is no such instance. If the
/// store cannot be read, the engine answers.
void LocalService::add_pending_start(CancelInstance& cancel) const {
  const auto view = Snapshot::take(parts_.environment);
  if (!view) return;
  const auto pending = pending_start_of(*view, cancel.ns, cancel.instance);
  if (pending) cancel.pending = *pending;
}

void LocalService::command(Command command, Done done) {
  const Status checked = check_command_programs(command, parts_.check_programs);
  if (!checked) return done(tl::unexpected(checked.error()));
  if (auto* const cancel = std::get_if<CancelInstance>(&command)) add_pending_start(*cancel);
  done = with_type_warnings(command, parts_.environment, parts_.definitions, std::move(done));
  done = inbound_.with_removal(command, std::move(done));
  parts_.intake.command(std::move(command), std::move(done));
}

void LocalService::wait_for_end(std::string ns, InstanceId id, Duration at_most,
                                const CallerMark& caller, std::function<void(Status)> done) {
  parts_.intake.wait_for_end({std::move(ns), id, at_most, std::move(done), caller});
}

Loaded LocalService::load_definition(std::string_view text, std::string_view ns) {
  LintContext context;
  if (!ns.empty()) {
    context = lint_context(parts_.environment, parts_.definitions, ns);
    context.is_unserved =
        unserved_check(context.names_service, ns, parts_.clock, parts_.count_requests);
  }
  const DefinitionDeadline deadline(parts_.clock, kDefinitionCheckTime);
  return load_and_lint(text, deadline.bound(parts_.check_programs),
                       deadline.bound(parts_.check_schemas), context);
}

void LocalService::publish_events(std::string ns, std::vector<Event> events,
                                  std::function<void(Result<Accepted>)> done) {
  if (const Status known = check_namespace(ns); !known) {
    return done(tl::unexpected(known.error()));
  }
  if (events.empty()) return done(Accepted{});
  if (const Status admitted = admit_events(ns, events.size()); !admitted) {
    return done(tl::unexpected(admitted.error()));
  }
  auto gathering = std::make_shared<Gathering>(events.size(), std::move(done));
  const std::string_view key = parts_.environment.seal().message_key();
  for (const Event& event : events) {
    parts_.publisher.publish(
        message_to_publish(key, ns, event),
        [gathering](Result<PublishAck> ack) { gathering->take(std::move(ack)); });
  }
}

Result<Json> LocalService::read(const std::function<Result<Json>(const View& view)>& query) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return query(view);
}

Status LocalService::check_namespace(std::string_view ns) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return parts_.queries.check_namespace(view, ns);
}

Status LocalService::admit_events(std::string_view ns, size_t count) {
  return admit(ns, count, WithoutQuota::kHttpDefault);
}

Status LocalService::admit_of_source(std::string_view ns, size_t count) {
  return admit(ns, count, WithoutQuota::kNoLimit);
}

Status LocalService::admit(std::string_view ns, size_t count, WithoutQuota without) {
  TRY(parts_.intake.takes_new_work());
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const auto record = TRY(read_namespace(view, ns));
  if (!record) return {};  // deleted meanwhile: the engine makes the events dead letters
  Status admitted = admission_.take(*record, count, without);
  if (!admitted) parts_.metrics.count_over_quota(std::string(ns), Quota::kEventsPerSecond, 1);
  return admitted;
}

void LocalService::verify(Done done) {
  if (verifies_.exchange(true)) {
    return done(fail("busy", "a check of the store is running; try again when it has ended"));
  }
  const std::lock_guard lock(verify_lock_);
  if (verifying_.joinable()) verifying_.join();  // the earlier check has ended
  verifying_ = std::thread([this, done = std::move(done)] {
    name_thread("verify");
    run_behind_others(kBackgroundNiceness);
    Result<Json> report = check_rows();
    verifies_ = false;
    done(std::move(report));
  });
}

Result<Json> LocalService::check_rows() {
  StoreCheckOptions options = store_check_options();
  options.progress = [this](uint64_t, uint64_t) { return !stopping_; };
  constexpr std::string_view kStopping =
      "millrace is stopping; check the data folder once it has ended";
  // LMDB trusts its pages: to read the rows of damaged pages could end the process of millrace.
  const PageReport pages = TRY(parts_.environment.check_pages(
      {.most_damages = options.most_findings, .goes_on = [this] { return !stopping_; }}));
  if (pages.is_stopped) return fail("stopping", std::string(kStopping));
  if (pages.count > 0) return to_json(damaged_pages(pages));
  options.unknown_trees = TRY(parts_.environment.unknown_trees());
  options.unknown_journal_keys = TRY(parts_.environment.unknown_journal_keys());
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const Result<StoreReport> report = check_store(view, options);
  if (report) return to_json(*report);
  if (report.error().code == "check.stopped") return fail("stopping", std::string(kStopping));
  return tl::unexpected(report.error());
}

void LocalService::begin_backup(const CallerMark& caller, Done done) {
  backups_.begin(caller, std::move(done));
}

Result<std::optional<std::string>> LocalService::backup_chunk(std::string_view id, uint64_t number,
                                                              const CallerMark& caller) {
  return backups_.chunk(id, number, caller);
}

Result<Json> LocalService::end_backup(std::string_view id) { return backups_.end(id); }

Status LocalService::ready() {
  TRY(parts_.processor.started());
  TRY(parts_.reads_events());
  TRY(parts_.sends_events());
  TRY(parts_.runs_tasks());
  TRY(parts_.evaluates());
  return parts_.processor.ready();
}

std::string LocalService::metrics() {
  PartLevels levels = parts_.levels();
  levels.reads_events = parts_.reads_events().has_value();
  levels.sends_events = parts_.sends_events().has_value();
  levels.runs_tasks = parts_.runs_tasks().has_value();
  levels.live_changes_lost = parts_.watch.lost();
  sources_.add_to(levels);
  parts_.metrics.set(levels);
  // If the figures cannot be read, the gauges keep their values.
  const auto named = evaluations_by_name(parts_.environment, levels.namespace_evaluations);
  if (named) parts_.metrics.set_evaluations(*named);
  if (const auto figures = read_figures(parts_.environment)) parts_.metrics.set_store(*figures);
  if (const auto view = Snapshot::take(parts_.environment)) {
    if (const auto pending = all_pending_starts(*view)) parts_.metrics.set_pending_starts(*pending);
  }
  return parts_.metrics.text();
}

Json LocalService::info() {
  Json info = parts_.info;
  const Status reads = parts_.reads_events();
  info["broker"] = {{"reading", reads.has_value()}, {"losses", parts_.losses.list()}};
  if (!reads) info["broker"]["waitingFor"] = reads.error().message;
  const auto unreadable =
      read([&](const View& view) { return parts_.queries.unreadable_settings(view); });
  const Damages& damages = parts_.processor.damages();
  if (const size_t count = damages.count(); count > 0) {
    info["damagedRows"] = {{"count", count}, {"items", damages.list()}};
  }
  if (unreadable && !unreadable->empty()) info["unreadableSettings"] = *unreadable;
  info["retention"] = to_json(parts_.metrics.retention());
  if (const LongestUnit unit = parts_.metrics.longest_unit(); unit.time.count() > 0) {
    info["engine"] = {{"longestUnitSeconds", std::chrono::duration<double>(unit.time).count()},
                      {"longestUnitKind", to_string(unit.kind)}};
  }
  if (const auto figures = read_figures(parts_.environment)) info["store"] = to_json(*figures);
  return info;
}

Result<Json> LocalService::namespaces(const PageRequest& page) {
  return read([&](const View& view) { return parts_.queries.namespaces(view, page); });
}

Result<Json> LocalService::one_namespace(std::string_view ns) {
  return read([&](const View& view) -> Result<Json> {
    Json shown = TRY(parts_.queries.one_namespace(view, ns));
    const NamespaceNumber number = TRY(namespace_record(view, ns)).number;
    shown["evaluations"] = evaluations_json(number, parts_.levels().namespace_evaluations);
    return shown;
  });
}

Result<Json> LocalService::workflows(std::string_view ns, const PageRequest& page) {
  return read([&](const View& view) { return parts_.queries.workflows(view, ns, page); });
}

Result<Json> LocalService::workflow(std::string_view ns, std::string_view id) {
  return read([&](const View& view) { return parts_.queries.workflow(view, ns, id); });
}

Result<Json> LocalService::revisions(std::string_view ns, std::string_view id,
                                     const RevisionsRequest& request) {
  return read([&](const View& view) { return parts_.queries.revisions(view, ns, id, request); });
}

Result<Json> LocalService::revision(std::string_view ns, std::string_view id, uint32_t number) {
  return read([&](const View& view) { return parts_.queries.revision(view, ns, id, number); });
}

Result<Json> LocalService::graph(std::string_view ns, std::string_view id,
                                 std::optional<uint32_t> revision) {
  return read([&](const View& view) { return parts_.queries.graph(view, ns, id, revision); });
}

Result<Json> LocalService::instances(std::string_view ns, const InstanceFilter& filter) {
  return read([&](const View& view) { return parts_.queries.instances(view, ns, filter); });
}

Result<Json> LocalService::instance_counts(std::string_view ns, const CountRequest& request) {
  return read([&](const View& view) { return parts_.queries.instance_counts(view, ns, request); });
}

Result<Json> LocalService::instance(std::string_view ns, const InstanceId& id) {
  return read([&](const View& view) { return parts_.queries.instance(view, ns, id); });
}

Result<Json> LocalService::history(std::string_view ns, const InstanceId& id,
                                   const HistoryFilter& filter) {
  return read([&](const View& view) { return parts_.queries.history(view, ns, id, filter); });
}

Result<NamedText> LocalService::scenario(std::string_view ns, const InstanceId& id) {
  return scenarios_.make(ns, id);
}

Result<Json> LocalService::listeners(std::string_view ns, const ListenerFilter& filter) {
  // Before the snapshot, which has its instances.
  const auto asking = instances_asking(index_asker(parts_.intake, kIndexPatience), ns, filter);
  return read([&](const View& view) {
    return parts_.queries.listeners(view, ns, filter, asking ? &*asking : nullptr);
  });
}

Result<Json> LocalService::queues(std::string_view ns, size_t limit, std::string_view cursor,
                                  std::string_view workflow) {
  return read([&](const View& v) { return parts_.queries.queues(v, ns, limit, cursor, workflow); });
}

Result<Json> LocalService::queue_holders(std::string_view ns, const HolderFilter& filter) {
  return read([&](const View& v) { return parts_.queries.queue_holders(v, ns, filter); });
}

Result<Json> LocalService::groups(std::string_view ns, size_t limit, std::string_view cursor,
                                  const GroupFilter& filter) {
  return read([&](const View& v) { return parts_.queries.groups(v, ns, limit, cursor, filter); });
}

Result<Json> LocalService::schedules(std::string_view ns, const PageRequest& page) {
  return read([&](const View& view) { return parts_.queries.schedules(view, ns, page); });
}

Result<Json> LocalService::schedule(std::string_view ns, std::string_view workflow) {
  return read([&](const View& view) { return parts_.queries.schedule(view, ns, workflow); });
}

Result<Json> LocalService::find(std::string_view ns, std::string_view text) {
  Json found = TRY(read([&](const View& view) { return parts_.queries.find(view, ns, text); }));
  const Result<Json> events = find_events(event_desk_, ns, text);
  return join_found(std::move(found), events, letter_desk_.find(ns, text));
}

Status LocalService::check_watch(const LiveRequest& request) { return live_.check(request); }

void LocalService::watch(LiveRequest request, std::shared_ptr<LiveSink> sink) {
  live_.add(std::move(request), std::move(sink));
}

Result<Json> LocalService::input_schema(std::string_view ns, std::string_view id) {
  return read([&](const View& view) -> Result<Json> {
    return to_json(TRY(parts_.queries.input_schema(view, ns, id)));
  });
}

void LocalService::check_input(std::string ns, std::string id, std::string input, Done done) {
  const auto schema = [&]() -> Result<std::optional<InputSchema>> {
    const Snapshot view = TRY(Snapshot::take(parts_.environment));
    return parts_.queries.input_schema(view, ns, id);
  }();
  if (!schema) return done(tl::unexpected(schema.error()));
  if (!*schema) return done(Json{{"valid", true}, {"errors", Json::array()}});
  trials_.validate(dump_json((*schema)->schema), std::move(input),
                   [done](const Result<LazyJson>& result) {
                     if (!result && result.error().code != kSchemaFailed) {
                       return done(tl::unexpected(result.error()));
                     }
                     Json errors = result ? Json::array() : schema_errors(result.error().message);
                     done(Json{{"valid", result.has_value()}, {"errors", std::move(errors)}});
                   });
}

void LocalService::try_expression(ExpressionTrial trial,
                                  std::function<void(Result<LazyJson>)> done) {
  trials_.evaluate(trial, std::move(done));
}

void LocalService::sample_series() {
  // Before the start of the engine, not all parts exist that the levels come from.
  if (!parts_.processor.started()) return;
  const PartLevels levels = parts_.levels();
  series_.sample(parts_.clock.now(), parts_.metrics.totals(),
                 {levels.tasks_unsent, levels.http_running, levels.evaluations_waiting,
                  levels.evaluations_running});
}

Result<Json> LocalService::series(const std::vector<std::string>& names,
                                  std::optional<TimePoint> since) {
  return series_.show(names, since);
}

Result<Json> LocalService::functions(std::string_view ns) {
  auto services = read([&](const View& view) { return parts_.queries.functions(view, ns); });
  if (services && parts_.count_requests) {
    add_asking(*services, parts_.clock, parts_.count_requests);
  }
  return services;
}

Result<Json> LocalService::next_firings(std::string_view ns, const NextFilter& filter) {
  const FiringParts firing{.environment = parts_.environment,
                           .clock = parts_.clock,
                           .queries = parts_.queries,
                           .ask = index_asker(parts_.intake, kIndexPatience)};
  return soonest_firings(firing, ns, filter);
}

Result<Json> LocalService::variables(const VariablePlace& place, size_t limit,
                                     std::string_view cursor) {
  return read(
      [&](const View& view) { return parts_.queries.variables(view, place, limit, cursor); });
}

Result<Variable> LocalService::variable(const VariablePlace& place, std::string_view key) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return parts_.queries.variable(view, place, key);
}

Result<Json> LocalService::secrets(std::string_view ns, size_t limit, std::string_view cursor) {
  return read([&](const View& view) { return parts_.queries.secrets(view, ns, limit, cursor); });
}

}  // namespace millrace
