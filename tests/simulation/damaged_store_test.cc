// A store with something of every kind in it, of which one row is damaged, as a fault of the disk
// or of a copy leaves it, with the right seal: the server starts on it or refuses to with an error
// that names the row, and whatever then comes, it neither dies nor stops serving what is whole.
// Each case runs in a process of its own.
//
// MILLRACE_CASES=N runs N cases (0: all of them), MILLRACE_SEED chooses others, MILLRACE_CASE="…"
// runs the one of that name in this process.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/store/rows/row.h"
#include "tests/simulation/world.h"
#include "tests/support/campaign.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kWorkflows[] = {
    R"(
id: canary
start: {type: event, event: {type: canary}}
states:
- {id: wait, type: consumeEvent, event: {type: sing}}
)",
    R"(
id: consume
timeouts: {interrupt: P2D, kill: P3D}
states:
- id: wait
  type: consumeEvent
  timeout: P1D
  event: {type: go, context: {source: '^/te', n: jq(.n)}}
  transform: 'jq({got: .go, n: .n})'
  catch: [{error: 'direktiv.stateTimeout', transition: late}]
  transition: read
- {id: late, type: noop}
- {id: read, type: getter, variables: [{key: k, scope: namespace}, {key: w, scope: workflow}, {key: i, scope: instance}]}
)",
    R"(
id: both
states:
- {id: wait, type: eventAnd, timeout: P1D, events: [{type: left}, {type: right}], transition: next}
- {id: next, type: delay, duration: PT1M}
)",
    R"(
id: either
states:
- id: wait
  type: eventXor
  events: [{event: {type: heads}, transition: a}, {event: {type: tails}, transition: b}]
- {id: a, type: noop}
- {id: b, type: delay, duration: PT1M}
)",
    R"(
id: sleeper
states:
- {id: wait, type: delay, duration: PT30M, transition: set}
- {id: set, type: setter, variables: [{key: k, scope: instance, value: jq(.)}]}
)",
    R"(
id: order
functions: [{id: charge, type: knative-namespace, service: charge, files: [{key: k, scope: namespace}]}]
states:
- id: pay
  type: action
  timeout: P1D
  action: {function: charge, scheduleToStartTimeout: 2h, startToCloseTimeout: 3h, heartbeatTimeout: 1h, retries: {maximumAttempts: 3, initialInterval: 10m}}
)",
    R"(
id: loop
functions: [{id: charge, type: knative-namespace, service: many}]
states:
- {id: each, type: foreach, array: jq(.items), concurrency: 2, action: {function: charge, input: 'jq({item: .})'}}
)",
    R"(
id: child
states:
- {id: wait, type: consumeEvent, event: {type: grown}}
)",
    R"(
id: parent
functions: [{id: f, type: subflow, workflow: child}, {id: g, type: knative-namespace, service: charge}]
states:
- id: call
  type: parallel
  mode: and
  actions:
  - {function: f, input: 'jq({a: 1})', retries: {max_attempts: 2, delay: PT1H, codes: ['*']}}
  - {function: g, input: 'jq({b: 2})'}
  - {function: f}
)",
    R"(
id: secretive
functions: [{id: f, type: subflow, workflow: keeper}]
states:
- {id: call, type: action, action: {function: f, secrets: [token], input: 'jq({go: .secrets.token})'}}
)",
    R"(
id: keeper
states:
- {id: keep, type: setter, variables: [{key: kept, scope: namespace, value: jq(.go)}], transition: wait}
- {id: wait, type: consumeEvent, event: {type: grown, context: {secretly: jq(.go)}}}
)",
    R"(
id: pair
start: {type: eventsAnd, lifespan: PT6H, correlate: [n], events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)",
    R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r, data: jq(.)}}
)",
    R"(
id: ticks
start: {type: scheduled, cron: '0 */3 * * *'}
states:
- {id: done, type: noop}
)",
    R"(
id: fails
functions: [{id: f, type: subflow, workflow: quick}]
states:
- {id: before, type: noop, transform: 'jq({n: .n, more: 1})', transition: loop}
- {id: loop, type: foreach, array: jq(.n), action: {function: f}}
)",
    R"(
id: breaks
states:
- {id: a, type: noop, transform: 'jq({x: .n})', transition: b}
- {id: b, type: error, error: no.luck, message: no}
)",
    R"(
id: again
retries: {max_attempts: 2, delay: PT2H, codes: ['*']}
states:
- {id: a, type: error, error: no.luck, message: no}
)",
    R"(
id: thinks
states:
- {id: think, type: noop, transform: 'jq(think)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}}
)",
    R"(
id: crowd
states:
- {id: wait, type: consumeEvent, event: {type: flood}}
)",
    R"(
id: quick
states:
- {id: tell, type: generateEvent, event: {type: told, source: /q}, transition: done}
- {id: done, type: noop, transform: 'jq({r: .n})'}
)",
};

WorldOptions world_options() {
  WorldOptions options;
  options.processor.batch = {.woken = 4, .woken_later = 1, .errands = 1};
  options.processor.kept = {.time = hours(1)};
  return options;
}

/// A world that has died with something of every kind under way.
class Base {
 public:
  Base() {
    define(world_);
    world_.must(CreateNamespace{
        .name = "default",
        .settings = Json::parse(
            R"({"lifecycle": true, "webhooks": [{"url": "http://away", "types": ["*ended", "*failed"]}]})")});
    world_.must(PutSecret{"default", "token", "open sesame"});
    const Variable value{.content_type = "text/plain", .bytes = "v"};
    world_.must(PutVariable{.place = {.space = "default"}, .key = "k", .value = value});
    for (const char* const text : kWorkflows) world_.apply(text);
    world_.must(PutVariable{
        .place = {.space = "default", .workflow = "consume"}, .key = "w", .value = value});
    const std::string consumer = start("consume", "key");
    world_.must(PutVariable{.place = {.space = "default", .instance = *parse_instance_id(consumer)},
                            .key = "i",
                            .value = value});
    start("both");
    world_.publish("left", "left-1", Json{{"l", 1}});
    start("both");
    start("either");
    start("sleeper");
    start("order");
    const std::string broken = start("order");
    fail_task(broken);
    start("loop");
    world_.functions.answer(task_of("many"), {{"part", 1}});
    world_.settle();
    start("parent");
    start("parent");
    start("secretive");
    start("reminds");
    start("fails");
    start("breaks");
    start("again");
    start("quick", "quick-key");
    const std::string paused = start("sleeper");
    world_.must(PauseInstance{"default", *parse_instance_id(paused)});
    world_.must(PauseInstance{"default", *parse_instance_id(start("both"))});
    world_.publish("one", "one-1", Json{{"o", 1}}, {{"n", "7"}});
    world_.publish("two", "two-1", Json{{"o", 1}}, {{"n", "8"}});
    world_.settle();
    // A workflow that was deleted and left an instance behind.
    world_.apply("id: gone\nstates:\n- {id: done, type: noop}\n");
    start("gone");
    world_.must(DeleteWorkflow{.space = "default", .id = "gone"});
    world_.must(CreateNamespace{.name = "other"});
    world_.apply(kWorkflows[1], "other");
    world_.must(StartInstance{.space = "other", .workflow = "consume", .input = {{"n", "1"}}});
    world_.must(CreateNamespace{.name = "dying"});
    world_.apply(kWorkflows[4], "dying");
    for (int i = 0; i < 3; ++i) {
      world_.must(StartInstance{.space = "dying", .workflow = "sleeper", .input = {{"n", "1"}}});
    }
    for (int i = 0; i < 6; ++i) start("crowd");
    // From here on nothing comes to an end any more.
    world_.evaluator.hold();
    start("thinks");
    world_.publish("go", "kept", Json{{"k", 1}}, {{"n", "nobody's"}});
    world_.settle();
    world_.broker.disconnect();
    start("breaks");
    world_.settle();
    world_.broker.reconnect();
    world_.publish("flood", "flood-1");
    for (int i = 0; i < 2; ++i) world_.step(1);
    world_.command(StartInstance{.space = "default", .workflow = "parent", .input = {{"n", "1"}}});
    world_.command(DeleteNamespace{.name = "dying", .cancel = true});
    world_.broker.disconnect();
    world_.crash_after_commit();
    world_.checks_store = false;
    read_rows();
  }

  struct Row {
    Table table{};
    std::string key;
    std::string value;  ///< opened
    bool sealed = false;
  };

  World& world() { return world_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& ids() const { return ids_; }

  /// Leaves a process whose world goes on from here, with a copy of the store.
  static void define(World& world) {
    world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
    world.receivers.answer = [](const Event&) {
      return DeliveryFailure{.error = {"webhook.refused", "away"}};
    };
  }

 private:
  std::string start(const std::string& workflow, std::string key = "") {
    const Json answer =
        world_.start(workflow, {{"n", "7"}, {"items", {1, 2, 3, 4}}}, std::move(key));
    ids_.push_back(answer["id"]);
    return ids_.back();
  }

  InstanceId task_of(std::string_view function) {
    for (const Task& task : world_.functions.tasks()) {
      const auto* const queue = std::get_if<WorkQueue>(&task.target);
      if (queue != nullptr && queue->subject.ends_with(function)) return task.id;
    }
    ADD_FAILURE() << "no task for " << function;
    return {};
  }

  void fail_task(const std::string& instance) {
    for (const Task& task : world_.functions.tasks()) {
      if (to_string(task.instance) != instance) continue;
      world_.functions.tell(
          {task.id, TaskEnded{.result = tl::unexpected(WorkflowError{"some.error", "no"})}});
    }
    world_.settle();
  }

  void read_rows() {
    world_.change_store([&](Transaction& tx) {
      for (const auto& [table, name] : kTables) {
        tx.scan(table, {}, [&, of = table](std::string_view key, std::string_view value) {
          Row row{of, std::string(key), std::string(value)};
          if (Seal::is_sealed(value) && of != Table::kDedupe) {
            row.sealed = true;
            row.value = *tx.seal().open(value, rows::seal_context(of, key));
          }
          rows_.push_back(std::move(row));
          return true;
        });
      }
    });
  }

  World world_{world_options()};
  std::vector<Row> rows_;
  std::vector<std::string> ids_;
};

/// One row as it is to stand in the store.
struct Damage {
  std::string what;
  size_t row = 0;
  bool drops = false;                ///< the row
  std::string key;                   ///< under which the value stands then,
  std::string value;                 ///< and which one that is
  std::optional<size_t> other = {};  ///< the row that gets this one's value
};

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

/// All damages of a row: whatever field stands at a place of it, it gets values of its kind.
class Damages {
 public:
  explicit Damages(const std::vector<Base::Row>& rows) : rows_(rows) {
    for (row_ = 0; row_ < rows_.size(); ++row_) add_row();
  }

  std::vector<Damage> take() { return std::move(all_); }

 private:
  void add_row() {
    const std::string& key = rows_[row_].key;
    const std::string& value = rows_[row_].value;
    add("dropped", true, key, "");
    for (const size_t size : {size_t{0}, size_t{1}, value.size() / 2, value.size() - 1}) {
      if (size < value.size())
        add(fmt::format("cut to {}", size), false, key, value.substr(0, size));
    }
    add("a byte more", false, key, value + '\0');
    for (const char* const text : {"{", "[1", "x", "null", "1", "[]", "\xff", "{\"a\":1}"}) {
      add(fmt::format("is {}", text), false, key, text);
    }
    if (value.size() == 8) add_numbers(0, false);
    for (size_t at = 0; at < value.size(); ++at) {
      for (const uint8_t mask : {0x01, 0x02, 0x80, 0xff}) {
        std::string changed = value;
        changed[at] = static_cast<char>(changed[at] ^ mask);
        add(fmt::format("byte {} ^ {:02x}", at, mask), false, key, changed);
      }
      add_varints(at);
      add_text(at);
    }
    add_keys();
    add_swap();
  }

  /// As if a varint stood there.
  void add_varints(size_t at) {
    const std::string& value = rows_[row_].value;
    size_t end = at;
    while (end < value.size() && (value[end] & 0x80) != 0) ++end;
    if (end == value.size()) return;
    for (const uint64_t number :
         {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{10'000}, uint64_t{0xffffffff},
          uint64_t{1} << 60, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
      Writer changed(value.substr(0, at));
      changed.varint(number);
      changed.raw(std::string_view(value).substr(end + 1));
      add(fmt::format("varint {} = {}", at, number), false, rows_[row_].key, changed.take());
    }
  }

  /// As if a length and its bytes stood there.
  void add_text(size_t at) {
    const std::string& value = rows_[row_].value;
    Reader reader(std::string_view(value).substr(at));
    const std::string_view text = reader.bytes();
    if (!reader.ok() || text.empty()) return;
    const std::string_view rest = reader.rest();
    for (const char* const other : {"", "{", "null", "[]", "no-such-thing", "\xff\xfe"}) {
      Writer changed(value.substr(0, at));
      changed.bytes(other);
      changed.raw(rest);
      add(fmt::format("text {} = {}", at, other), false, rows_[row_].key, changed.take());
    }
  }

  void add_numbers(size_t at, bool of_key) {
    const Base::Row& row = rows_[row_];
    for (const uint64_t number :
         {uint64_t{0}, uint64_t{1}, uint64_t{1'000'000}, uint64_t{1} << 48, uint64_t{1} << 55,
          uint64_t{1} << 60, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
      std::string changed = of_key ? row.key : row.value;
      changed.replace(at, 8, rows::key_of(number));
      add(fmt::format("{} u64 {} = {}", of_key ? "key" : "value", at, number), false,
          of_key ? changed : row.key, of_key ? row.value : changed);
    }
  }

  void add_keys() {
    const auto& [table, key, value, sealed] = rows_[row_];
    if (key.size() >= 8) add_numbers(key.size() - 8, true);
    add("key cut", false, key.substr(0, key.size() - 1), value);
    add("key longer", false, key + "\x01", value);
    for (size_t at = 0; at < key.size(); ++at) {
      std::string changed = key;
      changed[at] = static_cast<char>(changed[at] ^ 0x01);
      add(fmt::format("key byte {}", at), false, changed, value);
    }
  }

  void add_swap() {
    const size_t next = row_ + 1;
    if (next == rows_.size() || rows_[next].table != rows_[row_].table) return;
    add("swapped", false, rows_[row_].key, rows_[next].value);
    all_.back().other = next;
    add("as its neighbour", false, rows_[row_].key, rows_[next].value);
  }

  void add(std::string what, bool drops, std::string key, std::string value) {
    if (key.empty() || key.size() > kMaxKeySize) return;
    const Base::Row& row = rows_[row_];
    all_.push_back({fmt::format("{} {} {}", table_name(row.table), hex(row.key), what), row_, drops,
                    std::move(key), std::move(value)});
  }

  const std::vector<Base::Row>& rows_;
  size_t row_ = 0;
  std::vector<Damage> all_;
};

void put(Transaction& tx, const Base::Row& row, const std::string& key, const std::string& value) {
  rows::put(tx, row.table, key, value, row.sealed);
}

void do_damage(World& world, const std::vector<Base::Row>& rows, const Damage& damage) {
  const Base::Row& row = rows[damage.row];
  world.change_store([&](Transaction& tx) {
    if (damage.drops || damage.key != row.key) tx.erase(row.table, row.key);
    if (!damage.drops) put(tx, row, damage.key, damage.value);
    if (damage.other) put(tx, rows[*damage.other], rows[*damage.other].key, row.value);
  });
}

/// What is done with a damaged store, and what must come of it. A complaint is told to `complain`;
/// what would end the process ends this one.
class Trial {
 public:
  /// `has_canary`: the damage is not one of what the canary needs.
  Trial(World& world, const std::vector<std::string>& ids, bool has_canary = true)
      : world_(world), ids_(ids), has_canary_(has_canary) {}

  std::string run() {
    if (!begin()) return complaints_;
    world_.evaluator.release();
    world_.broker.reconnect();
    hear_canary("first");
    for (const char* const type :
         {"go", "left", "right", "heads", "tails", "grown", "one", "two", "flood"}) {
      world_.publish(type, fmt::format("{}-later", type), Json{{"d", 1}}, {{"n", "7"}});
      world_.settle();
    }
    ask();
    answer_tasks();
    world_.run_for(hours(4));
    hear_canary("second");
    command_all();
    world_.run_for(hours(30));
    hear_canary("third");
    world_.crash();
    if (!begin()) return complaints_;
    ask();
    world_.run_for(hours(1));
    hear_canary("fourth");
    for (const char* const space : {"other", "dying"}) {
      ask(DeleteNamespace{.name = space, .cancel = true});
    }
    ask(DeleteWorkflow{.space = "default", .id = "both", .cancel = true});
    world_.run_for(minutes(1));
    hear_canary("last");
    world_.crash();
    return complaints_;
  }

 private:
  void complain(const std::string& text) { complaints_ += text + "\n"; }

  /// A start that is refused says which row is damaged, and what to do.
  bool begin() {
    const Status begun = world_.try_recover();
    if (begun) return true;
    const std::string& message = begun.error().message;
    const bool names = message.find("millrace verify") != std::string::npos ||
                       begun.error().code == "store.version" || begun.error().code == "store.key";
    if (!begun.error().code.starts_with("store.") || !names) {
      complain(fmt::format("refuses to start with {}: {}", begun.error().code, message));
    }
    return false;
  }

  /// Whether one that has nothing to do with the damage is started and woken.
  void hear_canary(std::string_view which) {
    if (!has_canary_) return world_.settle();
    const double before = ended();
    world_.publish("canary", fmt::format("canary-{}", which));
    world_.settle();
    world_.run_for(seconds(2));
    world_.publish("sing", fmt::format("sing-{}", which));
    world_.settle();
    world_.run_for(seconds(2));
    if (ended() > before) return;
    const Status ready = world_.processor().ready();
    complain(fmt::format("the {} canary is dead: {}", which,
                         ready ? "ready" : ready.error().code + ": " + ready.error().message));
  }

  double ended() const {
    return world_.metric("millrace_instances_ended_total{status=\"complete\"}");
  }

  template <class T>
  void look(std::string_view what, const Result<T>& answer) {
    if (answer) return;
    const std::string& code = answer.error().code;
    if (code.find('.') == std::string::npos) complain(fmt::format("{}: {}", what, code));
  }

  /// Everything that can be asked for.
  void ask() {
    const Snapshot view = *Snapshot::take(world_.environment());
    Queries& queries = world_.queries();
    for (const char* const space : {"default", "other"}) {
      look("namespaces", queries.namespaces(view));
      look("workflows", queries.workflows(view, space));
      look("instances", queries.instances(view, space, {.limit = 100}));
      look("listeners", queries.listeners(view, space, 100, ""));
      look("schedules", queries.schedules(view, space));
      look("groups", queries.groups(view, space, 100, ""));
      look("variables", queries.variables(view, {.space = space}, 100, ""));
      look("secrets", queries.secrets(view, space, 100, ""));
      for (const char* const id : {"pair", "consume", "ticks"}) {
        look("workflow", queries.workflow(view, space, id));
        look("schedule", queries.schedule(view, space, id));
        look("revisions", queries.revisions(view, space, id));
      }
    }
    for (const std::string& id : ids_) {
      look("instance", queries.instance(view, "default", *parse_instance_id(id)));
      look("history", queries.history(view, "default", *parse_instance_id(id)));
    }
  }

  void answer_tasks() {
    const std::vector<Task> tasks = world_.functions.tasks();
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (i % 3 == 2) continue;
      world_.functions.tell({tasks[i].id, TaskStarted{}});
      if (i % 3 == 1) {
        world_.functions.answer(tasks[i].id, {{"done", i}});
      }
      world_.settle();
    }
  }

  void ask(Command command) {
    const Answered answered = world_.command(std::move(command));
    world_.settle();
    if (!*answered) world_.run_for(seconds(2));
    if (!*answered) return complain("a command is not answered");
    look("command", **answered);
  }

  void command_all() {
    size_t i = 0;
    for (const std::string& text : ids_) {
      const InstanceId id = *parse_instance_id(text);
      ask(PauseInstance{"default", id});
      ask(ResumeInstance{"default", id});
      switch (i++ % 4) {
        case 0:
          ask(CancelInstance{"default", id, true});
          break;
        case 1:
          ask(CancelInstance{"default", id});
          break;
        default:
          break;
      }
      ask(RetryInstance{"default", id, true});
      if (i % 3 == 0) ask(RestartInstance{"default", id});
      if (i % 3 == 1) ask(RerunInstance{"default", id, "a"});
      if (i % 5 == 0) ask(DeleteInstance{"default", id});
    }
    for (const char* const workflow : {"consume", "quick", "order", "parent"}) {
      ask(PauseWorkflow{.space = "default", .id = workflow});
      ask(PauseWorkflow{.space = "default", .id = workflow, .paused = false});
      ask(StartInstance{.space = "default",
                        .workflow = workflow,
                        .input = {{"n", "7"}},
                        .idempotency_key = "key"});
    }
    ask(TriggerSchedule{"default", "ticks"});
    ask(PauseService{"default", "charge"});
    ask(PauseService{"default", "charge", false});
    ask(World::application(std::string(kWorkflows[11]) + "- {id: more, type: noop}\n"));
  }

  World& world_;
  const std::vector<std::string>& ids_;
  const bool has_canary_;
  std::string complaints_;
};

class DamagedStore : public testing::Test {
 protected:
  /// What came of the damage, in this process, which is good for nothing else then.
  static std::string try_out(Base& base, const Damage& damage) {
    World& world = base.world();
    do_damage(world, base.rows(), damage);
    return Trial(world, base.ids(), !is_of_canary(base.rows()[damage.row])).run();
  }

  /// It is the first workflow.
  static bool is_of_canary(const Base::Row& row) {
    const std::string definition = rows::workflow_prefix(WorkflowNumber(1));
    return (row.table == Table::kDefinitions && row.key.starts_with(definition)) ||
           (row.table == Table::kWorkflows && row.key.ends_with("canary"));
  }

  /// The same in a process of its own; empty: all was right.
  std::string try_apart(Base& base, const Damage& damage) const {
    return run_apart(base, [&] { return try_out(base, damage); });
  }

  /// What `attempt` says in a process of its own, with a copy of the store.
  std::string run_apart(Base& base, const std::function<std::string()>& attempt) const {
    const std::filesystem::path folder = where_.path() / "case";
    std::filesystem::remove_all(folder);
    const std::filesystem::path said = where_.path() / "said";
    std::filesystem::remove(said);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // what hangs is ended
      [[maybe_unused]] const auto* const file = std::freopen(said.c_str(), "w", stderr);
      base.world().copy_store_to(folder);
      const std::string complaints = attempt();
      std::fputs(complaints.c_str(), stderr);
      std::fflush(stderr);
      ::_exit(complaints.empty() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status == 0) return "";
    std::stringstream text;
    text << std::ifstream(said).rdbuf();
    if (WIFSIGNALED(status)) text << " (died of signal " << WTERMSIG(status) << ")";
    return text.str();
  }

  /// One of each row, then another one of each, and so on: rows are not chosen by their length.
  static std::vector<Damage> in_turns(std::vector<Damage> damages, std::mt19937_64& random) {
    std::shuffle(damages.begin(), damages.end(), random);
    std::map<size_t, size_t> seen;
    std::vector<std::pair<size_t, size_t>> order;  // how many of its row come before it, its place
    for (size_t i = 0; i < damages.size(); ++i) order.emplace_back(seen[damages[i].row]++, i);
    std::sort(order.begin(), order.end());
    std::vector<Damage> sorted;
    for (const auto& [turn, i] : order) sorted.push_back(std::move(damages[i]));
    return sorted;
  }

  static uint64_t from_environment(const char* name, uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }

  Folder where_{std::filesystem::is_directory("/dev/shm/") ? "/dev/shm/" : testing::TempDir()};
};

TEST_F(DamagedStore, EndsNoProcessAndStopsNothingThatIsWhole) {
  Base base;
  std::vector<Damage> damages = Damages(base.rows()).take();
  if (const char* const only = std::getenv("MILLRACE_CASE"); only != nullptr) {
    for (const Damage& damage : damages) {
      if (damage.what != only) continue;
      spdlog::set_level(spdlog::level::info);
      base.world().copy_store_to(where_.path() / "case");
      EXPECT_EQ(try_out(base, damage), "");
      return;
    }
    FAIL() << "there is no such case";
  }
  std::mt19937_64 random(from_environment("MILLRACE_SEED", 1));
  damages = in_turns(std::move(damages), random);
  const size_t wanted = from_environment("MILLRACE_CASES", 150);
  if (wanted != 0) damages.resize(std::min(damages.size(), wanted));
  Campaign campaign("damaged rows", "no death, no standstill, a named error");
  for (const Damage& damage : damages) {
    campaign.run(damage.what, [&] { EXPECT_EQ(try_apart(base, damage), ""); });
  }
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Damages a page of data.mdb as `random` has it: where LMDB has its own numbers, or the whole of
/// it. `older` are the bytes of an earlier file.
void damage_page(std::string& bytes, const std::string& older, std::mt19937_64& random) {
  constexpr size_t kPage = 4096;
  const size_t pages = bytes.size() / kPage;
  const size_t page = random() % pages;
  const size_t other = random() % pages;
  const std::string before = bytes.substr(page * kPage, kPage);
  const auto number = [&](size_t at) {
    return static_cast<size_t>(static_cast<uint8_t>(before[at])) |
           static_cast<size_t>(static_cast<uint8_t>(before[at + 1])) << 8;
  };
  switch (random() % 8) {
    case 0:
      bytes.replace(page * kPage, kPage, kPage, '\0');
      break;
    case 1:
      bytes.replace(page * kPage, kPage, bytes, other * kPage, kPage);
      bytes.replace(other * kPage, kPage, before);
      break;
    case 2:
      if (page < older.size() / kPage)
        bytes.replace(page * kPage, kPage, older, page * kPage, kPage);
      break;
    default: {  // the head, an offset, or the head of a node
      constexpr size_t kHead = 16;
      constexpr size_t kLower = 12;
      size_t at = random() % 152;
      const size_t lower = number(kLower);
      if (random() % 2 == 0 && lower > kHead && lower <= kPage) {
        at = kHead + random() % (lower - kHead);
        const size_t node = number(at & ~size_t{1});
        if (random() % 2 == 0 && node + 8 <= kPage) at = node + random() % 8;
      }
      char& byte = bytes[page * kPage + at];
      byte = static_cast<char>(byte ^ (1 + random() % 255));
    }
  }
}

TEST_F(DamagedStore, WithADamagedPageStartsOrRefusesToAndNeverHangs) {
  Base base;
  const size_t cases = from_environment("MILLRACE_CASES", 60);
  Campaign campaign("damaged pages", "no death, no hang, a named error");
  for (size_t i = 0; i < (cases == 0 ? 5'000 : cases); ++i) {
    const auto attempt = [&]() -> std::string {
      std::mt19937_64 random(from_environment("MILLRACE_SEED", 1) * 1'000'000 + i);
      const std::filesystem::path file = where_.path() / "case" / "data.mdb";
      const std::string older = bytes_of(file);
      // Closed, it has everything in data.mdb.
      if (!Environment::open(where_.path() / "case")) return "the whole one does not open";
      std::string bytes = bytes_of(file);
      damage_page(bytes, older, random);
      std::ofstream(file, std::ios::binary) << bytes;
      return Trial(base.world(), base.ids()).run();
    };
    campaign.run(fmt::format("damaged page {}", i),
                 [&] { EXPECT_EQ(run_apart(base, attempt), "") << "case " << i; });
  }
}

TEST_F(DamagedStore, HasNothingToSayOfAWholeOne) {
  Base base;
  base.world().copy_store_to(where_.path() / "case");
  EXPECT_EQ(Trial(base.world(), base.ids()).run(), "");
  std::set<Table> seen;
  for (const Base::Row& row : base.rows()) seen.insert(row.table);
  for (const auto& [table, name] : kTables) {
    EXPECT_EQ(seen.contains(table), table != Table::kDeadLetters) << name;
  }
}

}  // namespace
}  // namespace millrace
