#include "tests/unit/gateway/fake_why_desk.h"

namespace millrace {
namespace {

constexpr const char* kWaiting = "0190b5a4-7c1e-7f2a-8000-0123456789ab";

Json judged_near() {
  return Json::parse(R"({"verdict": "predicate",
    "says": "the event does not fit what is asked for: `orderid` has another value",
    "predicates": [
      {"attribute": "source", "kind": "pattern", "asks": "^bank", "got": "bank.eu", "holds": true},
      {"attribute": "orderid", "kind": "equals", "asks": "o-1742", "got": "O-1742", "holds": false,
       "hint": "case", "says": "the two differ in upper and lower case only",
       "fits": "o-1742"}]})");
}

/// `filter`: its instance is the only one that is shown.
Json why_of(Json event, const WhyFilter& filter) {
  Json near = judged_near();
  near.update({{"kind", "instance"},
               {"workflow", "order"},
               {"instance", kWaiting},
               {"state", "pay"},
               {"since", "2021-09-01T12:00:00.000Z"}});
  Json answer{{"event", std::move(event)},
              {"asOf", {{"commit", 7}, {"cursor", 18}}},
              {"looked", 2},
              {"of", 3},
              {"complete", true},
              {"near", Json::array({std::move(near)})},
              {"others", Json::parse(R"([{"what": "`orderid` has another value", "count": 1}])")}};
  if (filter.instance) answer["instance"] = to_string(*filter.instance);
  return answer;
}

/// A start in one of whose groups the event waits, and an instance that waits since later.
Json grouped_and_early() {
  return Json::parse(R"([
    {"kind": "start", "workflow": "ship", "since": "2021-09-01T11:00:00.000Z",
     "verdict": "grouped", "says": "the event waits in a group for `packed`", "predicates": [],
     "waitsFor": ["packed"], "correlate": {"orderid": "o-1"},
     "nearGroups": [{"correlate": {"orderid": "O-1"}, "has": ["packed"], "hint": "case"},
                    {"correlate": {"orderid": "o-2"}, "has": ["packed"]}],
     "moreGroups": {"count": 4, "complete": false},
     "partners": [{"sequence": 3, "type": "Packed", "differs": "type",
                   "fits": {"type": "packed"}},
                  {"sequence": 4, "type": "packed", "differs": "namespace", "namespace": "shop",
                   "fits": {}}],
     "corrections": [{"differs": "correlate", "sequence": 15, "own": true, "namespace": "default",
                      "attributes": {"orderid": "O-1"}, "completes": true,
                      "says": "event #15 waits in this group"},
                     {"differs": "namespace", "sequence": 4, "own": false, "namespace": "shop",
                      "toNamespace": "default", "attributes": {}, "completes": true,
                      "says": "event #4 was sent to the namespace `shop`"}]},
    {"kind": "instance", "workflow": "order", "state": "pay",
     "instance": "0190b5a4-7c1e-7f2a-8000-0123456789ab", "since": "2021-09-01T12:00:04.300Z",
     "verdict": "before", "says": "the event came before the wait began", "predicates": [],
     "early": {"seconds": 3.3, "startedAfterEvent": true}}])");
}

/// A start that would have to wait for a slot.
Json waiting_start() {
  return Json::parse(R"([
    {"kind": "start", "workflow": "ship", "since": "2021-09-01T11:00:00.000Z",
     "verdict": "started", "says": "the event would start an instance, which would wait for a slot",
     "predicates": [],
     "start": {"outcome": "waits", "reason": "concurrency", "key": "a", "limit": 2, "held": 2,
               "waiting": 4, "before": 3, "priority": 0}}])");
}

tl::unexpected<Error> no_such(std::string_view what) {
  return fail(std::string(what) + ".not_found", "there is none");
}

}  // namespace

void FakeWhyDesk::keep(const WhyFilter& filter, const std::optional<uint64_t>& sequence) {
  const std::lock_guard lock(mutex_);
  filter_ = filter;
  sequence_ = sequence;
}

Result<Json> FakeWhyDesk::of_event(std::string_view ns, uint64_t sequence,
                                   const WhyFilter& filter) {
  if (ns != "default") return no_such("namespace");
  keep(filter, sequence);
  Json event{{"sequence", sequence},
             {"time", "2021-09-01T12:00:01.000Z"},
             {"id", "e-1"},
             {"type", "paid"},
             {"source", "bank.eu"}};
  if (sequence == 18) {
    Json answer = why_of(std::move(event), filter);
    answer.update({{"effects", Json::array()}, {"effectCount", 0}, {"applied", true}});
    return answer;
  }
  if (sequence == 15 || sequence == 16) {
    Json answer = why_of(std::move(event), filter);
    answer.update({{"effects", Json::array()}, {"effectCount", 0}, {"applied", true}});
    const Json one = answer["near"][0];
    answer["near"] = sequence == 15 ? grouped_and_early() : Json(5, one);
    return answer;
  }
  if (sequence != 17) return no_such("event");
  return Json{{"event", std::move(event)},
              {"effects", Json::array()},
              {"effectCount", 0},
              {"applied", true},
              {"asOf", {{"commit", 7}, {"cursor", 18}}},
              {"looked", 0},
              {"of", 0},
              {"complete", true},
              {"near", Json::array()},
              {"others", Json::array()},
              {"similarTypes", Json::array({"payd"})},
              {"elsewhere", Json::array({"shop"})}};
}

Result<Json> FakeWhyDesk::of_test_event(std::string_view ns, Event event, const WhyFilter& filter) {
  if (ns != "default") return no_such("namespace");
  keep(filter, std::nullopt);
  Json answer = why_of({{"id", event.id}, {"type", event.type}, {"source", event.source}}, filter);
  if (event.type == "placed") answer["near"] = waiting_start();
  return answer;
}

Result<Json> FakeWhyDesk::of_instance(std::string_view ns, const InstanceId& id,
                                      const std::optional<uint64_t>& sequence,
                                      const WhyFilter& filter) {
  if (ns != "default") return no_such("namespace");
  if (to_string(id) != kWaiting) return no_such("instance");
  keep(filter, sequence);
  Json event{{"sequence", sequence.value_or(18)},
             {"time", "2021-09-01T12:00:01.000Z"},
             {"id", "e-1"},
             {"type", "paid"},
             {"source", "bank.eu"}};
  event.update(judged_near());
  Json instance = Json::parse(R"({"workflow": "order", "status": "waiting", "state": "pay",
    "since": "2021-09-01T12:00:00.000Z", "arrived": ["packed"],
    "waits": [{"type": "paid", "context": {"orderid": {"equals": "o-1742"}}}]})");
  if (filter.limit == 3) {
    instance["waits"] = Json::parse(R"([
      {"index": 0, "function": "approve", "status": "scheduled", "attempt": 1,
       "task": "0190b5a4-7c1e-7f2a-8000-00000000000a", "since": "2021-09-01T12:00:00.000Z",
       "for": "callback", "service": "mail", "deadline": "2021-09-03T12:00:00.000Z"},
      {"until": "2021-09-01T13:00:00.000Z", "what": "delay", "causes": "end",
       "ends": "complete"}])");
    instance["moreWaits"] = 1;
  }
  instance["id"] = kWaiting;
  Json answer{{"instance", std::move(instance)},
              {"asOf", {{"commit", 7}, {"cursor", 18}}},
              {"looked", 1},
              {"complete", true},
              {"events", Json::array({std::move(event)})}};
  if (!sequence) {
    answer.update({{"of", 1}, {"next", nullptr}, {"lookedFrom", "2021-09-01T12:00:01.000Z"}});
    answer["elsewhereLook"] = {{"from", "2021-09-01T12:00:00.000Z"},
                               {"namespaces", Json::array({"shop"})}};
  }
  return answer;
}

WhyFilter FakeWhyDesk::last_filter() {
  const std::lock_guard lock(mutex_);
  return filter_;
}

std::optional<uint64_t> FakeWhyDesk::last_sequence() {
  const std::lock_guard lock(mutex_);
  return sequence_;
}

}  // namespace millrace
