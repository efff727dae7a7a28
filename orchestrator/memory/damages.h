// Damages: the damaged rows that were met since the start. What owns such a row is set aside and
// all else goes on; here is told of it. Written by the engine thread, read by any.
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
  /// So many are listed; all are counted.
  static constexpr size_t kListed = 100;

  /// Takes note of a damaged row, once for each message of an error, and logs it.
  void note(const Error& damage);
  /// note(), for the walks of the store.
  OnDamage noting() {
    return [this](const Error& damage) { note(damage); };
  }
  /// Takes note of a damaged row, which then is passed over; any other error is returned.
  Status pass_over(Status status);
  /// The same of what was read; nullopt where the row is damaged, as where there is none.
  template <class T>
  Result<std::optional<T>> pass_over(Result<std::optional<T>> read) {
    if (read || !is_damaged_row(read.error())) return read;
    note(read.error());
    return std::optional<T>();
  }
  /// Takes note of damage for which the whole server is not ready.
  void hold(const Error& damage);

  /// What hold() was told first.
  Status ready() const;
  size_t count() const;
  /// [message, …], of the first ones.
  Json list() const;

 private:
  /// More than this are counted once for each time that they are met.
  static constexpr size_t kKnown = 10'000;

  mutable std::mutex lock_;  // guards what follows
  std::set<std::string> known_;
  Json listed_ = Json::array();
  size_t count_ = 0;
  std::optional<Error> held_;
};

}  // namespace millrace
