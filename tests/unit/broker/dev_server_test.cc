#include "broker/dev_server.h"

#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/held_port.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

Result<std::unique_ptr<DevServer>> start_dev_server(DevServerSettings settings) {
  settings.start_timeout = kPatience;
  return DevServer::start(std::move(settings));
}

TEST(DevServer, TakesThePreferredPortIfItIsFree) {
  const Folder one;
  const Folder two;
  const HeldPort held;
  const auto first = start_dev_server({.folder = one.path(), .preferred_port = held.port()});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->port(), held.port());
  const auto second = start_dev_server({.folder = two.path(), .preferred_port = held.port()});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE((*second)->port(), held.port());
}

TEST(DevServer, StopsItsNatsServerWhenItIsDestroyed) {
  const Folder folder;
  const HeldPort held;
  {
    const auto server = start_dev_server({.folder = folder.path(), .port = held.port()});
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_EQ((*server)->url(), "nats://127.0.0.1:" + std::to_string(held.port()));
  }
  const auto again = start_dev_server({.folder = folder.path(), .port = held.port()});
  ASSERT_TRUE(again) << "the port and the folder must be free: " << again.error().message;
  EXPECT_EQ((*again)->port(), held.port());
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
  const auto first = start_dev_server({.folder = folder.path()});
  ASSERT_TRUE(first);
  const auto second = start_dev_server({.folder = folder.path()});
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
      start_dev_server({.folder = folder.path(), .configuration = "nonsense {"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "broker.server_failed");
}

}  // namespace
}  // namespace millrace
