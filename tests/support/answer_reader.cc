#include "tests/support/answer_reader.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace millrace {
namespace {

constexpr std::string_view kVersion = "HTTP/1.";

/// The status of a line such as `HTTP/1.1 200 OK`; 0: the line is not of that form.
int status_of_line(std::string_view line) {
  constexpr size_t kAt = std::string_view("HTTP/1.1 ").size();
  if (!line.starts_with(kVersion) || line.size() < kAt + 3) return 0;
  const std::string_view digits = line.substr(kAt, 3);
  const bool is_number = std::all_of(digits.begin(), digits.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? std::stoi(std::string(digits)) : 0;
}

}  // namespace

AnswerReader::AnswerReader(AnswerSink& sink)
    : answers_(requests_, sink), request_bytes_(requests_), answer_bytes_(answers_) {}

std::optional<BodyFrame> AnswerReader::Requests::on_head(const HttpHead& head) {
  const std::string_view line = head.first_line;
  const size_t method = line.find(' ');
  const size_t target = line.rfind(' ');
  if (method == std::string_view::npos || target <= method || waiting_.size() == kMostRequests ||
      !line.substr(target + 1).starts_with(kVersion)) {
    return std::nullopt;
  }
  waiting_.push_back({.method = std::string(line.substr(0, method)),
                      .target = std::string(line.substr(method + 1, target - method - 1))});
  return frame_of(head.headers).value_or(BodyFrame{});
}

AskedFor AnswerReader::Requests::next() {
  if (waiting_.empty()) return {};
  AskedFor asked = std::move(waiting_.front());
  waiting_.pop_front();
  return asked;
}

std::optional<BodyFrame> AnswerReader::Answers::on_head(const HttpHead& head) {
  reply_ = {.status = status_of_line(head.first_line), .headers = head.headers};
  if (reply_.status >= 100 && reply_.status < 200) {
    kind_ = Kind::kInterim;
    return BodyFrame{};
  }
  asked_ = requests_.next();
  if (reply_.status == 0) {
    sink_.on_malformed(asked_, head.first_line);
    return std::nullopt;
  }
  kind_ = Kind::kWhole;
  if (asked_.method == "HEAD" || reply_.status == 204 || reply_.status == 304) return BodyFrame{};
  if (reply_.header("Content-Type").starts_with("text/event-stream")) {
    kind_ = Kind::kStream;
    reply_.has_whole_body = false;
    sink_.on_answer(asked_, reply_);
  }
  return frame_of(head.headers).value_or(BodyFrame{.kind = BodyFrame::Kind::kToEnd});
}

void AnswerReader::Answers::on_body(std::string_view bytes) {
  if (kind_ != Kind::kStream) {
    if (reply_.body.size() + bytes.size() > kMostBodyBytes) {
      reply_.has_whole_body = false;
      std::string().swap(reply_.body);
    }
    if (reply_.has_whole_body) reply_.body.append(bytes);
    return;
  }
  while (!bytes.empty()) {
    const size_t line_feed = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, line_feed);
    if (line_.size() + data_.size() + piece.size() > kMostBodyBytes) is_too_large_ = true;
    // Of a line that is not kept, one byte shows that the line is not empty.
    if (!is_too_large_ || line_.empty())
      line_.append(piece.substr(0, is_too_large_ ? 1 : piece.size()));
    if (line_feed == std::string_view::npos) return;
    bytes.remove_prefix(line_feed + 1);
    read_event_line();
    line_.clear();
  }
}

/// Reads one line of a stream; an empty line ends an event.
void AnswerReader::Answers::read_event_line() {
  constexpr std::string_view kData = "data:";
  if (line_.ends_with('\r')) line_.pop_back();
  if (line_.empty()) {
    if (has_data_ && !is_too_large_) sink_.on_event_data(asked_, data_);
    data_.clear();
    has_data_ = false;
    is_too_large_ = false;
  } else if (!is_too_large_ && line_.starts_with(kData)) {
    std::string_view value = std::string_view(line_).substr(kData.size());
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_.append(value);
    has_data_ = true;
  }
}

void AnswerReader::Answers::on_end() {
  if (kind_ == Kind::kWhole) sink_.on_answer(asked_, reply_);
  reply_ = {};
}

}  // namespace millrace
