// RequestBuffer: the read buffer of a connection. The parser of HTTP joins a header that continues
// on another line (RFC 9112, section 5.2) and does not report it. So the buffer looks for such a
// line in the bytes that the parser takes from it.
#pragma once

#include <cstddef>
#include <string_view>

#include <boost/beast/core/flat_buffer.hpp>

namespace millrace {

class RequestBuffer : public boost::beast::flat_buffer {
 public:
  /// `most`: the size of the buffer in bytes.
  explicit RequestBuffer(std::size_t most) : boost::beast::flat_buffer(most) {}

  /// The bytes that are taken from now on are the head of a request.
  void begin_head() {
    is_in_head_ = true;
    has_folded_line_ = false;
  }
  /// The head has been read. Returns whether a header of it continues on another line.
  bool end_head() {
    is_in_head_ = false;
    return has_folded_line_;
  }

  /// Removes the first bytes. The parser takes a header with all of its lines at once, or not yet.
  void consume(std::size_t bytes) noexcept {
    if (is_in_head_ && !has_folded_line_) {
      has_folded_line_ = has_fold({static_cast<const char*>(data().data()), bytes});
    }
    boost::beast::flat_buffer::consume(bytes);
  }

 private:
  static bool has_fold(std::string_view text) noexcept {
    return text.find("\r\n ") != std::string_view::npos ||
           text.find("\r\n\t") != std::string_view::npos;
  }

  bool is_in_head_ = false;
  bool has_folded_line_ = false;
};

}  // namespace millrace
