// What the pool and a worker say to each other: messages with a length before them, over a stream
// socket. Native byte order: both ends are the same binary. Decoding trusts nothing, for a worker
// runs other people's programs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "expressions/evaluation.h"

namespace millrace::wire {

/// The longest message taken, in bytes.
inline constexpr size_t kMaxMessage = size_t{256} << 20;

struct EvaluateRequest {
  uint32_t first = 0;  ///< the query to begin with: those before it have results already
  std::vector<Query> queries;
  bool stop_at_true = false;
  TimePoint now;
};
/// Whether all the programs compile. They are compiled together, so a failure does not say whose.
struct CheckRequest {
  std::vector<std::string> programs;
};
/// Whether the schema can be used.
struct CheckSchemaRequest {
  std::string schema;
};
using Request = std::variant<EvaluateRequest, CheckRequest, CheckSchemaRequest>;

/// A worker says one kReady when it has started, then one reply for each query evaluated, or one
/// for a check. If it has to compile for an evaluation, that stands between kCompiling and
/// kCompiled, before the first result. Replies to a request leave at once if no further request
/// has come, else they may wait a little for those that follow.
struct Reply {
  enum class Kind : uint8_t {
    kReady,
    kValue,  ///< `text` is the result's JSON
    kError,  ///< a direktiv.jq.badCommand or direktiv.schema.failed; `text` is the message
    kGood,   ///< the programs of a check compile, or its schema
    kCompiling,
    kCompiled,
  };
  Kind kind = Kind::kReady;
  bool last = true;  ///< nothing more comes for this request
  std::string text;
  uint32_t took = 0;  ///< microseconds; of the last: for the whole request
};

/// Complete messages, their length included.
std::string encode(const Evaluation& evaluation);
std::string encode_check(std::span<const std::string> programs);
std::string encode_check_schema(std::string_view schema);
std::string encode(const Reply& reply);
/// The same, behind what is in `messages`.
void append(const Reply& reply, std::string& messages);

/// Has the complete message of an evaluation begin with that query.
void begin_at(std::string& evaluation, uint32_t first);

/// Bodies, without the length; nullopt if they are not what encode makes.
std::optional<Request> decode_request(std::string_view body);
std::optional<Reply> decode_reply(std::string_view body);

/// Takes messages from a stream of bytes.
class MessageReader {
 public:
  /// Ends the life of what next() gave.
  void append(std::string_view bytes);

  /// The body of the next whole message; valid until append.
  std::optional<std::string_view> next();

  /// Whether next() would give one.
  bool has_next() const;

  /// Whether the stream announces a message beyond kMaxMessage: it cannot be read on.
  bool broken() const;

 private:
  std::string_view rest() const { return std::string_view(bytes_).substr(consumed_); }
  /// Of the next message, once that is known.
  std::optional<size_t> length() const;

  std::string bytes_;
  size_t consumed_ = 0;
};

}  // namespace millrace::wire
