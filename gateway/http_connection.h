// HttpConnection: the TCP connection of one client. The connection reads a request, passes the
// request on as an Exchange, writes the response, and reads the next request; pipelined requests
// wait in the socket. All calls are on the gateway's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "gateway/bearer_token.h"
#include "gateway/connection_places.h"
#include "gateway/exchange.h"
#include "gateway/gateway_budget.h"
#include "gateway/http_server.h"
#include "gateway/request_buffer.h"
#include "gateway/router.h"
#include "gateway/sessions.h"
#include "gateway/stream_answer.h"

namespace millrace {

/// The functions of the HttpServer that its connections use. On the gateway's thread.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual const HttpServer::Options& options() const = 0;
  virtual const Router& router() const = 0;
  virtual const std::optional<BearerToken>& token() const = 0;
  /// Null exactly if there is no token.
  virtual const Sessions* sessions() const = 0;
  virtual bool stopping() const = 0;
  /// A function that runs its argument on the gateway's thread. It may be called on any thread;
  /// once the server is destroyed, the function drops its argument.
  virtual std::function<void(std::function<void()>)> post() const = 0;
  /// A function that runs its argument on a thread of that lane, and otherwise is as that of
  /// post().
  virtual std::function<void(std::function<void()>)> on_lane(Lane lane) const = 0;
  /// The route with the handler of this process; null: this process does not answer it now.
  virtual const Route* answering(const Route& found) const = 0;
  /// Whether one more answer may be held back; release_answer() is called when it no longer is.
  virtual bool hold_answer() = 0;
  virtual void release_answer() = 0;
  virtual void dispatch(const Route& route, const std::shared_ptr<Exchange>& exchange) = 0;

  /// A lease of the bytes of bodies and answers, of size 0.
  virtual GatewayBudget::Lease byte_lease() const = 0;
  /// A lease of the places for exchanges that wait long, of size 0.
  virtual GatewayBudget::Lease wait_lease() const = 0;
  virtual std::shared_ptr<StreamPlaces> stream_places() const = 0;
  /// Closes the connection with the oldest slow transfer, so that its bytes are free for the
  /// connection `in_need`. Returns false if there is none, or if it is `in_need` itself.
  virtual bool close_slow_transfer(uint64_t in_need) = 0;
  /// Counts a body or an answer for which no bytes are left.
  virtual void count_refused_bytes() = 0;

  virtual void does(uint64_t connection, ConnectionPlaces::Activity activity) = 0;
  /// HttpConnection::hang_up() of the connection is called when the peer of the socket closes it.
  virtual void watch_hang_up(int socket, uint64_t connection) = 0;
  virtual void closed(uint64_t connection) = 0;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// `only_probes`: requests of other routes than probes are refused, and the connection ends with
  /// the first answer.
  HttpConnection(boost::asio::ip::tcp::socket socket, uint64_t id, bool only_probes,
                 ConnectionHost& host);

  void start() { read_request(); }

  /// The peer has closed the connection: a request that waits long ends, and so does a stream.
  void hang_up();

  /// The token was replaced: closes the connection if it has a stream that the caller may not read
  /// any more.
  void check_stream();

  /// Called when the server stops. Closes the connection if it has no current request. Answers the
  /// current request with 503 `stopping` if its handler has called Exchange::expect_long_wait() or
  /// if `at_once` is set; otherwise lets the request finish. A stream gets its last message.
  void stop(bool at_once);
  void close();

 private:
  using ErrorCode = boost::system::error_code;

  void read_request();
  void read_header();
  void on_header(ErrorCode error);
  void accept_body();
  void begin_body();
  void read_body();
  void on_body(ErrorCode error);
  bool lease_body();
  void refuse_broken(ErrorCode error);
  void refuse_caller(const Error& error);
  void hold(uint64_t number, Response response);
  void dispatch();
  void watch(uint64_t number);
  void send(uint64_t number, Response response);
  void write(Response response);
  Response within_budget(Response response);
  void begin_stream(uint64_t number, const Headers& headers, std::shared_ptr<StreamAnswer> stream);
  void pump_stream(uint64_t number);
  bool may_read() const;
  void write_stream();
  void on_stream_written();
  void await_stream();
  void end_stream();
  void finish_writing();
  void drain();

  // Files of calls (http_connection_files.cc).
  void begin_receive();
  void on_sink(const Result<std::shared_ptr<FileSink>>& sink);
  void pass_on_piece();
  void on_piece_taken(const Status& taken);
  void finish_receive();
  void on_received(const Status& received);
  void refuse_file(const Error& error);
  void drop_files();
  void send_file(uint64_t number, const Headers& headers, std::shared_ptr<FileSource> file);
  void write_file_piece();
  void on_file_piece(Result<std::string> piece);
  void renew_progress(size_t bytes);
  template <class T, class Next>
  void transfer(std::function<T()> work, Next next);

  template <class Method>
  auto then(Method method) {
    return [self = shared_from_this(), method](ErrorCode error, auto...) {
      (self.get()->*method)(error);
    };
  }

  ConnectionHost& host_;
  const uint64_t id_;
  const bool only_probes_;
  const std::string client_;  ///< Request::client
  boost::beast::tcp_stream stream_;
  RequestBuffer buffer_;
  /// Until an answer that is held back is sent, or a stream gets a comment.
  boost::asio::steady_timer hold_;

  enum class Doing { kIdle, kReading, kHandling, kWriting, kStreaming, kDraining, kClosed };
  Doing doing_ = Doing::kIdle;

  // The state of the current request.
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
  const Route* route_ = nullptr;
  Request request_;
  std::weak_ptr<Exchange> exchange_;
  GatewayBudget::Lease body_bytes_;    ///< until the request is passed on
  GatewayBudget::Lease answer_bytes_;  ///< until the answer is written
  uint64_t number_ = 0;  ///< the request's number; an answer with an earlier number is ignored
  bool head_ = false;
  bool keep_alive_ = false;
  bool is_trusted_ = false;  ///< the request is authorized, or the server requires no token
  bool waits_long_ = false;
  Headers caller_;  ///< of the request for a stream, with the token or the session of the caller
  std::shared_ptr<StreamAnswer> stream_answer_;  ///< while kStreaming
  std::string stream_text_;                      ///< the bytes that are being written
  bool writes_stream_ = false;
  std::shared_ptr<FileSink> sink_;      ///< gets the body of the request
  std::shared_ptr<FileSource> source_;  ///< is the body of the answer
  std::string piece_;                   ///< the bytes that are being written
  size_t in_progress_ = 0;              ///< bytes since the time for the next MiB began
};

}  // namespace millrace
