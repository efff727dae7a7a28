// Random work under random faults, and the checks at the end of that work. A seed determines
// everything.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/world.h"

namespace millrace {

/// A world with random inputs and faults, and what the results must look like from outside.
class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  /// The limits for that seed. Every second seed has small limits, so that an event wakes its
  /// instances in several batches.
  static BatchLimits batch_limits(uint64_t seed);
  /// Runs that many random steps.
  void run(int steps);

  /// Ends the faults and runs until the world is idle.
  void run_to_rest();

  std::map<std::string, std::string> rows() { return world_.rows(); }

  /// Checks all invariants.
  void check();

 private:
  // Steps.

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t number) { return below(number) == 0; }

  void step();
  void turn();
  void inject_fault();
  void crash(bool after_commit);
  PublishFate fate();
  static Event make(std::string type, std::string id, Json data);
  void publish(const Event& event);
  void publish_order();
  void publish_due();
  void publish_tick();

  /// Sends an event again without a message id, so that the broker does not drop it.
  void publish_again();
  void publish_nonsense();
  void command();

  /// Reads new generated events from the stream.
  void read_stream();

  // Checks.

  /// The events of that type in the stream without duplicates, in the order of the stream.
  std::vector<Event> distinct(std::string_view type);
  std::vector<Json> instances_of(std::string_view workflow);
  void check_the_end_of_the_stream();

  /// Checks that each event which matches a start has started one instance.
  void check_starts();
  void check_instances();

  /// Checks that an order is either paid in time or given up, and that its history agrees.
  static void check_order(const Json& instance, const std::vector<std::string>& story,
                          const Json& history);

  /// Checks that each order has three parts, each created once, with the results in the order of
  /// the parts.
  void check_parts();

  /// Checks that each instance of the workflow `watch` has seen all ticks since it started, in
  /// order, each once.
  void check_ticks();

  /// Checks that a restart builds the same caches from the store.
  void check_caches();

  World world_;
  std::mt19937_64 random_;
  std::string first_watch_;

  int orders_ = 0;
  int ticks_ = 0;
  int revisions_ = 0;
  size_t dead_ = 0;               ///< the number of expected dead letters
  std::vector<Event> due_;        ///< events of orders that are not published yet
  std::vector<Event> published_;  ///< published events, in order
  Duration jumped_back_{0};
  TimePoint engine_time_ = world_.clock.now();  ///< the latest time that a turn may have seen
  size_t read_events_ = 0;
  std::map<std::string, size_t>
      appeared_;  ///< the ids of generated events and their order in the stream
};

}  // namespace millrace
