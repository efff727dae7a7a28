#include "gateway/forward.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "gateway/problem.h"
#include "gateway/stream_answer.h"

namespace millrace {
namespace {

/// How long the active may take to accept a connection: its machine may be gone.
constexpr Duration kActiveConnectTimeout{2'000};

/// Bytes of each answer that the budget does not count, as of answers of this node.
constexpr uint64_t kUncountedOfAnswer = uint64_t{64} << 10;

/// The most bytes of a message of a stream that has not arrived completely.
constexpr size_t kMostOfMessage = size_t{16} << 20;

constexpr std::string_view kEndOfMessage = "\n\n";

/// Headers of a request that are not handed on: those of the connection to this node (RFC 9110,
/// section 7.6.1), those that the client writes anew, and those that this node has checked against
/// its own Host.
constexpr auto kKeptOfRequest = std::to_array<std::string_view>(
    {"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Origin",
     "Proxy-Authorization", "Proxy-Connection", "Sec-Fetch-Site", "TE", "Trailer",
     "Transfer-Encoding", "Upgrade"});

/// Headers of an answer that are not passed back: those of the connection to the active, and those
/// that the connection to the caller has anyway.
constexpr auto kKeptOfAnswer = std::to_array<std::string_view>(
    {"Connection", "Content-Length", "Date", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection",
     "Trailer", "Transfer-Encoding", "Upgrade", "X-Content-Type-Options"});

/// Whether the header Connection names this header as one of the connection.
bool is_named_by_connection(const Headers& headers, std::string_view name) {
  const std::string* const value = find_header(headers, "Connection");
  if (value == nullptr) return false;
  for (std::string_view rest = *value; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (same_header(trimmed(one), name)) return true;
  }
  return false;
}

/// The headers without those whose names are in `kept`, and without those of the connection.
template <class Names>
Headers passed(const Headers& headers, const Names& kept) {
  Headers all;
  for (const auto& header : headers) {
    const bool is_kept =
        std::any_of(kept.begin(), kept.end(),
                    [&](std::string_view name) { return same_header(name, header.first); }) ||
        is_named_by_connection(headers, header.first);
    if (!is_kept) all.push_back(header);
  }
  return all;
}

bool is_event_stream(const HttpAnswer& head) {
  const std::string* const type = find_header(head.headers, "Content-Type");
  return head.status == 200 && type != nullptr && to_lower(*type).starts_with("text/event-stream");
}

/// The error of a request whose answer did not come.
Error lacking_answer(const std::string& active, const Error& why) {
  const bool was_not_sent =
      why.code == kHttpUnreachable || why.code == kHttpTls || why.code == kHttpRequest;
  if (was_not_sent) {
    return {"cluster.no_active",
            fmt::format("the active at {} cannot be reached: {}", active, why.message)};
  }
  return {"cluster.no_answer",
          fmt::format("the active at {} did not answer, and may have done what the request asks "
                      "for: {}",
                      active, why.message)};
}

/// One request that is handed on, and its answer. On the thread of the HTTP client.
class HandedOn {
 public:
  HandedOn(std::shared_ptr<Exchange> exchange, std::string active, GatewayBudget::Lease place,
           GatewayBudget::Lease bytes)
      : exchange_(std::move(exchange)),
        active_(std::move(active)),
        place_(std::move(place)),
        bytes_(std::move(bytes)) {}

  bool begin(const HttpAnswer& head) {
    answer_.status = static_cast<unsigned>(head.status);
    answer_.headers = passed(head.headers, kKeptOfAnswer);
    if (!is_event_stream(head)) return true;
    auto stream = exchange_->stream(answer_.headers);
    if (!stream) return refuse(stream.error());
    stream_ = *std::move(stream);
    return true;
  }

  bool take(std::string_view bytes) {
    if (stream_) return pass_on(bytes);
    const uint64_t size = answer_.body.size() + bytes.size();
    if (size > kUncountedOfAnswer && !bytes_.grow_to(size - kUncountedOfAnswer)) {
      return refuse(busy("the bodies and answers of all requests use all of their memory"));
    }
    answer_.body += bytes;
    return true;
  }

  void end(const Result<HttpAnswer>& result) {
    bytes_.release();
    place_.release();
    if (stream_) return end_stream();
    if (refusal_) return exchange_->answer(problem(*refusal_));
    if (!result) return exchange_->answer(problem(lacking_answer(active_, result.error())));
    exchange_->answer(std::move(answer_));
  }

 private:
  bool refuse(Error error) {
    refusal_ = std::move(error);
    return false;
  }

  /// Queues the messages of the stream that are complete. Between two messages this node may send a
  /// comment, or the last message of the stream.
  bool pass_on(std::string_view bytes) {
    message_ += bytes;
    const size_t end = message_.rfind(kEndOfMessage);
    if (end == std::string::npos) {
      if (message_.size() <= kMostOfMessage) return true;
      stream_->end(reset_message("overrun"));
      return false;
    }
    const size_t size = end + kEndOfMessage.size();
    auto complete = std::make_shared<const std::string>(message_, 0, size);
    message_.erase(0, size);
    const size_t before = complete->rfind(kEndOfMessage, end - 1);
    const size_t last = before == std::string::npos ? 0 : before + kEndOfMessage.size();
    has_ended_ = ends_stream(std::string_view(*complete).substr(last));
    return stream_->send(std::move(complete));
  }

  /// The active ends a stream with a last message. Without one its process was killed, which closes
  /// the connection as the end of an answer does, or another node is the active.
  void end_stream() {
    stream_->end(has_ended_ ? std::make_shared<const std::string>() : reset_message("stopping"));
  }

  const std::shared_ptr<Exchange> exchange_;
  const std::string active_;
  GatewayBudget::Lease place_;
  GatewayBudget::Lease bytes_;
  Response answer_;
  std::optional<Error> refusal_;
  std::shared_ptr<StreamAnswer> stream_;
  std::string message_;     ///< the beginning of a message of the stream
  bool has_ended_ = false;  ///< whether the last message of the stream has come
};

}  // namespace

Error not_the_active() {
  return {"cluster.standby", "only the active of the cluster answers this request"};
}

Error unconfirmed() {
  return {
      "log.unreachable",
      "the log of the cluster has not confirmed in time what the request has done, or this node "
      "hands over; it may count: repeat it with the same Idempotency-Key, or the event with the "
      "same id"};
}

Result<std::string> active_for(const NodeFront& front, const Headers& headers) {
  if (front.is_active()) {
    const Status ready = front.ready();
    if (!ready && ready.error().code == "cluster.loading") return tl::unexpected(ready.error());
    return fail("log.unreachable",
                ready ? "this node is the active, and the log of the cluster confirms nothing"
                      : ready.error().message);
  }
  if (const std::string* const node = find_header(headers, kForwardedHeader)) {
    return fail("cluster.no_active",
                fmt::format("the node {} has handed the request on to this node, which is not the "
                            "active",
                            *node));
  }
  std::string active = front.active_url();
  if (active.empty()) return fail("cluster.no_active", "no node of the cluster is the active");
  return active;
}

Forwarder::Forwarder(Settings settings)
    : settings_(std::move(settings)),
      places_(std::make_shared<GatewayBudget>(settings_.most)),
      client_({.connections = settings_.most,
               .connections_per_host = settings_.most,
               .connect_timeout = kActiveConnectTimeout}) {}

void Forwarder::hand_on(const std::string& active, const std::shared_ptr<Exchange>& exchange,
                        Answered answered) {
  GatewayBudget::Lease place(places_);
  if (!place.grow_to(1)) {
    return exchange->answer(problem(busy("too many requests are handed on to the active")));
  }
  if (answered == Answered::kLate) {
    if (const Status has_place = exchange->expect_long_wait(); !has_place) {
      return exchange->answer(problem(has_place.error()));
    }
  }
  ++total_;
  send(active, exchange, answered, std::move(place));
}

void Forwarder::send(const std::string& active, const std::shared_ptr<Exchange>& exchange,
                     Answered answered, GatewayBudget::Lease place) {
  Request& asked = exchange->request();
  HttpRequest request{.method = asked.method,
                      .url = active + asked.target,
                      .headers = passed(asked.headers, kKeptOfRequest),
                      .body = std::move(asked.body),
                      .timeout = {},
                      .once = asked.method != "GET"};
  request.headers.emplace_back(kForwardedHeader, settings_.node);
  if (answered == Answered::kSoon) request.timeout = settings_.timeout;

  const auto handed = std::make_shared<HandedOn>(exchange, active, std::move(place),
                                                 GatewayBudget::Lease(settings_.bytes));
  const std::lock_guard lock(lock_);
  const uint64_t id = ++last_;
  const HttpClient::Ticket ticket =
      client_.send(std::move(request),
                   {.sent = {},
                    .alive = {},
                    .done =
                        [this, id, handed](const Result<HttpAnswer>& result) {
                          {
                            const std::lock_guard guard(lock_);
                            under_way_.erase(id);
                          }
                          handed->end(result);
                        },
                    .head = [handed](const HttpAnswer& head) { return handed->begin(head); },
                    .body = [handed](std::string_view bytes) { return handed->take(bytes); }});
  under_way_.emplace(id, UnderWay{ticket, active});
  if (answered != Answered::kSoon) {
    exchange->on_close([this, ticket] { client_.cancel(ticket); });
  }
}

void Forwarder::leave_all_but(std::string_view active) {
  const std::lock_guard lock(lock_);
  for (const auto& [id, one] : under_way_) {
    if (one.active != active) client_.cancel(one.ticket);
  }
}

Forwarder::Figures Forwarder::figures() const {
  return {.under_way = places_->used(), .total = total_, .refused = places_->refused()};
}

}  // namespace millrace
