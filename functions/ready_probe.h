// ReadyProbe: whether somebody listens behind a port of this machine, which may be published: then
// the runtime takes every connection, and closes those that nobody in the container takes. So a
// connection has to stay open for a moment. For one thread; never blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "os/descriptor.h"

namespace millrace {

class ReadyProbe {
 public:
  /// Finds a free port of 127.0.0.1 and holds it: nobody else gets it while this lives, but whoever
  /// binds it with SO_REUSEADDR, as container runtimes do, may listen there.
  ReadyProbe();

  /// 0: none can be had, as where no descriptor is left.
  uint16_t port() const { return port_; }

  /// Whether somebody listens. To be asked again and again until then; `now` goes on evenly.
  bool look(Duration now);

 private:
  Descriptor hold_;
  uint16_t port_ = 0;
  Descriptor attempt_;
  Duration next_{};
  std::optional<Duration> connected_;
};

/// So often does it make sense to look.
inline constexpr Duration kProbeLook{20};

}  // namespace millrace
