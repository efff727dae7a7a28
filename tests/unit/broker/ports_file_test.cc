#include "broker/ports_file.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(PortsFile, NamesThePortOfTheFirstUrl) {
  EXPECT_EQ(port_in_ports_file(R"({"nats":["nats://127.0.0.1:4222","nats://[::1]:4223"]})"), 4222);
  EXPECT_EQ(port_in_ports_file(R"({"nats":["nats://[::1]:65535"],"monitoring":["a:1"]})"), 65535);
  EXPECT_EQ(port_in_ports_file(R"({"nats":["1"]})"), 1);
}

TEST(PortsFile, NamesNoPortIfItIsIncompleteOrOfAnotherForm) {
  for (const char* const text :
       {"", R"({"nats":["nats://127.0.0.1:42)", "[]", "null", R"({"nats":{}})", R"({"nats":[]})",
        R"({"nats":[4222]})", R"({"nats":["nats://127.0.0.1"]})", R"({"nats":["nats://a:0"]})",
        R"({"nats":["nats://a:65536"]})", R"({"nats":["nats://a:-1"]})", R"({"nats":["a: 1"]})",
        R"({"nats":["nats://a:42x"]})", R"({"nats":["nats://a:"]})"}) {
    EXPECT_EQ(port_in_ports_file(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace millrace
