#include "tests/unit/gateway/fake_event_desk.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace {
namespace {

Json shown_event(uint64_t sequence) {
  Json effects = Json::array();
  if (sequence == 18) {
    effects.push_back({{"what", "started"}, {"instance", "0190b5a4-7c1e-7f2a-8000-0123456789ab"}});
  }
  return {{"sequence", sequence},
          {"time", "2021-09-01T12:00:00.000Z"},
          {"id", fmt::format("e-{}", sequence)},
          {"type", "order.placed"},
          {"source", "shop"},
          {"attributes", {{"orderid", "o-1"}}},
          {"size", 120},
          {"applied", true},
          {"effects", effects},
          {"effectCount", effects.size()}};
}

/// The list for the ids `deep` and `endless`: a page for each sequence from 99 down.
Json deep_page(const EventListFilter& filter) {
  const uint64_t sequence = (filter.before > 0 ? filter.before : 100) - 1;
  const bool is_found = filter.id == "deep" && sequence == 96;
  Json items = Json::array();
  if (is_found) items.push_back(shown_event(sequence));
  return {{"items", std::move(items)},
          {"complete", true},
          {"looked", 1000},
          {"newest", 99},
          {"next", is_found ? Json() : Json(std::to_string(sequence))}};
}

/// The list for the id `replayed`: events of which one workflow or instance may take each.
Json page_of_targets() {
  const Json targets = Json::parse(R"([{"workflow": "ship"}, {"workflow": "6", "deleted": true},
    {"instance": "0190b5a4-7c1e-7f2a-8000-0123456789ab"}])");
  Json items = Json::array();
  for (const Json& target : targets) {
    Json event = shown_event(12 - items.size());
    event["attributes"]["millraceonly"] = "workflow/6";
    event["to"] = target;
    items.push_back(std::move(event));
  }
  return {{"items", std::move(items)},
          {"complete", true},
          {"looked", 3},
          {"newest", 12},
          {"next", nullptr}};
}

/// The list if the filter asks for the order O-1, which no event has so.
Json page_in_other_case() {
  return {{"items", Json::array()},
          {"complete", true},
          {"looked", 2},
          {"newest", 18},
          {"next", nullptr},
          {"inOtherCase", {{"sequence", 18}, {"attributes", {{"orderid", "o-1"}}}}}};
}

tl::unexpected<Error> no_namespace() {
  return fail("namespace.not_found", "no namespace has this name");
}

Result<Event> planned(std::string_view ns, const EventReplay& replay) {
  if (ns != "default") return no_namespace();
  if (replay.sequence != 18 && replay.sequence != 79) {
    return fail("event.not_found", "no such event");
  }
  if (replay.same_id) return fail("event.id_known", "it would be a duplicate");
  return Event{.id = "replay-1", .source = "shop", .type = "order.placed"};
}

}  // namespace

Result<Json> FakeEventDesk::list(std::string_view ns, const EventListFilter& filter) {
  if (ns != "default" && ns != "empty") return no_namespace();
  if (filter.id == "lost") return fail("broker.unreachable", "the broker does not answer");
  const std::lock_guard lock(mutex_);
  if (ns == "default") filter_ = filter;
  if (filter.id == "deep" || filter.id == "endless") return deep_page(filter);
  if (filter.id == "replayed") return page_of_targets();
  const std::pair<std::string, std::string> in_other_case("orderid", "O-1");
  if (filter.attributes == std::vector{in_other_case}) return page_in_other_case();
  Json items = Json::array();
  Json next = nullptr;
  const uint64_t last = filter.before > 0 ? std::min<uint64_t>(filter.before - 1, 18) : 18;
  if (filter.after) {
    for (uint64_t i = std::max<uint64_t>(*filter.after + 1, 17); i <= last; ++i) {
      items.push_back(shown_event(i));
    }
    next = std::to_string(last);
  } else {
    const auto add = [&](Json event) {
      const bool has_id = filter.id.empty() || event["id"] == filter.id;
      if (has_id && items.size() < filter.limit) items.push_back(std::move(event));
    };
    for (uint64_t i = last; i >= 17 && ns == "default"; --i) add(shown_event(i));
    for (uint64_t i = 16; i >= 15 && ns == "default" && !filter.id.empty(); --i) {
      Json event = shown_event(i);
      event["id"] = "twice";
      add(std::move(event));
    }
  }
  return Json{{"items", std::move(items)},
              {"complete", true},
              {"looked", 2},
              {"newest", 18},
              {"next", std::move(next)}};
}

Result<Json> FakeEventDesk::get(std::string_view ns, uint64_t sequence) {
  if (ns != "default") return no_namespace();
  if (sequence != 18 && sequence != 79) return fail("event.not_found", "no such event");
  Json event = shown_event(sequence);
  if (sequence == 79) {
    event["effects"] = {{{"what", "grouped"}, {"workflow", "ship"}}};
    event["effectCount"] = 1;
  }
  event["event"] = {{"specversion", "1.0"}, {"id", "e-18"},     {"type", "order.placed"},
                    {"source", "shop"},     {"orderid", "o-1"}, {"data", {{"total", 7}}}};
  event["position"] = {{"stream", 1}, {"sequence", sequence}};
  return event;
}

Result<Json> FakeEventDesk::replay(std::string_view ns, const EventReplay& replay) {
  const Event event = TRY(planned(ns, replay));
  const std::lock_guard lock(mutex_);
  replay_ = replay;
  return Json{{"sequence", 19}, {"id", event.id}};
}

Result<Event> FakeEventDesk::planned_replay(std::string_view ns, const EventReplay& replay) {
  Event event = TRY(planned(ns, replay));
  const std::lock_guard lock(mutex_);
  plan_ = replay;
  return event;
}

Json FakeEventDesk::shown_replay() const {
  const char* const running = is_stopped_ ? "stopped" : "running";
  Json replay = {{"id", "r1"},
                 {"state", progress_ < 2 ? running : "done"},
                 {"createdAt", "2021-09-01T12:00:00.000Z"},
                 {"dryRun", false},
                 {"rate", 1000},
                 {"first", 1},
                 {"last", 18},
                 {"position", 1 + progress_ * 9},
                 {"matched", progress_ * 5},
                 {"sent", progress_ * 5},
                 {"refused", 0},
                 {"lost", 0}};
  if (progress_ == 1) {
    replay["waits"] = {{"code", "broker.unreachable"}, {"msg", "the broker does not answer"}};
  }
  return replay;
}

void FakeEventDesk::begin_replay(std::string_view ns, const RangeReplay& range, Done done) {
  if (ns != "default") return done(no_namespace());
  {
    const std::lock_guard lock(mutex_);
    range_ = range;
    progress_ = 0;
    is_stopped_ = false;
  }
  done(Json{{"id", "r1"}});
}

Result<Json> FakeEventDesk::replays(std::string_view ns) {
  if (ns != "default") return no_namespace();
  const std::lock_guard lock(mutex_);
  return Json{{"items", Json::array({shown_replay()})}, {"next", nullptr}};
}

Result<Json> FakeEventDesk::replay_progress(std::string_view ns, const std::string& id) {
  if (ns != "default") return no_namespace();
  if (id != "r1") return fail("replay.not_found", "no such replay");
  const std::lock_guard lock(mutex_);
  if (progress_ < 2 && !is_stopped_) ++progress_;
  return shown_replay();
}

void FakeEventDesk::stop_replay(std::string_view ns, const std::string& id, Done done) {
  if (ns != "default") return done(no_namespace());
  if (id != "r1") return done(fail("replay.not_found", "no such replay"));
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  done(Json{{"id", id}, {"stopped", true}});
}

RangeReplay FakeEventDesk::last_range() {
  const std::lock_guard lock(mutex_);
  return range_;
}

bool FakeEventDesk::is_stopped() {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

EventReplay FakeEventDesk::last_replay() {
  const std::lock_guard lock(mutex_);
  return replay_;
}

EventReplay FakeEventDesk::last_plan() {
  const std::lock_guard lock(mutex_);
  return plan_;
}

EventListFilter FakeEventDesk::last_filter() {
  const std::lock_guard lock(mutex_);
  return filter_;
}

}  // namespace millrace
