// Random work under random faults, and the checks at its end. A seed decides everything.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/world.h"

namespace millrace {

/// A world with random inputs and faults, and the expectations from outside.
class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  /// Small limits for every other seed, so that an event wakes its instances in several batches.
  static BatchLimits batch_limits(uint64_t seed);
  /// Runs that many random steps.
  void run(int steps);

  /// Ends the faults and runs until idle.
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

  /// The events of that type without duplicates, in the order of the stream.
  std::vector<Event> distinct(std::string_view type);
  std::vector<Json> instances_of(std::string_view workflow);
  void check_the_end_of_the_stream();

  /// Each start event has one instance.
  void check_starts();
  void check_instances();

  /// An order is either paid in time or given up, and its history fits.
  static void check_order(const Json& instance, const std::vector<std::string>& story,
                          const Json& history);

  /// Each order has three parts, each created once, with the results in their order.
  void check_parts();

  /// Each watching instance has seen all ticks since its start, in order, each once.
  void check_ticks();

  /// A restart builds the same caches from the store.
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
