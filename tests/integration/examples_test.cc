// The commands of each example's README work on a real server and broker. The file trace.golden in
// the example's folder has the expected history of the instances.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "tests/integration/trace.h"

namespace millrace {
namespace {

using testing::HasSubstr;

std::string file_of(const std::string& example, const std::string& name) {
  return fmt::format("examples/{}/{}", example, name);
}

/// The blocks of shell commands in a README.
std::vector<std::string> shell_blocks(const std::string& readme) {
  constexpr std::string_view kBegin = "```sh\n";
  std::vector<std::string> blocks;
  for (size_t at = readme.find(kBegin); at != std::string::npos; at = readme.find(kBegin, at)) {
    at += kBegin.size();
    const size_t end = readme.find("```", at);
    blocks.push_back(readme.substr(at, end - at));
    at = end;
  }
  return blocks;
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  CHECK(at != std::string::npos, "{} is not in the text", from);
  return text.replace(at, from.size(), to);
}

class Examples : public MillraceTest {
 protected:
  void SetUp() override {
    MillraceTest::SetUp();
    events_->subscribe("millrace.events.>");
  }

  void apply(const std::string& example, const std::string& file) {
    millrace_.apply(read_repository_file(file_of(example, file)));
  }

  /// Applies guest-booking.yaml with a timeout that a busy machine does not reach.
  void apply_patient_booking() {
    millrace_.apply(with(read_repository_file(file_of("guest-booking", "guest-booking.yaml")),
                         "PT30S", "PT1H"));
  }

  /// Runs a block of commands of the README in a shell.
  ProcessEnd paste(const std::string& example, size_t block) {
    std::string commands =
        shell_blocks(read_repository_file(file_of(example, "README.md"))).at(block);
    if (commands.find("http://127.0.0.1:8780") != std::string::npos) {
      commands = with(commands, "http://127.0.0.1:8780", millrace_.checked_url());
    }
    return run(commands);
  }

  ProcessEnd run(const std::string& commands) {
    ProcessEnd end = run_process({.command = {"bash", "-e", "-u", "-o", "pipefail", "-c", commands},
                                  .environment = {{"MILLRACE_URL", millrace_.checked_url()},
                                                  {"PATH", path_with_millrace()}}});
    EXPECT_EQ(end.code, 0) << end.errors;
    return end;
  }

  /// The lines of a block: each has a command, and its comment if it has one.
  static std::vector<std::string> shell_lines(const std::string& example, size_t block) {
    std::istringstream text(
        shell_blocks(read_repository_file(file_of(example, "README.md"))).at(block));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
      if (!line.empty() && !line.starts_with("#")) lines.push_back(line);
    }
    return lines;
  }

  /// Applies the folder of workflows that the README names in its `millrace dev` command.
  void apply_what_the_readme_says(const std::string& example) {
    const std::string readme = read_repository_file(file_of(example, "README.md"));
    constexpr std::string_view kDev = "`millrace dev ";
    std::string folder = "examples/";  // the folder of `./dev run`
    if (const size_t at = readme.find(std::string(kDev) + "examples/"); at != std::string::npos) {
      const size_t begin = at + kDev.size();
      folder = readme.substr(begin, readme.find('`', begin) - begin);
    } else {
      ASSERT_THAT(readme, HasSubstr("Start `./dev run` in another shell, then run:"));
    }
    const ProcessEnd end = millrace_.cli({"workflow", "apply", folder});
    ASSERT_EQ(end.code, 0) << end.errors;
  }

  /// The next event of this type that a NATS subscriber receives.
  Json published(const std::string& type) {
    while (const auto message = events_->next()) {
      if (message->subject != "millrace.events.default." + type) continue;
      EXPECT_THAT(message->headers, HasSubstr("application/cloudevents+json"));
      return Json::parse(message->data);
    }
    ADD_FAILURE() << "no event " << type;
    return {};
  }

  std::string only_instance_of(const std::string& workflow) {
    const std::vector<Json> all = millrace_.items("instances?workflow=" + workflow);
    CHECK(all.size() == 1, "{} instances of {}", all.size(), workflow);
    return all.front().at("id");
  }

  std::unique_ptr<RawNatsClient> events_ = nats_.client();
};

TEST_F(Examples, GuestBookingConfirmsOrGivesUp) {
  apply_patient_booking();
  paste("guest-booking", 0);
  const std::string confirmed = only_instance_of("guest-booking");
  const Json ended = millrace_.instance_once(confirmed, "complete");
  EXPECT_EQ(ended["output"], Json::parse(R"({"customerId":"c-42","booking":{"room":"204"}})"));
  const Json event = published("booking.confirmed");
  EXPECT_EQ(event["source"], "millrace/guest-booking");
  EXPECT_EQ(event["customerid"], "c-42");
  EXPECT_EQ(event["data"], Json::parse(R"({"customerId":"c-42","room":"204"})"));

  millrace_.apply(with(read_repository_file(file_of("guest-booking", "guest-booking.yaml")),
                       "PT30S", "PT0.2S"));
  const std::string expired = millrace_.start_instance("guest-booking", {{"customerId", "c-43"}});
  EXPECT_EQ(millrace_.instance_once(expired, "complete")["output"]["error"]["code"],
            "direktiv.stateTimeout");
  EXPECT_EQ(published("booking.expired")["customerid"], "c-43");

  expect_golden(file_of("guest-booking", "trace.golden"),
                trace_of(millrace_, {confirmed, expired}));
}

TEST_F(Examples, GuestBookingIsConfirmedByABookingInTheBinaryModeOfHttp) {
  apply_patient_booking();
  const std::string id = millrace_.start_instance("guest-booking", {{"customerId", "c-42"}});
  const ProcessEnd curl = paste("guest-booking", 1);
  EXPECT_THAT(curl.output, HasSubstr("202 Accepted"));
  EXPECT_THAT(curl.output, HasSubstr(R"({"accepted":1,"duplicates":0})"));
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["booking"]["room"], "204");

  EXPECT_THAT(paste("guest-booking", 1).output, HasSubstr(R"({"accepted":1,"duplicates":1})"));
}

TEST_F(Examples, GuestBookingIsConfirmedByACloudEventInJsonPublishedToNats) {
  apply_patient_booking();
  const std::string id = millrace_.start_instance("guest-booking", {{"customerId", "c-42"}});
  nats_.client()->publish_acked(
      "millrace.events.default.guestbooking", "",
      R"({"specversion": "1.0", "id": "b-1", "type": "guestbooking", "source": "bookings.desk",)"
      R"( "customerid": "c-42", "venue": "Sydney", "data": {"room": "7"}})");
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["booking"]["room"], "7");
}

TEST_F(Examples, PurchaseShowsOnlyTheEventThatItStillWaitsFor) {
  apply_what_the_readme_says("purchase");
  const std::vector<std::string> lines = shell_lines("purchase", 0);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines[3], HasSubstr("millrace listener list"));
  EXPECT_THAT(lines[3], HasSubstr("# one line: purchasePaid"));
  run(lines[0]);
  run(lines[1]);
  ASSERT_TRUE(eventually([&] { return millrace_.items("listeners").size() == 1; }));
  EXPECT_EQ(Json::parse(run(lines[2]).output)["items"][0]["status"], "waiting");
  const Json listeners = Json::parse(run(lines[3]).output)["items"];
  ASSERT_EQ(listeners.size(), 1U);
  EXPECT_EQ(listeners[0]["type"], "purchasePaid");
}

TEST_F(Examples, PurchaseWaitsForBothEvents) {
  apply("purchase", "purchase.yaml");
  paste("purchase", 0);
  const std::string id = only_instance_of("purchase");
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"],
            Json::parse(R"({"customerId":"c-42","amount":1999,"parcel":"JD-0071"})"));
  EXPECT_EQ(published("purchase.done")["customerid"], "c-42");
  expect_golden(file_of("purchase", "trace.golden"), trace_of(millrace_, {id}));
}

TEST_F(Examples, ReservationReturnsTheMessageForEachAnswerOfTheRestaurant) {
  apply_what_the_readme_says("reservation");
  const ProcessEnd end = paste("reservation", 0);
  EXPECT_THAT(end.output, HasSubstr("Welcome, Ada! Your table is number 7."));
  const std::string accepted = only_instance_of("reservation");
  EXPECT_EQ(published("reservation.requested")["data"],
            Json::parse(R"({"guestName":"Ada","seats":2})"));

  const auto decline = [&](const std::string& guest, const std::string& reason) {
    std::string id = millrace_.start_instance("reservation", {{"guestName", guest}, {"seats", 4}});
    millrace_.cli({"event", "send", "--type", "reservationDecline", "--source", "restaurant",
                   "--attr", "guestname=" + guest, "--data", reason});
    return id;
  };
  const std::string full = decline("Bo", R"({"reason": "full"})");
  EXPECT_EQ(millrace_.instance_once(full, "complete")["output"]["message"],
            "Sorry, Bo, we are full.");
  const std::string closed = decline("Cy", R"({"reason": "holiday"})");
  EXPECT_EQ(millrace_.instance_once(closed, "complete")["output"]["message"],
            "Sorry, Cy, we are closed.");
  expect_golden(file_of("reservation", "trace.golden"),
                trace_of(millrace_, {accepted, full, closed}));
}

TEST_F(Examples, OrderFanInListsNoInstanceBeforeTheThirdEvent) {
  apply_what_the_readme_says("order-fan-in");
  const std::vector<std::string> lines = shell_lines("order-fan-in", 0);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines[3], HasSubstr("millrace instance list"));
  for (size_t i = 0; i < 3; ++i) run(lines[i]);
  ASSERT_TRUE(eventually([&] { return millrace_.items("groups").size() == 2; }));
  EXPECT_EQ(Json::parse(run(lines[3]).output)["items"], Json::array());
  run(lines[4]);
  millrace_.only_instance_once("order-ready", "complete");
  millrace_.only_instance_once("order-pickup", "complete");
  EXPECT_EQ(Json::parse(run(lines[5]).output)["items"].size(), 2U);
}

TEST_F(Examples, WorkersConvertAWordAndTheWorkflowCatchesTheErrorForAMissingWord) {
  apply_what_the_readme_says("workers");
  const std::vector<std::string> lines = shell_lines("workers", 0);
  ASSERT_EQ(lines.size(), 3U);
  // The README has the default port of `millrace dev`; this test's server has another port.
  const Process worker({.command = {"bash", "-c",
                                    "exec " + with(with(lines[0], "127.0.0.1:4222",
                                                        fmt::format("127.0.0.1:{}", nats_.port())),
                                                   " &", "")}});
  for (size_t i = 1; i < 3; ++i) {
    const Json shown = Json::parse(run(with(lines[i], "--wait 30s", "--wait 10m")).output);
    const std::string expected = lines[i].substr(lines[i].rfind("# ") + 2);
    EXPECT_EQ(shown, Json::parse(expected)) << lines[i] << worker.errors();
  }
}

TEST_F(Examples, PriceRequestIsAnsweredByTheWorkerWithTheIdOfTheInstance) {
  apply_what_the_readme_says("price-request");
  Process worker({.command = {"python3", "examples/price-request/answer.py",
                              fmt::format("127.0.0.1:{}", nats_.port())}});
  ASSERT_TRUE(worker.error_line("answers the events price.asked")) << worker.errors();
  const ProcessEnd end = paste("price-request", 1);
  EXPECT_THAT(end.output, AllOf(HasSubstr("450"), HasSubstr("tea"))) << worker.errors();
}

TEST_F(Examples, OrderFanInStartsWhenAllThreeEventsOfOneOrderHaveCome) {
  apply("order-fan-in", "order-ready.yaml");
  apply("order-fan-in", "order-pickup.yaml");
  paste("order-fan-in", 0);
  const Json ready = millrace_.only_instance_once("order-ready", "complete");
  const Json pickup = millrace_.only_instance_once("order-pickup", "complete");
  EXPECT_EQ(pickup["output"], Json::parse(R"({"shelf":"B4","amount":450})"));
  EXPECT_EQ(published("order.ready")["data"],
            Json::parse(R"({"items":["tea"],"amount":450,"shelf":"B4"})"));
  expect_golden(file_of("order-fan-in", "trace.golden"),
                trace_of(millrace_, {ready.at("id"), pickup.at("id")}));
}

TEST_F(Examples, CheckedOrderReportsTheMistakeInAnOrder) {
  apply("checked-order", "checked-order.yaml");
  paste("checked-order", 0);
  EXPECT_EQ(published("order.accepted")["data"], (Json{{"order", "AT-7"}}));
  EXPECT_THAT(published("order.refused")["data"]["why"].get<std::string>(),
              HasSubstr(".lines[0].price: Expected number greater than"));
  const std::vector<Json> all = millrace_.items("instances?workflow=checked-order");
  ASSERT_EQ(all.size(), 2U);
  std::vector<std::string> ids;  // oldest first
  for (auto one = all.rbegin(); one != all.rend(); ++one) ids.push_back(one->at("id"));
  for (const std::string& id : ids) millrace_.instance_once(id, "complete");
  expect_golden(file_of("checked-order", "trace.golden"), trace_of(millrace_, ids));
}

TEST_F(Examples, MorningDigestStartsByScheduleOrByHand) {
  apply("morning-digest", "morning-digest.yaml");
  const ProcessEnd end = paste("morning-digest", 0);
  EXPECT_THAT(end.output, HasSubstr("CRON_TZ=Europe/Vienna 0 7 * * mon-fri"));
  const Json ended = millrace_.only_instance_once("morning-digest", "complete");
  EXPECT_EQ(ended["output"], (Json{{"orders", 12}}));
  expect_golden(file_of("morning-digest", "trace.golden"), trace_of(millrace_, {ended.at("id")}));
}

TEST_F(Examples, ExchangeRateIsStoredByOneWorkflowAndReadByAnother) {
  apply("exchange-rate", "keep-rate.yaml");
  apply("exchange-rate", "quote.yaml");
  const std::string early = millrace_.start_instance("quote", {{"amount", 1000}});
  EXPECT_EQ(millrace_.instance_once(early, "failed")["error"]["code"], "quote.noRate");
  const std::string output = paste("exchange-rate", 0).output;
  EXPECT_EQ(Json::parse(output.substr(output.rfind("{\n"))),
            Json::parse(R"({"amount":500,"currency":"EUR"})"));
  EXPECT_THAT(paste("exchange-rate", 1).output, HasSubstr("rate"));
  const Json kept = millrace_.only_instance_once("keep-rate", "complete");
  EXPECT_EQ(millrace_.get("variables/rate"), Json::parse(R"({"currency":"EUR","rate":0.75})"));
  const std::string quoted = millrace_.start_instance("quote", {{"amount", 1000}});
  EXPECT_EQ(millrace_.instance_once(quoted, "complete")["output"],
            Json::parse(R"({"amount":750,"currency":"EUR"})"));
  expect_golden(file_of("exchange-rate", "trace.golden"),
                trace_of(millrace_, {early, kept.at("id"), quoted}));
}

}  // namespace
}  // namespace millrace
