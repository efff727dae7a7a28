#include "cluster/silence.h"

#include <algorithm>

namespace millrace {

void Silence::opened() {
  is_open_ = true;
  last_word_.reset();
}

void Silence::closed() {
  is_open_ = false;
  last_word_.reset();
}

void Silence::leader_changed(Time now) { since_ = std::max(since_, now); }

void Silence::message(bool is_end, uint64_t pending, Time now) {
  note_word(pending, now);
  since_ = now;
  is_at_once_ = is_end;
}

void Silence::broker_heard(uint64_t pending, Time now) { note_word(pending, now); }

void Silence::begin_failed() { is_at_once_ = false; }

void Silence::note_word(uint64_t pending, Time now) {
  // While the broker was not heard, or had messages for this node, the log was not silent.
  if (!has_all(now)) since_ = now;
  last_word_ = now;
  pending_ = pending;
}

bool Silence::is_heard(Time now) const {
  return is_open_ && last_word_ && now - *last_word_ <= takeover_after_ * 3 / 4;
}

bool Silence::is_silent(Time now) const {
  return has_all(now) && (is_at_once_ || now - since_ >= takeover_after_);
}

std::optional<Silence::Time> Silence::next_time() const {
  if (!is_open_ || !last_word_ || pending_ > 0) return std::nullopt;
  return since_ + takeover_after_;
}

}  // namespace millrace
