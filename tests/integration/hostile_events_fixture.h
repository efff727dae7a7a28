// HostileEvents: a server that receives hostile events over NATS and HTTP, and helpers to publish
// them and to read instances and dead letters.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/support/millrace_server.h"

namespace millrace {

inline constexpr const char* kHostileSubject = "millrace.events.default.hostile";
inline constexpr const char* kStructured = "application/cloudevents+json";

inline std::string event(std::string_view type, std::string_view id,
                         std::string_view members = "") {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/hostile","type":{}{}}})", id,
                     dump_json(Json(type)), members);
}

inline std::string header_block(const Headers& headers) {
  std::string block;
  for (const auto& [name, value] : headers) block += fmt::format("{}: {}\r\n", name, value);
  return block;
}

/// `{"k":0,"k0":0,"k1":0,…}` of about this size.
inline std::string many_keys(size_t bytes) {
  std::string text = "{\"k\":0";
  for (size_t i = 0; text.size() < bytes; ++i) text += fmt::format(",\"k{}\":0", i);
  return text + "}";
}

class HostileEvents : public testing::Test {
 protected:
  void SetUp() override { millrace_.start_ready(); }

  /// Applies the workflow `keeper`: each event of this type starts an instance and is its input.
  void keep(std::string_view type) {
    const Json definition = {{"id", "keeper"},
                             {"start", {{"type", "event"}, {"event", {{"type", type}}}}},
                             {"states", {{{"id", "done"}, {"type", "noop"}}}}};
    const HttpReply stored = millrace_.ask("PUT", "workflows/keeper", dump_json(definition));
    CHECK(stored.status == 200, "{}", stored.body);
  }

  void publish(const std::string& body, const Headers& headers = {},
               std::string_view subject = kHostileSubject) {
    const Json ack = client_->publish_acked(subject, header_block(headers), body);
    ASSERT_FALSE(ack.contains("error")) << ack;
  }

  HttpReply post(const std::string& body, Headers headers = {{"content-type", kStructured}}) {
    return millrace_.ask("POST", "events", body, headers);
  }

  /// Waits for this number of dead letters, and returns the reasons of all.
  std::vector<std::string> letters(size_t count) {
    const auto listed = [&] { return millrace_.items_of_all_pages("dlq?limit=1000"); };
    EXPECT_TRUE(eventually([&] { return listed().size() >= count; })) << listed().size();
    std::vector<std::string> reasons;
    for (const Json& item : listed()) reasons.push_back(item.at("reason"));
    return reasons;
  }

  std::vector<Json> inputs(const std::string& workflow) {
    std::vector<Json> all;
    for (const Json& item : millrace_.instances("workflow=" + workflow)) {
      all.push_back(millrace_.instance(item.at("id")).at("input"));
    }
    return all;
  }

  /// Expects that the server still applies valid events.
  void expect_well() {
    millrace_.apply(
        "id: well\nstart: {type: event, event: {type: well}}\nstates: "
        "[{id: done, type: noop}]\n");
    publish(event("well", "well-1"));
    EXPECT_TRUE(millrace_.has_instances("workflow=well&status=complete", 1));
    EXPECT_EQ(post(event("well", "well-2")).status, 202);
    EXPECT_TRUE(millrace_.has_instances("workflow=well&status=complete", 2));
    EXPECT_TRUE(eventually([&] { return millrace_.ask("GET", "/readyz").status == 200; }));
    EXPECT_TRUE(millrace_.is_running());
  }

  NatsServer nats_{"max_payload: 8MB\n"};
  MillraceServer millrace_{nats_.url()};
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
};

}  // namespace millrace
