#include "http/request_queue.h"

namespace millrace {
namespace {

/// Whether a namespace that has `running` of `all` running requests may start another one. Requests
/// of millrace itself have no share.
bool is_below_share(const std::string& ns, size_t running, size_t all, size_t limit) {
  return all < limit && (ns.empty() || running < limit - all);
}

}  // namespace

void RequestQueue::enter(Lane& lane, Lanes& list, bool first) {
  leave(lane);
  lane.list = &list;
  lane.place = list.insert(first ? list.begin() : list.end(), &lane);
}

void RequestQueue::leave(Lane& lane) {
  if (lane.list != nullptr) lane.list->erase(lane.place);
  lane.list = nullptr;
}

/// Gives the lane a turn within its namespace, and the namespace a turn.
void RequestQueue::make_ready(Lane& lane, bool first) {
  Space& space = *lane.space;
  if (lane.list != &space.ready || first) enter(lane, space.ready, first);
  if (space.has_turn && !first) return;
  end_turns(space);
  space.turn = turns_.insert(first ? turns_.begin() : turns_.end(), &space);
  space.has_turn = true;
}

void RequestQueue::end_turns(Space& space) {
  if (space.has_turn) turns_.erase(space.turn);
  space.has_turn = false;
}

void RequestQueue::add(Ticket ticket, const std::string& ns, const std::string& host, bool urgent) {
  Space& space = spaces_.try_emplace(ns).first->second;
  space.name = ns;
  Lane& lane = space.lanes.try_emplace(host).first->second;
  if (lane.host == nullptr) {
    lane.space = &space;
    lane.host = &hosts_.try_emplace(host).first->second;
    lane.host->name = host;
    ++lane.host->lanes;
  }
  lane.waiting.emplace(!urgent, ticket);
  ++space.waiting;
  requests_.emplace(ticket, Request{.lane = &lane, .urgent = urgent});
  if (urgent || lane.list == nullptr) make_ready(lane, urgent);
}

std::optional<RequestQueue::Ticket> RequestQueue::take() {
  if (running_ >= limits_.total) return std::nullopt;
  for (size_t left = turns_.size(); left > 0 && !turns_.empty(); --left) {
    Space& space = *turns_.front();
    turns_.splice(turns_.end(), turns_, turns_.begin());
    if (const auto ticket = take_from(space)) return ticket;
  }
  return std::nullopt;
}

std::optional<RequestQueue::Ticket> RequestQueue::take_from(Space& space) {
  while (!space.ready.empty()) {
    Lane& lane = *space.ready.front();
    Host& host = *lane.host;
    if (!is_below_share(space.name, space.running, running_, limits_.total)) return std::nullopt;
    if (!is_below_share(space.name, lane.running, host.running, limits_.per_host)) {
      enter(lane, host.blocked, false);
      continue;
    }
    const Ticket ticket = lane.waiting.begin()->second;
    lane.waiting.erase(lane.waiting.begin());
    requests_.at(ticket).runs = true;
    --space.waiting;
    ++space.running;
    ++lane.running;
    ++host.running;
    ++running_;
    leave(lane);
    if (!lane.waiting.empty()) enter(lane, space.ready, false);
    if (space.ready.empty()) end_turns(space);
    return ticket;
  }
  end_turns(space);
  return std::nullopt;
}

void RequestQueue::end(Ticket ticket) {
  const auto found = requests_.find(ticket);
  if (found == requests_.end()) return;
  const Request request = found->second;
  requests_.erase(found);
  Lane& lane = *request.lane;
  Space& space = *lane.space;
  Host& host = *lane.host;
  if (!request.runs) {
    --space.waiting;
    lane.waiting.erase({!request.urgent, ticket});
  } else {
    --space.running;
    --lane.running;
    --host.running;
    --running_;
    while (!host.blocked.empty()) make_ready(*host.blocked.front(), false);
  }
  forget_if_idle(lane);
}

/// Removes what no request needs any more.
void RequestQueue::forget_if_idle(Lane& lane) {
  Space& space = *lane.space;
  if (lane.waiting.empty()) leave(lane);
  if (space.ready.empty()) end_turns(space);
  if (!lane.waiting.empty() || lane.running > 0) return;
  // The names are copied, because they are destroyed with what they name.
  Host& host = *lane.host;
  space.lanes.erase(std::string(host.name));
  if (--host.lanes == 0) hosts_.erase(std::string(host.name));
  if (space.lanes.empty()) spaces_.erase(std::string(space.name));
}

HttpLoad RequestQueue::load() const {
  HttpLoad load;
  for (const auto& [ns, space] : spaces_) {
    load.total.running += space.running;
    load.total.waiting += space.waiting;
    if (!ns.empty()) load.namespaces[ns] = {.running = space.running, .waiting = space.waiting};
  }
  return load;
}

}  // namespace millrace
