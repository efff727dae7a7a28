// StreamPlaces: how many streams may be open, and how many of them one client may have: half of the
// places that other clients do not use. So some places are left for further clients. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace millrace {

class StreamPlaces : public std::enable_shared_from_this<StreamPlaces> {
 public:
  /// The place of a stream, which is free again when the last pointer is destroyed.
  using Place = std::shared_ptr<const void>;

  explicit StreamPlaces(size_t most) : most_(most) {}

  /// A place for a stream of the client; null: it may have no further one. `client`: the address of
  /// the peer, without its port.
  Place take(const std::string& client) {
    const std::lock_guard lock(lock_);
    const auto found = clients_.find(client);
    const size_t own = found == clients_.end() ? 0 : found->second;
    const size_t left = most_ - (used_ - own);
    if (own >= (left + 1) / 2) {
      ++refused_;
      return nullptr;
    }
    ++clients_[client];
    ++used_;
    return Place(static_cast<const void*>(this),
                 [self = shared_from_this(), client](const void*) { self->give_back(client); });
  }

  size_t used() const {
    const std::lock_guard lock(lock_);
    return used_;
  }
  /// How often a client got no place.
  uint64_t refused() const {
    const std::lock_guard lock(lock_);
    return refused_;
  }

 private:
  void give_back(const std::string& client) {
    const std::lock_guard lock(lock_);
    --used_;
    const auto found = clients_.find(client);
    if (--found->second == 0) clients_.erase(found);
  }

  const size_t most_;
  mutable std::mutex lock_;
  std::map<std::string, size_t> clients_;  ///< guarded by lock_; those with open streams
  size_t used_ = 0;                        ///< guarded by lock_
  uint64_t refused_ = 0;                   ///< guarded by lock_
};

}  // namespace millrace
