// Session: the client, the namespace and the output of a verb that calls a server. For one thread
// only.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/client.h"
#include "cli/console.h"
#include "cli/output.h"

namespace millrace {

struct Session {
  Console& console;
  Client client;
  std::string ns;
  Output output;

  /// The path `/v1/ns/NAMESPACE`, followed by the pieces.
  std::string path(std::initializer_list<std::string_view> pieces) const {
    return Client::url_path({"v1", "ns", ns}) + Client::url_path(pieces);
  }
};

}  // namespace millrace
