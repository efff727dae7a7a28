// RecordingWebhook: which lifecycle events a webhook of the program got.
#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/unit/http/http_peer.h"

namespace millrace {

/// A webhook that accepts all lifecycle events and records their ids.
class RecordingWebhook {
 public:
  std::string url() const { return peer_.url("/hook"); }

  /// The ids of the received events, by instance.
  std::map<std::string, std::set<std::string>> ids() {
    std::map<std::string, std::set<std::string>> found;
    for (const HttpPeer::Request& request : peer_.requests(0)) {
      if (request.method != "POST") continue;
      found[request.header("ce-subject")].insert(request.header("ce-id"));
    }
    return found;
  }

 private:
  HttpPeer peer_{take_as_webhook};
};

}  // namespace millrace
