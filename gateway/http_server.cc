#include "gateway/http_server.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "gateway/connection_places.h"
#include "gateway/forward.h"
#include "gateway/gateway_budget.h"
#include "gateway/gateway_lanes.h"
#include "gateway/gateway_metrics.h"
#include "gateway/hang_up_watch.h"
#include "gateway/http_connection.h"
#include "gateway/listen_address.h"
#include "gateway/problem.h"
#include "gateway/sessions.h"
#include "gateway/stale_read.h"
#include "gateway/unanswered.h"
#include "os/thread.h"

namespace millrace {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

/// Runs work of other threads on the gateway's thread. Callbacks that still have to answer share
/// the queue, so that it outlives the server. After shut() the queue drops all work.
class IoQueue {
 public:
  explicit IoQueue(asio::io_context& io) : io_(&io) {}

  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (io_ != nullptr) asio::post(*io_, std::move(work));
  }

  void shut() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  asio::io_context* io_;
};

tl::unexpected<Error> cannot_listen(std::string_view address, std::string_view why) {
  return fail("gateway.listen", fmt::format("cannot listen on {}: {}", address, why));
}

/// The sessions of a server with these options; null: it requires no token.
std::shared_ptr<Sessions> sessions_for(const HttpServer::Options& options) {
  if (!options.token) return nullptr;
  std::string realm = "cluster " + options.session_realm;
  if (options.session_realm.empty()) {
    std::array<uint8_t, 32> random{};
    randombytes_buf(random.data(), random.size());
    realm = "process " + to_hex(random);
  }
  auto sessions = std::make_shared<Sessions>(options.now, std::move(realm));
  sessions->use_token(*options.token);
  return sessions;
}

}  // namespace

class HttpServer::Impl : public ConnectionHost {
 public:
  /// `service` is null if `front` is not.
  Impl(Options options, Service* service, NodeFront* front)
      : options_(std::move(options)),
        front_(front),
        sessions_(sessions_for(options_)),
        router_(router_of(service)),
        token_(options_.token),
        places_({.connections = options_.transport.connections,
                 .probe_connections = options_.transport.probe_connections,
                 .slow_transfer = options_.transport.slow_transfer}),
        bytes_(std::make_shared<GatewayBudget>(options_.transport.memory_bytes)),
        waits_(std::make_shared<GatewayBudget>(options_.transport.long_waits)),
        streams_(std::make_shared<StreamPlaces>(options_.transport.streams)),
        lanes_(std::make_shared<GatewayLanes>(options_.transport)) {
    if (front_ == nullptr) return;
    forwarder_ =
        std::make_unique<Forwarder>(Forwarder::Settings{.node = front_->node(),
                                                        .most = options_.transport.handed_on,
                                                        .timeout = options_.transport.active_answer,
                                                        .bytes = bytes_});
  }

  Status listen(Descriptor address) {
    const tcp::endpoint endpoint = TRY(parse_listen_address(options_.listen, token_.has_value()));
    try {
      acceptor_.assign(endpoint.protocol(), address.fd());
      address.release();
      acceptor_.listen();
      port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      return cannot_listen(options_.listen, error.code().message());
    }
    TRY(hang_ups_.open());
    accept();
    thread_ = std::thread([this] {
      name_thread("gateway");
      run_promptly();
      io_.run();
    });
    return {};
  }

  // NOLINTNEXTLINE(bugprone-exception-escape): join throws only after a programming error
  ~Impl() override { stop(); }

  void stop() {
    if (thread_.joinable()) {
      asio::post(io_, [this] { begin_stop(); });
      thread_.join();
    }
    io_queue_->shut();
    lanes_->stop();
    forwarder_.reset();
  }

  void serve(Service& service) {
    auto router = std::make_shared<const Router>(router_of(&service));
    io_queue_->post([this, router] { serving_router_ = router; });
  }

  void active_changed() {
    io_queue_->post([this] { forwarder_->leave_all_but(front_->active_url()); });
  }

  void stop_waiting_for_log() {
    io_queue_->post([this] { unanswered_.answer_all(unconfirmed()); });
  }

  uint16_t port() const { return port_; }

  void replace_token(BearerToken token) {
    if (sessions_) sessions_->use_token(token);
    io_queue_->post([this, token] {
      token_ = token;
      each([](HttpConnection& connection) { connection.check_stream(); });
    });
  }

  const Options& options() const override { return options_; }
  const Router& router() const override { return serving_router_ ? *serving_router_ : router_; }
  const std::optional<BearerToken>& token() const override { return token_; }
  const Sessions* sessions() const override { return sessions_.get(); }
  bool stopping() const override { return stopping_; }

  std::function<void(std::function<void()>)> post() const override {
    return [io_queue = io_queue_](std::function<void()> work) { io_queue->post(std::move(work)); };
  }

  std::function<void(std::function<void()>)> on_lane(Lane lane) const override {
    return [lanes = lanes_, lane](auto work) { lanes->proceed(lane, std::move(work)); };
  }

  const Route* answering(const Route& found) const override {
    const Route& route = current(found);
    return answers(route) ? &route : nullptr;
  }

  bool hold_answer() override {
    if (held_answers_ >= options_.transport.held_answers) return false;
    ++held_answers_;
    return true;
  }
  void release_answer() override { --held_answers_; }

  void dispatch(const Route& found, const std::shared_ptr<Exchange>& exchange) override {
    const Route& route = current(found);
    if (answers(route)) {
      if (front_ != nullptr && !route.is_local && !route.is_stream) unanswered_.note(exchange);
      return run(route, exchange, [&route, exchange] { return route.handler(exchange); });
    }
    if (route.is_for_active) return exchange->answer(problem(not_the_active()));
    const Result<bool> is_stale = may_be_stale(route, exchange->request());
    if (!is_stale) return exchange->answer(problem(is_stale.error()));
    const NodeStore* const store = *is_stale ? front_->store() : nullptr;
    if (store == nullptr) return hand_on(route, exchange);
    run(route, exchange,
        [&route, exchange, store] { return answer_stale(*store, route, exchange); });
  }

  GatewayBudget::Lease byte_lease() const override { return GatewayBudget::Lease(bytes_); }
  GatewayBudget::Lease wait_lease() const override { return GatewayBudget::Lease(waits_); }
  std::shared_ptr<StreamPlaces> stream_places() const override { return streams_; }

  bool close_slow_transfer(uint64_t in_need) override {
    const auto slow = places_.slow_transfer(steady_now());
    if (!slow || *slow == in_need) return false;
    close(*slow);
    return true;
  }

  void count_refused_bytes() override { ++bytes_refused_; }

  void does(uint64_t connection, ConnectionPlaces::Activity activity) override {
    places_.set(connection, activity, steady_now());
  }

  void watch_hang_up(int socket, uint64_t connection) override {
    hang_ups_.add(socket, connection);
  }

  void closed(uint64_t connection) override {
    places_.remove(connection);
    open_connections_ -= connections_.erase(connection);
    end_when_empty();
  }

 private:
  Router router_of(Service* service) {
    auto metrics = [this] { return to_prometheus(figures()); };
    const PageSources page{
        .files = options_.page, .sessions = sessions_, .port = [this] { return port_; }};
    if (service == nullptr) {
      return make_router(options_.requests, std::move(metrics), front_, page);
    }
    return make_router(*service, options_.requests, std::move(metrics), front_, page);
  }

  /// The route, of the router with the service if there is one: the headers of the request may have
  /// been read before.
  const Route& current(const Route& found) const {
    if (!serving_router_) return found;
    const Route* const first = router_.routes().data();
    const bool is_of_first =
        !std::less<>()(&found, first) && std::less<>()(&found, first + router_.routes().size());
    return is_of_first ? serving_router_->routes()[static_cast<size_t>(&found - first)] : found;
  }

  /// Answers the exchange on the lane of the route.
  template <class Answer>
  void run(const Route& route, const std::shared_ptr<Exchange>& exchange, Answer answer) {
    auto work = [answer = std::move(answer), exchange] {
      exchange->guard([&] {
        if (const Status done = answer(); !done) exchange->answer(problem(done.error()));
      });
    };
    lanes_->run(route.lane, source_of(exchange->request()), std::move(work),
                [exchange](const Error& refused) { exchange->answer(problem(refused)); });
  }

  /// Whether this process answers requests of the route now.
  bool answers(const Route& route) const {
    return front_ == nullptr || route.is_local || (serving_router_ && front_->may_serve());
  }

  void hand_on(const Route& route, const std::shared_ptr<Exchange>& exchange) {
    const Result<std::string> active = active_for(*front_, exchange->request().headers);
    if (!active) return exchange->answer(problem(503, active.error()));
    const bool is_late = route.may_take_long || exchange->request().query.contains("wait");
    forwarder_->hand_on(*active, exchange,
                        route.is_stream ? Forwarder::Answered::kStream
                        : is_late       ? Forwarder::Answered::kLate
                                        : Forwarder::Answered::kSoon);
  }

  /// Any thread.
  GatewayFigures figures() const {
    return {.connections = open_connections_,
            .waits = waits_->used(),
            .waits_refused = waits_->refused(),
            .streams = streams_->used(),
            .streams_refused = streams_->refused(),
            .memory_bytes = bytes_->used(),
            .memory_refused = bytes_refused_,
            .closed_for_other = closed_for_others_,
            .turned_away = turned_away_,
            .handed_on = forwarder_ ? forwarder_->figures() : Forwarder::Figures{},
            .lanes = lanes_->figures()};
  }

  static Duration steady_now() {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
  }

  std::shared_ptr<HttpConnection> connection_of(uint64_t id) const {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second;
  }

  /// Closes a connection whose place or bytes are needed.
  void close(uint64_t id) {
    ++closed_for_others_;
    if (const auto connection = connection_of(id)) connection->close();
  }

  void accept() {
    acceptor_.async_accept([this](ErrorCode error, tcp::socket socket) {
      if (stopping_) return;
      if (error) return accept_later();
      admit(std::move(socket));
      accept();
    });
  }

  void admit(tcp::socket socket) {
    const uint64_t id = ++last_connection_;
    const auto [place, to_close] = places_.admit(id, steady_now());
    if (to_close) close(*to_close);
    if (place == ConnectionPlaces::Place::kNone) {
      ++turned_away_;
      return turn_away(std::move(socket));
    }
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    // By default the system holds several MiB for a client that does not read its answers.
    socket.set_option(tcp::socket::send_buffer_size(options_.transport.socket_bytes), ignored);
    socket.set_option(tcp::socket::receive_buffer_size(options_.transport.socket_bytes), ignored);
    const bool only_probes = place == ConnectionPlaces::Place::kProbes;
    const auto connection =
        std::make_shared<HttpConnection>(std::move(socket), id, only_probes, *this);
    connections_.emplace(id, connection);
    ++open_connections_;
    connection->start();
  }

  /// Accepts again after 100 ms. The usual cause of an error is a lack of file descriptors, so the
  /// connection that has been idle longest is closed.
  void accept_later() {
    if (const auto idle = places_.longest_idle()) close(*idle);
    timer_.expires_after(std::chrono::milliseconds(100));
    timer_.async_wait([this](ErrorCode error) {
      if (!error && !stopping_) accept();
    });
  }

  /// Answers 503 and closes the connection. The response is written to the socket's empty buffer
  /// without blocking, or not at all.
  static void turn_away(tcp::socket socket) {
    const Response refusal = problem(busy("too many connections are open"));
    std::string text = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n";
    for (const auto& [name, value] : refusal.headers)
      text += fmt::format("{}: {}\r\n", name, value);
    text += fmt::format("Content-Length: {}\r\n\r\n{}", refusal.body.size(), refusal.body);
    ErrorCode ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void begin_stop() {
    stopping_ = true;
    ErrorCode ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    each([](HttpConnection& connection) { connection.stop(false); });
    timer_.expires_after(options_.transport.stop_grace);
    timer_.async_wait([this](ErrorCode error) {
      if (error) return;
      each([](HttpConnection& connection) { connection.stop(true); });
      timer_.expires_after(std::chrono::seconds(1));
      timer_.async_wait([this](ErrorCode cancelled) {
        if (!cancelled) each([](HttpConnection& connection) { connection.close(); });
      });
    });
    end_when_empty();
  }

  template <class Function>
  void each(Function function) {
    const auto all = connections_;
    for (const auto& [id, connection] : all) function(*connection);
  }

  void end_when_empty() {
    if (!stopping_ || !connections_.empty()) return;
    timer_.cancel();
    hang_ups_.close();
    work_.reset();
  }

  const Options options_;
  NodeFront* const front_;                    ///< null: the server is not part of a cluster
  const std::shared_ptr<Sessions> sessions_;  ///< null: the server requires no token
  /// The routes, without the service if `front_` is not null. Exchanges refer to them, also after
  /// serve().
  const Router router_;
  uint16_t port_ = 0;

  // Used on the gateway's thread only.
  std::optional<BearerToken> token_;
  std::shared_ptr<const Router> serving_router_;  ///< null before serve()
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer timer_{io_};
  HangUpWatch hang_ups_{io_, [this](uint64_t id) {
                          if (const auto connection = connection_of(id)) connection->hang_up();
                        }};
  ConnectionPlaces places_;
  std::unordered_map<uint64_t, std::shared_ptr<HttpConnection>> connections_;
  uint64_t last_connection_ = 0;
  size_t held_answers_ = 0;  ///< answers that are held back
  Unanswered unanswered_;    ///< of a node of a cluster
  bool stopping_ = false;

  // Used on any thread.
  const std::shared_ptr<IoQueue> io_queue_ = std::make_shared<IoQueue>(io_);
  const std::shared_ptr<GatewayBudget> bytes_;  ///< of bodies and answers
  const std::shared_ptr<GatewayBudget> waits_;  ///< places for exchanges that wait long
  const std::shared_ptr<StreamPlaces> streams_;
  /// Callbacks of the service may continue on a lane after the server is destroyed; then the lanes
  /// drop their work.
  const std::shared_ptr<GatewayLanes> lanes_;
  std::unique_ptr<Forwarder> forwarder_;  ///< null if `front_` is
  std::atomic<size_t> open_connections_ = 0;
  std::atomic<uint64_t> bytes_refused_ = 0;
  std::atomic<uint64_t> closed_for_others_ = 0;
  std::atomic<uint64_t> turned_away_ = 0;
  std::thread thread_;
};

Result<Descriptor> HttpServer::bind(const std::string& listen, bool has_token) {
  const tcp::endpoint endpoint = TRY(parse_listen_address(listen, has_token));
  Descriptor socket(::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (!socket || ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.fd(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) {
    return cannot_listen(listen, std::strerror(errno));
  }
  return socket;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Options options, Service& service) {
  Descriptor address = TRY(bind(options.listen, options.token.has_value()));
  return start(std::move(options), std::move(address), service);
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Options options, Descriptor address,
                                                      Service& service) {
  auto impl = std::make_unique<Impl>(std::move(options), &service, nullptr);
  TRY(impl->listen(std::move(address)));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Options options, Descriptor address,
                                                      NodeFront& front) {
  auto impl = std::make_unique<Impl>(std::move(options), nullptr, &front);
  TRY(impl->listen(std::move(address)));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::stop() { impl_->stop(); }
void HttpServer::serve(Service& service) { impl_->serve(service); }
void HttpServer::active_changed() { impl_->active_changed(); }
void HttpServer::stop_waiting_for_log() { impl_->stop_waiting_for_log(); }
void HttpServer::replace_token(BearerToken token) { impl_->replace_token(token); }

}  // namespace millrace
