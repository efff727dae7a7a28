// ServiceCaller: calls functions that run in containers of ours, by the one HTTP client.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "functions/http_call.h"
#include "http/http_client.h"

namespace millrace {

class ServiceCaller final : public HttpCaller {
 public:
  /// `client` outlives it, and whatever it has begun.
  explicit ServiceCaller(HttpClient& client) : client_(client) {}

  void call(HttpCall call) override;
  void stop(const InstanceId& task) override;

 private:
  struct Call {
    HttpClient::Ticket ticket{};
    std::string url;
  };

  HttpClient& client_;
  std::mutex lock_;  // guards what follows
  std::unordered_map<InstanceId, Call> calls_;
};

}  // namespace millrace
