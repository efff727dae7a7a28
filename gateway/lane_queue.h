// LaneQueue: work of HTTP requests that waits for a thread, with a fair turn for each client
// and, within a client, for each namespace. The queue has a bound. When it is full, a client with
// less waiting work than the others gets a place from the client with the most. Pure; one thread at
// a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace millrace {

/// Where a request comes from: fair turns are by these values.
struct RequestSource {
  std::string client;  ///< the address of the peer, without its port
  std::string ns;      ///< the namespace in the path, or the path if there is none
};

template <class T>
class LaneQueue {
 public:
  /// `most_running`: how many works of one client may run at a time.
  explicit LaneQueue(size_t most_running = std::numeric_limits<size_t>::max())
      : most_running_(most_running) {}

  /// Adds work. If `most` works wait already, either this work or the newest work of the client
  /// (within the client, of the namespace) with the most waiting work gets no place and is
  /// returned.
  std::optional<T> push(const RequestSource& source, T work, size_t most) {
    std::optional<T> loser;
    if (size_ >= most) {
      Client* const longest = victim(source.client);
      if (longest == nullptr || !has_victim(*longest, source)) return work;
      loser = longest->drop_newest();
      --size_;
      forget_if_unused(*longest);
    }
    Client& client = clients_.try_emplace(source.client).first->second;
    if (client.count == 0) turns_.push_back(source.client);
    client.add(source.ns, std::move(work));
    ++size_;
    return loser;
  }

  struct Taken {
    std::string client;  ///< for ended()
    T work;
  };

  /// Removes the work whose turn it is, which counts as running from now on; nullopt: there is none
  /// whose client may run another work.
  std::optional<Taken> pop() {
    for (size_t left = turns_.size(); left > 0; --left) {
      std::string name = std::move(turns_.front());
      turns_.pop_front();
      Client& client = clients_.at(name);
      if (client.running >= most_running_) {
        turns_.push_back(std::move(name));
        continue;
      }
      T work = client.take();
      ++client.running;
      --size_;
      if (client.count > 0) turns_.push_back(name);
      return Taken{.client = std::move(name), .work = std::move(work)};
    }
    return std::nullopt;
  }

  /// Work of the client that pop() returned has ended.
  void ended(const std::string& client) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    --found->second.running;
    if (found->second.is_unused()) clients_.erase(found);
  }

  /// The number of works that wait.
  size_t size() const { return size_; }

  /// Removes all waiting works.
  void clear() {
    turns_.clear();
    size_ = 0;
    for (auto& [name, client] : clients_) {
      client.waiting.clear();
      client.turns.clear();
      client.count = 0;
    }
    std::erase_if(clients_, [](const auto& one) { return one.second.is_unused(); });
  }

 private:
  struct Client {
    std::map<std::string, std::deque<T>> waiting;  ///< by namespace; no empty queue
    std::deque<std::string> turns;                 ///< the namespaces of `waiting`
    size_t count = 0;                              ///< of all namespaces
    size_t running = 0;

    bool is_unused() const { return count == 0 && running == 0; }

    void add(const std::string& ns, T work) {
      std::deque<T>& queue = waiting[ns];
      if (queue.empty()) turns.push_back(ns);
      queue.push_back(std::move(work));
      ++count;
    }

    T take() {
      std::string ns = std::move(turns.front());
      turns.pop_front();
      const auto queue = waiting.find(ns);
      T work = std::move(queue->second.front());
      queue->second.pop_front();
      --count;
      if (queue->second.empty()) {
        waiting.erase(queue);
      } else {
        turns.push_back(std::move(ns));
      }
      return work;
    }

    auto longest() {
      return std::max_element(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
    }

    T drop_newest() {
      const auto queue = longest();
      T work = std::move(queue->second.back());
      queue->second.pop_back();
      --count;
      if (queue->second.empty()) {
        std::erase(turns, queue->first);
        waiting.erase(queue);
      }
      return work;
    }
  };
  using Clients = std::map<std::string, Client>;

  /// The client with the most waiting work, if another work of `newcomer` may take its place.
  Client* victim(const std::string& newcomer) {
    const auto longest = std::max_element(
        clients_.begin(), clients_.end(),
        [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
    if (longest == clients_.end() || longest->second.count == 0) return nullptr;
    if (longest->first == newcomer) return &longest->second;
    const auto own = clients_.find(newcomer);
    const size_t count = own == clients_.end() ? 0 : own->second.count;
    if (count == longest->second.count) return &own->second;
    return count + 1 < longest->second.count ? &longest->second : nullptr;
  }

  /// Whether a work of the client may lose its place to a work of the source: the work of another
  /// client always, a work of the same client only if its namespace has more waiting work.
  bool has_victim(Client& client, const RequestSource& source) {
    const auto own = clients_.find(source.client);
    if (own == clients_.end() || &own->second != &client) return true;
    const auto queue = client.waiting.find(source.ns);
    const size_t waiting = queue == client.waiting.end() ? 0 : queue->second.size();
    return waiting + 1 < client.longest()->second.size();
  }

  void forget_if_unused(Client& client) {
    if (client.count > 0) return;
    const auto found = std::find_if(clients_.begin(), clients_.end(),
                                    [&](const auto& one) { return &one.second == &client; });
    std::erase(turns_, found->first);
    if (client.running == 0) clients_.erase(found);
  }

  const size_t most_running_;
  Clients clients_;                ///< those with waiting or running work
  std::deque<std::string> turns_;  ///< the clients with waiting work
  size_t size_ = 0;
};

}  // namespace millrace
