#include "broker/pull_window.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace {
namespace {

template <class Number>
bool read_number(std::string_view token, Number& number) {
  const char* const end = token.data() + token.size();
  const auto [read, error] = std::from_chars(token.data(), end, number);
  return error == std::errc() && read == end;
}

/// The tokens after `$JS.ACK`, without the optional domain and account.
using AckTokens = std::array<std::string_view, 7>;
enum : size_t { kConsumer = 1, kStreamSequence = 3, kConsumerSequence, kStamped, kPending };

std::optional<AckTokens> split_ack_subject(std::string_view subject) {
  constexpr size_t kShort = 9;
  constexpr size_t kLong = 11;  // one more token may follow, which is not used
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
  AckTokens found;
  std::copy_n(tokens.begin() + (count == kShort ? 2 : 4), found.size(), found.begin());
  return found;
}

}  // namespace

std::optional<DeliveryNumbers> parse_ack_subject(std::string_view subject) {
  const std::optional<AckTokens> tokens = split_ack_subject(subject);
  DeliveryNumbers numbers;
  if (!tokens || !read_number((*tokens)[kStreamSequence], numbers.stream_sequence) ||
      !read_number((*tokens)[kConsumerSequence], numbers.consumer_sequence) ||
      !read_number((*tokens)[kStamped], numbers.stamped) ||
      !read_number((*tokens)[kPending], numbers.pending)) {
    return std::nullopt;
  }
  return numbers;
}

std::string_view consumer_of_ack(std::string_view subject) {
  const std::optional<AckTokens> tokens = split_ack_subject(subject);
  return tokens ? (*tokens)[kConsumer] : std::string_view();
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
