#include "gateway/exchange.h"

#include <exception>
#include <utility>

#include "base/bytes.h"
#include "gateway/problem.h"

namespace millrace {

namespace {

/// The text of a response; bytes that are not UTF-8 are replaced.
std::string text_of(const Json& body) {
  std::string text = dump_json(body);
  return is_utf8(text) ? text : body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Response json_response(unsigned status, const Json& body) {
  return {status,
          {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          text_of(body) + "\n"};
}

void Exchange::answer(Response response) {
  if (answered_.exchange(true)) return;
  auto held = std::make_shared<Response>(std::move(response));
  transport_.post([self = shared_from_this(), held] {
    self->leases_.body.release();  // a handler that has answered needs the body no longer
    self->transport_.send(std::move(*held));
  });
}

void Exchange::answer(Headers headers, std::shared_ptr<FileSource> file) {
  if (answered_.exchange(true)) return;
  transport_.post([self = shared_from_this(), headers = std::move(headers), file] {
    self->leases_.body.release();
    self->transport_.send_file(headers, file);
  });
}

void Exchange::refuse(const Error& error) {
  if (answered_.exchange(true)) return;
  auto held = std::make_shared<Response>(problem(error));
  transport_.post([self = shared_from_this(), held] {
    self->leases_.body.release();
    const Transport& transport = self->transport_;
    (transport.hold ? transport.hold : transport.send)(std::move(*held));
  });
}

void Exchange::reply(const Result<Json>& result, unsigned status) {
  answer(result ? json_response(status, *result) : problem(result.error()));
}

Result<std::shared_ptr<StreamAnswer>> Exchange::stream(Headers headers) {
  StreamPlaces::Place place = leases_.streams ? leases_.streams->take(request_.client) : nullptr;
  if (!place) {
    return tl::unexpected(busy("too many streams are open, of all clients or of this one"));
  }
  auto stream = std::make_shared<StreamAnswer>(std::move(place), [self = shared_from_this()] {
    self->transport_.post([self] { self->transport_.pump_stream(); });
  });
  if (answered_.exchange(true)) {
    stream->close();
    return stream;
  }
  free_body();
  transport_.post([self = shared_from_this(), headers = std::move(headers), stream] {
    self->transport_.begin_stream(headers, stream);
  });
  return stream;
}

Status Exchange::expect_long_wait() {
  {
    const std::lock_guard lock(wait_lock_);
    if (!is_closed_ && !leases_.wait.grow_to(1)) {
      return tl::unexpected(
          busy("too many requests wait for the end of an instance or of a check"));
    }
  }
  transport_.post([self = shared_from_this()] { self->transport_.watch(); });
  return {};
}

void Exchange::close() {
  std::function<void()> call;
  {
    const std::lock_guard lock(wait_lock_);
    is_closed_ = true;
    leases_.wait.release();
    call = std::exchange(on_close_, nullptr);
  }
  if (call) call();
}

void Exchange::on_close(std::function<void()> call) {
  {
    const std::lock_guard lock(wait_lock_);
    if (!is_closed_) {
      on_close_ = std::move(call);
      return;
    }
  }
  call();
}

void Exchange::free_body() {
  std::string().swap(request_.body);
  leases_.body.release();
}

void Exchange::guard(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& exception) {
    answer(problem(Error{"internal", exception.what()}));
  }
}

}  // namespace millrace
