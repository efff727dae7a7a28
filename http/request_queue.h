// RequestQueue: which HTTP request is sent next. Namespaces take turns, and so do the hosts of a
// namespace. A namespace may use as many connections as are free, so that some always stay free for
// another namespace, however long the requests of the first one take. Pure; for one thread at a
// time. Private to http/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "http/http_load.h"

namespace millrace {

class RequestQueue {
 public:
  using Ticket = uint64_t;

  /// The most requests that run at a time, in total and to one host.
  struct Limits {
    size_t total = 0;
    size_t per_host = 0;
  };

  explicit RequestQueue(Limits limits) : limits_(limits) {}
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  /// Adds a request, which has a larger ticket than all earlier requests, or is added again after
  /// end(). The requests of a namespace to one host are sent in the order of their tickets, urgent
  /// ones before all others. Requests with an
  /// empty `ns` are those of millrace itself; they have turns like those of a namespace, but the
  /// limits are the only bound on their number.
  void add(Ticket ticket, const std::string& ns, const std::string& host, bool urgent);

  /// The next request to send, which runs from now on; nullopt: no request may be sent now. A
  /// request of a namespace may be sent if fewer requests of the namespace run than the total could
  /// still take, and fewer run to the same host than that host could still take.
  std::optional<Ticket> take();

  /// The request has ended, or is cancelled while it waits. An unknown ticket is ignored.
  void end(Ticket ticket);

  /// The requests in total, and by namespace.
  HttpLoad load() const;

 private:
  struct Lane;
  using Lanes = std::list<Lane*>;
  struct Host {
    std::string name;
    size_t running = 0;
    size_t lanes = 0;
    Lanes blocked;  ///< lanes that wait until a request to this host ends
  };
  struct Space;
  /// The requests of one namespace to one host.
  struct Lane {
    Space* space = nullptr;
    Host* host = nullptr;
    std::set<std::pair<bool, Ticket>> waiting;  ///< urgent requests (false) first
    size_t running = 0;
    Lanes* list = nullptr;  ///< Space::ready or Host::blocked; null: no request waits
    Lanes::iterator place;  ///< in `list`
  };
  struct Space {
    std::string name;                   ///< of the namespace
    std::map<std::string, Lane> lanes;  ///< by host
    Lanes ready;                        ///< lanes of which a request may be sent, in turn
    size_t running = 0;
    size_t waiting = 0;
    bool has_turn = false;
    std::list<Space*>::iterator turn;  ///< in turns_, if `has_turn`
  };
  struct Request {
    Lane* lane = nullptr;
    bool urgent = false;
    bool runs = false;
  };

  static void enter(Lane& lane, Lanes& list, bool first);
  static void leave(Lane& lane);
  void make_ready(Lane& lane, bool first);
  void end_turns(Space& space);
  std::optional<Ticket> take_from(Space& space);
  void forget_if_idle(Lane& lane);

  const Limits limits_;
  std::map<std::string, Space> spaces_;
  std::map<std::string, Host> hosts_;
  std::list<Space*> turns_;  ///< namespaces with ready lanes; the first one is next
  std::unordered_map<Ticket, Request> requests_;
  size_t running_ = 0;
};

}  // namespace millrace
