#include "gateway/connection_places.h"

namespace millrace {

ConnectionPlaces::Admission ConnectionPlaces::admit(Id id, Duration now) {
  if (for_any_ < limits_.connections) return take(id, Place::kAny, std::nullopt, now);
  if (!idle_.empty()) return take(id, Place::kAny, idle_.front().id, now);
  if (const auto slow = slow_transfer(now)) {
    return take(id, connections_.at(*slow).place, slow, now);
  }
  if (for_probes_ < limits_.probe_connections) return take(id, Place::kProbes, std::nullopt, now);
  if (!idle_probes_.empty()) return take(id, Place::kProbes, idle_probes_.front().id, now);
  return {};
}

ConnectionPlaces::Admission ConnectionPlaces::take(Id id, Place place, std::optional<Id> to_close,
                                                   Duration now) {
  ++(place == Place::kAny ? for_any_ : for_probes_);
  connections_[id].place = place;
  set(id, Activity::kIdle, now);
  return {.place = place, .to_close = to_close};
}

void ConnectionPlaces::set(Id id, Activity activity, Duration now) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  leave_queue(connection);
  if (activity == Activity::kWorks) return;
  connection.queue = activity == Activity::kIdle ? &idle(connection.place) : &transfers_;
  connection.at = connection.queue->insert(connection.queue->end(), {id, now});
}

std::optional<ConnectionPlaces::Id> ConnectionPlaces::longest_idle() const {
  const Queue& queue = idle_.empty() ? idle_probes_ : idle_;
  return queue.empty() ? std::nullopt : std::optional(queue.front().id);
}

std::optional<ConnectionPlaces::Id> ConnectionPlaces::slow_transfer(Duration now) const {
  if (transfers_.empty() || now - transfers_.front().begin < limits_.slow_transfer) {
    return std::nullopt;
  }
  return transfers_.front().id;
}

void ConnectionPlaces::remove(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  leave_queue(found->second);
  --(found->second.place == Place::kAny ? for_any_ : for_probes_);
  connections_.erase(found);
}

void ConnectionPlaces::leave_queue(Connection& connection) {
  if (connection.queue == nullptr) return;
  connection.queue->erase(connection.at);
  connection.queue = nullptr;
}

}  // namespace millrace
