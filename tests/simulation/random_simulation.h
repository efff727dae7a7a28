// Random work under random faults, and what must hold of it in the end. One seed decides
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

/// A world, what is done to it, and what is known of it from outside.
class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  /// Small ones for every other seed, so that an event reaches those who watch in several batches.
  static BatchLimits batch_limits(uint64_t seed);
  /// That many random steps.
  void run(int steps);

  /// Nothing goes wrong any more, until nothing moves any more.
  void come_to_rest();

  std::map<std::string, std::string> rows() { return world_.rows(); }

  /// What must hold.
  void check();

 private:
  // What happens.

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t number) { return below(number) == 0; }

  void step();
  void turn();
  void something_goes_wrong();
  void crash(bool after_commit);
  PublishFate fate();
  static Event make(std::string type, std::string id, Json data);
  void publish(const Event& event);
  void publish_order();
  void publish_due();
  void publish_tick();

  /// A producer that does not trust its first sending, and gives the broker no id to know it by.
  void publish_again();
  void publish_nonsense();
  void command();

  /// Generated events, as they first appear.
  void look_at_the_stream();

  // What must hold.

  /// Distinct events of that type in the order of the stream.
  std::vector<Event> distinct(std::string_view type);
  std::vector<Json> instances_of(std::string_view workflow);
  void check_the_end_of_the_stream();

  /// One instance for each event that starts one.
  void check_starts();
  void check_instances();

  /// Paid in time or given up: one of both, and what it tells fits.
  static void check_order(const Json& instance, const std::vector<std::string>& story,
                          const Json& history);

  /// Each order has three parts, each made once, and gets them in their places.
  void check_parts();

  /// Whoever watches has seen all ticks since it began to, in order, each once.
  void check_ticks();

  /// What is in memory is what a restart makes of the store.
  void check_caches();

  World world_;
  std::mt19937_64 random_;
  std::string first_watch_;

  int orders_ = 0;
  int ticks_ = 0;
  int revisions_ = 0;
  size_t dead_ = 0;               ///< messages that must have become dead letters
  std::vector<Event> due_;        ///< payments and packings that are still to come
  std::vector<Event> published_;  ///< from outside, in order
  Duration jumped_back_{0};
  TimePoint engine_time_ = world_.clock.now();  ///< the latest that a turn may have seen
  size_t looked_at_ = 0;
  std::map<std::string, size_t> appeared_;  ///< ids of generated events, in the order of the stream
};

}  // namespace millrace
