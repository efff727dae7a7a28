#include "broker/dev_server.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

TEST(DevServer, TakesThePreferredPortIfItIsFree) {
  const Folder one;
  const Folder two;
  uint16_t port = 0;
  { port = NatsServer().port(); }
  const auto first = DevServer::start({.folder = one.path(), .preferred_port = port});
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->port(), port);
  const auto second = DevServer::start({.folder = two.path(), .preferred_port = port});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE((*second)->port(), port);
}

TEST(DevServer, StopsItsNatsServerWhenItIsDestroyed) {
  const Folder folder;
  uint16_t port = 0;
  {
    Result<std::unique_ptr<DevServer>> server = DevServer::start({.folder = folder.path()});
    ASSERT_TRUE(server) << server.error().message;
    port = (*server)->port();
    EXPECT_EQ((*server)->url(), "nats://127.0.0.1:" + std::to_string(port));
  }
  Result<std::unique_ptr<DevServer>> again =
      DevServer::start({.folder = folder.path(), .port = port});
  ASSERT_TRUE(again) << "the port and the folder must be free: " << again.error().message;
  EXPECT_EQ((*again)->port(), port);
}

TEST(DevServer, KeepsItsStreamsAfterItsNatsServerIsKilled) {
  NatsServer server;
  {
    const std::unique_ptr<RawNatsClient> client = server.client();
    client->api("STREAM.CREATE.X", {{"name", "X"}, {"subjects", {"x"}}});
    client->publish_acked("x", "", "1");
  }
  const uint16_t port = server.process().port();
  server.process().kill();
  ASSERT_TRUE(server.process().start_again());
  EXPECT_EQ(server.process().port(), port);
  EXPECT_EQ(server.client()->api("STREAM.INFO.X")["state"]["last_seq"], 1);
}

TEST(DevServer, RefusesAFolderThatAnotherNatsServerUses) {
  const Folder folder;
  Result<std::unique_ptr<DevServer>> first = DevServer::start({.folder = folder.path()});
  ASSERT_TRUE(first);
  const Result<std::unique_ptr<DevServer>> second = DevServer::start({.folder = folder.path()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "broker.folder_in_use");
}

TEST(DevServer, FailsToStartIfTooFewFileDescriptorsAreFree) {
  const Folder folder;
  bool started = false;
  for (rlim_t more = 0; !started && more < 64; ++more) {
    const FewDescriptors few(more);
    const Result<std::unique_ptr<DevServer>> server = DevServer::start({.folder = folder.path()});
    started = server.has_value();
    if (started) continue;
    EXPECT_EQ(server.error().code, "broker.server_failed");
  }
  EXPECT_TRUE(started);
}

TEST(DevServer, RunsTheProgramThatAnEnvironmentVariableNames) {
  const Folder folder;
  const char* const before = std::getenv("MILLRACE_NATS_SERVER");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("MILLRACE_NATS_SERVER", "/no/such/program", 1);
  const Result<std::unique_ptr<DevServer>> none = DevServer::start({.folder = folder.path()});
  if (before == nullptr) {
    ::unsetenv("MILLRACE_NATS_SERVER");
  } else {
    ::setenv("MILLRACE_NATS_SERVER", kept.c_str(), 1);
  }
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "broker.no_server");
  EXPECT_NE(none.error().message.find("/no/such/program"), std::string::npos);
}

TEST(DevServer, ReportsWhyItCannotStart) {
  const Folder folder;
  const Result<std::unique_ptr<DevServer>> none =
      DevServer::start({.folder = folder.path(), .program = "no-such-nats-server"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "broker.no_server");
  EXPECT_NE(none.error().message.find("Debian package nats-server"), std::string::npos);

  const Result<std::unique_ptr<DevServer>> wrong =
      DevServer::start({.folder = folder.path(), .configuration = "nonsense {"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "broker.server_failed");
}

}  // namespace
}  // namespace millrace
