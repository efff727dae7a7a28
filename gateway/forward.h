// Forwarder: hands a request that this node of a cluster does not answer on to the active, and
// passes the answer back unchanged. A stream of live messages is passed on message by message; any
// other answer is collected first, and its bytes are counted in the budget of the gateway. A
// request that changes something is sent at most once. Calls are on the gateway's thread, except
// where a function says otherwise; the answers come on the thread of an HttpClient of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/headers.h"
#include "gateway/exchange.h"
#include "gateway/gateway_budget.h"
#include "gateway/node_front.h"
#include "http/http_client.h"

namespace millrace {

/// The header of a request that a node has handed on; its value is the id of that node.
inline constexpr std::string_view kForwardedHeader = "Millrace-Forwarded";

/// The URL of the active, to which a request with these headers is handed on. Errors:
/// `cluster.loading`, `log.unreachable`: this node is the active, and may not answer now.
/// `cluster.no_active`: no active is known, or another node has handed the request on, so
/// that no request goes round in circles.
Result<std::string> active_for(const NodeFront& front, const Headers& headers);

/// The error `cluster.standby`: only the active answers the request.
Error not_the_active();

/// The error of a request that waits for a commit which the log does not confirm.
Error unconfirmed();

class Forwarder {
 public:
  struct Settings {
    std::string node;                      ///< the value of kForwardedHeader
    size_t most = 0;                       ///< requests under way at once
    Duration timeout{0};                   ///< of a request that is answered soon
    std::shared_ptr<GatewayBudget> bytes;  ///< of the answers that are collected
  };

  explicit Forwarder(Settings settings);

  /// How long the answer may take.
  enum class Answered : uint8_t {
    kSoon,  ///< it is not, after Settings::timeout
    kLate,  ///< the answer waits for something; there is no timeout
    kStream,
  };

  /// Hands the request of the exchange on to the active at that URL, and answers the exchange. If
  /// the caller of a request that is answered late, or of a stream, closes its connection, the
  /// request ends at the active, too. Answers 503: `busy`, if as many requests are under way as may
  /// be; `cluster.no_active`, if the active cannot be reached; `cluster.no_answer`, if its answer
  /// does not come.
  void hand_on(const std::string& active, const std::shared_ptr<Exchange>& exchange,
               Answered answered);

  /// Ends the requests that were handed on to another node than this one; they would wait for an
  /// answer of a former active. Empty: ends all.
  void leave_all_but(std::string_view active);

  struct Figures {
    uint64_t under_way = 0;
    uint64_t total = 0;    ///< requests that were handed on
    uint64_t refused = 0;  ///< total: requests for which there was no place
  };
  /// Any thread.
  Figures figures() const;

 private:
  struct UnderWay {
    HttpClient::Ticket ticket;
    std::string active;
  };

  void send(const std::string& active, const std::shared_ptr<Exchange>& exchange, Answered answered,
            GatewayBudget::Lease place);

  const Settings settings_;
  const std::shared_ptr<GatewayBudget> places_;
  std::atomic<uint64_t> total_ = 0;
  std::mutex lock_;
  std::map<uint64_t, UnderWay> under_way_;  ///< guarded by lock_
  uint64_t last_ = 0;                       ///< guarded by lock_
  HttpClient client_;  ///< the last member: its callbacks use the others until it is destroyed
};

}  // namespace millrace
