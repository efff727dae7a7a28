// Kills the server while a range of the event stream is replayed. Environment variable:
// MILLRACE_REPLAYED=100000 sets the number of events of the range.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

class ReplayKills : public MillraceTest {
 protected:
  static constexpr const char* kStarted = R"(
id: order
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";

  void publish(std::string_view type, size_t number) {
    client_->publish(
        fmt::format("millrace.events.default.{}", type),
        fmt::format(R"({{"specversion":"1.0","id":"{1}-{0}","source":"/shop","type":"{1}"}})",
                    number, type));
  }
  /// How many events after this sequence have the type and replay the event of each id.
  std::map<std::string, size_t> replayed_after(size_t sequence) const {
    std::map<std::string, size_t> times;
    std::string after = std::to_string(sequence);
    while (true) {
      const Json page = millrace_.get("events?limit=1000&after=" + after);
      for (const Json& event : page.at("items")) {
        ++times[fmt::format("{} of {}", event.at("type").get<std::string>(),
                            event.at("attributes").value("replayof", "none"))];
      }
      after = page.at("next").get<std::string>();
      if (after == std::to_string(page.at("newest").get<uint64_t>())) return times;
    }
  }

  std::unique_ptr<RawNatsClient> client_ = nats_.client();
};

TEST_F(ReplayKills, SendEachEventOfARangeOnceMoreAndNoOther) {
  const size_t count = number_from("MILLRACE_REPLAYED", 2'000);
  fmt::print("MILLRACE_REPLAYED={}\n", count);
  Campaign campaign("kill during the replay of a range", "each event once more, and no other");
  campaign.run(fmt::format("{} events", count), [&] {
    millrace_.apply(kStarted);
    for (size_t i = 0; i < count; ++i) {
      publish("order.placed", i);
      if (i % 10 == 0) publish("order.noted", i);  // does not fit
    }
    client_->flush();
    ASSERT_TRUE(millrace_.has_usage(0, count));
    const size_t stored = millrace_.get("events?limit=1")["newest"];

    const HttpReply reply = millrace_.ask(
        "POST", "replays",
        fmt::format(R"({{"first":1,"type":"order.placed","rate":{}}})", (count + 1) / 2));
    ASSERT_EQ(reply.status, 202) << reply.body;
    const std::string path = "replays/" + reply.json().at("id").get<std::string>();
    ASSERT_TRUE(eventually([&] { return millrace_.get(path)["sent"] > count / 4; }));
    millrace_.kill();
    millrace_.start_ready();
    fmt::print("sent after the next start: {}\n", millrace_.get(path)["sent"].get<size_t>());
    ASSERT_TRUE(eventually([&] { return millrace_.get(path)["state"] == "done"; }));
    const Json done = millrace_.get(path);
    EXPECT_EQ(done["matched"], count);
    EXPECT_EQ(done["sent"], count);
    EXPECT_EQ(done["lost"], 0);
    EXPECT_EQ(done["last"], stored);
    EXPECT_TRUE(millrace_.has_usage(0, 2 * count));

    const std::map<std::string, size_t> times = replayed_after(stored);
    EXPECT_EQ(times.size(), count);
    for (const auto& [what, number] : times) EXPECT_EQ(number, 1U) << what;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(times.contains(fmt::format("order.placed of order.placed-{}", i))) << i;
    }
  });
}

}  // namespace
}  // namespace millrace
