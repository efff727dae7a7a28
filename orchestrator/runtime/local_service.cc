#include "orchestrator/runtime/local_service.h"

#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "orchestrator/definition/lint.h"
#include "orchestrator/runtime/messages.h"

namespace millrace {
namespace {

/// Gathers the acknowledgements of one call and answers when the last is there.
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

void LocalService::command(Command command, Done done) {
  parts_.processor.command(std::move(command), std::move(done));
}

void LocalService::wait_for_end(std::string space, InstanceId id, Duration at_most, Done done) {
  parts_.processor.wait_for_end(std::move(space), id, at_most, std::move(done));
}

Loaded LocalService::load_definition(std::string_view text) {
  return load_and_lint(text, parts_.check_programs, parts_.check_schemas);
}

void LocalService::publish_events(std::string space, std::vector<Event> events,
                                  std::function<void(Result<Accepted>)> done) {
  if (const Status known = check_namespace(space); !known) {
    return done(tl::unexpected(known.error()));
  }
  if (events.empty()) return done(Accepted{});
  if (const Status taken = parts_.processor.takes_new_work(); !taken) {
    return done(tl::unexpected(taken.error()));
  }
  auto gathering = std::make_shared<Gathering>(events.size(), std::move(done));
  for (const Event& event : events) {
    parts_.publisher.publish(event_message(space, event), [gathering](Result<PublishAck> ack) {
      gathering->take(std::move(ack));
    });
  }
}

Result<Json> LocalService::read(const std::function<Result<Json>(const View& view)>& query) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return query(view);
}

Status LocalService::check_namespace(std::string_view space) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return parts_.queries.check_namespace(view, space);
}

Status LocalService::ready() {
  TRY(parts_.processor.started());
  TRY(parts_.reads_events());
  TRY(parts_.runs_tasks());
  TRY(parts_.evaluates());
  return parts_.processor.ready();
}

std::string LocalService::metrics() {
  PartLevels levels = parts_.levels();
  levels.reads_events = parts_.reads_events().has_value();
  levels.runs_tasks = parts_.runs_tasks().has_value();
  parts_.metrics.set(levels);
  return parts_.metrics.text();
}

Json LocalService::info() {
  Json info = parts_.info;
  const Status reads = parts_.reads_events();
  info["broker"] = {{"reading", reads.has_value()}, {"losses", parts_.losses.list()}};
  if (!reads) info["broker"]["waitingFor"] = reads.error().message;
  return info;
}

Result<Json> LocalService::namespaces() {
  return read([&](const View& view) { return parts_.queries.namespaces(view); });
}

Result<Json> LocalService::workflows(std::string_view space) {
  return read([&](const View& view) { return parts_.queries.workflows(view, space); });
}

Result<Json> LocalService::workflow(std::string_view space, std::string_view id) {
  return read([&](const View& view) { return parts_.queries.workflow(view, space, id); });
}

Result<Json> LocalService::revisions(std::string_view space, std::string_view id) {
  return read([&](const View& view) { return parts_.queries.revisions(view, space, id); });
}

Result<Json> LocalService::instances(std::string_view space, const InstanceFilter& filter) {
  return read([&](const View& view) { return parts_.queries.instances(view, space, filter); });
}

Result<Json> LocalService::instance(std::string_view space, const InstanceId& id) {
  return read([&](const View& view) { return parts_.queries.instance(view, space, id); });
}

Result<Json> LocalService::history(std::string_view space, const InstanceId& id) {
  return read([&](const View& view) { return parts_.queries.history(view, space, id); });
}

Result<Json> LocalService::listeners(std::string_view space, size_t limit,
                                     std::string_view cursor) {
  return read(
      [&](const View& view) { return parts_.queries.listeners(view, space, limit, cursor); });
}

Result<Json> LocalService::schedules(std::string_view space) {
  return read([&](const View& view) { return parts_.queries.schedules(view, space); });
}

Result<Json> LocalService::schedule(std::string_view space, std::string_view workflow) {
  return read([&](const View& view) { return parts_.queries.schedule(view, space, workflow); });
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

Result<Json> LocalService::secrets(std::string_view space, size_t limit, std::string_view cursor) {
  return read([&](const View& view) { return parts_.queries.secrets(view, space, limit, cursor); });
}

Result<Json> LocalService::dead_letters(std::string_view space, size_t limit,
                                        std::string_view cursor) {
  TRY(check_namespace(space));
  return parts_.dead_letters(space, limit, cursor);
}

}  // namespace millrace
