// HttpSplitter: splits the bytes of one direction of an HTTP/1.1 connection into messages, each
// with its head and its body. A head, and any other line, is at most kMostHeadBytes long; bodies
// are passed on in pieces and not kept. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cloudevents/headers.h"

namespace millrace {

struct HttpHead {
  std::string first_line;
  Headers headers;
};

/// How the end of a body is found.
struct BodyFrame {
  enum class Kind { kLength, kChunked, kToEnd };
  Kind kind = Kind::kLength;
  uint64_t length = 0;  ///< in bytes; for kLength
};

/// The frame of a body by the headers: chunks, or a length. nullopt: the headers name neither.
/// A length that is not a number counts as 0.
std::optional<BodyFrame> frame_of(const Headers& headers);

class HttpSplitter {
 public:
  /// Gets the parts of the messages.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    /// A head. Returns the frame of the body; nullopt: this is not HTTP, and nothing more is read.
    virtual std::optional<BodyFrame> on_head(const HttpHead& head) = 0;
    virtual void on_body(std::string_view bytes) = 0;
    /// The message has ended.
    virtual void on_end() = 0;
  };

  static constexpr size_t kMostHeadBytes = size_t{64} << 10;

  explicit HttpSplitter(Receiver& receiver) : receiver_(receiver) {}

  void read(std::string_view bytes);
  /// The connection has ended. This ends a body of the kind kToEnd.
  void end();

 private:
  enum class Place {
    kFirstLine,
    kHeader,
    kBody,
    kBodyToEnd,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailer,
    kNotHttp
  };

  /// Reads bytes of a body; returns how many.
  size_t read_body(std::string_view bytes);
  /// Reads bytes of a line; returns how many.
  size_t read_line(std::string_view bytes);
  void on_line(std::string_view line);
  void begin_body(const std::optional<BodyFrame>& frame);
  void end_message();

  Receiver& receiver_;
  Place place_ = Place::kFirstLine;
  HttpHead head_;
  size_t head_bytes_ = 0;  ///< of this head or line so far
  std::string line_;       ///< the part of a line that has been read
  uint64_t left_ = 0;      ///< bytes of the body or chunk that are still to come
};

}  // namespace millrace
