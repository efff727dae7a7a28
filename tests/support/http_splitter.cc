#include "tests/support/http_splitter.h"

#include <algorithm>
#include <charconv>

namespace millrace {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// The number at the start of the text; nullopt: there is none.
std::optional<uint64_t> number_of(std::string_view text, int base) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<BodyFrame> frame_of(const Headers& headers) {
  const std::string* const encoding = find_header(headers, "Transfer-Encoding");
  if (encoding != nullptr && to_lower(*encoding).ends_with("chunked")) {
    return BodyFrame{.kind = BodyFrame::Kind::kChunked};
  }
  const std::string* const length = find_header(headers, "Content-Length");
  if (length == nullptr) return std::nullopt;
  return BodyFrame{.length = number_of(*length, 10).value_or(0)};
}

void HttpSplitter::read(std::string_view bytes) {
  while (!bytes.empty() && place_ != Place::kNotHttp) {
    const bool is_in_body =
        place_ == Place::kBody || place_ == Place::kBodyToEnd || place_ == Place::kChunk;
    bytes.remove_prefix(is_in_body ? read_body(bytes) : read_line(bytes));
  }
}

void HttpSplitter::end() {
  if (place_ == Place::kBodyToEnd) end_message();
  place_ = Place::kNotHttp;
}

size_t HttpSplitter::read_body(std::string_view bytes) {
  if (place_ == Place::kBodyToEnd) {
    receiver_.on_body(bytes);
    return bytes.size();
  }
  const size_t size = std::min<uint64_t>(left_, bytes.size());
  receiver_.on_body(bytes.substr(0, size));
  left_ -= size;
  if (left_ > 0) return size;
  if (place_ == Place::kChunk) {
    place_ = Place::kChunkEnd;
  } else {
    end_message();
  }
  return size;
}

size_t HttpSplitter::read_line(std::string_view bytes) {
  const size_t line_feed = bytes.find('\n');
  const bool is_whole = line_feed != std::string_view::npos;
  const size_t size = is_whole ? line_feed + 1 : bytes.size();
  head_bytes_ += size;
  if (head_bytes_ > kMostHeadBytes) {
    place_ = Place::kNotHttp;
    return size;
  }
  line_.append(bytes.substr(0, is_whole ? line_feed : size));
  if (!is_whole) return size;
  if (line_.ends_with('\r')) line_.pop_back();
  std::string line;
  line.swap(line_);
  on_line(line);
  return size;
}

void HttpSplitter::on_line(std::string_view line) {
  switch (place_) {
    case Place::kFirstLine:
      if (line.empty()) return;  // an empty line before a message is allowed
      head_.first_line = line;
      place_ = Place::kHeader;
      return;
    case Place::kHeader: {
      if (line.empty()) return begin_body(receiver_.on_head(head_));
      const size_t colon = line.find(':');
      const std::string_view value =
          colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
      head_.headers.emplace_back(line.substr(0, colon), without_blanks(value));
      return;
    }
    case Place::kChunkSize: {
      const auto size = number_of(line, 16);
      left_ = size.value_or(0);
      head_bytes_ = 0;
      place_ = !size ? Place::kNotHttp : *size == 0 ? Place::kTrailer : Place::kChunk;
      return;
    }
    case Place::kChunkEnd:
      head_bytes_ = 0;
      place_ = line.empty() ? Place::kChunkSize : Place::kNotHttp;
      return;
    case Place::kTrailer:
      if (line.empty()) end_message();
      return;
    case Place::kBody:
    case Place::kBodyToEnd:
    case Place::kChunk:
    case Place::kNotHttp:
      return;  // these places have no lines
  }
}

void HttpSplitter::begin_body(const std::optional<BodyFrame>& frame) {
  head_ = {};
  head_bytes_ = 0;
  if (!frame) {
    place_ = Place::kNotHttp;
    return;
  }
  left_ = frame->length;
  switch (frame->kind) {
    case BodyFrame::Kind::kLength:
      place_ = Place::kBody;
      if (left_ == 0) end_message();
      return;
    case BodyFrame::Kind::kChunked:
      place_ = Place::kChunkSize;
      return;
    case BodyFrame::Kind::kToEnd:
      place_ = Place::kBodyToEnd;
      return;
  }
}

void HttpSplitter::end_message() {
  place_ = Place::kFirstLine;
  head_bytes_ = 0;
  receiver_.on_end();
}

}  // namespace millrace
