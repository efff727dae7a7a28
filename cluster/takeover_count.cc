#include "cluster/takeover_count.h"

namespace millrace {

void TakeoverCount::saw_begin(uint64_t unclean, Time at) {
  // Whether the first `begin` that this node sees came without an `end` is not known.
  if (!has_begin_ || !has_ended_) unclean_at_ = at;
  has_begin_ = true;
  has_ended_ = false;
  unclean_ = unclean;
}

uint64_t TakeoverCount::next(Time now) const {
  if (!has_begin_) return 0;
  const uint64_t before = now - unclean_at_ <= kWindow ? unclean_ : 0;
  return before + (has_ended_ ? 0 : 1);
}

}  // namespace millrace
