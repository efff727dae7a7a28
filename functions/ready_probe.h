// ReadyProbe: whether a process listens on a port of this machine, which may be a published port of
// a container. The runtime accepts every connection to such a port, and closes it again if no
// process in the container accepts it. So a connection must stay open for some time. For one
// thread; never blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "os/descriptor.h"

namespace millrace {

class ReadyProbe {
 public:
  /// Finds a free port of 127.0.0.1 and reserves it for the lifetime of this object. A process that
  /// binds it with SO_REUSEADDR, as container runtimes do, can still listen there.
  ReadyProbe();

  /// 0: no port was available, for example because no descriptor is left.
  uint16_t port() const { return port_; }

  /// Whether a process listens on port(). Call it repeatedly until it returns true; `now` must be
  /// monotonic.
  bool poll(Duration now);

 private:
  Descriptor hold_;
  uint16_t port_ = 0;
  Descriptor attempt_;
  Duration next_{};
  std::optional<Duration> connected_;
};

/// The interval for calls of poll().
inline constexpr Duration kProbeLook{20};

}  // namespace millrace
