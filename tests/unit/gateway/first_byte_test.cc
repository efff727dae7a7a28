// The time limit from the accept of a connection to its first byte.
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "tests/support/patience.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

TEST(FirstByte, MayTakeTenSecondsByDefault) {
  const TransportLimits usual;
  EXPECT_EQ(usual.first_byte, std::chrono::seconds(10));
  EXPECT_EQ(HttpServer::Options().transport.first_byte, usual.first_byte);
  EXPECT_LT(usual.first_byte, usual.idle) << "a client that has sent nothing has the shorter time";
}

/// Only the limit of the first byte can close the connection: all others are kPatience.
TEST(FirstByte, ClosesAConnectionThatSendsNothing) {
  FakeService service;
  const auto server = HttpServer::start({.listen = "127.0.0.1:0",
                                         .transport = {.first_byte = Duration(50),
                                                       .idle = kPatience,
                                                       .header = kPatience,
                                                       .body = kPatience}},
                                        service);
  ASSERT_TRUE(server);
  RawClient client((*server)->port());
  EXPECT_TRUE(client.is_closed());
}

}  // namespace
}  // namespace millrace
