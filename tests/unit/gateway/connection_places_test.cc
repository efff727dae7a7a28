#include "gateway/connection_places.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::seconds;
using Activity = ConnectionPlaces::Activity;
using Place = ConnectionPlaces::Place;

class ConnectionPlacesTest : public testing::Test {
 protected:
  /// Admits the connection and closes the one that has to be closed. Returns its place and the
  /// closed connection, such as "any 3".
  std::string admit(uint64_t id) {
    const auto [place, to_close] = places_.admit(id, now_);
    const char* const name = place == Place::kAny      ? "any"
                             : place == Place::kProbes ? "probes"
                                                       : "none";
    if (!to_close) return name;
    places_.remove(*to_close);
    return std::string(name) + " " + std::to_string(*to_close);
  }
  void set(uint64_t id, Activity activity) { places_.set(id, activity, now_); }
  void admit_two_that_work() {
    for (const uint64_t id : {1, 2}) {
      admit(id);
      set(id, Activity::kWorks);
    }
  }

  ConnectionPlaces places_{
      {.connections = 2, .probe_connections = 2, .slow_transfer = seconds(10)}};
  Duration now_{0};
};

TEST_F(ConnectionPlacesTest, CloseTheConnectionThatHasBeenIdleLongest) {
  EXPECT_EQ(admit(1), "any");
  EXPECT_EQ(admit(2), "any");
  EXPECT_EQ(admit(3), "any 1");
  set(2, Activity::kWorks);
  set(2, Activity::kIdle);
  EXPECT_EQ(admit(4), "any 3") << "2 has become idle after 3";
  set(2, Activity::kWorks);
  set(4, Activity::kTransfer);
  EXPECT_EQ(admit(5), "probes") << "no connection is idle, and the transfer is not slow";
  EXPECT_EQ(places_.size(), 3U);
}

TEST_F(ConnectionPlacesTest, CloseASlowTransferIfNoConnectionIsIdle) {
  admit_two_that_work();
  set(1, Activity::kTransfer);
  now_ += seconds(1);
  set(2, Activity::kTransfer);
  now_ += seconds(9);
  EXPECT_EQ(places_.slow_transfer(now_), 1U);
  EXPECT_EQ(admit(3), "any 1");
  set(3, Activity::kWorks);
  EXPECT_FALSE(places_.slow_transfer(now_));
  EXPECT_EQ(admit(4), "probes");
}

TEST_F(ConnectionPlacesTest, KeepPlacesForProbes) {
  admit_two_that_work();
  EXPECT_EQ(admit(3), "probes");
  EXPECT_EQ(admit(4), "probes");
  EXPECT_EQ(admit(5), "probes 3") << "a connection that sends no probe keeps its place no longer";
  set(4, Activity::kWorks);
  set(5, Activity::kWorks);
  EXPECT_EQ(admit(6), "none");
  EXPECT_EQ(places_.size(), 4U);
  places_.remove(5);
  EXPECT_EQ(admit(7), "probes");
  places_.remove(1);
  EXPECT_EQ(admit(8), "any");
}

TEST_F(ConnectionPlacesTest, NameTheConnectionThatIsIdleLongest) {
  EXPECT_FALSE(places_.longest_idle());
  admit(1);
  admit(2);
  EXPECT_EQ(places_.longest_idle(), 1U);
  set(1, Activity::kWorks);
  EXPECT_EQ(places_.longest_idle(), 2U);
  set(2, Activity::kTransfer);
  admit(3);
  EXPECT_EQ(places_.longest_idle(), 3U) << "it has a place for probes";
}

TEST_F(ConnectionPlacesTest, IgnoreConnectionsThatAreClosed) {
  admit(1);
  places_.remove(1);
  set(1, Activity::kTransfer);
  places_.remove(1);
  EXPECT_EQ(places_.size(), 0U);
  EXPECT_FALSE(places_.longest_idle());
}

}  // namespace
}  // namespace millrace
