#include "broker/pull_window.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace {
namespace {

template <class Number>
bool read_number(std::string_view token, Number& number) {
  const char* const end = token.data() + token.size();
  return !token.empty() && std::from_chars(token.data(), end, number).ptr == end;
}

}  // namespace

std::optional<DeliveryNumbers> parse_ack_subject(std::string_view subject) {
  constexpr size_t kShort = 9;
  constexpr size_t kLong = 11;  // and perhaps a token behind, which says nothing to us
  if (!subject.starts_with("$JS.ACK.")) return std::nullopt;
  std::array<std::string_view, kLong + 1> tokens;
  size_t count = 0;
  while (true) {
    if (count == tokens.size()) return std::nullopt;
    const size_t dot = subject.find('.');
    tokens[count++] = subject.substr(0, dot);
    if (dot == std::string_view::npos) break;
    subject.remove_prefix(dot + 1);
  }
  if (count != kShort && count != kLong && count != kLong + 1) return std::nullopt;
  const size_t at = count == kShort ? 5 : 7;  // behind names and the count of deliveries
  DeliveryNumbers numbers;
  if (!read_number(tokens[at], numbers.stream_sequence) ||
      !read_number(tokens[at + 1], numbers.consumer_sequence) ||
      !read_number(tokens[at + 2], numbers.stamped) ||
      !read_number(tokens[at + 3], numbers.pending)) {
    return std::nullopt;
  }
  return numbers;
}

bool PullWindow::take_request() {
  if (open_ + batch_ > requests_ * batch_) return false;
  open_ += batch_;
  return true;
}

void PullWindow::count() {
  if (open_ > 0) --open_;
}

void PullWindow::ended(size_t left) { open_ -= std::min(open_, left); }

}  // namespace millrace
