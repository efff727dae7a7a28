// KillSeries: kills a process at random moments of an operation, such as a restore, until a given
// number of kills has hit the operation. MILLRACE_KILLS=50 sets this number. MILLRACE_SEED=n
// repeats the random choices of a run. The moments lie within the time that the operation takes
// without a kill, which the test measures first. Until a kill has hit, the moments become earlier
// after a kill that came too late, and later after one that came too early: the machine may be
// busier than at the measurement, or less busy. So the moments fit every machine. For one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"

namespace millrace {

/// Where a kill came: before the operation had an effect, during the operation, or after its end.
enum class KillPlace : uint8_t { kBefore, kDuring, kAfter };

/// The time that `operation` takes.
template <class Operation>
Duration time_of_operation(const Operation& operation) {
  const auto from = std::chrono::steady_clock::now();
  operation();
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - from);
}

class KillSeries {
 public:
  /// `operation` names what is killed, `checked` describes the checks after each kill.
  KillSeries(std::string_view operation, std::string checked)
      : campaign_(fmt::format("random kills: {}", operation), std::move(checked)) {
    fmt::print("MILLRACE_SEED={} MILLRACE_KILLS={}\n", seed_, wanted_);
  }

  /// Prints where the kills came. A series without a hit fails the test.
  ~KillSeries() {
    fmt::print("{} kills: {} hit the operation, {} came before it, {} after its end\n", kills_,
               count(KillPlace::kDuring), count(KillPlace::kBefore), count(KillPlace::kAfter));
    if (hits() < wanted_) fmt::print("the series has ended before {} hits\n", wanted_);
    if (hits() == 0) ADD_FAILURE() << "no kill hit the operation";
  }
  KillSeries(const KillSeries&) = delete;
  KillSeries& operator=(const KillSeries&) = delete;

  /// Whether another kill is needed. False, too, after a failure of the test and after the most
  /// kills of a series.
  bool goes_on() const {
    return hits() < wanted_ && kills_ < most() && !testing::Test::HasFailure();
  }

  size_t kills() const { return kills_; }
  size_t hits() const { return count(KillPlace::kDuring); }
  /// A random number from 0 to `most`.
  size_t up_to(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }

  /// Calls `kill` with a random moment of the operation, which takes `whole` without a kill. `kill`
  /// starts the operation, waits until that moment, kills the process and returns where the kill
  /// came. Failures are reported with `what` and the moment.
  template <class Kill>
  KillPlace run(std::string_view what, Duration whole, const Kill& kill) {
    const auto latest = static_cast<double>(whole.count()) * range_;
    const Duration moment(up_to(static_cast<size_t>(latest)));
    KillPlace place = KillPlace::kBefore;
    const std::string label = fmt::format("{}, kill {}, after {} of {} ms", what, ++kills_,
                                          moment.count(), whole.count());
    campaign_.run(label, [&] { place = kill(moment); });
    ++places_[static_cast<size_t>(place)];
    if (hits() == 0) range_ *= place == KillPlace::kAfter ? 0.7 : 1.4;
    return place;
  }

 private:
  /// A third of the kills should hit; bad luck must not end the series earlier.
  size_t most() const { return 10 * wanted_ + 20; }
  size_t count(KillPlace place) const { return places_[static_cast<size_t>(place)]; }

  const size_t wanted_ = number_from("MILLRACE_KILLS", 3);
  const size_t seed_ = number_from("MILLRACE_SEED", std::random_device{}());
  std::mt19937_64 random_{seed_};
  size_t kills_ = 0;
  std::array<size_t, 3> places_{};  ///< how many kills came at each place
  double range_ = 1;                ///< the latest moment, as a part of the time of the operation
  Campaign campaign_;
};

}  // namespace millrace
