#include "expressions/workers/worker.h"

#include <cerrno>
#include <cstdlib>
#include <list>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sys/socket.h>

#include "expressions/workers/child.h"
#include "expressions/workers/confinement.h"
#include "expressions/workers/jq_program.h"
#include "expressions/workers/launcher.h"
#include "expressions/workers/wire.h"

namespace millrace {
namespace {

constexpr size_t kMaxPrograms = 1024;  // 30 KB each

/// Compiled programs, the least recently used one dropped when there are too many. What does not
/// compile is remembered, too.
class ProgramCache {
 public:
  bool has(const std::string& text) const { return places_.contains(text); }

  Result<JqProgram>& get(const std::string& text) {
    const auto known = places_.find(text);
    if (known != places_.end()) {
      programs_.splice(programs_.begin(), programs_, known->second);
      return known->second->second;
    }
    if (programs_.size() == kMaxPrograms) {
      places_.erase(programs_.back().first);
      programs_.pop_back();
    }
    programs_.emplace_front(text, JqProgram::compile(text));
    places_.emplace(programs_.front().first, programs_.begin());
    return programs_.front().second;
  }

 private:
  using Programs = std::list<std::pair<std::string, Result<JqProgram>>>;
  Programs programs_;                                                // the last used first
  std::unordered_map<std::string_view, Programs::iterator> places_;  // views of programs_
};

class Worker {
 public:
  explicit Worker(int fd) : fd_(fd) {}

  /// Until the pool closes its end, or says what cannot be understood.
  void serve() {
    send({wire::Reply::Kind::kReady, true, ""});
    while (connected_) {
      while (const auto body = reader_.next()) {
        const std::optional<wire::Request> request = wire::decode_request(*body);
        if (!request) return;
        std::visit([this](const auto& known) { answer(known); }, *request);
      }
      if (reader_.broken()) return;
      receive();
    }
  }

 private:
  void answer(const wire::EvaluateRequest& request) {
    compile(request);
    std::unordered_map<const std::string*, JqInput> inputs;
    for (size_t i = request.first; i < request.queries.size() && connected_; ++i) {
      const Query& query = request.queries[i];
      const JqInput& input =
          inputs.try_emplace(query.input.get(), *query.input, request.now).first->second;
      // Each result leaves at once: if the next program kills us, the pool knows which it was.
      wire::Reply reply = evaluate(query, input);
      const bool stops =
          request.stop_at_true && (reply.kind == wire::Reply::Kind::kError || reply.text == "true");
      reply.last = stops || i + 1 == request.queries.size();
      send(reply);
      if (stops) return;
    }
  }

  /// Says that it compiles and when it has, for that is not to be taken for a slow program.
  void compile(const wire::EvaluateRequest& request) {
    bool compiled = false;
    for (size_t i = request.first; i < request.queries.size(); ++i) {
      const std::string& program = request.queries[i].program;
      if (programs_.has(program)) continue;
      if (!std::exchange(compiled, true)) send({wire::Reply::Kind::kCompiling, false, ""});
      programs_.get(program);
    }
    if (compiled) send({wire::Reply::Kind::kCompiled, false, ""});
  }

  void answer(const wire::CheckRequest& request) {
    const Status status = JqProgram::check(request.programs);
    if (status) {
      send({wire::Reply::Kind::kGood, true, ""});
    } else {
      send({wire::Reply::Kind::kError, true, status.error().message});
    }
  }

  wire::Reply evaluate(const Query& query, const JqInput& input) {
    Result<JqProgram>& program = programs_.get(query.program);
    if (!program) return {wire::Reply::Kind::kError, true, program.error().message};
    auto result = program->run(input, query.mode);
    if (!result) return {wire::Reply::Kind::kError, true, std::move(result.error().message)};
    return {wire::Reply::Kind::kValue, true, *std::move(result)};
  }

  void send(const wire::Reply& reply) {
    const std::string message = wire::encode(reply);
    std::string_view rest = message;
    while (connected_ && !rest.empty()) {
      const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        rest.remove_prefix(static_cast<size_t>(sent));
      } else {
        connected_ = errno == EINTR;
      }
    }
  }

  void receive() {
    char buffer[1 << 16];
    const ssize_t received = ::recv(fd_, buffer, sizeof buffer, 0);
    if (received > 0) {
      reader_.append({buffer, static_cast<size_t>(received)});
    } else {
      connected_ = received < 0 && errno == EINTR;
    }
  }

  const int fd_;
  bool connected_ = true;
  wire::MessageReader reader_;
  ProgramCache programs_;
};

int run_worker(int fd) {
  leave_signals_to_the_program();
  limit_worker();
  setenv("TZ", "UTC0", 1);  // else libc looks for a file
  exit_when_out_of_memory();
  if (!refuse_system_calls()) return kNotConfinedExit;
  try {
    Worker(fd).serve();
  } catch (const std::bad_alloc&) {
    return kOutOfMemoryExit;
  }
  return 0;
}

}  // namespace

std::optional<int> run_as_jq_process(int argc, char** argv) {
  if (argc != 2) return std::nullopt;
  const std::string_view verb = argv[1];
  if (verb == kLauncherVerb) return run_jq_launcher(Socket(kChildFd));
  if (verb == kWorkerVerb) return run_worker(kChildFd);
  return std::nullopt;
}

}  // namespace millrace
