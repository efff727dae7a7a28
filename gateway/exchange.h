// Exchange: one request and its answer, as the handlers see them; the transport is not known here.
// A handler may answer at once or later and from any thread; the first answer counts, and what
// comes after the server has stopped is dropped.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

struct Request {
  std::string method;  ///< "GET" for a HEAD as well: the transport leaves the body out
  std::string path;    ///< as sent, without the query
  std::map<std::string, std::string, std::less<>> parts;  ///< of the path, by the route's names
  std::map<std::string, std::string, std::less<>> query;
  Headers headers;
  std::string body;
};

struct Response {
  unsigned status = 200;
  Headers headers;  ///< without Content-Length, Connection and Date
  std::string body;
};

/// A JSON body. Bytes in strings that are no UTF-8 are replaced, never refused.
Response json_response(unsigned status, const Json& body);

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  /// What the transport does for an exchange. `post` takes calls from any thread and runs its
  /// argument on the gateway's own one, or drops it; the others are called on that thread.
  struct Transport {
    std::function<void(std::function<void()>)> post;
    std::function<void(Response)> send;
    std::function<void()> watch;
  };

  Exchange(Request request, Transport transport)
      : request_(std::move(request)), transport_(std::move(transport)) {}

  const Request& request() const { return request_; }
  Request& request() { return request_; }

  void answer(Response response);

  /// The value with `status`, or the error as a problem.
  void reply(const Result<Json>& result, unsigned status = 200);

  /// The answer may be a long time coming: from here on the caller's hanging up ends the exchange,
  /// and a stop of the server does not wait for it.
  void expect_long_wait();

  /// A callback for the Service: wherever it is called, `next` runs on the gateway's thread. What
  /// `next` throws is answered as an error.
  template <class T>
  std::function<void(T)> back(std::function<void(T)> next) {
    return [self = shared_from_this(), next = std::move(next)](T value) {
      auto held = std::make_shared<T>(std::move(value));
      self->transport_.post([self, next, held] { self->guard([&] { next(std::move(*held)); }); });
    };
  }

  /// Runs a piece of a handler. This is the one place where exceptions of libraries are caught.
  void guard(const std::function<void()>& work);

 private:
  Request request_;
  Transport transport_;
  std::atomic<bool> answered_ = false;
};

}  // namespace millrace
