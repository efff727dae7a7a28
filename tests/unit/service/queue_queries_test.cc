// Queries about the starts and the calls that wait for slots, and about pending starts.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/missing_instance.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/pending_input_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class QueueQueriesTest : public QueryTest {
 protected:
  QueueQueriesTest()
      : ship_(apply("id: ship\nconcurrency: {limit: 2, key: jq(.c)}\n"
                    "states:\n- {id: a, type: noop}\n")) {}

  static InstanceId number(uint8_t last) {
    InstanceId id;
    id.bytes[15] = last;
    return id;
  }
  /// Stores the rows of a key for whose slots `queued` starts wait.
  void add_key(const std::string& key, uint64_t held, uint64_t queued, Sealing sealed = {}) {
    const SlotKey at = slot_key_of(ship_, key);
    write_slot_counts(*tx, at, {.key = key, .held = held, .queued = queued, .sealed = sealed});
    for (uint64_t i = 1; i <= held; ++i) {
      write_slot_place(*tx, at, {.key = key, .number = i, .is_queued = false},
                       {.instance = number(static_cast<uint8_t>(i)), .since = now});
    }
    for (uint64_t i = 1; i <= queued; ++i) {
      write_slot_place(*tx, at, {.key = key, .priority = 3, .number = 100 + i, .is_queued = true},
                       {.instance = number(static_cast<uint8_t>(100 + i)), .since = now});
    }
    commit();
  }
  static Ask list(size_t limit, std::string cursor = "", std::string workflow = "") {
    return [=](Queries& queries, const View& view) {
      return queries.queues(view, "default", limit, cursor, workflow);
    };
  }

  const WorkflowNumber ship_;
};

TEST_F(QueueQueriesTest, ShowWhoIsNextAndWhoHoldsASlot) {
  add_key("\"c-1\"", 2, 3);
  const std::string at = format_rfc3339(now);
  const Json expected{
      {"kind", "starts"},
      {"workflow", "ship"},
      {"reason", "concurrency"},
      {"key", "c-1"},
      {"limit", 2},
      {"held", 2},
      {"queued", 3},
      {"next", {{"instance", to_string(number(101))}, {"since", at}, {"priority", 3}}},
      {"holder", {{"instance", to_string(number(1))}, {"since", at}}}};
  EXPECT_EQ(answer(list(10)), (Json{{"items", Json::array({expected})}, {"next", nullptr}}));
  EXPECT_EQ(answer(list(10, "", "ship"))["items"].size(), 1U);
}

TEST_F(QueueQueriesTest, ShowWhenAThrottlePermitsTheNextStart) {
  const WorkflowNumber send = apply(
      "id: send\nthrottle: {limit: 1, period: PT1M, key: jq(.c)}\n"
      "states:\n- {id: a, type: noop}\n");
  const SlotKey key = throttle_key_of(send, "\"c-1\"");
  write_slot_counts(*tx, key, {.key = "\"c-1\"", .queued = 1});
  write_slot_place(*tx, key, waiting_slot({.key = "\"c-1\"", .priority = 3, .number = 7}),
                   {.instance = number(7), .since = now});
  const StartRatePlace place = throttle_rate_place(tx->seal().id_key(), send, key.key);
  ASSERT_TRUE(write_start_rate(*tx, place,
                               {.ns = NamespaceNumber(1),
                                .ends = now + std::chrono::minutes(1),
                                .listed = now + std::chrono::minutes(1),
                                .use = {{{.first = now, .last = now}}}},
                               true));
  commit();
  const Json expected{
      {"kind", "starts"},
      {"workflow", "send"},
      {"reason", "throttle"},
      {"key", "c-1"},
      {"limit", 1},
      {"period", "PT1M"},
      {"queued", 1},
      {"nextAt", format_rfc3339(now + std::chrono::minutes(1))},
      {"next",
       {{"instance", to_string(number(7))}, {"since", format_rfc3339(now)}, {"priority", 3}}}};
  EXPECT_EQ(answer(list(10)), (Json{{"items", Json::array({expected})}, {"next", nullptr}}));
}

TEST_F(QueueQueriesTest, HavePagesOverTheKeysOfBothLimits) {
  const SlotKey first = throttle_key_of(ship_, "1");
  const SlotKey second = throttle_key_of(ship_, "2");
  for (const SlotKey& key : {first, second}) write_slot_counts(*tx, key, {.key = "1", .queued = 1});
  add_key("1", 1, 1);
  std::vector<std::string> reasons;
  std::string cursor;
  for (int page = 0; page < 3; ++page) {
    const Json found = answer(list(1, cursor));
    ASSERT_EQ(found["items"].size(), 1U) << page;
    reasons.push_back(found["items"][0]["reason"]);
    if (found["next"].is_string()) cursor = found["next"].get<std::string>();
  }
  EXPECT_THAT(reasons, ElementsAre("concurrency", "throttle", "throttle"));
}

TEST_F(QueueQueriesTest, LeaveOutKeysForWhichNoStartWaits) {
  add_key("1", 1, 0);
  EXPECT_THAT(answer(list(10))["items"], IsEmpty());
}

TEST_F(QueueQueriesTest, HideASealedKey) {
  add_key("\"secret\"", 1, 1, Sealing::kHidden);
  EXPECT_EQ(answer(list(10))["items"][0]["key"], "(sealed)");
}

TEST_F(QueueQueriesTest, HavePages) {
  for (int i = 0; i < 5; ++i) add_key(std::to_string(i), 1, 1);
  size_t found = 0;
  size_t pages = 0;
  std::string cursor;
  do {
    const Json page = answer(list(2, cursor));
    found += page["items"].size();
    ++pages;
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty());
  EXPECT_EQ(found, 5U);
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(ask(list(2, "rubbish")).error().code, "cursor.malformed");
  EXPECT_EQ(ask(list(2, "", "none")).error().code, "workflow.not_found");
}

class CallQueueQueriesTest : public QueueQueriesTest {
 protected:
  /// Stores the rows of a service for whose slots `queued` calls wait.
  void add_service(const std::string& name, uint64_t held, uint64_t queued,
                   const std::string& key = "", Sealing sealed = {}) {
    const SlotService service{.name = name};
    const CallSlotKey at = call_slot_key_of(NamespaceNumber(1), service, key);
    write_call_counts(*tx, at,
                      {.service = service,
                       .key = key,
                       .limit = 4,
                       .held = held,
                       .queued = queued,
                       .sealed = sealed});
    for (uint64_t i = 1; i <= held; ++i) {
      write_call_place(*tx, at, {.kind = QueueRow::kCallHolder, .number = i},
                       {.task = number(static_cast<uint8_t>(i)), .since = now, .limit = 4});
    }
    for (uint64_t i = 1; i <= queued; ++i) {
      write_call_place(*tx, at, {.kind = QueueRow::kCallWaiting, .priority = 3, .number = 100 + i},
                       {.task = number(static_cast<uint8_t>(100 + i)), .since = now, .limit = 2});
    }
    commit();
  }
};

TEST_F(CallQueueQueriesTest, ShowCallsThatWaitAfterTheStarts) {
  add_key("1", 1, 1);
  add_service("bank", 2, 3, "\"c-1\"");
  add_service("idle", 2, 0);
  const Json items = answer(list(10))["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["kind"], "starts");
  const std::string at = format_rfc3339(now);
  const Json expected{{"kind", "calls"},
                      {"reason", "concurrency"},
                      {"service", "bank"},
                      {"key", "c-1"},
                      {"limit", 2},
                      {"held", 2},
                      {"queued", 3},
                      {"next", {{"task", to_string(number(101))}, {"since", at}, {"priority", 3}}},
                      {"holder", {{"task", to_string(number(1))}, {"since", at}}}};
  EXPECT_EQ(items[1], expected);
  EXPECT_EQ(answer(list(10, "", "ship"))["items"].size(), 1U) << "only those of the workflow";
}

TEST_F(CallQueueQueriesTest, HideASealedKey) {
  add_service("bank", 1, 1, "\"secret\"", Sealing::kHidden);
  EXPECT_EQ(answer(list(10))["items"][0]["key"], "(sealed)");
}

TEST_F(CallQueueQueriesTest, HavePagesWithStartsAndCalls) {
  for (int i = 0; i < 3; ++i) add_key(std::to_string(i), 1, 1);
  for (int i = 0; i < 4; ++i) add_service(std::to_string(i), 1, 1);
  std::vector<std::string> kinds;
  size_t pages = 0;
  std::string cursor;
  do {
    const Json page = answer(list(2, cursor));
    for (const Json& item : page["items"]) kinds.push_back(item["kind"]);
    ++pages;
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty());
  EXPECT_THAT(kinds, ElementsAre("starts", "starts", "starts", "calls", "calls", "calls", "calls"));
  EXPECT_EQ(pages, 4U);
}

class PendingStartQueriesTest : public QueueQueriesTest {
 protected:
  /// The place of a pending start whose fingerprint begins with that byte.
  PendingStartPlace place(WorkflowNumber workflow, uint8_t first) const {
    return {.ns = ns, .workflow = workflow, .key = {first}};
  }
  /// A start that begins one minute from now.
  PendingStart pending(uint8_t instance, const Json& input = Json{{"c", 7}}) const {
    const TimePoint at = now + std::chrono::minutes(1);
    return {.first = now,
            .at = at,
            .listed = at,
            .id = number(instance),
            .input = input,
            .how = Json{{"by", "call"}}};
  }
  PendingStart pending_batch(uint8_t instance, uint32_t inputs) const {
    PendingStart one = pending(instance, nullptr);
    one.input = LazyJson();
    one.batch = PendingBatch{.inputs = inputs, .bytes = 20};
    return one;
  }
  void write(const PendingStartPlace& at, const PendingStart& start) {
    EXPECT_TRUE(write_pending_start(*tx, at, start, std::nullopt));
    commit();
  }
  WorkflowNumber debounced() {
    return apply(
        "id: index\ndebounce: {period: PT1M, key: jq(.c)}\nstates:\n- {id: a, type: noop}\n");
  }
  WorkflowNumber batched() {
    return apply(
        "id: book\nbatch: {maxSize: 9, timeout: PT1M, key: jq(.c)}\n"
        "states:\n- {id: a, type: noop}\n");
  }
};

TEST_F(PendingStartQueriesTest, ShowWhatDebounceHasPutOff) {
  write(place(debounced(), 1), pending(1));
  const Json expected{{"kind", "starts"},
                      {"workflow", "index"},
                      {"reason", "debounce"},
                      {"key", 7},
                      {"queued", 1},
                      {"instance", to_string(number(1))},
                      {"since", format_rfc3339(now)},
                      {"startsAt", format_rfc3339(now + std::chrono::minutes(1))}};
  EXPECT_EQ(answer(list(10)), (Json{{"items", Json::array({expected})}, {"next", nullptr}}));
  EXPECT_EQ(answer(list(10, "", "index"))["items"].size(), 1U);
  EXPECT_THAT(answer(list(10, "", "ship"))["items"], IsEmpty());
}

TEST_F(PendingStartQueriesTest, ShowABatchWithTheKeyOfItsFirstInput) {
  const WorkflowNumber book = batched();
  write_pending_input(*tx, {ns, number(1), 0}, {.input = Json{{"c", "acme"}}});
  write_pending_input(*tx, {ns, number(1), 1}, {.input = Json{{"c", "other"}}});
  write(place(book, 1), pending_batch(1, 2));
  PendingStart over = pending_batch(2, 2);
  over.batch->is_over = true;
  write(place(book, 2), over);
  const Json items = answer(list(10))["items"];
  ASSERT_EQ(items.size(), 1U) << "a batch that is over is no pending start";
  EXPECT_EQ(items[0]["reason"], "batch");
  EXPECT_EQ(items[0]["key"], "acme");
  EXPECT_EQ(items[0]["inputs"], 2);
  EXPECT_EQ(items[0]["maxSize"], 9);
  EXPECT_EQ(items[0]["instance"], to_string(number(1)));
}

TEST_F(PendingStartQueriesTest, MarkThoseOfAPausedWorkflow) {
  const WorkflowNumber index = debounced();
  write(place(index, 1), pending(1));
  EXPECT_FALSE(answer(list(10))["items"][0].contains("workflowPaused"));
  catalog.pause_workflow(*tx, index, true);
  commit_catalog();
  EXPECT_EQ(answer(list(10))["items"][0]["workflowPaused"], true);
}

TEST_F(PendingStartQueriesTest, ShowUntilWhenNewerRequestsMayMoveTheStart) {
  const WorkflowNumber late =
      apply("id: late\ndebounce: {period: PT1M, timeout: PT5M}\nstates:\n- {id: a, type: noop}\n");
  write(place(late, 1), pending(1));
  const std::string latest = format_rfc3339(now + std::chrono::minutes(5));
  EXPECT_EQ(answer(list(10))["items"][0]["latestAt"], latest);
  const Error error = missing_instance(*tx, definitions, "default", ns, number(1));
  EXPECT_NE(error.message.find(", which newer requests move until " + latest + " at the latest"),
            std::string::npos)
      << error.message;
  PendingStart tried_again = pending(2);
  tried_again.at = tried_again.listed = now + std::chrono::minutes(6);
  write(place(late, 2), tried_again);
  EXPECT_FALSE(answer(list(10))["items"][1].contains("latestAt"));
}

TEST_F(PendingStartQueriesTest, LeaveOutAKeyThatCannotBeEvaluated) {
  write(place(debounced(), 1), pending(1, Json{{"c", {{"x", 1}}}}));
  write(place(batched(), 1), pending_batch(2, 1));  // its input is missing
  const WorkflowNumber fails =
      apply("id: fails\ndebounce: {period: PT1M, key: jq(.c.x)}\nstates:\n- {id: a, type: noop}\n");
  write(place(fails, 1), pending(3));
  write(place(apply("id: late\nstates:\n- {id: a, type: noop}\n"), 1), pending(4));
  const Json items = answer(list(10))["items"];
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items[0]["workflow"], "book");
  EXPECT_FALSE(items[0].contains("key"));
  EXPECT_EQ(items[1]["workflow"], "fails");
  EXPECT_FALSE(items[1].contains("key")) << "a number has no member x";
  EXPECT_EQ(items[2]["key"], (Json{{"x", 1}}));
  EXPECT_EQ(items[3]["workflow"], "late");
  EXPECT_FALSE(items[3].contains("key")) << "its newest revision puts off nothing";
}

TEST_F(PendingStartQueriesTest, HideTheKeyOfASealedStart) {
  PendingStart sealed = pending(1);
  sealed.sealed = Sealing::kHidden;
  write(place(debounced(), 1), sealed);
  EXPECT_EQ(answer(list(10))["items"][0]["key"], "(sealed)");
}

TEST_F(PendingStartQueriesTest, PassOverADamagedRow) {
  const WorkflowNumber index = debounced();
  write(place(index, 1), pending(1));
  write(place(index, 2), pending(2));
  Writer row;
  row.raw(kPendingStartKey);
  row.u32(static_cast<uint32_t>(ns));
  row.u32(static_cast<uint32_t>(index));
  row.id(place(index, 1).key);
  damage(Table::kMeta, row.take());
  const Json items = answer(list(10))["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["instance"], to_string(number(2)));
}

TEST_F(PendingStartQueriesTest, HavePagesWithTheKeysOfTheirWorkflowBeforeThem) {
  const WorkflowNumber index = debounced();
  for (uint8_t i = 1; i <= 3; ++i) write(place(index, i), pending(i));
  write(place(ship_, 1), pending(9));
  add_key("1", 1, 1);
  std::vector<std::string> found;
  size_t pages = 0;
  std::string cursor;
  do {
    const Json page = answer(list(2, cursor));
    for (const Json& item : page["items"]) {
      found.push_back(item.value("workflow", "") + " " + item.value("reason", ""));
    }
    ++pages;
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty() && pages < 9);
  EXPECT_THAT(found, ElementsAre("index debounce", "index debounce", "index debounce",
                                 "ship concurrency", "ship debounce"));
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(ask(list(2, "index/prubbish")).error().code, "cursor.malformed");
  EXPECT_EQ(ask(list(2, "/p" + to_string(number(1)))).error().code, "cursor.malformed");
}

TEST_F(PendingStartQueriesTest, EndAPageAfterSomeMebibytesOfInputs) {
  const WorkflowNumber index = debounced();
  const Json large{{"c", 7}, {"text", std::string(size_t{3} << 20, 'x')}};
  for (uint8_t i = 1; i <= 3; ++i) write(place(index, i), pending(i, large));
  const Json page = answer(list(10));
  EXPECT_EQ(page["items"].size(), 2U);
  ASSERT_TRUE(page["next"].is_string());
  EXPECT_EQ(answer(list(10, page["next"].get<std::string>()))["items"].size(), 1U);
}

TEST_F(PendingStartQueriesTest, AreNamedByTheErrorOfAnInstanceThatHasNotStarted) {
  const auto shown = [&](uint8_t instance) {
    return ask([&](Queries& queries, const View& view) {
             return queries.instance(view, "default", number(instance));
           })
        .error();
  };
  write(place(debounced(), 1), pending(1));
  write(place(batched(), 1), pending_batch(2, 1));
  PendingStart over = pending_batch(3, 1);
  over.batch->is_over = true;
  write(place(ship_, 1), over);
  EXPECT_EQ(shown(1).code, "instance.not_found");
  const std::string until = format_rfc3339(now + std::chrono::minutes(1));
  EXPECT_EQ(shown(1).message,
            "there is no instance " + to_string(number(1)) +
                " in namespace \"default\" yet: `debounce` of workflow \"index\" has put off its "
                "start until " +
                until +
                "; `millrace -n default queue list --workflow index` shows it, and `millrace -n "
                "default instance cancel " +
                to_string(number(1)) + "` drops it");
  EXPECT_NE(shown(2).message.find("`batch` of workflow \"book\" has put off its start until " +
                                  until + ", or until it has 9 inputs (it has 1); `millrace"),
            std::string::npos)
      << shown(2).message;
  for (const uint8_t other : {uint8_t{3}, uint8_t{4}}) {
    EXPECT_EQ(shown(other).message,
              "there is no instance " + to_string(number(other)) + " in namespace \"default\"");
  }
}

TEST_F(PendingStartQueriesTest, AreSearchedWithinBounds) {
  const WorkflowNumber index = debounced();
  for (uint8_t i = 1; i <= 3; ++i) write(place(index, i), pending(i));
  const Error found = missing_instance(*tx, definitions, "default", ns, number(3), {.rows = 3});
  EXPECT_NE(found.message.find("has put off its start"), std::string::npos) << found.message;
  const Error cut = missing_instance(*tx, definitions, "default", ns, number(3), {.rows = 2});
  EXPECT_EQ(cut.code, "instance.not_found");
  EXPECT_NE(cut.message.find("than were looked at"), std::string::npos) << cut.message;
  const Error none = missing_instance(*tx, definitions, "default", ns, number(9), {.rows = 3});
  EXPECT_EQ(none.message.find("looked at"), std::string::npos) << none.message;
}

TEST_F(PendingStartQueriesTest, AreAmongWhatWillFire) {
  const WorkflowNumber index = debounced();
  const PendingStartPlace moved = place(index, 1);
  write(moved, pending(1));
  PendingStart later = pending(1);  // newer requests have moved it; it is listed as before
  later.at += std::chrono::minutes(5);
  EXPECT_TRUE(write_pending_start(*tx, moved, later, later.listed));
  write(place(batched(), 1), pending_batch(2, 3));
  PendingStart over = pending_batch(3, 1);
  over.batch->is_over = true;
  write(place(ship_, 1), over);
  PendingStartPlace foreign = place(index, 9);
  foreign.ns = create_namespace("shop");
  write(foreign, pending(4));
  const auto next = [](NextFilter filter) {
    return [filter](Queries& queries, const View& view) {
      return queries.next_firings(view, "default", filter);
    };
  };
  // As the list of queues shows it.
  const auto item = [&](TimePoint at, size_t listed) {
    Json shown = answer(list(10))["items"][listed];
    EXPECT_EQ(shown["startsAt"], format_rfc3339(at));
    for (const char* const member : {"kind", "queued"}) shown.erase(member);
    shown.update({{"at", format_rfc3339(at)}, {"kind", "pendingStart"}, {"causes", "start"}});
    return shown;
  };
  const Json book = item(later.listed, 0);
  EXPECT_EQ(book["maxSize"], 9);
  const Json moved_item = item(later.at, 1);
  EXPECT_EQ(moved_item["instance"], to_string(number(1)));
  const NextFilter starts{.kinds = {FiringKind::kPendingStart}};
  EXPECT_EQ(answer(next(starts))["items"], Json::array({book, moved_item}));
  EXPECT_EQ(answer(next(starts))["complete"], true);
  EXPECT_EQ(answer(next({.until = later.listed, .kinds = starts.kinds}))["items"],
            Json::array({book}));
  const Json cut = answer(next({.kinds = starts.kinds, .limit = 1}));
  EXPECT_EQ(cut["items"], Json::array({book}));
  EXPECT_EQ(cut["exactUntil"], format_rfc3339(later.at));
  EXPECT_EQ(answer(next({.kinds = {FiringKind::kTick}}))["items"], Json::array());
  const Json few = answer([&](Queries& queries, const View& view) {
    return queries.next_firings(view, "default", starts, {.rows = 1});
  });
  EXPECT_EQ(few["complete"], false);
  EXPECT_EQ(few["cutBy"], "look");
}

}  // namespace
}  // namespace millrace
