// Hosts that are this machine, and URLs whose requests cross a network in plain text.
#include "model/loopback_host.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LoopbackHost, IsALoopbackNameOrAddress) {
  for (const char* const host :
       {"localhost", "LOCALHOST", "shop.localhost", "127.0.0.1", "127.255.0.3", "[::1]"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* const host : {"", "db1", "localhost.example", "127.evil.example", "127.0.0",
                                 "127.0.0.1.1", "128.0.0.1", "0.0.0.0", "[::2]", "::1"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(LoopbackHost, IsTheOnlyOneToWhichAPlainUrlStaysOnTheMachine) {
  const struct {
    const char* url;
    bool leaves;
  } rows[] = {
      {"http://127.0.0.1:8780", false},
      {"http://localhost:8780/", false},
      {"http://[::1]:8780", false},
      {"localhost:8780", false},
      {"http://user@localhost", false},
      {"http://db1:8780", true},
      {"HTTP://db1", true},
      {"db1:8780", true},
      {"http://localhost@db1", true},
      {"http://[fe80::1]:8780", true},
      {"http://0.0.0.0:8780", true},
      {"https://db1:8780", false},
      {"ftp://db1", false},
      {"http://", false},
      {"", false},
  };
  for (const auto& row : rows) EXPECT_EQ(is_plain_to_other_machine(row.url), row.leaves) << row.url;
}

}  // namespace
}  // namespace millrace
