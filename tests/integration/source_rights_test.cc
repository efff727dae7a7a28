// The rights for sources in docs/nats.md are sufficient for a source, and a source for which one of
// them is missing names it.
#include <memory>
#include <optional>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kStartsForPlacedOrders = R"(
id: takes-orders
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";

/// The further rights of docs/nats.md for streams that a source consumes.
constexpr const char* kRightToAcknowledge = "$JS.ACK.ORDERS.>";
constexpr const char* kRightToFindConsumers = "$JS.API.CONSUMER.INFO.ORDERS.*";

std::string quoted_right(std::string_view right) { return fmt::format("\"{}\"", right); }

std::string nats_page() { return read_repository_file("docs/nats.md"); }

/// The first configuration in the text.
std::string first_configuration(const std::string& text) {
  const std::string begin = "```conf\n";
  const size_t at = text.find(begin);
  CHECK(at != std::string::npos, "docs/nats.md lacks a configuration");
  return text.substr(at + begin.size(), text.find("```", at + 1) - at - begin.size());
}

std::string page_behind(const std::string& heading) {
  const std::string page = nats_page();
  const size_t at = page.find(heading);
  CHECK(at != std::string::npos, "docs/nats.md lacks {}", heading);
  return page.substr(at);
}

/// The rights to publish that a source of the stream ORDERS needs.
std::string rights_for_a_stream() {
  return first_configuration(page_behind("### Rights for sources\n"));
}

/// The rights to publish that the source `orders` of the namespace `default` needs without a
/// stream.
std::string rights_without_a_stream() {
  const std::string rights =
      first_configuration(page_behind("For a source [without a stream](sources.md"));
  return std::regex_replace(rights, std::regex("MILLRACE_SOURCE_shop"), "MILLRACE_SOURCE_default");
}

/// The text with `with` in place of the first `what`.
std::string with_replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  CHECK(at != std::string::npos, "{} is missing", what);
  return text.replace(at, what.size(), with);
}

/// The configuration of docs/nats.md, in which millrace has these rights to publish, too, and a
/// user `admin` has all rights.
std::string configuration_with(const std::string& rights) {
  const std::string users = "users: [\n";
  const std::string conf =
      with_replaced(first_configuration(nats_page()), users,
                    users + "    {user: admin, password: \"admin-password\"}\n");
  return with_replaced(conf, "\"millrace.>\"\n", "\"millrace.>\"\n" + rights + "\n");
}

class SourceRights : public testing::Test {
 protected:
  /// Starts a nats-server with the stream ORDERS, and a millrace that has these rights besides.
  void start(const std::string& rights, const std::string& retention = "limits") {
    nats_ = std::make_unique<NatsServer>(configuration_with(rights));
    admin_ = nats_->client({.user = "admin", .password = "admin-password"});
    const Json made =
        admin_->api("STREAM.CREATE.ORDERS", {{"name", "ORDERS"},
                                             {"subjects", Json::array({"shop.orders.*"})},
                                             {"retention", retention},
                                             {"storage", "file"},
                                             {"max_age", 0},
                                             {"max_msgs", -1},
                                             {"max_bytes", -1}});
    ASSERT_FALSE(made.contains("error")) << made.dump();
    millrace_ = std::make_unique<MillraceServer>(
        nats_->url(),
        std::map<std::string, std::string>{{"NATS_USER", "millrace"},
                                           {"NATS_PASSWORD", "millrace-password"},
                                           {"MILLRACE_NATS_INBOX_PREFIX", "_INBOX_millrace"}});
    millrace_->start_ready();
    millrace_->apply(kStartsForPlacedOrders);
  }

  void place(const char* subject = "shop.orders.eu") {
    admin_->publish(subject, fmt::format(R"({{"number": {}}})", ++placed_));
    admin_->flush();
  }
  HttpReply put(const std::string& members) const {
    return millrace_->ask("PUT", "sources/orders",
                          fmt::format(R"({{{}, "mapping": {{"type": "order.placed"}}}})", members));
  }
  void apply(const std::string& members) const {
    const HttpReply reply = put(members);
    ASSERT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
  }
  Json source() const { return millrace_->get("sources/orders"); }
  bool has_started(size_t count) const {
    return millrace_->has_instances("workflow=takes-orders&status=complete", count);
  }
  Json messages_left() { return admin_->api("STREAM.INFO.ORDERS")["state"]["messages"]; }
  Json consumers() { return admin_->api("CONSUMER.NAMES.ORDERS")["consumers"]; }
  /// Waits until the source waits for a right, and returns the error.
  Json missing_right() const {
    Json waits;
    EXPECT_TRUE(eventually([&] {
      waits = source().value("waits", Json::object());
      return waits.value("code", "") == "source.not_permitted";
    })) << waits.dump();
    return waits;
  }
  /// Expects that the NATS server has refused nothing.
  void expect_no_refusal() const {
    EXPECT_THAT(millrace_->process().errors(), Not(HasSubstr("ermission")));
  }

  int placed_ = 0;
  std::unique_ptr<NatsServer> nats_;
  std::unique_ptr<RawNatsClient> admin_;
  std::unique_ptr<MillraceServer> millrace_;
};

TEST_F(SourceRights, SufficeToReadAStream) {
  start(rights_for_a_stream());
  place();
  apply(R"("stream": "ORDERS", "begin": "all")");
  ASSERT_TRUE(has_started(1));
  const HttpReply tried = millrace_->ask("POST", "sources/orders/try");
  ASSERT_EQ(tried.status, 200) << tried.body;
  EXPECT_EQ(tried.json()["items"].size(), 1U);
  apply(R"("stream": "ORDERS", "begin": {"time": "2020-01-01T00:00:00Z"})");
  place();
  ASSERT_TRUE(has_started(2));
  expect_no_refusal();

  // The next reading deletes the consumer of the last one, and looks at the newest message.
  millrace_->kill();
  place();
  millrace_->start_ready();
  ASSERT_TRUE(has_started(3));
  ASSERT_EQ(millrace_->ask("DELETE", "sources/orders").status, 200);
  EXPECT_TRUE(eventually([&] { return consumers().empty(); }));
  EXPECT_EQ(messages_left(), 3);
  expect_no_refusal();
  millrace_->stop();
}

TEST_F(SourceRights, SufficeToConsumeAWorkQueue) {
  EXPECT_THAT(nats_page(), HasSubstr(fmt::format("`{}`", kRightToAcknowledge)));
  start(rights_for_a_stream() + quoted_right(kRightToAcknowledge), "workqueue");
  place();
  apply(R"("stream": "ORDERS", "begin": "all", "consume": true)");
  place();
  ASSERT_TRUE(has_started(2));
  EXPECT_TRUE(eventually([&] { return messages_left() == 0; }));
  expect_no_refusal();
  millrace_->stop();
}

TEST_F(SourceRights, SufficeToConsumeAStreamOfInterest) {
  EXPECT_THAT(nats_page(), HasSubstr(fmt::format("`{}`", kRightToFindConsumers)));
  start(rights_for_a_stream() + quoted_right(kRightToAcknowledge) + "\n" +
            quoted_right(kRightToFindConsumers),
        "interest");
  apply(R"("stream": "ORDERS", "begin": "all", "consume": true)");
  ASSERT_TRUE(eventually([&] { return source()["reading"] == true; }));
  place();
  ASSERT_TRUE(has_started(1));
  EXPECT_TRUE(eventually([&] { return messages_left() == 0; }));
  ASSERT_EQ(millrace_->ask("DELETE", "sources/orders").status, 200);
  EXPECT_TRUE(eventually([&] { return consumers().empty(); }));
  expect_no_refusal();
  millrace_->stop();
}

TEST_F(SourceRights, SufficeForASourceWithoutAStream) {
  start(rights_without_a_stream());
  apply(R"("subjects": ["core.orders.*"])");
  place("core.orders.eu");
  ASSERT_TRUE(has_started(1));
  apply(R"("subjects": ["core.orders.*"], "maxAge": "1d")");
  place("core.orders.eu");
  ASSERT_TRUE(has_started(2));
  EXPECT_EQ(put(R"("subjects": ["shop.orders.*"])").code(), "source.overlap");
  ASSERT_EQ(millrace_->ask("DELETE", "sources/orders").status, 200);
  EXPECT_TRUE(admin_->api("STREAM.INFO.MILLRACE_SOURCE_default+orders").contains("error"));
  expect_no_refusal();
  millrace_->stop();
}

TEST_F(SourceRights, AreNamedIfTheStreamCannotBeFound) {
  start(with_replaced(rights_for_a_stream(), quoted_right("$JS.API.STREAM.INFO.ORDERS"),
                      quoted_right("another.subject")));
  const HttpReply refused = put(R"("stream": "ORDERS", "begin": "all")");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused.code(), "source.not_permitted");
  EXPECT_THAT(refused.body, HasSubstr("$JS.API.STREAM.INFO.ORDERS"));
  millrace_->stop();
}

/// A right without which a source cannot read.
class MissingSourceRight : public SourceRights, public testing::WithParamInterface<const char*> {};

TEST_P(MissingSourceRight, IsNamedByTheSourceThatWaitsForIt) {
  const std::string right = GetParam();
  start(with_replaced(rights_for_a_stream(), quoted_right(right + "*"),
                      quoted_right("another.subject")));
  place();
  apply(R"("stream": "ORDERS", "begin": "all")");
  EXPECT_THAT(missing_right().value("msg", ""), HasSubstr(right + "millrace-default-orders-"));
  EXPECT_TRUE(eventually([&] {
    const std::string list = millrace_->cli({"source", "list"}).output;
    return list.find("source.not_permitted") != std::string::npos;
  }));
  EXPECT_EQ(source()["events"], 0);
  millrace_->stop();
}

std::string name_of_right(const testing::TestParamInfo<const char*>& right) {
  return std::regex_replace(right.param, std::regex("[^A-Z]"), "");
}

INSTANTIATE_TEST_SUITE_P(Of, MissingSourceRight,
                         testing::Values("$JS.API.CONSUMER.CREATE.ORDERS.",
                                         "$JS.API.CONSUMER.DELETE.ORDERS.",
                                         "$JS.API.CONSUMER.MSG.NEXT.ORDERS."),
                         name_of_right);

}  // namespace
}  // namespace millrace
