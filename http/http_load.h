// HttpLoad: how many HTTP requests run and wait, for metrics. Plain values.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace millrace {

struct HttpLoad {
  struct Requests {
    size_t running = 0;  ///< requests that have a connection, or are being connected
    size_t waiting = 0;  ///< requests that wait for a connection

    bool operator==(const Requests&) const = default;
  };

  Requests total;
  /// Only namespaces with requests; requests of millrace itself are counted in `total` only.
  std::map<std::string, Requests> namespaces;
};

}  // namespace millrace
