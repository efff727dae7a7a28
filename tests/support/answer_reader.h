// AnswerReader: finds the answers of a server in the bytes of one HTTP connection, and the request
// of each. It keeps one answer at a time, and of a body at most kMostBodyBytes. For one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/http_splitter.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

/// What a request asks for. Both are empty if an answer has no request: the server may refuse a
/// request that is not valid HTTP.
struct AskedFor {
  std::string method;
  std::string target;
};

/// Gets what AnswerReader finds.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  /// An answer has ended. A body that is too large is not in `reply`. The answer that begins a
  /// stream of server-sent events comes with its head, and without a body.
  virtual void on_answer(const AskedFor& asked, const HttpReply& reply) = 0;
  /// The data of an event of a stream of server-sent events.
  virtual void on_event_data(const AskedFor& asked, std::string_view data) = 0;
  /// The server has sent something that is not an answer.
  virtual void on_malformed(const AskedFor& asked, std::string_view line) = 0;
};

class AnswerReader {
 public:
  /// The largest body, or event of a stream, that is kept.
  static constexpr size_t kMostBodyBytes = size_t{8} << 20;
  /// How many requests may wait for their answers. Later requests are not read.
  static constexpr size_t kMostRequests = 256;

  explicit AnswerReader(AnswerSink& sink);

  /// The bytes must be passed on to the server after this call, not before: each answer then comes
  /// after its request.
  void client_sent(std::string_view bytes) { request_bytes_.read(bytes); }
  void server_sent(std::string_view bytes) { answer_bytes_.read(bytes); }
  void server_ended() { answer_bytes_.end(); }

 private:
  class Requests final : public HttpSplitter::Receiver {
   public:
    std::optional<BodyFrame> on_head(const HttpHead& head) override;
    void on_body(std::string_view) override {}
    void on_end() override {}

    AskedFor next();

   private:
    std::deque<AskedFor> waiting_;
  };

  class Answers final : public HttpSplitter::Receiver {
   public:
    Answers(Requests& requests, AnswerSink& sink) : requests_(requests), sink_(sink) {}

    std::optional<BodyFrame> on_head(const HttpHead& head) override;
    void on_body(std::string_view bytes) override;
    void on_end() override;

   private:
    enum class Kind { kInterim, kWhole, kStream };

    void read_event_line();

    Requests& requests_;
    AnswerSink& sink_;
    Kind kind_ = Kind::kWhole;
    AskedFor asked_;
    HttpReply reply_;
    // Of a stream:
    std::string line_;
    std::string data_;           ///< of the event, so far
    bool has_data_ = false;      ///< the event has data
    bool is_too_large_ = false;  ///< the event is not kept
  };

  Requests requests_;
  Answers answers_;
  HttpSplitter request_bytes_;
  HttpSplitter answer_bytes_;
};

}  // namespace millrace
