// Exchange: one request and its response, as the handlers see them. An Exchange does not know the
// transport. A handler may answer at once or later, from any thread. The first answer is sent and
// further ones are ignored; an answer after the server has stopped is dropped.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "cloudevents/headers.h"
#include "gateway/gateway_budget.h"
#include "gateway/stream_answer.h"
#include "gateway/stream_places.h"
#include "orchestrator/ports/call_files.h"

namespace millrace {

struct Request {
  std::string method;  ///< "GET" also for HEAD, where the transport omits the body
  std::string path;    ///< as sent, without the query
  std::string target;  ///< the path and the query, as sent
  std::map<std::string, std::string, std::less<>> parts;  ///< the path's values, by placeholder
  std::map<std::string, std::string, std::less<>> query;
  Headers headers;
  std::string body;
  std::string client;  ///< the address of the peer, without its port (RequestSource::client)
};

struct Response {
  unsigned status = 200;
  Headers headers;  ///< without Content-Length, Connection and Date
  std::string body;
};

/// A response with a JSON body. If a string has bytes that are not UTF-8, they are replaced; no
/// body is refused.
Response json_response(unsigned status, const Json& body);

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  /// The functions of the transport. `post` and `read` may be called on any thread: `post` runs its
  /// argument on the gateway's thread, `read` on a thread of the lane for reads; both drop their
  /// argument once the server has stopped. The others are called on the gateway's thread.
  struct Transport {
    std::function<void(std::function<void()>)> post;
    std::function<void(std::function<void()>)> read;
    std::function<void(Response)> send;
    std::function<void()> watch;
    std::function<void(Response)> hold = {};  ///< sends it later; without one, `send` is used
    std::function<void(Headers, std::shared_ptr<FileSource>)> send_file = {};
    std::function<void(const Headers&, std::shared_ptr<StreamAnswer>)> begin_stream = {};
    std::function<void()> pump_stream = {};
    std::weak_ptr<const void> connection = {};  ///< expires when the connection is closed
  };

  /// The parts of budgets that the exchange uses while it exists.
  struct Leases {
    GatewayBudget::Lease body;  ///< bytes of the request's body
    GatewayBudget::Lease wait;  ///< empty; expect_long_wait() takes one place
    /// stream() takes a place; null: there is none.
    std::shared_ptr<StreamPlaces> streams = nullptr;
  };

  Exchange(Request request, Transport transport, Leases leases)
      : request_(std::move(request)),
        transport_(std::move(transport)),
        leases_(std::move(leases)) {}

  const Request& request() const { return request_; }
  Request& request() { return request_; }

  /// Expires when the connection of the caller is closed, also after the answer.
  const std::weak_ptr<const void>& connection() const { return transport_.connection; }

  void answer(Response response);

  /// Answers with status 200, these headers and the bytes of the file, of which at most a piece is
  /// in memory. If the file cannot be read to its end, the connection is closed before the end.
  void answer(Headers headers, std::shared_ptr<FileSource> file);

  /// Answers with the value and `status`, or with the error as a problem document.
  void reply(const Result<Json>& result, unsigned status = 200);

  /// Answers a request that does not prove its right with the error, as a wrong token is answered:
  /// the answer is held back for a while, and the connection ends with it.
  void refuse(const Error& error);

  /// Answers with status 200 and these headers, and with bytes that are queued later; the answer
  /// ends when the stream does, when the client leaves, and when the server stops. May be called
  /// once, in place of answer(). Error `busy`: the client may have no further stream
  /// (StreamPlaces). A place is free again when the stream is destroyed.
  Result<std::shared_ptr<StreamAnswer>> stream(Headers headers);

  /// Announces that the answer may take long. From now on the exchange ends when the caller closes
  /// the connection, and a stop of the server does not wait for the answer. Error `busy`: all
  /// places for such exchanges are taken. A place is free again when the exchange is destroyed or
  /// closed, whatever still holds the exchange.
  Status expect_long_wait();

  /// Frees the body of the request. Handlers that wait long call it when they have read the body.
  void free_body();

  /// Whether the connection of the caller is open. Any thread.
  bool is_wanted() const { return !is_closed_; }
  /// The connection is closed: no answer can be sent. Frees the place of a long wait. Only for the
  /// transport.
  void close();
  /// Calls `call` when the connection of the caller is closed before an answer was sent, or at once
  /// if it is closed; `call` runs on the gateway's thread, or on the calling one. One call for an
  /// exchange.
  void on_close(std::function<void()> call);

  /// Makes a callback for the Service. The callback may be called on any thread; `next` runs on the
  /// gateway's thread. An exception of `next` is answered as an error.
  template <class T>
  std::function<void(T)> back(std::function<void(T)> next) {
    return [self = shared_from_this(), next = std::move(next)](T value) {
      auto held = std::make_shared<T>(std::move(value));
      self->transport_.post([self, next, held] { self->guard([&] { next(std::move(*held)); }); });
    };
  }

  /// A callback for the Service, which may be called on any thread: it replies with the result.
  std::function<void(Result<Json>)> replier() {
    return back<Result<Json>>([this](const Result<Json>& result) { reply(result); });
  }

  /// Like back(), but `next` runs on a thread of the lane for reads, so that it may read the store.
  template <class T>
  std::function<void(T)> back_to_read(std::function<void(T)> next) {
    return [self = shared_from_this(), next = std::move(next)](T value) {
      auto held = std::make_shared<T>(std::move(value));
      self->transport_.read([self, next, held] { self->guard([&] { next(std::move(*held)); }); });
    };
  }

  /// Runs a part of a handler; answers an exception with the error `internal`. This is the only
  /// place of the server where exceptions of libraries are caught.
  void guard(const std::function<void()>& work);

 private:
  Request request_;
  Transport transport_;
  Leases leases_;
  std::mutex wait_lock_;            ///< guards leases_.wait
  std::function<void()> on_close_;  ///< guarded by wait_lock_
  std::atomic<bool> answered_ = false;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace millrace
