// The store check on stores that a whole engine has written: nothing is found in a sound one, and
// each kind of damage under its code.
#include "orchestrator/check/store_check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/simulation/world.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Codes = std::set<std::string>;

constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, correlate: [key], lifespan: PT1H, events: [{type: left}, {type: right}]}
states:
- {id: a, type: noop}
)";

constexpr const char* kDefinitions[] = {
    R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)",
    R"(
id: both
states:
- {id: wait, type: eventAnd, events: [{type: one}, {type: two}]}
)",
    R"(
id: naps
states:
- {id: nap, type: delay, duration: PT10H}
)",
    R"(
id: child
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)",
    R"(
id: parent
functions: [{id: f, type: subflow, workflow: child}]
states:
- {id: call, type: foreach, array: '[1, 2]', action: {function: f}}
)",
    R"(
id: order
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- id: pay
  type: action
  action:
    function: charge
    secrets: [card]
    startToCloseTimeout: 1h
    retries: {maximumAttempts: 2, initialInterval: 1h}
)",
    R"(
id: posts
functions: [{id: post, type: knative-namespace, service: post}]
states:
- {id: send, type: action, async: true, action: {function: post}}
)", kPairs,
    R"(
id: nightly
start: {type: scheduled, cron: '0 0 * * *'}
states:
- {id: a, type: noop}
)",
    R"(
id: tells
states:
- {id: now, type: generateEvent, event: {type: told, source: s}, transition: later}
- {id: later, type: generateEvent, event: {type: told.later, source: s}, delay: PT1H}
)",
    R"(
id: keeps
states:
- id: keep
  type: setter
  variables:
  - {key: own, value: 1}
  - {key: ours, scope: workflow, value: 2}
  - {key: all, scope: namespace, value: 3}
)",
    R"(
id: fails
states:
- {id: a, type: error, error: some.error, message: it had to}
)",
    R"(
id: picks
states:
- id: answer
  type: eventXor
  timeout: P2D
  events:
  - {event: {type: yes, context: {order: 'jq(.n)'}}}
  - {event: {type: no, context: {order: '^o'}}}
)",
    R"(
id: timed
timeouts: {interrupt: P1D, kill: P2D}
workflowRunTimeout: P3D
workflowExecutionTimeout: P4D
states:
- {id: a, type: delay, duration: P9D}
)",
    R"(
id: again
retries: {max_attempts: 3, delay: PT20H, codes: ['*']}
states:
- {id: e, type: error, error: my.err, message: bad}
)",
    R"(
id: ships
functions: [{id: ship, type: knative-namespace, service: ship}]
states:
- id: send
  type: action
  action: {function: ship, input: {n: 'jq(.n)'}, scheduleToCloseTimeout: P1D}
)",
    R"(
id: shifts
states:
- {id: shift, type: noop, transform: {x: 1}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: shifted}}
)",
    R"(
id: parks
states:
- {id: think, type: noop, transform: 'jq(slow)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: kept}}
)",
};

/// A folder with a store that has rows of all kinds, made once.
class Rich {
 public:
  static Rich& instance() {
    static Rich only;
    return only;
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  /// The instance that was started first of that workflow.
  InstanceId id(const std::string& workflow) const { return ids_.at(workflow); }
  const std::set<std::string>& tables() const { return tables_; }

 private:
  Rich() {
    World world;
    world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
    world.receivers.answer = [](const Event&) {
      return DeliveryFailure{.error = {"webhook.status", "it answers 500"}};
    };
    world.must(CreateNamespace{
        .name = "shop",
        .settings = Json::parse(R"({"lifecycle": true, "webhooks": [{"url": "http://hook"}]})")});
    world.must(PutSecret{"default", "card", "4711"});
    for (const char* const definition : kDefinitions) world.apply(definition);
    world.apply(kDefinitions[0], "shop");
    for (const char* const workflow :
         {"waits", "both", "naps", "parent", "order", "posts", "tells", "keeps", "fails"}) {
      start(world, workflow, fmt::format("key of {}", workflow));
    }
    const std::string cancelled = world.start("waits")["id"];
    world.must(CancelInstance{"default", *parse_instance_id(cancelled)});
    const std::string paused = world.start("naps")["id"];
    world.must(PauseInstance{"default", *parse_instance_id(paused)});
    world.must(StartInstance{.space = "shop", .workflow = "waits", .input = Json::object()});
    // A second order waits for its next attempt, and a third one's call is done.
    world.start("order");
    world.functions.tell({world.functions.tasks().back().id,
                          TaskEnded{.result = tl::unexpected(WorkflowError{"down", "no"})}});
    world.settle();
    world.start("order");
    world.functions.answer(world.functions.tasks().back().id, {{"paid", true}});
    world.settle();
    for (const char* const workflow : {"picks", "timed", "again", "ships", "shifts"}) {
      start(world, workflow, "");
    }
    world.publish("one", "1", Json(1));
    world.publish("left", "2", Json(2), {{"key", std::string("k")}});
    world.settle();
    world.evaluator.hold();
    start(world, "parks", "");
    world.publish("kept", "3", Json(3));
    world.settle();
    for (const auto& [key, value] : world.rows()) tables_.insert(key.substr(0, key.find('/')));
    for (const Json& one : world.instances()) {
      if (one["workflow"] == "child")
        ids_.emplace("child", *parse_instance_id(one["id"].get<std::string>()));
    }
    const std::filesystem::path from = world.environment().folder();
    world.crash();  // which checks the store
    std::filesystem::copy(from, folder_.path(), std::filesystem::copy_options::recursive);
  }

  void start(World& world, const std::string& workflow, std::string key) {
    const std::string id = world.start(workflow, {{"n", 1}}, std::move(key))["id"];
    ids_.emplace(workflow, *parse_instance_id(id));
  }

  Folder folder_;
  std::map<std::string, InstanceId> ids_;
  std::set<std::string> tables_;
};

Codes codes_of(const StoreReport& report) {
  Codes codes;
  for (const auto& [code, count] : report.codes) codes.insert(code);
  return codes;
}

std::string lines_of(const StoreReport& report) {
  std::string lines;
  for (const StoreFinding& finding : report.findings) lines += to_string(finding) + "\n";
  return lines;
}

// What is planted.

constexpr auto kDefault = NamespaceNumber(1);
constexpr auto kShop = NamespaceNumber(2);

InstanceId id_of(const std::string& workflow) { return Rich::instance().id(workflow); }

std::string key_of(const InstanceId& id, Part part) {
  return rows::instance_prefix(kDefault, id) + static_cast<char>(part);
}
std::string call_key(const InstanceId& id, uint32_t index) {
  Writer key;
  key.raw(key_of(id, Part::kCall));
  key.u32(index);
  return key.take();
}

/// The first row of a table whose key begins so.
std::pair<std::string, std::string> first(const View& view, Table table,
                                          const std::string& prefix = "") {
  std::pair<std::string, std::string> row;
  view.scan(table, prefix, [&](std::string_view key, std::string_view value) {
    row = {std::string(key), std::string(value)};
    return false;
  });
  EXPECT_FALSE(row.first.empty()) << "the store has no row in " << table_name(table);
  return row;
}

/// Changes a record in its row, sealed or not.
template <class T, class Change>
void edit(Transaction& tx, Table table, const std::string& key,
          Result<T> (*decode)(std::string_view), std::string (*encode_it)(const T&),
          const Change& change) {
  const auto value = tx.get(table, key);
  ASSERT_TRUE(value) << table_name(table);
  const bool sealed = Seal::is_sealed(*value);
  auto record = rows::decode(tx, table, key, *value, decode);
  ASSERT_TRUE(record) << record.error().message;
  change(*record);
  rows::put(tx, table, key, encode_it(*record), sealed);
}

template <class Change>
void edit_head(Transaction& tx, const std::string& workflow, const Change& change) {
  edit(tx, Table::kLive, key_of(id_of(workflow), Part::kHead), decode_head, encode_head, change);
}
template <class Change>
void edit_call(Transaction& tx, const std::string& workflow, const Change& change) {
  edit(tx, Table::kLive, call_key(id_of(workflow), 0), decode_call, encode_call, change);
}

void erase_with_history(Transaction& tx, const Instance& instance) {
  erase_instance(tx, instance);
  PurgeBudget budget;
  ASSERT_EQ(purge_history(tx, instance.last_history, budget).value(), 0U);
}

uint64_t last_history(const View& view, const std::string& workflow) {
  return read_living(view, kDefault, id_of(workflow)).value()->last_history;
}
template <class Change>
void edit_history(Transaction& tx, const std::string& workflow, const Change& change) {
  edit<HistoryRow>(tx, Table::kHistory, rows::key_of(last_history(tx, workflow)), decode_history,
                   encode, change);
}

std::string workflow_key(const std::string& id) { return rows::space_prefix(kDefault).append(id); }
WorkflowNumber number_of(const View& view, const std::string& workflow) {
  return decode_workflow(*view.get(Table::kWorkflows, workflow_key(workflow)))->number;
}
std::string definition_key(const View& view, const std::string& workflow, uint32_t revision) {
  Writer key;
  key.raw(rows::workflow_prefix(number_of(view, workflow)));
  key.u32(revision);
  return key.take();
}

void drop_timer(Transaction& tx, const std::string& workflow, TimerKind kind) {
  edit_head(tx, workflow, [&](Instance& head) {
    std::erase_if(head.timers, [&](const Timer& timer) { return timer.kind == kind; });
  });
}

/// The task of the instance's first call.
template <class Change>
void edit_task(Transaction& tx, const std::string& workflow, const Change& change) {
  const auto call = read_living(tx, kDefault, id_of(workflow)).value()->calls.at(0);
  edit<StartTask>(tx, Table::kTasks, rows::key_of(call.id), decode_task, encode, change);
}

/// The first message that the broker has.
SentRecord::Message sent_message(const View& view) {
  return decode_sent(first(view, Table::kSent).second)->messages.at(0);
}
template <class Change>
void edit_sent(Transaction& tx, const Change& change) {
  edit<SentRecord>(tx, Table::kSent, first(tx, Table::kSent).first, decode_sent, encode, change);
}

/// Changes a message of the outbox.
template <class Change>
void edit_message(Transaction& tx, uint64_t number, const Change& change) {
  edit<OutboxRecord>(tx, Table::kOutbox, rows::key_of(number), decode_outbox, encode, change);
}
/// Adds one; returns its number.
uint64_t add_message(Transaction& tx, const OutboxRecord& record) {
  const uint64_t number = *read_counter(tx, Counter::kOutbox) + 1;
  write_counter(tx, Counter::kOutbox, number);
  write_outbox(tx, number, record);
  return number;
}

/// Damage, and the codes under which it is found.
struct Plant {
  const char* name;
  Codes codes;
  void (*damage)(Transaction& tx);
};

constexpr InstanceId kNobody{{9, 9, 9}};

const Plant kPlants[] = {
    {"a format of 0",
     {"store.format"},
     [](Transaction& tx) { tx.put(Table::kMeta, "format", rows::key_of(uint64_t{0})); }},
    {"a format that had no tasks and no webhooks, with rows of both",
     {"row.value"},
     [](Transaction& tx) { tx.put(Table::kMeta, "format", rows::key_of(uint64_t{4})); }},
    {"a key of three bytes",
     {"row.key"},
     [](Transaction& tx) { tx.put(Table::kOutbox, "abc", "x"); }},
    {"an instance's part that does not exist",
     {"row.key"},
     [](Transaction& tx) {
       tx.put(Table::kLive, rows::instance_prefix(kDefault, id_of("naps")) + "\x07", "x");
     }},
    {"a row in a tree that is not used",
     {"row.key"},
     [](Transaction& tx) { tx.put(Table::kDeadLetters, "k", "x"); }},
    {"a byte behind a record",
     {"row.record"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kSchedules);
       tx.put(Table::kSchedules, key, value + "x");
     }},
    {"a head of a status that does not exist",
     {"row.record"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.status = static_cast<InstanceStatus>(50); });
     }},
    {"a dedupe row that was cut",
     {"row.record"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kDedupe);
       tx.put(Table::kDedupe, key, value.substr(1));
     }},
    {"a sealed row with another byte",
     {"row.seal"},
     [](Transaction& tx) {
       auto [key, value] = first(tx, Table::kSecrets);
       value.back() = static_cast<char>(value.back() ^ 1);
       tx.put(Table::kSecrets, key, value);
     }},
    {"a secret that is not sealed",
     {"row.plain"},
     [](Transaction& tx) { tx.put(Table::kSecrets, first(tx, Table::kSecrets).first, "4711"); }},
    {"an input that is not JSON",
     {"row.json"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("naps"), Part::kInput), "{"); }},
    {"a delayed event that is none",
     {"row.event"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.event = "{}"; });
     }},
    {"a webhook's event without an attempt",
     {"row.value"},
     [](Transaction& tx) {
       edit<HookRecord>(tx, Table::kHooks, first(tx, Table::kHooks).first, decode_hook, encode,
                        [](HookRecord& record) { record.attempt = 0; });
     }},
    {"a schedule that counts from next year",
     {"row.time"},
     [](Transaction& tx) {
       edit<ScheduleRecord>(tx, Table::kSchedules, first(tx, Table::kSchedules).first,
                            decode_schedule, encode,
                            [](ScheduleRecord& record) { record.from += hours(9'000); });
     }},
    {"a purge of a kind that does not exist",
     {"row.key"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind(3), 1, {}});
     }},
    {"a purge of a namespace that exists",
     {"row.value"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.space = "shop"}});
     }},
    {"a purge up to an event that is yet to come",
     {"counter.behind", "purge.target"},
     [](Transaction& tx) {
       const auto pairs = static_cast<uint64_t>(number_of(tx, "pairs"));
       write_purge(tx, {Purge::Kind::kGroups, pairs, {.space = "default", .up_to = 99}});
     }},
    {"a deleted workflow of the number of another one",
     {"number.twice"},
     [](Transaction& tx) { write_retired(tx, number_of(tx, "naps"), kDefault); }},
    {"a deleted workflow of no namespace",
     {"row.record"},
     [](Transaction& tx) {
       tx.put(Table::kMeta, "retired/" + rows::workflow_prefix(WorkflowNumber(1)), "x");
     }},
    {"an unknown key of meta",
     {"meta.unknown"},
     [](Transaction& tx) { tx.put(Table::kMeta, "counter/z", rows::key_of(uint64_t{1})); }},
    {"an id of the store that was cut",
     {"row.record"},
     [](Transaction& tx) { tx.put(Table::kMeta, "store", "\1cut"); }},
    {"no row by which the key is known",
     {"meta.missing"},
     [](Transaction& tx) { tx.erase(Table::kMeta, "seal"); }},
    {"no time", {"meta.missing"}, [](Transaction& tx) { tx.erase(Table::kMeta, "time"); }},
    {"a counter that was set back",
     {"counter.behind"},
     [](Transaction& tx) { write_counter(tx, Counter::kHistory, 1); }},
    {"a counter that has no number left to give",
     {"row.value"},
     [](Transaction& tx) { write_counter(tx, Counter::kHistory, kMostNumber); }},
    {"acknowledgements under a number that no row can have",
     {"row.key"},
     [](Transaction& tx) {
       tx.put(Table::kSent, rows::key_of(kMostNumber + 1), first(tx, Table::kSent).second);
     }},
    {"fingerprints of a time behind the year 9999, in a store without a time",
     {"meta.missing", "row.time"},
     [](Transaction& tx) {
       tx.erase(Table::kMeta, "time");
       tx.put(Table::kDedupe, rows::key_of(uint64_t{1} << 62).append(rows::key_of(uint64_t{1})),
              first(tx, Table::kDedupe).second);
     }},
    {"a head whose end is not that of its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) { *head.ended_at -= Duration(1); });
     }},
    {"a head whose status is not that with which its history ends",
     {"instance.status"},
     [](Transaction& tx) {
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) { head.status = InstanceStatus::kCancelled; });
     }},
    {"a head whose start is not that of its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "both", [](Instance& head) {
         head.started_at -= Duration(1);
         head.execution_from -= Duration(1);
       });
     }},
    {"an idempotency key that is not UTF-8",
     {"row.key"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kIdempotency);
       tx.put(Table::kIdempotency, key + '\xff', value);
     }},
    {"a URL of a webhook that is not UTF-8",
     {"row.value"},
     [](Transaction& tx) {
       edit<HookRecord>(tx, Table::kHooks, first(tx, Table::kHooks).first, decode_hook, encode,
                        [](HookRecord& record) { record.url += '\xff'; });
     }},
    {"two namespaces of one number",
     {"number.twice"},
     [](Transaction& tx) { write_namespace(tx, "twin", {.number = kShop}); }},
    {"a namespace that was deleted alone: its workflows, instances and webhooks are left",
     {"namespace.missing"},
     [](Transaction& tx) { tx.erase(Table::kNamespaces, "shop"); }},
    {"a task of a deleted namespace",
     {"namespace.missing"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kNamespace, 3);
       write_task(tx, {.space = NamespaceNumber(3), .task = kNobody, .by = kNobody});
     }},
    {"an instance that has ended in a deleted namespace",
     {"namespace.missing", "workflow.missing"},
     [](Transaction& tx) {
       const InstanceId id = id_of("fails");
       const auto instance = read_instance(tx, kDefault, id).value();
       erase_with_history(tx, *instance);
       tx.erase(Table::kWorkflows, workflow_key("fails"));
       Instance moved = *instance;
       moved.space = NamespaceNumber(3);
       moved.history_count = 2;
       moved.idempotency_key.clear();
       moved.failed_data.reset();
       write_counter(tx, Counter::kNamespace, 3);
       const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
       write_counter(tx, Counter::kHistory, number);
       moved.last_history = number;
       write_history(
           tx, number,
           {.space = moved.space,
            .instance = id,
            .records = {{.time = moved.started_at, .kind = HistoryKind::kStarted},
                        {.time = moved.started_at, .kind = HistoryKind::kEnded, .state = "a"}}});
       write_instance(tx, moved, {.input = true, .data = true});
     }},
    {"no namespace `default`",
     {"namespace.missing"},
     [](Transaction& tx) { tx.erase(Table::kNamespaces, "default"); }},
    {"settings that cannot be read",
     {"namespace.settings"},
     [](Transaction& tx) {
       write_namespace(tx, "shop", {.number = kShop, .settings = R"({"paused": 7})"});
     }},
    {"a workflow without its row",
     {"workflow.missing"},
     [](Transaction& tx) { tx.erase(Table::kWorkflows, workflow_key("naps")); }},
    {"a definition that is gone",
     {"definition.missing"},
     [](Transaction& tx) { tx.erase(Table::kDefinitions, definition_key(tx, "child", 1)); }},
    {"a revision behind the newest",
     {"definition.unknown"},
     [](Transaction& tx) {
       tx.put(Table::kDefinitions, definition_key(tx, "naps", 2),
              std::string(*tx.get(Table::kDefinitions, definition_key(tx, "naps", 1))));
     }},
    {"a definition that does not load",
     {"definition.unloadable"},
     [](Transaction& tx) {
       write_definition(tx, {number_of(tx, "naps"), 1}, {.text = "nonsense"});
     }},
    {"a definition of another id",
     {"definition.unloadable"},
     [](Transaction& tx) {
       write_definition(tx, {number_of(tx, "fails"), 1},
                        {.text = "id: other\nstates:\n- {id: a, type: noop}\n"});
     }},
    {"a variable of an instance that does not exist",
     {"instance.missing"},
     [](Transaction& tx) {
       const VariableOwner owner{
           .scope = VariableScope::kInstance, .space = kDefault, .instance = kNobody};
       write_variable(tx, {owner, "v"}, {"text/plain", "x"});
     }},
    {
        "an instance without a head",
        {"instance.no_head"},
        [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("both"), Part::kHead)); },
    },
    {"a head of another instance",
     {"instance.key"},
     [](Transaction& tx) { edit_head(tx, "both", [](Instance& head) { head.id = kNobody; }); }},
    {"an instance that lives and has ended",
     {"instance.twice", "history.order"},
     [](Transaction& tx) {
       edit_head(tx, "both", [&](Instance head) {
         head.status = InstanceStatus::kComplete;
         head.phase = Phase::kEnded;
         head.ended_at = head.started_at;
         head.listeners.clear();
         const auto whole = read_instance(tx, kDefault, head.id).value();
         head.input = whole->input;
         head.data = whole->data;
         tx.put(Table::kEnded, key_of(head.id, Part::kHead), encode_head(head));
         tx.put(Table::kEnded, key_of(head.id, Part::kInput), head.input.text());
       });
     }},
    {"an instance that is paused and waits",
     {"instance.status"},
     [](Transaction& tx) { edit_head(tx, "both", [](Instance& head) { head.paused = true; }); }},
    {"an ended instance with a timer",
     {"instance.status"},
     [](Transaction& tx) {
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) {
              head.timers = {{TimerKind::kKill, head.started_at}};
            });
     }},
    {"a state that its workflow does not have",
     {"instance.state"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.state = 7; }); }},
    {"a record of a state that does not exist",
     {"instance.state"},
     [](Transaction& tx) {
       edit_history(tx, "naps", [](HistoryRow& row) { row.records.back().state = "nowhere"; });
     }},
    {"a failed state without the data that its head tells of",
     {"instance.parts"},
     [](Transaction& tx) {
       tx.erase(Table::kEnded, key_of(id_of("fails"), Part::kFailedData));
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) { head.failed_data = LazyJson(Json::object()); });
     }},
    {"data of a failed state that its head does not tell of",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("both"), Part::kFailedData), "{}"); }},
    {"an instance without its input",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("naps"), Part::kInput)); }},
    {"a call that is missing",
     {"instance.parts", "instance.caller"},
     [](Transaction& tx) { tx.erase(Table::kLive, call_key(id_of("parent"), 1)); }},
    {"an ended instance whose data is nowhere",
     {"instance.parts"},
     [](Transaction& tx) {
       const std::string key = key_of(id_of("keeps"), Part::kData);
       edit<HistoryRow>(
           tx, Table::kHistory,
           rows::key_of(read_instance(tx, kDefault, id_of("keeps")).value()->last_history),
           decode_history, encode, [](HistoryRow& row) {
             row.with_input.clear();
             for (HistoryRecord& record : row.records) record.data.reset();
           });
       tx.put(Table::kEnded, key, "");
     }},
    {"a delay without its timer",
     {"instance.stuck"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.timers.clear(); }); }},
    {"two timers of one kind",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.timers.push_back(head.timers.front()); });
     }},
    {"a call's deadline without a timer",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_call(tx, "parent", [](Call& call) { call.deadlines[0] = *call.first_at; });
     }},
    {"a listener for an event of another type",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.listeners[0].filter.type = "other"; });
     }},
    {"a listener for an event that has come",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "both", [](Instance& head) {
         head.listeners.push_back(head.listeners.front());
         head.listeners.back().entry = 0;
       });
     }},
    {"a sealed row of an instance that is not",
     {"idempotency.instance", "instance.seal"},
     [](Transaction& tx) {
       rows::put(tx, Table::kLive, key_of(id_of("naps"), Part::kInput), "{}", true);
     }},
    {"an idempotency key that is forgotten",
     {"instance.idempotency"},
     [](Transaction& tx) {
       tx.erase(Table::kIdempotency,
                rows::workflow_prefix(number_of(tx, "naps")).append("key of naps"));
     }},
    {"a child of another attempt",
     {"instance.caller", "call.child"},
     [](Transaction& tx) {
       edit_head(tx, "child", [](Instance& head) { ++head.caller->attempt; });
     }},
    {"a call that runs and waits for its next attempt",
     {"call.state"},
     [](Transaction& tx) {
       edit_call(tx, "parent", [](Call& call) { call.retry_at = call.first_at; });
     }},
    {"a task that is gone",
     {"call.task"},
     [](Transaction& tx) {
       const InstanceId task = read_living(tx, kDefault, id_of("order")).value()->calls.front().id;
       erase_task(tx, task);
     }},
    {"a child that is gone",
     {"call.child"},
     [](Transaction& tx) {
       const auto child = read_living(tx, kDefault, id_of("child")).value();
       for (const Part part : {Part::kHead, Part::kInput, Part::kData}) {
         tx.erase(Table::kLive, key_of(child->id, part));
       }
       erase_with_history(tx, *child);
     }},
    {"a task that nothing waits for",
     {"task.caller"},
     [](Transaction& tx) {
       const InstanceId id = read_living(tx, kDefault, id_of("order")).value()->calls.front().id;
       StartTask task = *read_task(tx, id).value();
       task.task = kNobody;
       write_task(tx, task);
     }},
    {"an errand that starts a child which lives",
     {"errand.twice"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kInbox, 1);
       write_inbox(tx, 1,
                   {.errand = StartChild{.space = kDefault,
                                         .child = id_of("child"),
                                         .workflow = "child",
                                         .by = id_of("parent")}});
     }},
    {"a history row that is gone",
     {"history.missing"},
     [](Transaction& tx) { tx.erase(Table::kHistory, rows::key_of(last_history(tx, "naps"))); }},
    {"a history row of another instance",
     {"history.owner"},
     [](Transaction& tx) {
       edit_history(tx, "naps", [](HistoryRow& row) { row.instance = kNobody; });
     }},
    {"a history that goes back in time",
     {"history.order"},
     [](Transaction& tx) {
       edit_history(tx, "naps", [](HistoryRow& row) {
         row.records.back().time = row.records.front().time - hours(1);
       });
     }},
    {"a history that runs in a circle",
     {"history.order"},
     [](Transaction& tx) {
       const uint64_t number = last_history(tx, "naps");
       edit<HistoryRow>(tx, Table::kHistory, rows::key_of(number), decode_history, encode,
                        [&](HistoryRow& row) { row.previous = number; });
     }},
    {"a head that counts one record too many",
     {"history.count"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { ++head.history_count; }); }},
    {"a history row of an instance that does not exist",
     {"history.orphan"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
       write_counter(tx, Counter::kHistory, number);
       write_history(tx, number, {.space = kDefault, .instance = kNobody});
     }},
    {"a group that counts one event too many",
     {"group.counts"},
     [](Transaction& tx) {
       tx.put(Table::kGroups, first(tx, Table::kGroups, "\x01").first, encode_counts({2, 0}));
     }},
    {"a waiting event that its number does not find",
     {"group.event"},
     [](Transaction& tx) { tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x03").first); }},
    {"a waiting event that is gone",
     {"group.number", "group.counts"},
     [](Transaction& tx) { tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x02").first); }},
    {"a schedule without its row",
     {"schedule.missing"},
     [](Transaction& tx) { tx.erase(Table::kSchedules, first(tx, Table::kSchedules).first); }},
    {"a schedule of a workflow that has none",
     {"schedule.unknown"},
     [](Transaction& tx) {
       write_schedule(tx, number_of(tx, "naps"), {.from = read_engine_time(tx).value()});
     }},
    {"a message that was sent and is not in the outbox",
     {"sent.message"},
     [](Transaction& tx) {
       const auto sent = decode_sent(first(tx, Table::kSent).second).value();
       erase_outbox(tx, sent.messages.front().number);
     }},
    {"a message that was sent twice",
     {"sent.message"},
     [](Transaction& tx) {
       write_sent(tx, 1'000, decode_sent(first(tx, Table::kSent).second).value());
     }},
    {"a kept event under another type",
     {"recent.place"},
     [](Transaction& tx) {
       auto [key, value] = first(tx, Table::kRecent);
       tx.erase(Table::kRecent, key);
       key[4] = static_cast<char>(key[4] ^ 1);
       tx.put(Table::kRecent, key, value);
     }},
    {"a fan-out of an event that is not kept",
     {"fanout.event"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kRecent, 100);
       write_fan_out(tx, 100);
     }},
    {"an idempotency key of an instance that does not exist",
     {"idempotency.instance"},
     [](Transaction& tx) {
       write_idempotency(tx, number_of(tx, "naps"), "another", {.instance = kNobody});
     }},

    // What a waiting instance waits for.
    {"a waiting eventAnd without its slots",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("both"), Part::kSlots)); }},
    {"a listener of an entry that its state does not have",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners[0].entry = 7; });
     }},
    {"two listeners with each other's entry",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) {
         std::swap(head.listeners[0].entry, head.listeners[1].entry);
       });
     }},
    {"an eventXor that listens for one event less",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners.pop_back(); });
     }},
    {"an eventXor that listens for one event twice",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners.push_back(head.listeners.front()); });
     }},
    {"a listener that compares no attribute",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners[0].filter.predicates.clear(); });
     }},
    {"a listener that compares an attribute with another text",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners[0].filter.predicates[0].text = "2"; });
     }},
    {"a listener with a pattern that is not a regular expression",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners[1].filter.predicates[0].text = "("; });
     }},
    {"no timer of the state's timeout",
     {"instance.timers"},
     [](Transaction& tx) { edit_head(tx, "waits", [](Instance& head) { head.timers.clear(); }); }},
    {"a state timeout that is over before it began",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.timers[0].deadline = from_millis(-1); });
     }},
    {"no timer of the interrupt",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kInterrupt); }},
    {"no timer of the kill",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kKill); }},
    {"no timer of the run",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kRun); }},
    {"no timer of the execution",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kExecution); }},
    {"a timer of the kill in the year 5138",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "timed", [](Instance& head) {
         for (Timer& timer : head.timers) {
           if (timer.kind == TimerKind::kKill) timer.deadline = from_millis(99'999'999'999'999);
         }
       });
     }},
    {"a timer that the definition does not have",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) {
         head.timers.push_back({TimerKind::kKill, head.started_at + hours(1)});
       });
     }},
    {"a delay that is over at once",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.timers[0].deadline = head.started_at; });
     }},
    {"a delay that is over in the year 5138",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps",
                 [](Instance& head) { head.timers[0].deadline = from_millis(99'999'999'999'999); });
     }},
    {"a retry at another time than the history tells",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "again", [](Instance& head) { head.timers[0].deadline += hours(1); });
     }},
    {"a wait for the next run without its flag",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "again", [](Instance& head) { head.awaits_run = false; });
     }},
    {"data that is found where no state is left",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("naps"), Part::kFoundData), "{}"); }},
    {"an instance without its data",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("shifts"), Part::kData)); }},
    {"an instance with other data than it entered its state with",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("shifts"), Part::kData), "{}"); }},
    {"a part that is not sealed, of an instance that is",
     {"instance.seal"},
     [](Transaction& tx) {
       const std::string head = key_of(id_of("naps"), Part::kHead);
       const std::string row = rows::key_of(last_history(tx, "naps"));
       rows::put(tx, Table::kHistory, row, std::string(*tx.get(Table::kHistory, row)), true);
       rows::put(tx, Table::kLive, head, std::string(*tx.get(Table::kLive, head)), true);
     }},

    // Numbers and names of a head.
    {"a way out that no state has",
     {"instance.state"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.exit = 99; }); }},
    {"a state that failed and does not exist",
     {"instance.state"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.failed_state = "nowhere"; });
     }},
    {"a flag of `on_failure` in a workflow without it",
     {"instance.status"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.failing = true; }); }},
    {"a policy that counts from a later run",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.first_run = 9; }); }},
    {"a run of which the history tells nothing",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.run = 5; }); }},
    {"more transitions than steps",
     {"row.value"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.transitions = 1'000; });
     }},
    {"a second state without a transition",
     {"row.value"},
     [](Transaction& tx) {
       edit_head(tx, "shifts", [](Instance& head) { head.transitions = 0; });
     }},
    {"an execution that begins next year",
     {"row.time"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.execution_from += hours(9'000); });
     }},

    // Calls and tasks.
    {"a task of another state",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.state = "elsewhere"; });
     }},
    {"a task of another service",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.runs = NamedService{"sheep"}; });
     }},
    {"a task with another input",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.input = Json{{"n", 9}}; });
     }},
    {"a call without its deadlines",
     {"call.state"},
     [](Transaction& tx) { edit_call(tx, "ships", [](Call& call) { call.deadlines = {}; }); }},

    // Meta.
    {"a purge of the history of an instance that exists",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kHistory, last_history(tx, "naps"), {}});
     }},
    {"a purge of a history row that is not there",
     {"purge.target"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
       write_counter(tx, Counter::kHistory, number);
       write_purge(tx, {Purge::Kind::kHistory, number, {}});
     }},
    {"a purge of the groups that a workflow has",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kGroups,
                        static_cast<uint64_t>(number_of(tx, "pairs")),
                        {.space = "default", .workflow = "pairs", .up_to = 1}});
     }},
    {"a purge of groups under another name",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kGroups,
                        static_cast<uint64_t>(number_of(tx, "naps")),
                        {.space = "default", .workflow = "pairs", .up_to = 1}});
     }},
    {"a counter from which there is no next number",
     {"row.value"},
     [](Transaction& tx) { write_counter(tx, Counter::kHistory, UINT64_MAX); }},
    {"a counter of workflows that has more than 32 bits",
     {"row.value"},
     [](Transaction& tx) { write_counter(tx, Counter::kWorkflow, uint64_t{1} << 32); }},
    {"a time behind the year 9999",
     {"row.value"},
     [](Transaction& tx) { tx.put(Table::kMeta, "time", rows::key_of(uint64_t{1} << 60)); }},
    {"no cursor in a store that has taken events",
     {"meta.missing"},
     [](Transaction& tx) { tx.erase(Table::kMeta, "cursor"); }},
    {"a cursor at an event of the far future",
     {"row.time"},
     [](Transaction& tx) {
       Cursor cursor = *read_cursor(tx);
       cursor.stamped = from_millis(int64_t{1} << 47);
       write_cursor(tx, cursor);
     }},
    {"a definition of a workflow that was never deleted and does not exist",
     {"workflow.missing"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kWorkflow) + 1;
       write_counter(tx, Counter::kWorkflow, number);
       write_definition(tx, {WorkflowNumber(static_cast<uint32_t>(number)), 1},
                        {.created_at = *read_engine_time(tx), .text = kDefinitions[2]});
     }},

    // Messages.
    {"a message to a subject that is not millrace's",
     {"row.value"},
     [](Transaction& tx) {
       add_message(tx, {.message = {.subject = "orders.new", .headers = {{"Nats-Msg-Id", "1"}}}});
     }},
    {"an event under the id of another one",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         record.message.headers.back().second = std::string(32, '0');
       });
     }},
    {"an event under the subject of another type",
     {"row.value", "sent.message"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number,
                    [](OutboxRecord& record) { record.message.subject += ".more"; });
     }},
    {"a sent message without a sequence",
     {"row.value"},
     [](Transaction& tx) {
       edit_sent(tx, [](SentRecord& record) { record.messages[0].sequence = 0; });
     }},
    {"a sent message of another size",
     {"sent.message"},
     [](Transaction& tx) {
       edit_sent(tx, [](SentRecord& record) { record.messages[0].bytes += 1; });
     }},
    {"a sent message that is not an event",
     {"sent.message"},
     [](Transaction& tx) {
       const OutboxRecord letter{.message = {.subject = "millrace.dlq.default.x",
                                             .headers = {{"Nats-Msg-Id", "dlq-1-1-1"}}}};
       const uint64_t number = add_message(tx, letter);
       edit_sent(tx, [&](SentRecord& record) {
         record.messages.push_back(
             {.number = number, .sequence = 99, .bytes = letter.message.subject.size()});
       });
     }},
    {"messages that were sent before those that were sent before them",
     {"row.value"},
     [](Transaction& tx) {
       SentRecord record = decode_sent(first(tx, Table::kSent).second).value();
       record.at -= hours(1);
       const auto message = *read_outbox(tx, record.messages[0].number).value();
       const uint64_t number = add_message(tx, message);
       record.messages = {record.messages[0]};
       record.messages[0].number = number;
       write_sent(tx, 1'000'000, record);
     }},
    {"a delayed event of another namespace than its instance",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.space = kShop; });
     }},
    {"a delayed event of another instance than its own",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.instance = kNobody; });
     }},
    {"a webhook's event of another namespace",
     {"row.value"},
     [](Transaction& tx) {
       edit<HookRecord>(tx, Table::kHooks, first(tx, Table::kHooks).first, decode_hook, encode,
                        [](HookRecord& record) { record.space = kDefault; });
     }},
    {"a webhook's event for what is not a URL of HTTP",
     {"row.value"},
     [](Transaction& tx) {
       edit<HookRecord>(tx, Table::kHooks, first(tx, Table::kHooks).first, decode_hook, encode,
                        [](HookRecord& record) { record.url = "gopher://hook"; });
     }},
    {"an idempotency key with the fingerprint of another input",
     {"idempotency.instance"},
     [](Transaction& tx) {
       write_idempotency(tx, number_of(tx, "naps"), "key of naps",
                         {.instance = id_of("naps"), .input = {1}});
     }},
    {"a waiting event that waits for ever",
     {"group.event"},
     [](Transaction& tx) {
       edit<GroupedRecord>(tx, Table::kGroups, first(tx, Table::kGroups, "\x02").first,
                           decode_grouped, encode,
                           [](GroupedRecord& record) { record.expires.reset(); });
     }},
    {"a fingerprint under no sequence",
     {"row.key"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kDedupe);
       tx.put(Table::kDedupe, key.substr(0, 8) + rows::key_of(uint64_t{0}), value);
     }},
};

TEST(StoreCheck, FindsEachDamageUnderItsCode) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false});
  ASSERT_TRUE(environment) << environment.error().message;
  Transaction tx(**environment);
  for (const Plant& plant : kPlants) {
    SCOPED_TRACE(plant.name);
    plant.damage(tx);
    const auto report = check_store(tx, test_check_options());  // a transaction is a view
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(codes_of(*report), plant.codes) << lines_of(*report);
    for (const StoreFinding& finding : report->findings) {
      EXPECT_FALSE(finding.found.empty() || finding.key.empty()) << to_string(finding);
    }
    tx.drop();
  }
}

/// What a deletion leaves behind until all of it is erased.
const Plant kLegal[] = {
    {"a deleted namespace of which nothing is erased yet",
     {},
     [](Transaction& tx) {
       tx.erase(Table::kNamespaces, "shop");
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.space = "shop"}});
     }},
    {"a deleted namespace of which some is erased",
     {},
     [](Transaction& tx) {
       tx.erase(Table::kNamespaces, "shop");
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.space = "shop"}});
       const auto [key, row] = first(tx, Table::kWorkflows, rows::space_prefix(kShop));
       PurgeBudget budget;
       ASSERT_TRUE(purge_workflow(tx, decode_workflow(row)->number, budget));
       tx.erase(Table::kLive, first(tx, Table::kLive, rows::space_prefix(kShop)).first);
     }},
    {"a deleted namespace with a workflow that was deleted before",
     {},
     [](Transaction& tx) {
       const auto [key, row] = first(tx, Table::kWorkflows, rows::space_prefix(kShop));
       tx.erase(Table::kWorkflows, key);
       tx.erase(Table::kNamespaces, "shop");
       write_retired(tx, decode_workflow(row)->number, kShop);
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.space = "shop"}});
     }},
    {"the history of a deleted instance",
     {},
     [](Transaction& tx) {
       const auto instance = read_instance(tx, kDefault, id_of("fails")).value();
       erase_instance(tx, *instance);
       write_purge(tx, {Purge::Kind::kHistory, instance->last_history, {}});
     }},
    {"a group of a deleted workflow",
     {},
     [](Transaction& tx) {
       const WorkflowNumber pairs = number_of(tx, "pairs");
       tx.erase(Table::kWorkflows, workflow_key("pairs"));
       write_retired(tx, pairs, kDefault);
       write_purge(tx, {Purge::Kind::kGroups, static_cast<uint64_t>(pairs), {.up_to = 1}});
     }},
    {"a group of which some is closed, of a start that has changed",
     {},
     [](Transaction& tx) {
       const WorkflowNumber pairs = number_of(tx, "pairs");
       edit<WorkflowRecord>(tx, Table::kWorkflows, workflow_key("pairs"), decode_workflow, encode,
                            [](WorkflowRecord& record) { record.groups_from = record.latest; });
       write_purge(tx, {Purge::Kind::kGroups,
                        static_cast<uint64_t>(pairs),
                        {.space = "default", .workflow = "pairs", .up_to = 1}});
       tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x01").first);
     }},
};

TEST(StoreCheck, TakesWhatADeletionHasYetToErase) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (const Plant& legal : kLegal) {
    SCOPED_TRACE(legal.name);
    legal.damage(tx);
    const auto report = check_store(tx, test_check_options());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->sound()) << lines_of(*report);
    tx.drop();
  }
}

TEST(StoreCheck, TakesGroupsOfALaterRevision) {
  World world;
  const std::string pairs = kPairs;
  world.apply(pairs);
  world.publish("left", "1", Json(1), {{"key", std::string("k")}});
  world.settle();
  std::string changed = pairs;
  changed.replace(changed.find("right"), 5, "other");
  world.apply(changed);
  world.publish("left", "2", Json(2), {{"key", std::string("k")}});
  world.settle();
  const auto view = Snapshot::take(world.environment()).value();
  EXPECT_EQ(read_workflow(view, kDefault, "pairs").value()->groups_from, 2U);
}  // whose end checks the store

// Whole folders.

class StoreFolder : public testing::Test {
 protected:
  StoreFolder() {
    std::filesystem::copy(Rich::instance().folder(), folder.path(),
                          std::filesystem::copy_options::recursive);
  }

  Result<StoreReport> check(const std::filesystem::path& key_file = {}) const {
    return check_folder(folder.path(), key_file, test_check_options());
  }
  Codes codes(const std::filesystem::path& key_file = {}) const {
    const auto report = check(key_file);
    EXPECT_TRUE(report) << report.error().message;
    return report ? codes_of(*report) : Codes();
  }
  std::string bytes(const char* file) const {
    std::ifstream in(folder.path() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const char* file, const std::string& text) const {
    std::ofstream(folder.path() / file, std::ios::binary) << text;
  }

  Folder folder;
};

TEST_F(StoreFolder, OfAllKindsOfRowsIsSound) {
  for (const char* const table :
       {"meta", "namespaces", "workflows", "definitions", "live", "ended", "history", "groups",
        "delayed", "outbox", "sent", "dedupe", "recent", "idempotency", "variables", "secrets",
        "schedules", "tasks", "hooks"}) {
    EXPECT_TRUE(Rich::instance().tables().contains(table)) << "there is no row in " << table;
  }
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->sound()) << lines_of(*report);
  EXPECT_EQ(report->unreadable, 0U);
  EXPECT_GT(report->rows.at("history"), 10U);
}

TEST_F(StoreFolder, IsNotChangedByACheck) {
  constexpr const char* kFiles[] = {"data.mdb",  "lock.mdb", "journal-0",
                                    "journal-1", "in-hand",  "secret-key"};
  std::map<std::string, std::string> before;
  for (const char* const file : kFiles) before[file] = bytes(file);
  ASSERT_FALSE(before["journal-0"].empty());
  EXPECT_THAT(codes(), IsEmpty());
  for (const char* const file : kFiles) EXPECT_EQ(bytes(file) == before[file], true) << file;
}

TEST_F(StoreFolder, WithoutItsKeyIsCheckedAsFarAsItCanBeRead) {
  std::filesystem::remove(folder.path() / "secret-key");
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->sound()) << lines_of(*report);
  EXPECT_GE(report->unreadable, 3U);  // the secret, and two sealed calls at least
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "secret-key")) << "no key is made";
}

TEST_F(StoreFolder, WithAnotherKeyIsAFinding) {
  write("other-key", std::string(64, 'b'));
  EXPECT_EQ(codes(folder.path() / "other-key"), Codes{"store.key"});
}

TEST_F(StoreFolder, ThatWasCutShortIsAFinding) {
  std::filesystem::resize_file(folder.path() / "data.mdb", 8192);
  EXPECT_EQ(codes(), Codes{"store.damaged"});
}

TEST_F(StoreFolder, WhoseDataFileWasEmptiedIsAFinding) {
  {
    const auto environment = Environment::open(folder.path());
    ASSERT_TRUE(environment);
    Transaction tx(**environment);
    for (int i = 0; i < 3; ++i) {  // both journals begin anew
      tx.put(Table::kMeta, "key", "value");
      ASSERT_TRUE(tx.commit());
      ASSERT_TRUE((*environment)->checkpoint());
    }
  }
  std::filesystem::resize_file(folder.path() / "data.mdb", 0);
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(codes_of(*report), Codes{"store.damaged"});
  EXPECT_THAT(lines_of(*report), HasSubstr("data.mdb was emptied, removed or replaced"));
}

TEST_F(StoreFolder, WhoseJournalIsDamagedIsAFinding) {
  for (const char* const file : {"journal-0", "journal-1"}) {  // one of them is in use
    std::string journal = bytes(file);
    for (size_t at = 4096; at < std::min<size_t>(journal.size(), 4200); ++at) journal[at] = '!';
    write(file, journal);
  }
  EXPECT_EQ(codes(), Codes{"store.damaged"});
}

TEST_F(StoreFolder, WhoseNoteIsRubbishIsAFinding) {
  write("in-hand", "inputs and outputs");
  EXPECT_EQ(codes(), Codes{"note.damaged"});
}

TEST_F(StoreFolder, WithANoteOfABatchInHandIsSound) {
  std::string note = "inputs 3 deaths 1 event 17 crashed";
  note.resize(127, ' ');
  write("in-hand", note + "\n");
  EXPECT_EQ(codes(), Codes{"note.damaged"}) << "`crashed` stands at the end of the line";
  note = "inputs 3 deaths 1 event 17";
  note.resize(120, ' ');
  write("in-hand", note + "crashed\n");
  EXPECT_THAT(codes(), IsEmpty());
}

TEST_F(StoreFolder, ThatIsInUseIsRefused) {
  const auto open = Environment::open(folder.path(), {.checkpoints_at_close = false});
  ASSERT_TRUE(open);
  const auto report = check();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.locked");
}

TEST_F(StoreFolder, OfANewerFormatIsRefused) {
  {
    const auto open = Environment::open(folder.path(), {.checkpoints_at_close = false}).value();
    Transaction tx(*open);
    tx.put(Table::kMeta, "format", rows::key_of(kStoreFormat + 1));
    ASSERT_TRUE(tx.commit());
  }
  const auto report = check();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.version");
}

TEST(EmptyFolder, IsRefused) {
  const Folder folder;
  const auto report = check_folder(folder.path(), {}, test_check_options());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.not_found");
  EXPECT_THAT(report.error().message, HasSubstr("data.mdb"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is made";
}

// The report.

TEST(StoreCheck, EachCodeIsPlantedByATest) {
  Codes planted = {"store.damaged", "store.key", "note.damaged", "tree.missing"};  // as folders
  for (const Plant& plant : kPlants) planted.insert(plant.codes.begin(), plant.codes.end());
  for (const StoreFaultKind& kind : fault_kinds()) {
    EXPECT_TRUE(planted.contains(std::string(kind.code))) << kind.code;
  }
}

TEST(StoreCheck, EachCodeIsInTheDocument) {
  std::ifstream file("docs/store-check.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const StoreFaultKind& kind : fault_kinds()) {
    EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` |", kind.code)));
  }
}

TEST(StoreCheck, KeepsSoManyFindingsAndCountsTheOthers) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (char c = 'a'; c <= 'z'; ++c) tx.put(Table::kOutbox, std::string(3, c), "x");
  StoreCheckOptions options = test_check_options();
  options.most_findings = 5;
  const StoreReport report = check_store(tx, options).value();
  EXPECT_EQ(report.findings.size(), 5U);
  EXPECT_EQ(report.count(), 26U);
  EXPECT_EQ(to_json(report)["codes"], (Json{{"row.key", 26}}));
}

TEST(StoreCheck, TellsWhereWhatAndWhatToDo) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  edit_head(tx, "naps", [](Instance& head) { head.timers.clear(); });
  const StoreReport report = check_store(tx, test_check_options()).value();
  ASSERT_EQ(report.findings.size(), 1U);
  const std::string id = to_string(id_of("naps"));
  const Json item = to_json(report)["items"][0];
  EXPECT_EQ(item["code"], "instance.stuck");
  EXPECT_EQ(item["table"], "live");
  EXPECT_EQ(item["key"], fmt::format("default/{} head", id));
  EXPECT_EQ(item["namespace"], "default");
  EXPECT_EQ(item["instance"], id);
  EXPECT_EQ(item["found"], "it waits for no event, no timer and no call");
  EXPECT_FALSE(item["expected"].get<std::string>().empty());
  EXPECT_FALSE(item["action"].get<std::string>().empty());
}

TEST(StoreCheck, TellsWhichByteOfARecordIsWrong) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  auto [key, value] = first(tx, Table::kSchedules);
  tx.put(Table::kSchedules, key, value + "x");
  StoreReport report = check_store(tx, test_check_options()).value();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].found, HasSubstr(fmt::format("at byte {} of {}: the end expected",
                                                              value.size(), value.size() + 1)));
  tx.put(Table::kSchedules, key, value.substr(0, value.size() - 1));
  report = check_store(tx, test_check_options()).value();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].found, HasSubstr("at byte "));
}

TEST(StoreCheck, FindsEachTreeThatIsMissing) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false}).value();
  const Transaction tx(*environment);
  for (const auto& [table, name] : kTables) {
    EXPECT_TRUE(environment->has_tree(table)) << name;
    StoreCheckOptions options = test_check_options();
    options.has_tree = [missing = table](Table one) { return one != missing; };
    const StoreReport report = check_store(tx, options).value();
    EXPECT_EQ(codes_of(report), Codes{"tree.missing"}) << lines_of(report);
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].table, name);
  }
}

TEST(StoreCheck, StopsWhereItIsToldTo) {
  const auto environment =
      Environment::open(Rich::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (uint64_t i = 0; i < 10'000; ++i) write_secret(tx, kDefault, fmt::format("s{}", i), "x");
  StoreCheckOptions options = test_check_options();
  std::vector<uint64_t> told;
  options.progress = [&](uint64_t rows, uint64_t of) {
    told.push_back(rows);
    EXPECT_GE(of, rows);
    return false;
  };
  const auto report = check_store(tx, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "check.stopped");
  EXPECT_THAT(told, ElementsAre(4096U));
}

}  // namespace
}  // namespace millrace
