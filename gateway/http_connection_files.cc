// The part of an HttpConnection that moves the files of calls: the body of a request into a file,
// and a file into the body of an answer, piece by piece. The disk is used on the lane for files,
// and the connection reads or writes the next piece when the disk has taken or given the one
// before. So a transfer has at most a piece in memory, however large the file is.
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "gateway/forward.h"
#include "gateway/http_connection.h"
#include "gateway/http_date.h"
#include "gateway/problem.h"

namespace millrace {
namespace {

/// How many bytes of a file are read and written at once.
constexpr size_t kFilePiece = size_t{64} << 10;
/// After so many bytes a transfer has its time again.
constexpr size_t kProgressBytes = size_t{1} << 20;

}  // namespace

/// Runs `work` on the lane for files, and then `next` on the gateway's thread with its result,
/// unless the connection is closed meanwhile.
template <class T, class Next>
void HttpConnection::transfer(std::function<T()> work, Next next) {
  host_.on_lane(Lane::kFile)(
      [weak = weak_from_this(), post = host_.post(), work = std::move(work), next] {
        auto result = std::make_shared<T>(work());
        post([weak, result, next] {
          const auto self = weak.lock();
          if (self && self->doing_ != Doing::kClosed) (self.get()->*next)(std::move(*result));
        });
      });
}

/// Opens the file for the body of the request before the body is read.
void HttpConnection::begin_receive() {
  const Route* const route = host_.answering(*route_);
  if (route == nullptr) return write(problem(not_the_active()));
  transfer<Result<std::shared_ptr<FileSink>>>(
      [receive = route->receive, request = std::move(request_)] { return receive(request); },
      &HttpConnection::on_sink);
}

void HttpConnection::on_sink(const Result<std::shared_ptr<FileSink>>& sink) {
  if (!sink) return refuse_file(sink.error());
  sink_ = *sink;
  in_progress_ = 0;
  if (parser_->is_done()) return finish_receive();
  accept_body();
}

/// Passes the part of the body that has arrived on to the file.
void HttpConnection::pass_on_piece() {
  // The text of the parser has room for the whole body, so it is copied and given back.
  std::string& body = parser_->get().body();
  std::string piece = body;
  std::string().swap(body);
  renew_progress(piece.size());
  transfer<Status>([sink = sink_, piece = std::move(piece)] { return sink->write(piece); },
                   &HttpConnection::on_piece_taken);
}

void HttpConnection::on_piece_taken(const Status& taken) {
  if (!taken) return refuse_file(taken.error());
  if (!parser_->is_done()) return read_body();
  finish_receive();
}

void HttpConnection::finish_receive() {
  keep_alive_ = parser_->keep_alive() && !only_probes_;
  transfer<Status>([sink = sink_] { return sink->finish(); }, &HttpConnection::on_received);
}

void HttpConnection::on_received(const Status& received) {
  if (!received) return refuse_file(received.error());
  write({.status = route_->answer_status, .headers = {{"Cache-Control", "no-store"}}, .body = ""});
}

/// Answers a request whose body is not, or not completely, in a file. A wrong key may be a guess,
/// so its answer is held back.
void HttpConnection::refuse_file(const Error& error) {
  keep_alive_ = false;
  if (error.code != kFilesRefused) return write(problem(error));
  doing_ = Doing::kHandling;
  waits_long_ = false;
  stream_.expires_never();
  hold(++number_, problem(error));
}

/// Gives up the file that the connection writes or reads. The disk is used on the lane.
void HttpConnection::drop_files() {
  piece_.clear();
  if (!sink_ && !source_) return;
  host_.on_lane(Lane::kFile)([sink = std::move(sink_), source = std::move(source_)] {});
}

void HttpConnection::send_file(uint64_t number, const Headers& headers,
                               std::shared_ptr<FileSource> file) {
  if (doing_ != Doing::kHandling || number != number_) return;
  doing_ = Doing::kWriting;
  host_.does(id_, ConnectionPlaces::Activity::kTransfer);
  if (host_.stopping()) keep_alive_ = false;
  piece_ = fmt::format(
      "HTTP/1.1 200 OK\r\nDate: {}\r\nX-Content-Type-Options: nosniff\r\nContent-Length: {}\r\n",
      http_date(), file->size());
  if (!keep_alive_) piece_ += "Connection: close\r\n";
  for (const auto& [name, value] : headers) piece_ += fmt::format("{}: {}\r\n", name, value);
  piece_ += "\r\n";
  if (!head_) source_ = std::move(file);
  in_progress_ = 0;
  stream_.expires_after(host_.options().transport.file_progress);
  write_file_piece();
}

void HttpConnection::write_file_piece() {
  boost::asio::async_write(stream_, boost::asio::buffer(piece_),
                           [self = shared_from_this()](ErrorCode error, size_t) {
                             if (error) return self->close();
                             if (self->doing_ == Doing::kClosed) return;
                             if (!self->source_) return self->finish_writing();
                             self->renew_progress(self->piece_.size());
                             self->transfer<Result<std::string>>(
                                 [source = self->source_] { return source->next(kFilePiece); },
                                 &HttpConnection::on_file_piece);
                           });
}

void HttpConnection::on_file_piece(Result<std::string> piece) {
  if (!piece) return close();  // the client misses the rest of the length
  if (piece->empty()) return finish_writing();
  piece_ = *std::move(piece);
  write_file_piece();
}

/// Gives the transfer its time again when it has moved another MiB.
void HttpConnection::renew_progress(size_t bytes) {
  in_progress_ += bytes;
  if (in_progress_ < kProgressBytes) return;
  in_progress_ = 0;
  stream_.expires_after(host_.options().transport.file_progress);
}

}  // namespace millrace
