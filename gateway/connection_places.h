// ConnectionPlaces: which connections may be open, and which one is closed for a new one. A client
// that opens many connections must not keep out the requests of others, and never the probes. Pure;
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "base/time.h"

namespace millrace {

class ConnectionPlaces {
 public:
  using Id = uint64_t;

  struct Limits {
    size_t connections = 1024;      ///< for all requests
    size_t probe_connections = 16;  ///< further ones, for probes only
    /// How long the transfer of a body or an answer may take before its connection may be closed
    /// for another.
    Duration slow_transfer = std::chrono::seconds(10);
  };

  enum class Place {
    kNone,    ///< the connection must be turned away
    kProbes,  ///< the connection may be used for probes only
    kAny,
  };

  /// What a connection does.
  enum class Activity {
    /// It has no request whose headers are complete, or writes the answer to a request without the
    /// token. Such a client need not read its answers, and must not keep a place by that.
    kIdle,
    kTransfer,  ///< it reads a body or writes an answer
    kWorks,     ///< its request is handled
  };

  struct Admission {
    Place place = Place::kNone;
    std::optional<Id> to_close;  ///< another connection, which must be closed for this one
  };

  explicit ConnectionPlaces(const Limits& limits) : limits_(limits) {}

  /// Admits a new connection, which is idle, unless its place is kNone. If all places are taken,
  /// the connection that has been idle longest is closed, or else the one with the oldest slow
  /// transfer. If there is neither, the new connection gets a place for probes. `now`: a steady
  /// clock.
  Admission admit(Id id, Duration now);

  /// The admitted connection does something else from now on.
  void set(Id id, Activity activity, Duration now);

  /// The connection that has been idle longest; nullopt: none is idle.
  std::optional<Id> longest_idle() const;
  /// The connection with the oldest transfer, if that transfer is slow.
  std::optional<Id> slow_transfer(Duration now) const;

  /// The connection is closed.
  void remove(Id id);

  size_t size() const { return connections_.size(); }

 private:
  struct Since {
    Id id;
    Duration begin;  ///< of the activity
  };
  using Queue = std::list<Since>;

  struct Connection {
    Place place = Place::kAny;
    Queue* queue = nullptr;  ///< null: the connection works
    Queue::iterator at;
  };

  Admission take(Id id, Place place, std::optional<Id> to_close, Duration now);
  Queue& idle(Place place) { return place == Place::kAny ? idle_ : idle_probes_; }
  static void leave_queue(Connection& connection);

  const Limits limits_;
  std::unordered_map<Id, Connection> connections_;
  size_t for_any_ = 0;     ///< connections with the place kAny
  size_t for_probes_ = 0;  ///< connections with the place kProbes
  // Each queue begins with the oldest.
  Queue idle_;
  Queue idle_probes_;
  Queue transfers_;
};

}  // namespace millrace
