// ActivesWatch: asks the nodes of a cluster for `/activez` all the time, on a thread of its own,
// and fails the test if two of them are the active at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace millrace {

/// Whether the node on that port answers `/activez` with 200. A node that does not answer soon, for
/// example because it is suspended, is not the active.
bool is_active_now(uint16_t port);

class ActivesWatch {
 public:
  /// `ports` are those of the nodes, on the loopback.
  explicit ActivesWatch(std::vector<uint16_t> ports);
  ~ActivesWatch();
  ActivesWatch(const ActivesWatch&) = delete;
  ActivesWatch& operator=(const ActivesWatch&) = delete;

 private:
  void run();
  void look();

  const std::vector<uint16_t> ports_;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace
