// Schemas of the answers that say why an event had an effect or none.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

/// What was decided about one listener and one event.
Json verdict_members() {
  using namespace schema;
  const Json early = object({
      {"seconds", number("How long the event came before the wait, or the definition.")},
      {"startedAfterEvent?", flag("Whether the instance started after the event.")},
  });
  const Json near_group = object({
      {"correlate", map(text(), "The attributes that the events of the group share.")},
      {"has", list(text(), "The missing types of which the group has events.")},
      {"hint?", word({"case", "space", "zeros", "typo"})},
      {"sequence?", whole("The sequence of the first of these events in the event stream.", 1)},
  });
  const Json more_groups = object({
      {"count", whole("How many others have an event of a missing type.")},
      {"complete", flag("false: there may be more, which were not looked at.")},
  });
  const Json partner = object({
      {"sequence", whole("The sequence of the event.", 1)},
      {"type", text("The type of the event.")},
      {"namespace?", text("The other namespace that got it.")},
      {"differs", word({"namespace", "type", "data"})},
      {"fits", map(text(), "The attributes with which it would have completed the group.")},
  });
  const Json correction = object({
      {"differs", word({"correlate", "data", "type", "namespace"})},
      {"sequence", whole("The sequence of the event to send again.", 1)},
      {"own", flag("Whether it is the event that is judged.")},
      {"namespace", text("The namespace that got it.")},
      {"toNamespace?", text("The namespace to send it to.")},
      {"attributes", map(text(), "The values that a replay gives it.")},
      {"completes", flag("Whether a group is complete then.")},
      {"says", text("The correction, for people.")},
  });
  const Json left_partner = object({
      {"sequence", whole("The sequence of the event.", 1)},
      {"type", text("The type of the event.")},
      {"time", instant("About when its lifespan ended.")},
  });
  return object({
      {"verdict", word({"woke", "started", "filled", "grouped", "predicate", "before", "after",
                        "unread", "duplicate", "paused", "skipped", "correlation", "lifespan",
                        "limit", "dead", "rateLimit", "debounced", "batched"})},
      {"says", text("The verdict, for people.")},
      {"predicates", list(ref("JudgedPredicate"))},
      {"lookbackFrom?", instant("From when on the state takes events that came before its wait.")},
      {"waitsFor?", list(text(), "The types of events that are still missing.")},
      {"early?", early},
      {"wouldFit?", flag("Of a wait that is over: whether the event fits what it asked for; "
                         "missing: that is not known.")},
      {"ended?", exactly(true, "The instance has ended, and can take no event.")},
      {"stateNow?", text("The state in which the instance is now, which does not wait for the "
                         "type: sent again, the event would not wake it.")},
      {"correlate?", map(text(), "The attributes by which the event is grouped.")},
      {"nearGroups?", list(near_group, "The nearest other groups that have missing events.")},
      {"moreGroups?", more_groups},
      {"leftPartner?", left_partner},
      {"partners?",
       list(partner, "Events that would have completed the group, but for one thing.")},
      {"corrections?",
       list(correction,
            "What completes the group, the best one first. One is enough: each that is "
            "followed starts an instance of its own.")},
  });
}

/// The commit and the event up to which the answer is right.
Json as_of() {
  using namespace schema;
  return object({{"commit", whole("The number of the commit.")},
                 {"cursor", whole("The sequence of the last applied event.")}});
}

/// What an answer has about the listeners of an event.
Json judged_listeners(Json event) {
  using namespace schema;
  const Json other = object({{"what", text()}, {"count", whole("How many listeners.")}});
  return object({
      {"event", std::move(event)},
      {"asOf", as_of()},
      {"looked", whole("How many listeners were judged, with those that the event woke.")},
      {"of?", whole("About how many there are; missing: the engine did not answer in time.")},
      {"complete", flag("false: a bound has ended the look.")},
      {"near", list(ref("JudgedListener"), "The nearest listeners first.")},
      {"others", list(other, "Listeners that are not shown, by what does not hold.")},
      {"instance?", instance_id("The only instance whose verdict is shown, as the call asked.")},
      {"similarTypes?", list(text(), "Types of events for which something listens.")},
      {"elsewhere?", list(text(), "Other namespaces in which something listens for the type.")},
  });
}

/// What the limits of a workflow would do with a start by an event that is tried.
Json predicted_start() {
  using namespace schema;
  return object({
      {"outcome",
       word({"starts", "waits", "replaces", "debounced", "batched", "skipped", "refused"},
            "`starts`: the instance begins at once; `waits`: for a slot or the "
            "throttle; `replaces`: another instance is cancelled for it; `debounced`, "
            "`batched`: the start is put off; `skipped`; `refused`: the event becomes a "
            "dead letter.")},
      {"reason?",
       word({"singular", "quota", "rateLimit", "debounce", "batch", "concurrency", "throttle"},
            "The limit that decides; missing: none keeps the start.")},
      {"key?", any("The value of the `key` of the limit; none: it has none.")},
      {"limit?", whole("How many slots the key has, how many instances may start in the period, or "
                       "how many inputs a batch has.",
                       1)},
      {"period?", text("The length of the period, as the definition has it.")},
      {"held?", whole("How many instances hold a slot of the key.")},
      {"waiting?", whole("How many starts of the key wait.")},
      {"before?", whole("Of one that would wait: how many of these come before it; missing: more "
                        "than 1 000.")},
      {"priority?", number("Of one that would wait: its priority.")},
      {"nextAt?", instant("When the `rateLimit` or the throttle permits a start of the key.")},
      {"startsAt?", instant("Of a start that is put off: when the instance starts.")},
      {"size?", whole("Of a batch: how many inputs it has then.", 1)},
      {"instance?", instance_id("The instance that would be cancelled, or that is to start for the "
                                "key by an earlier request.")},
      {"error?", object({{"code", text("An error code.")}, {"msg", text("The message.")}})},
  });
}

/// A call of an instance that has not ended, and for what it waits.
Json awaited_call() {
  using namespace schema;
  const Json last_error =
      object({{"code", text()}, {"message", text()}, {"at", instant("When it happened.")}});
  return extended(
      call_wait(),
      {
          {"for",
           word({"callback", "subflow", "answer", "worker", "connection", "slot", "throttle",
                 "service", "attempt", "others", "resume"},
                "`callback`: its service has accepted the task, and answers it later; `subflow`: "
                "for the end of its instance; `answer`: of the service, worker or container that "
                "has the task; `worker`: no worker has taken the task; `connection`: the HTTP "
                "service has not got the request; `slot`; `throttle`; `service`: it is paused; "
                "`attempt`: for the next one; `others`: for other calls of the state; "
                "`resume`: of the instance.")},
          {"service?", text("The name of the service that has the task.")},
          {"global?", exactly(true, "It is a service of the namespace `default`.")},
          {"deadline?", instant("When a timeout ends the attempt at the latest.")},
          {"lastError?", last_error},
      });
}

}  // namespace

void add_why_schemas(ApiSchemas& all) {
  using namespace schema;
  all["JudgedPredicate"].schema = object({
      {"attribute", text("The context attribute.")},
      {"kind", word({"equals", "pattern"})},
      {"asks", text("What the listener asks for.")},
      {"got", or_null(text("What the event has; null: it lacks the attribute."))},
      {"holds", flag()},
      {"hint?", word({"case", "space", "zeros", "data", "anchored", "attribute", "typo"})},
      {"says?", text("The hint, for people.")},
      {"fits?", text("A value of the attribute for which the predicate holds, if one is known.")},
  });
  all["JudgedListener"].schema =
      extended(verdict_members(), {
                                      {"kind", word({"start", "instance"})},
                                      {"workflow", text("The id of the workflow.")},
                                      {"instance?", instance_id()},
                                      {"state?", text("The id of the state.")},
                                      {"since?", instant("From when on it listens.")},
                                      {"start?", ref("PredictedStart")},
                                  });
  all["PredictedStart"].schema = predicted_start();
  const Json head = object({{"id", text()}, {"type", text()}, {"source", text()}});
  const Json stored = object({
      {"sequence", whole("The sequence of the event in the event stream.", 1)},
      {"time", instant("When the broker stored the event.")},
      {"id?", text()},
      {"type?", text()},
      {"source?", text()},
  });
  const Json error = object({{"code", text("An error code.")}, {"msg", text("The message.")}});
  const Json letter = object({
      {"id", text("The id of the dead letter that the event became.")},
      {"reason", text("An error code.")},
      {"detail", text("What was wrong, for people.")},
  });
  const Json replay = object({
      {"namespace", text("The namespace to which the event was sent again.")},
      {"sequence", whole("The sequence of the replay in the event stream.", 1)},
      {"applied", flag("Whether the engine has applied the replay.")},
      {"effects", list(ref("EventEffect"), "What became of the replay; the first 20.")},
      {"effectCount", whole("How many effects the replay had.")},
  });
  all["EventWhy"].schema =
      extended(judged_listeners(stored),
               {
                   {"effects", list(ref("EventEffect"), "What became of the event; the first 20.")},
                   {"effectCount", whole("How many effects the event had.")},
                   {"applied", flag("Whether the engine has applied the event.")},
                   {"error?", error},
                   {"deadLetter?", letter},
                   {"replays?", list(replay, "The newest replays of the event, three at most.")},
               });
  all["TestEvent"].media = {
      {"application/cloudevents+json", {{"schema", ref("CloudEvent")}}},
      {"application/cloudevents-batch+json", {{"schema", list(ref("CloudEvent"))}}},
      {"*/*", {{"schema", any("The data of the event, whose attributes are headers `ce-…`.")}}}};
  all["EventTried"].schema = extended(
      judged_listeners(head),
      {{"duplicate?", exactly(true, "The source and id are known: the event would be dropped.")}});
  const Json window = instant("From when on the state takes events that came before its wait.");
  const Json wait =
      object({{"type", text()}, {"context", ref("EventContext")}, {"lookbackFrom?", window}});
  all["AwaitedCall"].schema = awaited_call();
  const Json entering = object({{"type", text()}, {"lookbackFrom?", window}});
  const Json waited = object({
      {"for",
       word({"slot", "throttle"}, "Of one that ended by its wait to start: for what it waited.")},
      {"since", instant("Since when it waited.")},
      {"key?", any("The value of the key; none: the limit has no key.")},
  });
  Json step = object({{"evaluations", ref("Evaluations")}});
  step["description"] =
      "Of an instance that runs and waits for nothing else: its next step waits for its turn, for "
      "a jq evaluation, or for the search for early events. The evaluations are those of its "
      "namespace.";
  const Json asked = object({
      {"id", instance_id()},
      {"workflow", text("The id of the workflow.")},
      {"status", text()},
      {"state?", text("The id of the state.")},
      {"since", instant("When the instance entered its state, or ended.")},
      {"paused?", word({"workflow", "instance"},
                       "Of a paused one: whether its workflow is paused, too (the resume of the "
                       "workflow resumes it), or only the instance.")},
      {"error?", object({{"code", text("The error code with which it ended.")},
                         {"msg", text("The message.")}})},
      {"waited?", waited},
      {"waits", list(either({wait, ref("TimeWait"), ref("AwaitedCall")}),
                     "What it waits for: events, the end of a delay, the next attempt, or calls; "
                     "at most 20 calls.")},
      {"moreWaits?", whole("How many other calls have not ended.", 1)},
      {"step?", step},
      {"compensation?", compensation()},
      {"cancelling?", cancelling()},
      {"passedCompensations?", passed_compensations()},
      {"entering?", list(entering, "The events for which its state will wait.")},
      {"arrived?", list(text(), "The types of the events that have come.")},
      {"slot?", ref("Slot")},
      {"throttled?", ref("Throttled")},
      {"waitingCalls?", list(object({{"index", whole("The place of the call.")},
                                     {"slot?", ref("CallSlot")},
                                     {"throttled?", ref("CallThrottled")}}),
                             "The first calls that wait for a slot or a throttle; at most three.")},
  });
  all["InstanceWhy"].schema = object({
      {"instance", asked},
      {"asOf", as_of()},
      {"looked", whole("How many messages of the stream were read.")},
      {"of?", whole("How many of them have such a type; missing: one event was named.")},
      {"complete", flag("false: a bound has ended the look.")},
      {"events", list(extended(verdict_members(),
                               {
                                   {"sequence", whole("", 1)},
                                   {"time", instant()},
                                   {"id?", text()},
                                   {"type?", text()},
                                   {"source?", text()},
                                   {"applied?", flag("Whether the engine has applied the event.")},
                                   {"effects?", list(ref("EventEffect"),
                                                     "What became of the event; the first 20.")},
                                   {"effectCount?", whole("How many effects the event had.")},
                               }),
                      "The nearest events first.")},
      {"elsewhere?", list(text(), "Other namespaces that have an event of such a type.")},
      {"elsewhereEvents?", list(extended(stored, {{"namespace", text("The namespace of it.")}}),
                                "An event of each of them that fits, if one was read.")},
      {"unknownNamespaces?",
       list(extended(stored, {{"namespace", text("The name that no namespace has.")},
                              {"fits", flag("Whether the event fits what the instance waits for; "
                                            "false: it has such a type only.")},
                              {"deadLetter?", text("The id of the dead letter that the event "
                                                   "became.")}}),
            "Names for which an event of such a type came, and which no namespace has.")},
      {"elsewhereLook?",
       object({{"from?", instant("Since when their events were looked at.")},
               {"namespaces?", list(text(), "Those that were looked at; others were not.")},
               {"unknown?", list(text(),
                                 "The names without a namespace that were looked at; others "
                                 "were not.")}})},
      {"lookedFrom?", instant("When the oldest message that was read was stored.")},
      {"next?", or_null(text("The `cursor` of the call that continues with older messages; null: "
                             "the time window has none; missing: one event was named."))},
  });
}

}  // namespace millrace
