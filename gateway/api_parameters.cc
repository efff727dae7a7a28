#include "gateway/api_parameters.h"

#include "gateway/parameters.h"
#include "gateway/schema_parts.h"
#include "orchestrator/service/next_filter.h"

namespace millrace {
namespace {

/// The table, sorted by place and name.
std::vector<ApiParameter> make_parameters() {
  using namespace schema;
  using enum ParameterPlace;
  const Json length = text();
  const Json yes_or_no = word({"1", "true", "0", "false"});
  return {
      {kPath, "backup", "The id of the backup.", text()},
      {kPath, "callback", "The key of the callback, which came with the task.", text()},
      {kPath, "file", "The name of the file.", text()},
      {kPath, "group", "The id of the group.", text()},
      {kPath, "instance", "The id of the instance.", instance_id()},
      {kPath, "key", "The key of the variable.", text()},
      {kPath, "letter", "The id of the dead letter.", whole()},
      {kPath, "node", "The id of the node.", text()},
      {kPath, "ns", "The name of the namespace.", text()},
      {kPath, "number", "The number of the chunk, from 1.", whole("", 1)},
      {kPath, "place", "The place of the page, which may have slashes.", text()},
      {kPath, "replay", "The id of the replay.", text()},
      {kPath, "revision", "The number of the revision.", whole("", 1)},
      {kPath, "secret", "The name of the secret.", text()},
      {kPath, "sequence", "The sequence of the event in the event stream.", whole()},
      {kPath, "service", "The name of the service.", text()},
      {kPath, "source", "The name of the source.", text()},
      {kPath, "task", "The action id of the attempt.", instance_id()},
      {kPath, "webhook", "The name of the inbound webhook.", text()},
      {kPath, "workflow", "The id of the workflow.", text()},

      {kQuery, "after", "Lists only records with higher numbers.", whole()},
      {kQuery, "after", "Lists only events with higher sequences, the oldest first.", whole(),
       "listEvents"},
      {kQuery, "all", "Selects all instances of the namespace.", yes_or_no},
      {kQuery, "all", "Selects the dead letters of all reasons.", yes_or_no, "deleteDeadLetters"},
      {kQuery, "all", "Selects the dead letters of all reasons.", yes_or_no, "replayDeadLetters"},
      {kQuery, "attribute", "Also judges listeners that ask for a value of this attribute.",
       text()},
      {kQuery, "attribute",
       "Lists only groups whose correlation has the `value` of this attribute.", text(),
       "listEventGroups"},
      {kQuery, "attribute", "Lists only listeners with a condition on this attribute.", text(),
       "listListeners"},
      {kQuery, "attribute", "Lists only events whose context attribute has the `value`.", text(),
       "listEvents"},
      {kQuery, "attributes",
       "Lists only events with these context attributes: a JSON object of their values, as texts.",
       text()},
      {kQuery, "base_revision",
       "The newest revision that the definition was made from (0: the workflow does not exist). If "
       "there is another one, with another text, the call is refused. The numbers begin again if "
       "the workflow is deleted.",
       whole()},
      {kQuery, "before", "Lists only records with lower numbers.", whole()},
      {kQuery, "before", "Lists only events with lower sequences.", whole(), "listEvents"},
      {kQuery, "before", "Lists only dead letters with lower ids.", whole(), "listDeadLetters"},
      {kQuery, "by", "The members of the counts, separated by commas; without any: one sum.",
       words({"workflow", "revision", "state", "status"})},
      {kQuery, "cancel", "Cancels live instances first.", yes_or_no},
      {kQuery, "correlation", "Selects instances with this correlation.", text()},
      {kQuery, "cursor", "The `next` of the page before.", text()},
      {kQuery, "damaged", "Also deletes an instance whose rows are damaged.", yes_or_no},
      {kQuery, "data", "Whether the records have the data of the instance; default: 1.", yes_or_no},
      {kQuery, "dropCompensations", "With `cancel`: the cancelled instances make no compensation.",
       yes_or_no},
      {kQuery, "dry_run", "Checks the definition, and changes nothing.", yes_or_no},
      {kQuery, "effect",
       "Lists only events that had an effect, or only those that had none; without it, all.",
       word({"with", "without"})},
      {kQuery, "endedSince", "Selects instances that have ended, at this time or later.",
       instant()},
      {kQuery, "endedUntil", "Selects instances that have ended before this time.", instant()},
      {kQuery, "error", "A glob for the error code of the instances.", text()},
      {kQuery, "event", "The sequence of the event; without it, the newest events.", whole()},
      {kQuery, "executable", "Whether the file may be executed, if a folder becomes a variable.",
       yes_or_no},
      {kQuery, "executionTimeout", "The execution timeout of this instance.", length},
      {kQuery, "extend", "Retries although the execution timeout has expired.", yes_or_no},
      {kQuery, "force", "Also removes a node that answers.", yes_or_no},
      {kQuery, "from", "The id of the state in which the run begins.", text(), "", true},
      {kQuery, "generated",
       "Lists only events that states of workflows have generated, or only the others (0).",
       yes_or_no},
      {kQuery, "has", "Selects instances that have each of these, separated by commas.",
       words({"retrying", "calls", "deadline", "compensations"})},
      {kQuery, "id", "Selects instances whose id begins so.", text()},
      {kQuery, "id", "Lists only events with this id.", text(), "listEvents"},
      {kQuery, "id", "Lists only the group with this id.", text(), "listEventGroups"},
      {kQuery, "id", "Whether the replay has an id of its own or that of the original event.",
       word({"new", "same"}), "replayEvent"},
      {kQuery, "image", "The image of the containers whose slots are meant.", text()},
      {kQuery, "instance",
       "Shows only the verdict on this instance; the other listeners are counted.", instance_id()},
      {kQuery, "instance", "The only instance that may take the event.", instance_id(),
       "replayEvent"},
      {kQuery, "instance", "Lists only the tasks of the calls of this instance.", instance_id(),
       "listAcceptedTasks"},
      {kQuery, "key", "Selects instances that were started with this idempotency key.", text()},
      {kQuery, "key",
       "Lists only holders of slots of this key, a JSON value; default: of all keys.", text(),
       "listSlotHolders"},
      {kQuery, "kind", "Lists only records of these kinds, separated by commas.", text()},
      {kQuery, "kind", "Lists only the listeners of starts, or only those of instances.",
       word({"start", "instance"}), "listListeners"},
      {kQuery, "kind", "Lists only these kinds, separated by commas.",
       words({kFiringKinds.begin(), kFiringKinds.end()}), "listFirings"},
      {kQuery, "leftovers", "The last part of the path is the number of a leftover.", yes_or_no},
      {kQuery, "limit", "The number of items of a page, from 1 to 1000.", whole_to(kMostListed)},
      {kQuery, "limit", "How many listeners are shown, from 1 to 100.", whole_to(kMostShown),
       "explainEvent"},
      {kQuery, "limit", "How many listeners are shown, from 1 to 100.", whole_to(kMostShown),
       "tryEvent"},
      {kQuery, "limit", "How many events are shown, from 1 to 100.", whole_to(kMostShown),
       "explainInstance"},
      {kQuery, "names", "The names of the series, separated by commas; default: all.", text()},
      {kQuery, "now", "Cancels without waiting for the end of tasks.", yes_or_no},
      {kQuery, "order", "What comes first; default: newest.", word({"oldest", "newest"})},
      {kQuery, "order", "The order of the records; default: oldest.", word({"oldest", "newest"}),
       "getHistory"},
      {kQuery, "parent", "Selects instances that calls of this instance have started.",
       instance_id()},
      {kQuery, "past", "Passes over the newest compensation, which has failed.", yes_or_no},
      {kQuery, "q",
       "The beginning of an id, a key, a name, a sequence, or what names a group, task, replay, "
       "event or dead letter.",
       text(), "", true},
      {kQuery, "reason", "Selects the dead letters with this reason.", text()},
      {kQuery, "revision", "The number of the revision; default: the newest.", whole("", 1)},
      {kQuery, "runTimeout", "The timeout of each run of this instance.", length},
      {kQuery, "service", "The service whose slots are meant.", text()},
      {kQuery, "since", "Selects instances that started at this time or later.", instant()},
      {kQuery, "since", "Lists only events that the stream got at this time or later.", instant(),
       "listEvents"},
      {kQuery, "since", "Judges only events that the stream got at this time or later.", instant(),
       "explainInstance"},
      {kQuery, "since", "Shows only steps that ended after this time.", instant(), "getSeries"},
      {kQuery, "source", "A glob for the source of the events.", text()},
      {kQuery, "source", "Lists only dead letters of messages that this source read.", text(),
       "listDeadLetters"},
      {kQuery, "stale",
       "In a cluster: a node that is not the active answers from its own folder, which may be "
       "behind.",
       yes_or_no},
      {kQuery, "state", "Selects instances in the state with this id.", text()},
      {kQuery, "status", "Selects instances with one of these statuses, separated by commas.",
       words({"pending", "running", "waiting", "paused", "complete", "failed", "cancelled",
              "timedout"})},
      {kQuery, "taskTimeout",
       "The timeout of the jq programs of each state of this instance, in processor time.", length},
      {kQuery, "texts", "Whether the revisions have their texts; default: 1.", yes_or_no},
      {kQuery, "topics",
       "`counts`, `levels`, `instances`, `events`, `dead` or `instance:ID`, separated by commas.",
       text(), "", true},
      {kQuery, "type", "Lists only listeners for events of this type.", text()},
      {kQuery, "type", "A glob for the type of the events.", text(), "listEvents"},
      {kQuery, "type", "A glob for the type of the events of the topic `events`.", text(),
       "watchNamespace"},
      {kQuery, "until", "Selects instances that started before this time.", instant()},
      {kQuery, "until", "Lists only events that the stream got before this time.", instant(),
       "listEvents"},
      {kQuery, "until", "Judges only events that the stream got before this time.", instant(),
       "explainInstance"},
      {kQuery, "until", "Lists only what comes at this time or before.", instant(), "listFirings"},
      {kQuery, "value", "The value for which these listeners ask.", text()},
      {kQuery, "value",
       "Lists only listeners whose condition on `attribute` holds for this value, or, without "
       "`attribute`, those that ask for exactly this value of any attribute.",
       text(), "listListeners"},
      {kQuery, "value", "The value of `attribute`, as text.", text(), "listEvents"},
      {kQuery, "value", "The value of `attribute`, as text.", text(), "listEventGroups"},
      {kQuery, "wait", "How long to wait for the end of the instance, at most an hour.", length},
      {kQuery, "waitsFor", "Selects live instances that wait for events of this type.", text()},
      {kQuery, "workflow", "Selects instances of the workflow with this id.", text()},
      {kQuery, "workflow", "Lists only groups of the workflow with this id.", text(),
       "listEventGroups"},
      {kQuery, "workflow", "Lists only keys and pending starts of the workflow with this id.",
       text(), "listQueues"},
      {kQuery, "workflow", "The id of the only workflow that may take the event.", text(),
       "replayEvent"},
      {kQuery, "workflow", "The id of the workflow whose slots are meant.", text(),
       "listSlotHolders"},

      {kHeader, "Accept-Encoding", "The compressed forms that the client reads.", text()},
      {kHeader, "Idempotency-Key", "A second start with the same key starts no instance.", text()},
      {kHeader, "If-None-Match", "The tags of the copies that the client has.", text()},
      {kHeader, "Last-Event-ID", "The id of the last message that the client has.", text()},
      {kHeader, "Millrace-Key", "The key of the attempt.", text()},
      {kHeader, "Millrace-Retry", "The retry policy of this instance, as JSON.", text()},
      {kHeader, "WebHook-Request-Origin", "The sender of webhooks.", text()},
      {kHeader, "X-Forwarded-Proto", "`https`: a proxy gets the request over TLS.", text()},
  };
}

}  // namespace

const std::vector<ApiParameter>& api_parameters() {
  static const std::vector<ApiParameter> all = make_parameters();
  return all;
}

const ApiParameter* find_parameter(ParameterPlace place, std::string_view name,
                                   std::string_view operation) {
  const ApiParameter* found = nullptr;
  for (const ApiParameter& one : api_parameters()) {
    if (one.place != place || one.name != name) continue;
    if (one.operation == operation) return &one;
    if (one.operation.empty()) found = &one;
  }
  return found;
}

std::string_view to_string(ParameterPlace place) {
  switch (place) {
    case ParameterPlace::kPath:
      return "path";
    case ParameterPlace::kQuery:
      return "query";
    case ParameterPlace::kHeader:
      return "header";
  }
  return "";
}

}  // namespace millrace
