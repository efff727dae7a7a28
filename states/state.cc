#include "states/state.h"

#include <algorithm>

#include "base/check.h"
#include "matchers/glob.h"
#include "states/calling_state.h"
#include "states/visit.h"

namespace millrace {

bool State::looks_back() const {
  const std::vector<std::optional<Duration>> all = lookbacks();
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.has_value(); });
}

std::span<const Action> State::actions() const { return {}; }

Outcome State::make_calls(Visit&) const {
  CHECK(false, "state {} of type {} makes no further calls", common_.id, common_.type);
}

Outcome State::take(Visit&, const Event&, std::span<const size_t>) const {
  CHECK(false, "state {} of type {} does not listen for events", common_.id, common_.type);
}

Outcome State::elapsed(Visit&) const {
  CHECK(false, "state {} of type {} does not wait for a delay", common_.id, common_.type);
}

// The CallEnd is passed by value, because a calling state moves its result into the call.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Outcome State::returned(Visit&, size_t, CallEnd) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

bool State::started(Visit&, size_t) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

Outcome State::heartbeat_missed(Visit&, size_t) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

Outcome State::resumed(Visit&) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

bool State::services_resumed(Visit&, const ServiceNames*) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

Outcome State::overdue(Visit&, TimePoint) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

Outcome State::attempts_due(Visit&) const {
  CHECK(false, "state {} of type {} calls nothing", common_.id, common_.type);
}

const Catch* find_catch(const StateCommon& common, std::string_view code) {
  const auto found =
      std::find_if(common.catches.begin(), common.catches.end(),
                   [&](const Catch& entry) { return glob_matches(entry.error, code); });
  return found == common.catches.end() ? nullptr : &*found;
}

}  // namespace millrace
