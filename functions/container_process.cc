#include "functions/container_process.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "functions/container_command.h"
#include "functions/output_lines.h"
#include "functions/runtime_environment.h"
#include "model/task.h"

namespace millrace {
namespace {

constexpr size_t kErrorBytes = 1'000;

/// Appends the bytes; drops the start of a text that becomes too long.
void append_end(std::string& text, std::string_view bytes) {
  text += bytes;
  if (text.size() > 2 * kErrorBytes) text.erase(0, text.size() - kErrorBytes);
}

/// The end of the bytes as one line of text, for messages.
std::string in_one_line(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes.substr(bytes.size() - std::min(bytes.size(), kErrorBytes))) {
    const bool is_break = byte == '\n' || byte == '\r';
    if (!is_break) text += byte;
    if (is_break && !text.empty() && text.back() != ' ') text += ' ';
  }
  while (text.ends_with(' ')) text.pop_back();
  return as_text(text);
}

}  // namespace

Result<std::unique_ptr<ContainerProcess>> ContainerProcess::start(Start start) {
  std::unique_ptr<ContainerProcess> container(new ContainerProcess);
  container->runtime_ = std::move(start.runtime);
  container->name_ = std::move(start.name);
  const auto errors = [own = container.get(),
                       heard = std::move(start.errors)](std::string_view bytes) {
    append_end(own->errors_, bytes);
    if (heard) heard(bytes);
  };
  container->client_ = TRY(ChildProcess::start({.command = std::move(start.command),
                                                .environment = runtime_environment(),
                                                .input = std::move(start.input),
                                                .output = std::move(start.output),
                                                .errors = errors}));
  return container;
}

void ContainerProcess::wait_for(std::vector<pollfd>& list) const {
  if (client_) client_->wait_for(list);
  if (removal_) removal_->wait_for(list);
}

void ContainerProcess::poll() {
  if (client_) code_ = client_->poll();
  if (code_) client_.reset();
  if (removal_ && removal_->poll()) removal_.reset();
}

std::string ContainerProcess::last_errors() const { return in_one_line(errors_); }

/// The `run` command is killed first, so that it cannot start a container that was already removed.
/// An error of the removal is ignored: there may be no container at all, and the next start of
/// millrace removes a container that is still there.
void ContainerProcess::remove() {
  if (!client_) return;
  client_.reset();
  Result<std::unique_ptr<ChildProcess>> removal = ChildProcess::start(
      {.command = {runtime_, "rm", "--force", name_}, .environment = runtime_environment()});
  if (removal) removal_ = *std::move(removal);
}

LeftoverRemoval::LeftoverRemoval(std::string runtime, std::string data_id)
    : runtime_(std::move(runtime)) {
  started_ = begin({runtime_, "ps", "--all", "--quiet", "--no-trunc",
                    fmt::format("--filter=label={}={}", kDataLabel, data_id)});
}

Status LeftoverRemoval::begin(std::vector<std::string> command) {
  Result<std::unique_ptr<ChildProcess>> process = ChildProcess::start(
      {.command = std::move(command),
       .environment = runtime_environment(),
       .output = [this](std::string_view bytes) { output_ += bytes; },
       .errors = [this](std::string_view bytes) { append_end(errors_, bytes); }});
  if (!process) return fail(std::string(kFunctionUnavailable), process.error().message);
  process_ = *std::move(process);
  return {};
}

void LeftoverRemoval::wait_for(std::vector<pollfd>& list) const {
  if (process_) process_->wait_for(list);
}

std::optional<Status> LeftoverRemoval::poll() {
  if (!started_) return started_;
  const std::optional<int> code = process_->poll();
  if (!code) return std::nullopt;
  if (*code != 0) {
    return fail(std::string(kFunctionUnavailable),
                fmt::format("containers of an earlier process can't be removed: {}: {}", runtime_,
                            in_one_line(errors_)));
  }
  if (std::exchange(is_listed_, true)) return Status();
  std::vector<std::string> command = {runtime_, "rm", "--force"};
  const size_t none = command.size();
  std::istringstream list(output_);
  for (std::string id; list >> id;) command.push_back(id);
  if (command.size() == none) return Status();
  started_ = begin(std::move(command));
  if (!started_) return started_;
  return std::nullopt;
}

}  // namespace millrace
