// Queries on a store with something of everything: what they answer, page by page, and what they
// answer when a read of the store fails.
#include "orchestrator/service/queries.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: paid, context: {order: o1}}}
)";
constexpr const char* kEnds = "{id: ends, states: [{id: end, type: noop}]}";
constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: "0 7 * * *"}
states: [{id: end, type: noop}]
)";
constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, events: [{type: left}, {type: right}]}
states: [{id: end, type: noop}]
)";

using Query = std::function<Result<Json>(Queries& queries, const View& view)>;

class QueriesTest : public testing::Test {
 protected:
  QueriesTest() : world_(options()) {
    for (const char* text : {kWaits, kEnds, kTicks, kPairs}) world_.apply(text);
    waiting_ = id_of(world_.start("waits"));
    ended_ = id_of(world_.start("ends"));
    world_.publish("left", "l1");
    world_.settle();
    const VariablePlace places[] = {{.space = "default"},
                                    {.space = "default", .workflow = "waits"},
                                    {.space = "default", .instance = waiting_}};
    for (const VariablePlace& place : places) {
      for (const char* key : {"a", "b"}) {
        world_.must(PutVariable{
            .place = place, .key = key, .value = {.content_type = "text/plain", .bytes = "value"}});
      }
    }
    world_.must(PutSecret{.space = "default", .name = "token", .value = "t"});
  }
  ~QueriesTest() override { failing_ = std::nullopt; }

  WorldOptions options() {
    WorldOptions options;
    options.store.fails_read = [this](Table, std::string_view) { return ++reads_ == failing_; };
    return options;
  }
  static InstanceId id_of(const Json& answer) {
    return *parse_instance_id(answer["id"].get<std::string>());
  }

  /// The query's answer, with no definition loaded before.
  Result<Json> ask(const Query& query) {
    DefinitionCache definitions(load_stored);
    const BegunTasks begun;
    Queries queries(definitions, begun);
    const Snapshot view = TRY(Snapshot::take(world_.environment()));
    return query(queries, view);
  }
  Json answer(const Query& query) {
    const Result<Json> found = ask(query);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(nullptr);
  }
  /// The values under `key` of the items of all pages of a list, one item a page.
  std::vector<std::string> all_pages(
      const std::string& key,
      const std::function<Result<Json>(Queries&, const View&, std::string_view cursor)>& list) {
    std::vector<std::string> found;
    std::string cursor;
    for (int pages = 0; pages < 20; ++pages) {
      const Json page =
          answer([&](Queries& queries, const View& view) { return list(queries, view, cursor); });
      EXPECT_LE(page["items"].size(), 1U);
      for (const Json& item : page["items"]) found.push_back(item[key]);
      if (page["next"].is_null()) return found;
      cursor = page["next"];
    }
    ADD_FAILURE() << "the pages do not end";
    return found;
  }

  std::optional<uint64_t> failing_;  ///< the read of that number fails
  uint64_t reads_ = 0;
  World world_;
  InstanceId waiting_;
  InstanceId ended_;
};

TEST_F(QueriesTest, ListInstancesPageByPageNewestFirst) {
  EXPECT_THAT(all_pages("id",
                        [](Queries& queries, const View& view, std::string_view cursor) {
                          return queries.instances(view, "default",
                                                   {.limit = 1, .cursor = std::string(cursor)});
                        }),
              ElementsAre(to_string(ended_), to_string(waiting_)));
}

TEST_F(QueriesTest, ListInstancesByWorkflowAndStatus) {
  const auto list = [&](const InstanceFilter& filter) {
    return answer([&](Queries& queries, const View& view) {
      return queries.instances(view, "default", filter);
    })["items"];
  };
  EXPECT_THAT(list({.workflow = "waits"}), SizeIs(1));
  EXPECT_THAT(list({.statuses = {InstanceStatus::kComplete}}), SizeIs(1));
  EXPECT_THAT(list({.statuses = {InstanceStatus::kFailed}}), IsEmpty());
}

TEST_F(QueriesTest, ListVariablesOfEachOwnerPageByPage) {
  for (const VariablePlace& place :
       {VariablePlace{.space = "default"}, VariablePlace{.space = "default", .workflow = "waits"},
        VariablePlace{.space = "default", .instance = waiting_}}) {
    EXPECT_THAT(all_pages("key",
                          [&](Queries& queries, const View& view, std::string_view cursor) {
                            return queries.variables(view, place, 1, cursor);
                          }),
                ElementsAre("a", "b"));
  }
}

TEST_F(QueriesTest, ListGroupsWithWhatTheyWaitFor) {
  const Json page = answer(
      [](Queries& queries, const View& view) { return queries.groups(view, "default", 10, ""); });
  ASSERT_THAT(page["items"], SizeIs(1));
  EXPECT_EQ(page["items"][0]["entries"],
            Json::parse(R"([{"type": "left", "waiting": 1}, {"type": "right", "waiting": 0}])"));
}

TEST_F(QueriesTest, ListListenersOfStartsBeforeThoseOfInstances) {
  const Json page = answer([](Queries& queries, const View& view) {
    return queries.listeners(view, "default", 10, "");
  });
  std::vector<std::string> kinds;
  for (const Json& item : page["items"]) kinds.push_back(item["kind"]);
  EXPECT_THAT(kinds, ElementsAre("start", "start", "instance"));
  EXPECT_EQ(page["items"][2]["context"], Json::parse(R"({"order": {"pattern": "o1"}})"));
}

TEST_F(QueriesTest, SayWhatIsNotThere) {
  const auto code = [&](const Query& query) {
    const Result<Json> found = ask(query);
    return found ? "found" : found.error().code;
  };
  const auto workflow_of = [](const char* ns, const char* id) -> Query {
    return [=](Queries& queries, const View& view) { return queries.workflow(view, ns, id); };
  };
  EXPECT_EQ(code(workflow_of("default", "waits")), "found");
  EXPECT_EQ(code(workflow_of("default", "none")), "workflow.not_found");
  EXPECT_EQ(code(workflow_of("none", "waits")), "namespace.not_found");
  EXPECT_EQ(code(workflow_of("no identifier", "waits")), "namespace.not_found");
  EXPECT_EQ(code([](Queries& queries, const View& view) {
              return queries.instance(view, "default", InstanceId{});
            }),
            "instance.not_found");
  EXPECT_EQ(code([](Queries& queries, const View& view) {
              return queries.schedule(view, "default", "waits");
            }),
            "schedule.not_found");
}

TEST_F(QueriesTest, AnswerNothingWhenAReadFails) {
  const VariablePlace place{.space = "default", .instance = waiting_};
  const std::vector<std::pair<const char*, Query>> queries = {
      {"namespaces", [](Queries& q, const View& view) { return q.namespaces(view); }},
      {"unreadable settings",
       [](Queries& q, const View& view) { return q.unreadable_settings(view); }},
      {"workflows", [](Queries& q, const View& view) { return q.workflows(view, "default"); }},
      {"workflow",
       [](Queries& q, const View& view) { return q.workflow(view, "default", "waits"); }},
      {"revisions",
       [](Queries& q, const View& view) { return q.revisions(view, "default", "waits"); }},
      {"instances", [](Queries& q, const View& view) { return q.instances(view, "default", {}); }},
      {"instances of a workflow",
       [](Queries& q, const View& view) {
         return q.instances(view, "default", {.workflow = "waits"});
       }},
      {"a living instance",
       [&](Queries& q, const View& view) { return q.instance(view, "default", waiting_); }},
      {"an instance that ended",
       [&](Queries& q, const View& view) { return q.instance(view, "default", ended_); }},
      {"history",
       [&](Queries& q, const View& view) { return q.history(view, "default", waiting_); }},
      {"schedules", [](Queries& q, const View& view) { return q.schedules(view, "default"); }},
      {"schedule",
       [](Queries& q, const View& view) { return q.schedule(view, "default", "ticks"); }},
      {"listeners",
       [](Queries& q, const View& view) { return q.listeners(view, "default", 10, ""); }},
      {"groups", [](Queries& q, const View& view) { return q.groups(view, "default", 10, ""); }},
      {"variables", [&](Queries& q, const View& view) { return q.variables(view, place, 10, ""); }},
      {"variable",
       [&](Queries& q, const View& view) -> Result<Json> {
         return Json(TRY(q.variable(view, place, "a")).bytes);
       }},
      {"secrets", [](Queries& q, const View& view) { return q.secrets(view, "default", 10, ""); }},
  };
  for (const auto& [name, query] : queries) {
    const Json whole = answer(query);
    for (uint64_t nth = 1; nth < 1'000; ++nth) {
      SCOPED_TRACE(std::string(name) + ", read " + std::to_string(nth));
      reads_ = 0;
      failing_ = nth;
      const Result<Json> found = ask(query);
      const bool has_failed = reads_ >= nth;
      failing_ = std::nullopt;
      if (!has_failed) {
        EXPECT_GT(nth, 1U) << "it reads nothing";
        EXPECT_EQ(found.value_or(nullptr), whole);
        break;
      }
      ASSERT_FALSE(found) << *found;
      EXPECT_EQ(found.error().code, "store.io") << found.error().message;
    }
  }
}

}  // namespace
}  // namespace millrace
