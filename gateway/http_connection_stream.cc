// The part of an HttpConnection that sends an answer without a known length (StreamAnswer): the
// header, bytes as they are queued, and a comment when none have come for a while. The end of the
// connection is the end of the answer.
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "gateway/http_connection.h"
#include "gateway/stream_answer.h"

namespace millrace {
namespace {

/// How many bytes are written at once. Each such piece must be taken by the client in time.
constexpr size_t kPieceBytes = size_t{16} << 10;

/// A comment of a stream of server-sent events, so that both sides see a broken connection.
constexpr std::string_view kComment = ":\n\n";

}  // namespace

void HttpConnection::begin_stream(uint64_t number, const Headers& headers,
                                  std::shared_ptr<StreamAnswer> stream) {
  if (doing_ != Doing::kHandling || number != number_) return stream->close();
  doing_ = Doing::kStreaming;
  keep_alive_ = false;
  stream_answer_ = std::move(stream);
  stream_text_ = "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : headers) stream_text_ += fmt::format("{}: {}\r\n", name, value);
  stream_text_ += "\r\n";
  if (host_.stopping()) stream_answer_->end(reset_message("stopping"));
  host_.watch_hang_up(stream_.socket().native_handle(), id_);
  write_stream();
}

void HttpConnection::pump_stream(uint64_t number) {
  if (doing_ != Doing::kStreaming || number != number_ || writes_stream_) return;
  write_stream();
}

void HttpConnection::check_stream() {
  if (doing_ == Doing::kStreaming && !may_read()) close();
}

/// Whether the token or the session with which the stream was asked for is still valid.
bool HttpConnection::may_read() const {
  const std::optional<BearerToken>& token = host_.token();
  return !token || authorize(caller_, "GET", *token, *host_.sessions());
}

/// Writes the next bytes; nothing is being written. Without bytes it waits for some, or ends the
/// answer. A caller that was signed out meanwhile gets none.
void HttpConnection::write_stream() {
  hold_.cancel();
  if (!may_read()) return close();
  if (stream_text_.empty()) stream_text_ = stream_answer_->take(kPieceBytes);
  if (stream_text_.empty()) {
    return stream_answer_->has_ended() ? end_stream() : await_stream();
  }
  writes_stream_ = true;
  stream_.expires_after(host_.options().transport.stream_progress);
  boost::asio::async_write(stream_, boost::asio::buffer(stream_text_),
                           [self = shared_from_this()](ErrorCode error, size_t) {
                             if (error) return self->close();
                             self->on_stream_written();
                           });
}

void HttpConnection::on_stream_written() {
  if (doing_ != Doing::kStreaming) return;
  writes_stream_ = false;
  stream_text_.clear();
  if (head_) return end_stream();
  write_stream();
}

void HttpConnection::await_stream() {
  stream_.expires_never();
  hold_.expires_after(host_.options().transport.stream_comment);
  hold_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (error || self->doing_ != Doing::kStreaming || self->writes_stream_) return;
    self->stream_text_ = kComment;
    self->write_stream();
  });
}

void HttpConnection::end_stream() {
  stream_answer_->close();
  stream_answer_.reset();
  hold_.cancel();
  parser_.reset();
  // The server does not wait for the client. No byte of the client is unread, so it gets the end.
  if (host_.stopping()) return close();
  host_.does(id_, ConnectionPlaces::Activity::kIdle);
  drain();
}

}  // namespace millrace
