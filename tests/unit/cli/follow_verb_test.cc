// `instance follow`, and the reader of its messages.
#include <functional>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "cli/event_reader.h"
#include "orchestrator/service/live_sink.h"
#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

TEST(EventReader, ReadsMessagesThatComeInPieces) {
  EventReader reader;
  reader.add(":\n\nevent: a\nid: 7\nda");
  EXPECT_FALSE(reader.next());
  reader.add("ta: {\"x\":1}\n\nevent: b\ndata: 2\n\n:\n\n");
  auto message = reader.next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->event, "a");
  EXPECT_EQ(message->id, "7");
  EXPECT_EQ(message->data, "{\"x\":1}");
  message = reader.next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->event, "b");
  EXPECT_EQ(message->id, "");
  EXPECT_EQ(message->data, "2");
  EXPECT_FALSE(reader.next());
}

class FollowVerb : public CliTest {
 protected:
  /// Runs `instance follow`, while `serve` sends messages to its first stream.
  CommandOutput follow(std::vector<std::string> options,
                       const std::function<void(LiveSink& sink)>& serve) {
    std::thread server([&] { serve(*service_.await_watcher()); });
    std::vector<std::string> arguments = {"instance", "follow", kId};
    arguments.insert(arguments.end(), options.begin(), options.end());
    CommandOutput printed = run(arguments);
    server.join();
    return printed;
  }
  static void send(LiveSink& sink, const std::string& event, const std::string& data) {
    sink.send(std::make_shared<const std::string>(live_message(event, "b1-1", data)));
  }
};

TEST_F(FollowVerb, PrintsRecordsUntilTheInstanceEnds) {
  service_.end_at_once("complete");
  const CommandOutput printed = follow({}, [](LiveSink& sink) {
    send(sink, "hello", "{}");
    send(sink, "history",
         R"({"items":[{"number":1,"time":"T1","kind":"started","detail":{"by":"call"}}]})");
    send(sink, "history", R"({"items":[{"number":2,"time":"T2","kind":"ended","state":"pay"}]})");
  });
  EXPECT_EQ(printed.out, "T1  started    -  {\"by\":\"call\"}\nT2  ended      pay  \n");
  EXPECT_EQ(printed.err, "");
}

TEST_F(FollowVerb, ReportsThatTheInstanceWasDeleted) {
  const CommandOutput printed =
      follow({"--after", "4"}, [](LiveSink& sink) { sink.end(reset_message("deleted")); });
  EXPECT_EQ(printed.code, 3);
  EXPECT_NE(printed.err.find("was deleted"), std::string::npos) << printed.err;
  EXPECT_EQ(service_.last_watch().after, 4U);
}

TEST_F(FollowVerb, EndsIfTheServerEndsTheStreamWithoutARecord) {
  const CommandOutput printed =
      follow({}, [](LiveSink& sink) { sink.end(reset_message("stopping")); });
  EXPECT_EQ(printed.code, 5);
  EXPECT_NE(printed.err.find("--after 0"), std::string::npos) << printed.err;
}

}  // namespace
}  // namespace millrace
