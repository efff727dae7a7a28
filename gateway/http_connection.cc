#include "gateway/http_connection.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include "base/has_code.h"
#include "gateway/admission.h"
#include "gateway/http_date.h"
#include "gateway/problem.h"
#include "gateway/request_head.h"

namespace millrace {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Activity = ConnectionPlaces::Activity;

/// The size of the read buffer: larger than the headers of a request; bodies pass through the
/// buffer in pieces.
constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr size_t kFirstRead = size_t{4} << 10;
/// How long a client has to read the last response before its connection is closed.
constexpr auto kDrainTime = std::chrono::seconds(2);

/// Bytes of each body and each answer that the budget does not count: requests of a usual size are
/// served also while others use all of it.
constexpr uint64_t kUncounted = uint64_t{64} << 10;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// The address of the peer, without its port; of an IPv6 address the first 8 bytes, because one
/// client usually has all addresses that begin with them. Empty: the peer has left.
std::string client_of(const asio::ip::tcp::socket& socket) {
  ErrorCode error;
  const asio::ip::tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return {};
  const asio::ip::address address = peer.address();
  if (address.is_v4()) return address.to_string();
  asio::ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
  if (!address.is_loopback() && !address.to_v6().is_v4_mapped()) {
    std::fill(bytes.begin() + 8, bytes.end(), 0);
  }
  return asio::ip::address_v6(bytes).to_string();
}

Headers headers_of(const http::fields& fields) {
  Headers headers;
  for (const auto& field : fields) {
    headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return headers;
}

uint64_t counted(size_t bytes) { return bytes > kUncounted ? bytes - kUncounted : 0; }

bool is_probe(const Route& route) {
  return route.lane == Lane::kProbe || route.lane == Lane::kInPlace;
}

/// The error of a body or an answer for which the budget has no bytes left.
Error no_bytes_left() {
  return busy("the bodies and answers of all requests use all of their memory");
}

Response too_large(const Route& route) {
  std::string message = route.max_body == 0
                            ? std::string("this request must not have a body")
                            : fmt::format("the body is larger than {} bytes", route.max_body);
  if (!route.larger_bodies.empty()) message += "; " + route.larger_bodies;
  return problem(Error{"request.body_too_large", std::move(message)});
}

}  // namespace

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, uint64_t id, bool only_probes,
                               ConnectionHost& host)
    : host_(host),
      id_(id),
      only_probes_(only_probes),
      client_(client_of(socket)),
      stream_(std::move(socket)),
      buffer_(kBufferBytes),
      hold_(stream_.get_executor()) {}

void HttpConnection::read_request() {
  if (host_.stopping()) return close();
  if (buffer_.size() > 0) return read_header();
  doing_ = Doing::kIdle;
  const TransportLimits& limits = host_.options().transport;
  stream_.expires_after(number_ == 0 ? limits.first_byte : limits.idle);
  stream_.async_read_some(buffer_.prepare(kFirstRead),
                          [self = shared_from_this()](ErrorCode error, size_t bytes) {
                            if (error) return self->close();
                            self->buffer_.commit(bytes);
                            self->read_header();
                          });
}

void HttpConnection::read_header() {
  doing_ = Doing::kReading;
  keep_alive_ = false;
  head_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(host_.options().transport.header_bytes));
  // The limit of the body is that of the route, which is known after the headers. A limit that the
  // parser checks here would be refused before the token is checked.
  parser_->body_limit(boost::none);
  stream_.expires_after(host_.options().transport.header);
  buffer_.begin_head();
  http::async_read_header(stream_, buffer_, *parser_, then(&HttpConnection::on_header));
}

void HttpConnection::on_header(ErrorCode error) {
  if (doing_ == Doing::kClosed) return;
  if (error) return refuse_broken(error);

  host_.does(id_, Activity::kWorks);
  const auto& message = parser_->get();
  const bool complete = parser_->is_done();
  head_ = message.method() == http::verb::head;
  const bool has_folded_line = buffer_.end_head();
  // If the response is sent before the body was read, the connection ends with the response,
  // because the rest of the body is not read.
  keep_alive_ = complete && parser_->keep_alive() && !only_probes_;

  Headers headers = headers_of(message);
  const std::optional<BearerToken>& token = host_.token();
  is_trusted_ = !token;
  const std::string target(message.target());
  auto found = host_.router().find(std::string(message.method_string()), target);
  const auto* hit = std::get_if<Router::Found>(&found);
  const Status admitted = [&]() -> Status {
    TRY(check_head({.version = message.version(),
                    .target = target,
                    .headers = headers,
                    .has_folded_line = has_folded_line}));
    return admit(headers, {.hosts = host_.options().hosts,
                           .origins = host_.options().origins,
                           .has_token = token.has_value(),
                           .is_page = hit != nullptr && hit->route->is_page});
  }();
  if (!admitted) {
    keep_alive_ = false;
    return write(problem(admitted.error()));
  }
  const bool is_open = hit == nullptr ? host_.router().is_open(target) : hit->route->open;
  if (token && !is_open) {
    // The token is checked before a refusal of find() is answered: without the token, a caller must
    // not learn which routes exist, except those that need no token.
    const Status known = authorize(headers, message.method_string(), *token, *host_.sessions());
    if (!known) return refuse_caller(known.error());
    is_trusted_ = true;
  }
  if (auto* refusal = std::get_if<Response>(&found)) return write(std::move(*refusal));
  auto& [route, request, head] = std::get<Router::Found>(found);
  if (only_probes_ && !is_probe(*route)) {
    return write(problem(busy("all connections are in use, and this one is for probes")));
  }
  route_ = route;
  request_ = std::move(request);
  request_.headers = std::move(headers);
  request_.client = client_;

  const auto length = parser_->content_length();
  if (length && *length > route_->max_body) return write(too_large(*route_));
  if (route_->receive) return begin_receive();
  if (complete) return dispatch();
  accept_body();
}

/// Lets the client send the body, if it waits for that, and reads it.
void HttpConnection::accept_body() {
  parser_->body_limit(route_->max_body);
  parser_->eager(true);
  body_bytes_ = host_.byte_lease();
  host_.does(id_, Activity::kTransfer);
  if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return begin_body();
  stream_.expires_after(host_.options().transport.write);
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = shared_from_this()](ErrorCode failed, size_t) {
                      if (failed) return self->close();
                      self->begin_body();
                    });
}

void HttpConnection::begin_body() {
  if (doing_ == Doing::kClosed) return;
  stream_.expires_after(sink_ ? host_.options().transport.file_progress
                              : host_.options().transport.body);
  read_body();
}

/// Reads the body in pieces, so that each piece is counted when it has arrived: a client must not
/// use up the budget by a length that it only announces.
void HttpConnection::read_body() {
  http::async_read_some(stream_, buffer_, *parser_, then(&HttpConnection::on_body));
}

void HttpConnection::on_body(ErrorCode error) {
  if (doing_ == Doing::kClosed) return;
  if (error) return refuse_broken(error);
  if (sink_) return pass_on_piece();
  if (!lease_body()) return write(problem(no_bytes_left()));
  if (!parser_->is_done()) return read_body();
  keep_alive_ = parser_->keep_alive() && !only_probes_;
  dispatch();
}

/// Counts the part of the body that has arrived. Returns false if no bytes are left for it.
bool HttpConnection::lease_body() {
  const uint64_t size = counted(parser_->get().body().size());
  while (!body_bytes_.grow_to(size)) {
    if (host_.close_slow_transfer(id_)) continue;
    host_.count_refused_bytes();
    return false;
  }
  return true;
}

/// Answers a malformed or too large request with a problem. If the client is too slow or has closed
/// the connection, closes it without an answer.
void HttpConnection::refuse_broken(ErrorCode error) {
  keep_alive_ = false;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return write(problem(
        Error{"request.headers_too_large", fmt::format("the headers are larger than {} bytes",
                                                       host_.options().transport.header_bytes)}));
  }
  if (error == http::error::body_limit) {
    return write(too_large(*route_));
  }
  const bool malformed =
      error.category() == http::make_error_code(http::error::bad_method).category();
  if (!malformed || error == http::error::end_of_stream || error == http::error::partial_message) {
    return close();
  }
  write(
      problem(Error{"request.malformed", "this is not a valid HTTP request: " + error.message()}));
}

/// Answers a request that is not authorized. A wrong token may be a guess: its answer is held back
/// for a while, and the connection ends with it. Meanwhile other connections are served.
void HttpConnection::refuse_caller(const Error& error) {
  if (has_code(error, {"request.page", "request.origin"})) return write(problem(error));
  ErrorCode ignored;
  host_.options().on_token_failure(
      {.error = error, .peer = stream_.socket().remote_endpoint(ignored).address().to_string()});
  if (error.code != "token.wrong") return write(problem(error));
  doing_ = Doing::kHandling;
  waits_long_ = false;
  stream_.expires_never();
  hold(++number_, problem(error));
}

/// Sends the response later, and ends the connection with it. If too many responses are held back,
/// closes the connection without one.
void HttpConnection::hold(uint64_t number, Response response) {
  if (doing_ != Doing::kHandling || number != number_) return;
  keep_alive_ = false;
  if (!host_.hold_answer()) return close();
  hold_.expires_after(host_.options().transport.wrong_token);
  hold_.async_wait(
      [self = shared_from_this(), number, response = std::move(response)](ErrorCode) mutable {
        self->host_.release_answer();
        self->send(number, std::move(response));
      });
}

void HttpConnection::dispatch() {
  doing_ = Doing::kHandling;
  host_.does(id_, Activity::kWorks);
  stream_.expires_never();
  waits_long_ = false;
  request_.body = std::move(parser_->get().body());
  if (route_->is_stream) caller_ = request_.headers;
  const uint64_t number = ++number_;
  const std::weak_ptr<HttpConnection> weak = weak_from_this();
  auto exchange = std::make_shared<Exchange>(
      std::move(request_),
      Exchange::Transport{
          .post = host_.post(),
          .read = host_.on_lane(Lane::kRead),
          .send =
              [weak, number](Response response) {
                if (const auto self = weak.lock()) {
                  self->send(number, std::move(response));
                }
              },
          .watch =
              [weak, number] {
                if (const auto self = weak.lock()) self->watch(number);
              },
          .hold =
              [weak, number](Response response) {
                if (const auto self = weak.lock()) {
                  self->hold(number, std::move(response));
                }
              },
          .send_file =
              [weak, number](const Headers& headers, std::shared_ptr<FileSource> file) {
                if (const auto self = weak.lock()) {
                  self->send_file(number, headers, std::move(file));
                }
              },
          .begin_stream =
              [weak, number](const Headers& headers, std::shared_ptr<StreamAnswer> stream) {
                const auto self = weak.lock();
                if (!self) return stream->close();
                self->begin_stream(number, headers, std::move(stream));
              },
          .pump_stream =
              [weak, number] {
                if (const auto self = weak.lock()) self->pump_stream(number);
              },
          .connection = weak},
      Exchange::Leases{.body = std::move(body_bytes_),
                       .wait = host_.wait_lease(),
                       .streams = host_.stream_places()});
  exchange_ = exchange;
  host_.dispatch(*route_, exchange);
}

/// Watches the socket while an answer takes long. Nothing is read from the socket during that time,
/// so without this the server would not notice that the client closes the connection.
void HttpConnection::watch(uint64_t number) {
  if (doing_ != Doing::kHandling || number != number_) return;
  waits_long_ = true;
  if (host_.stopping()) return stop(false);
  host_.watch_hang_up(stream_.socket().native_handle(), id_);
}

void HttpConnection::hang_up() {
  if (doing_ == Doing::kStreaming || (doing_ == Doing::kHandling && waits_long_)) close();
}

void HttpConnection::send(uint64_t number, Response response) {
  if (doing_ != Doing::kHandling || number != number_) return;
  write(std::move(response));
}

/// The response, or a refusal if no bytes are left for it.
Response HttpConnection::within_budget(Response response) {
  answer_bytes_ = host_.byte_lease();
  const uint64_t size = counted(response.body.size());
  while (!answer_bytes_.grow_to(size)) {
    if (host_.close_slow_transfer(id_)) continue;
    host_.count_refused_bytes();
    return problem(no_bytes_left());
  }
  return response;
}

void HttpConnection::write(Response whole) {
  Response response = within_budget(std::move(whole));
  drop_files();
  doing_ = Doing::kWriting;
  hold_.cancel();
  host_.does(id_, is_trusted_ ? Activity::kTransfer : Activity::kIdle);
  if (host_.stopping()) keep_alive_ = false;
  auto& message = response_.emplace();
  message.version(11);
  message.result(response.status);
  message.set(http::field::date, http_date());
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) message.insert(name, value);
  message.keep_alive(keep_alive_);
  // A response with one of these statuses has no Content-Length here (RFC 9110, section 8.6).
  const bool is_without_content = message.result() == http::status::no_content ||
                                  message.result() == http::status::not_modified;
  if (!is_without_content) message.content_length(response.body.size());
  if (!head_) message.body() = std::move(response.body);
  stream_.expires_after(host_.options().transport.write);
  http::async_write(stream_, message, [self = shared_from_this()](ErrorCode error, size_t) {
    if (error) return self->close();
    self->finish_writing();
  });
}

void HttpConnection::finish_writing() {
  if (doing_ == Doing::kClosed) return;
  response_.reset();
  drop_files();
  parser_.reset();
  answer_bytes_.release();
  body_bytes_.release();
  host_.does(id_, Activity::kIdle);
  if (keep_alive_) return read_request();
  drain();
}

/// Reads and discards the remaining bytes for at most kDrainTime, then closes the connection.
/// Closing a socket with unread bytes would reset the connection, and the client could lose the
/// response.
void HttpConnection::drain() {
  if (doing_ != Doing::kDraining) {
    doing_ = Doing::kDraining;
    ErrorCode ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kDrainTime);
  }
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kBufferBytes),
                          [self = shared_from_this()](ErrorCode error, size_t) {
                            if (error) return self->close();
                            self->drain();
                          });
}

void HttpConnection::stop(bool at_once) {
  switch (doing_) {
    case Doing::kIdle:
    case Doing::kReading:
    case Doing::kDraining:
      return close();
    case Doing::kHandling:
      if (!at_once && !waits_long_) return;
      keep_alive_ = false;
      return write(
          problem(Error{"stopping", "the server is stopping; retry when it is ready again"}));
    case Doing::kStreaming:
      return at_once ? close() : stream_answer_->end(reset_message("stopping"));
    case Doing::kWriting:
    case Doing::kClosed:
      return;
  }
}

void HttpConnection::close() {
  if (doing_ == Doing::kClosed) return;
  const auto self = shared_from_this();
  doing_ = Doing::kClosed;
  hold_.cancel();
  stream_.close();
  drop_files();
  answer_bytes_.release();
  body_bytes_.release();
  if (const auto stream = std::exchange(stream_answer_, nullptr)) stream->close();
  if (const auto exchange = exchange_.lock()) exchange->close();
  host_.closed(id_);
}

}  // namespace millrace
