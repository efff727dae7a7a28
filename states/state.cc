#include "states/state.h"

#include "base/check.h"
#include "states/visit.h"

namespace millrace {

Outcome State::take(Visit&, const Event&, std::span<const size_t>) const {
  CHECK(false, "state {} of type {} listens for no event", common_.id, common_.type);
}

Outcome State::elapsed(Visit&) const {
  CHECK(false, "state {} of type {} waits for no delay", common_.id, common_.type);
}

}  // namespace millrace
