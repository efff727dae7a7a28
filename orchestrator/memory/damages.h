// Damages: the damaged rows that were found since startup. The owner of such a row is skipped, and
// everything else continues; this object counts and lists the rows. Written by the engine thread,
// read by any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {

class Damages {
 public:
  /// How many damaged rows list() returns; count() counts all.
  static constexpr size_t kListed = 100;

  /// Records a damaged row, once for each error message, and logs it.
  void note(const Error& damage);
  /// Returns note() as a function, for walks of the store.
  OnDamage noting() {
    return [this](const Error& damage) { note(damage); };
  }
  /// Records the error of a damaged row and returns ok; returns any other error.
  Status pass_over(Status status);
  /// Returns the value that was read; records the error of a damaged row and returns nullopt, as
  /// for a missing row; returns any other error.
  template <class T>
  Result<std::optional<T>> pass_over(Result<std::optional<T>> read) {
    if (read || !is_damaged_row(read.error())) return read;
    note(read.error());
    return std::optional<T>();
  }
  /// Records damage that makes millrace as a whole not ready.
  void hold(const Error& damage);

  /// The first error given to hold(); ok: there was no such error.
  Status ready() const;
  size_t count() const;
  /// [message, …]: the first kListed error messages.
  Json list() const;

 private:
  /// How many error messages are recognized when they come again; any further message is counted
  /// each time it comes.
  static constexpr size_t kKnown = 10'000;

  mutable std::mutex lock_;  // guards all members below
  std::set<std::string> known_;
  Json listed_ = Json::array();
  size_t count_ = 0;
  std::optional<Error> held_;
};

}  // namespace millrace
