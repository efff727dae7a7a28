#include "broker/stream_options.h"

#include <gtest/gtest.h>

#include "broker/log_stream.h"
#include "broker/snapshot_stream.h"
#include "broker/streams.h"

namespace millrace {
namespace {

TEST(StreamOptions, AcceptsOnlyAPrefixOfLowerCaseLettersDigitsDashesAndUnderscores) {
  for (const char* const good : {"millrace", "orders", "a", "shop-2", "team_x"}) {
    EXPECT_TRUE(check_stream_options({.prefix = good})) << good;
  }
  for (const char* const bad : {"", "Orders", "2shop", "a.b", "a b", "*", ">", "$JS", "_INBOX", "ä",
                                "a-prefix-that-is-longer-than-32-bytes"}) {
    const Status checked = check_stream_options({.prefix = bad});
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, "broker.settings");
    EXPECT_NE(checked.error().message.find(bad), std::string::npos) << checked.error().message;
  }
}

TEST(StreamOptions, AcceptsOnlyANameOfAClusterThatIsOneTokenOfASubject) {
  for (const char* const good : {"shop", "a", "shop-2", "team_x"}) {
    EXPECT_TRUE(check_cluster_name(good)) << good;
  }
  for (const char* const bad : {"", "Shop", "2shop", "a.b", "a b", "*", ">",
                                "a-name-that-is-longer-than-32-bytes-in-all"}) {
    const Status checked = check_cluster_name(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, "broker.settings");
  }
}

TEST(StreamOptions, NamesTheLogAfterPrefixAndCluster) {
  const StreamSettings log = log_stream("shop");
  EXPECT_EQ(log.name, "MILLRACE_LOG_shop_0");
  EXPECT_EQ(log.subjects, "millrace.log.shop.0");
  const StreamSettings prefixed =
      log_stream("shop", {.prefix = "orders", .replicas = 3, .cluster = "east", .tags = {"ssd"}});
  EXPECT_EQ(prefixed.name, "ORDERS_LOG_shop_0");
  EXPECT_EQ(prefixed.subjects, "orders.log.shop.0");
  EXPECT_EQ(prefixed.replicas, 3);
  EXPECT_EQ(prefixed.cluster, "east");
  EXPECT_EQ(prefixed.tags, std::vector<std::string>{"ssd"});
}

TEST(StreamOptions, NamesTheSnapshotsAfterPrefixAndCluster) {
  const StreamSettings snapshots = snapshot_stream("shop", {.prefix = "orders", .replicas = 3});
  EXPECT_EQ(snapshots.name, "ORDERS_SNAPSHOTS_shop");
  EXPECT_EQ(snapshots.subjects, "orders.snapshots.shop.0.>");
  EXPECT_EQ(snapshots.replicas, 3);
}

TEST(StreamOptions, AcceptsTheNumbersOfReplicasThatJetStreamAllows) {
  for (const int good : {1, 3, 5}) EXPECT_TRUE(check_stream_options({.replicas = good})) << good;
  for (const int bad : {-1, 0, 6}) EXPECT_FALSE(check_stream_options({.replicas = bad})) << bad;
}

TEST(StreamOptions, UsesTheDefaultNamesIfNoPrefixIsSet) {
  EXPECT_EQ(events_stream().name, kEventsStream);
  EXPECT_EQ(dead_letters_stream().name, kDeadLettersStream);
  EXPECT_EQ(lifecycle_stream().name, kLifecycleStream);
  EXPECT_EQ(tasks_stream().name, kTasksStream);
  EXPECT_EQ(results_stream().name, kResultsStream);
  EXPECT_EQ(results_stream().subjects, "millrace.results.>");
  EXPECT_EQ(broker_subject(kDefaultPrefix, "millrace.events.a.b"), "millrace.events.a.b");
}

TEST(StreamOptions, BeginsTheNamesOfStreamsAndSubjectsWithThePrefix) {
  const StreamOptions options{.prefix = "orders"};
  EXPECT_EQ(events_stream(options).name, "ORDERS_EVENTS");
  EXPECT_EQ(events_stream(options).subjects, "orders.events.>");
  EXPECT_EQ(tasks_stream(options).name, "ORDERS_TASKS");
  EXPECT_EQ(broker_subject("orders", "millrace.events.a.b"), "orders.events.a.b");
  EXPECT_EQ(broker_subject("orders", "millraces.x"), "millraces.x")
      << "`millraces.x` is not a subject of millrace";
  EXPECT_EQ(inside_subject("orders", "orders.results.0.a.b"), "millrace.results.0.a.b");
  EXPECT_EQ(inside_subject("orders", "millrace.results.0.a.b"), std::nullopt);
}

TEST(StreamOptions, ReplacesTheDefaultLimitsOfStreams) {
  EXPECT_EQ(events_stream().max_age, Duration(std::chrono::days(7)));
  EXPECT_EQ(events_stream().max_bytes, std::nullopt);
  const StreamOptions options{.replicas = 3,
                              .cluster = "east",
                              .tags = {"ssd"},
                              .events = {.max_age = Duration(5000), .max_bytes = 7},
                              .tasks = {.max_bytes = 9}};
  const StreamSettings events = events_stream(options);
  EXPECT_EQ(events.max_age, Duration(5000));
  EXPECT_EQ(events.max_bytes, 7u);
  EXPECT_EQ(events.replicas, 3);
  EXPECT_EQ(events.cluster, "east");
  EXPECT_EQ(events.tags, std::vector<std::string>{"ssd"});
  EXPECT_EQ(tasks_stream(options).max_age, Duration(std::chrono::days(30)));
  EXPECT_EQ(tasks_stream(options).max_bytes, 9u);
}

}  // namespace
}  // namespace millrace
