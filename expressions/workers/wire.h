// The messages between the pool and a jq worker: each has its length before it, and they are sent
// over a stream socket. The messages have native byte order, since both ends are the same binary.
// Decoding checks everything, because a jq worker runs jq programs of users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "expressions/evaluation.h"

namespace millrace::wire {

/// The longest message that is accepted, in bytes.
inline constexpr size_t kMaxMessage = size_t{256} << 20;

struct EvaluateRequest {
  uint32_t first = 0;  ///< the first query to evaluate: the queries before it have results already
  std::vector<Query> queries;
  bool stop_at_true = false;
  TimePoint now;
  std::string instance;  ///< JSON text, the value of `$instance`; empty: null
};
/// Asks whether all jq programs compile. The jq programs are compiled together, so a failure does
/// not show which one is invalid.
struct CheckRequest {
  std::vector<std::string> programs;
};
/// Asks whether the schema is valid.
struct CheckSchemaRequest {
  std::string schema;
};
using Request = std::variant<EvaluateRequest, CheckRequest, CheckSchemaRequest>;

/// A jq worker sends one kReady when it has started, then one reply for each evaluated query, or
/// one for a check. If the jq worker has to compile for an evaluation, it sends kCompiling before
/// the compile and kCompiled after it, both before the first result. Replies to a request are sent
/// at once if no other request has arrived; otherwise they may wait briefly for the next replies.
struct Reply {
  enum class Kind : uint8_t {
    kReady,
    kValue,  ///< `text` is the result's JSON
    kError,  ///< the result is a direktiv.jq.badCommand or direktiv.schema.failed error; `text` is
             ///< its message
    kGood,   ///< the jq programs of a check compile, or its schema is valid
    kCompiling,
    kCompiled,
  };
  Kind kind = Kind::kReady;
  bool last = true;  ///< no other reply to this request follows
  std::string text;
  uint32_t took = 0;  ///< microseconds from the start of the request to this reply
};

/// Each encode function returns a complete message, including its length.
std::string encode(const Evaluation& evaluation);
std::string encode_check(std::span<const std::string> programs);
std::string encode_check_schema(std::string_view schema);
std::string encode(const Reply& reply);
/// Appends the complete message of a reply to `messages`.
void append(const Reply& reply, std::string& messages);

/// About how many bytes the message of the evaluation has, not fewer than its inputs and programs.
size_t size_of(const Evaluation& evaluation);

/// Changes the complete message of an evaluation so that it begins with query `first`.
void begin_at(std::string& evaluation, uint32_t first);

/// These functions decode a body, which is a message without its length. nullopt for a body that no
/// encode function can have made.
std::optional<Request> decode_request(std::string_view body);
std::optional<Reply> decode_reply(std::string_view body);

/// Splits a stream of bytes into messages.
class MessageReader {
 public:
  /// Adds bytes of the stream. Invalidates the body that next() returned.
  void append(std::string_view bytes);

  /// The body of the next complete message, valid until append(); nullopt if there is none yet.
  std::optional<std::string_view> next();

  /// Whether next() would return a body.
  bool has_next() const;

  /// Whether the next message is longer than kMaxMessage. Then the rest of the stream cannot be
  /// read.
  bool broken() const;

 private:
  std::string_view rest() const { return std::string_view(bytes_).substr(consumed_); }
  /// The length of the next message; nullopt while it is not known.
  std::optional<size_t> length() const;

  std::string bytes_;
  size_t consumed_ = 0;
};

}  // namespace millrace::wire
