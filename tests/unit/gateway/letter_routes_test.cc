// The routes of dead letters: list, show, replay and delete.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class LetterRoutes : public ApiTest {
 protected:
  const std::string dlq_ = "/v1/ns/default/dlq";
};

TEST_F(LetterRoutes, ListAndShowDeadLetters) {
  const HttpReply list = call("GET", dlq_ + "?limit=1&before=40&reason=event.time");
  ASSERT_EQ(list.status, 200) << list.body;
  const Json page = list.json();
  ASSERT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["items"][0]["id"], "12");
  EXPECT_EQ(page["reasons"], (Json{{{"reason", "event.time"}, {"count", 2}}}));
  EXPECT_EQ(service_.dead_letters.last_filter().before, 40U);
  EXPECT_EQ(service_.dead_letters.last_filter().reason, "event.time");
  EXPECT_EQ(service_.dead_letters.last_filter().source, "");
  ASSERT_EQ(call("GET", dlq_ + "?source=orders").status, 200);
  EXPECT_EQ(service_.dead_letters.last_filter().source, "orders");
  ASSERT_EQ(call("GET", dlq_ + "?cursor=12").status, 200);
  EXPECT_EQ(service_.dead_letters.last_filter().before, 12U);

  const HttpReply one = call("GET", dlq_ + "/12");
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(one.json()["headers"], Json::array({Json::array({"ce-id", "1"})}));
}

TEST_F(LetterRoutes, ReplayOneAsItIsOrCorrected) {
  const HttpReply cut = call("POST", dlq_ + "/11/replay");
  EXPECT_EQ(cut.status, 422) << cut.body;
  EXPECT_EQ(cut.code(), "dlq.truncated");
  EXPECT_FALSE(service_.dead_letters.last_corrected());
  const HttpReply corrected =
      call("POST", dlq_ + "/11/replay", {{"Content-Type", kStructured}}, kEvent);
  EXPECT_EQ(corrected.status, 200) << corrected.body;
  EXPECT_EQ(corrected.json(), (Json{{"id", "11"}, {"event", "e-1"}, {"sequence", 19}}));
  ASSERT_TRUE(service_.dead_letters.last_corrected());
  EXPECT_EQ(service_.dead_letters.last_corrected()->type, "order.placed");
  EXPECT_EQ(call("POST", dlq_ + "/12/replay").status, 200);
  EXPECT_FALSE(service_.dead_letters.last_corrected());
  EXPECT_EQ(call("POST", dlq_ + "/12/replay").code(), "dlq.not_found");
}

TEST_F(LetterRoutes, ReplayAllOfAReasonInPages) {
  const HttpReply first = call("POST", dlq_ + "/replay?reason=event.time");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.json()["done"], 0);
  EXPECT_EQ(first.json()["refused"][0]["id"], "11");
  EXPECT_EQ(first.json()["next"], "12");
  EXPECT_EQ(service_.dead_letters.last_reason(), "event.time");
  const HttpReply second = call("POST", dlq_ + "/replay?reason=event.time&cursor=12");
  EXPECT_EQ(second.json()["done"], 1);
  EXPECT_EQ(second.json()["left"], 1);
  EXPECT_EQ(second.json()["next"], nullptr);
}

TEST_F(LetterRoutes, DeleteOneOrAll) {
  EXPECT_EQ(call("DELETE", dlq_ + "/12").json(), (Json{{"id", "12"}, {"deleted", true}}));
  EXPECT_EQ(service_.dead_letters.ids(), std::set<uint64_t>{11});
  const HttpReply all = call("DELETE", dlq_ + "?all=1");
  EXPECT_EQ(all.status, 200) << all.body;
  EXPECT_EQ(all.json()["done"], 1);
  EXPECT_EQ(service_.dead_letters.last_reason(), "");
  EXPECT_TRUE(service_.dead_letters.ids().empty());
}

TEST_F(LetterRoutes, RefuseWrongRequests) {
  const Headers structured = {{"Content-Type", kStructured}};
  const Headers batch = {{"Content-Type", kBatch}};
  const Row rows[] = {
      {"GET", dlq_ + "?limit=0", {}, "", 400, "request.parameter"},
      {"GET", dlq_ + "?cursor=x", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/throw/dlq", {}, "", 500, "internal"},
      {"GET", "/v1/ns/nowhere/dlq", {}, "", 404, "namespace.not_found"},
      {"GET", dlq_ + "/13", {}, "", 404, "dlq.not_found"},
      {"GET", dlq_ + "/first", {}, "", 404, "dlq.not_found"},
      {"DELETE", dlq_, {}, "", 400, "request.parameter"},
      {"DELETE", dlq_ + "?reason=a&all=1", {}, "", 400, "request.parameter"},
      {"DELETE", dlq_ + "/x", {}, "", 404, "dlq.not_found"},
      {"POST", dlq_ + "/replay", {}, "", 400, "request.parameter"},
      {"POST", dlq_ + "/12/replay", structured, "{", 400, "event.malformed_json"},
      {"POST", dlq_ + "/12/replay", batch, "[]", 400, "request.parameter"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  EXPECT_EQ(service_.dead_letters.ids().size(), 2U);
}

}  // namespace
}  // namespace millrace
