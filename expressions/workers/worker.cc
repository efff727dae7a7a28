#include "expressions/workers/worker.h"

#include <cerrno>
#include <chrono>
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
#include "expressions/workers/json_schema.h"
#include "expressions/workers/launcher.h"
#include "expressions/workers/wire.h"

namespace millrace {
namespace {

constexpr size_t kMaxPrograms = 1024;  // 30 KB each
constexpr size_t kMaxSchemas = 32;     // each of at most 256 KiB of text

/// How long replies may wait for further replies, and how many bytes of replies may wait.
constexpr std::chrono::milliseconds kLongestWait(1);
constexpr size_t kMostWaitingBytes = size_t{64} << 10;

/// A cache of compiled jq programs or schemas. If the cache is full, the least recently used one is
/// dropped. Texts that do not compile are cached, too.
template <class Compiled>
class Cache {
 public:
  explicit Cache(size_t most) : most_(most) {}

  bool has(const std::string& text) const { return places_.contains(text); }

  Result<Compiled>& get(const std::string& text) {
    const auto known = places_.find(text);
    if (known != places_.end()) {
      all_.splice(all_.begin(), all_, known->second);
      return known->second->second;
    }
    if (all_.size() == most_) {
      places_.erase(all_.back().first);
      all_.pop_back();
    }
    all_.emplace_front(text, Compiled::compile(text));
    places_.emplace(all_.front().first, all_.begin());
    return all_.front().second;
  }

 private:
  using All = std::list<std::pair<std::string, Result<Compiled>>>;
  const size_t most_;
  All all_;  // the most recently used first
  std::unordered_map<std::string_view, typename All::iterator> places_;  // views of all_
};

class Worker {
 public:
  explicit Worker(int fd) : fd_(fd) {}

  /// Serves requests until the pool closes its end of the socket, or sends a malformed message.
  void serve() {
    send({wire::Reply::Kind::kReady, true, ""});
    while (connected_) {
      while (const auto body = reader_.next()) {
        const std::optional<wire::Request> request = wire::decode_request(*body);
        if (!request) return;
        started_ = Clock::now();
        std::visit([this](const auto& known) { answer(known); }, *request);
      }
      if (reader_.broken()) return;
      receive();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void answer(const wire::EvaluateRequest& request) {
    compile(request);
    for (size_t i = request.first; i < request.queries.size() && connected_; ++i) {
      const Query& query = request.queries[i];
      wire::Reply reply;
      if (query.mode == Query::Mode::kSchema) {
        reply = validate(query);
      } else {
        reply = evaluate(query, request);
      }
      const bool stops =
          request.stop_at_true && (reply.kind == wire::Reply::Kind::kError || reply.text == "true");
      reply.last = stops || i + 1 == request.queries.size();
      send(reply);
      if (stops) return;
    }
  }

  /// Compiles the jq programs of a request. The pool gets a message before and after the compile,
  /// so that it does not count the compile time as that of a slow jq program.
  void compile(const wire::EvaluateRequest& request) {
    bool compiled = false;
    for (size_t i = request.first; i < request.queries.size(); ++i) {
      const auto& [program, input, mode] = request.queries[i];
      const bool is_schema = mode == Query::Mode::kSchema;
      if (is_schema ? schemas_.has(program) : programs_.has(program)) continue;
      if (!std::exchange(compiled, true)) send({wire::Reply::Kind::kCompiling, false, ""});
      if (is_schema) {
        schemas_.get(program);
      } else {
        programs_.get(program);
      }
    }
    if (compiled) send({wire::Reply::Kind::kCompiled, false, ""});
  }

  void answer(const wire::CheckRequest& request) {
    const Status status = JqProgram::check(request.programs);
    send_verdict(status ? nullptr : &status.error());
  }

  void answer(const wire::CheckSchemaRequest& request) {
    const Result<JsonSchema>& schema = schemas_.get(request.schema);
    send_verdict(schema ? nullptr : &schema.error());
  }

  void send_verdict(const Error* wrong) {
    if (wrong == nullptr) {
      send({wire::Reply::Kind::kGood, true, ""});
    } else {
      send({wire::Reply::Kind::kError, true, wrong->message});
    }
  }

  wire::Reply validate(const Query& query) {
    Result<JsonSchema>& schema = schemas_.get(query.program);
    if (!schema) return {wire::Reply::Kind::kError, true, schema.error().message};
    const Result<Json> subject = parse_json(*query.input);
    if (!subject) return {wire::Reply::Kind::kError, true, subject.error().message};
    const auto violations = schema->violations(*subject);
    if (!violations) return {wire::Reply::Kind::kValue, true, "true"};
    return {wire::Reply::Kind::kError, true,
            "the subject does not match the schema: " + *violations};
  }

  wire::Reply evaluate(const Query& query, const wire::EvaluateRequest& request) {
    Result<JqProgram>& program = programs_.get(query.program);
    if (!program) return {wire::Reply::Kind::kError, true, program.error().message};
    auto result = program->run(parsed(*query.input), request.now, query.mode, request.instance);
    if (!result) return {wire::Reply::Kind::kError, true, std::move(result.error().message)};
    return {wire::Reply::Kind::kValue, true, *std::move(result)};
  }

  /// The parsed input. The latest input stays parsed, because most jq programs run on the same
  /// input as the jq program before.
  const JqInput& parsed(const std::string& text) {
    if (!input_ || input_text_ != text) {
      input_.reset();
      input_text_ = text;
      input_.emplace(text);
    }
    return *input_;
  }

  /// Sends a reply at once, so that the pool knows which jq program was running if the next program
  /// kills this process. But while more requests wait, replies may be sent together: the pool sends
  /// several requests at a time only if it expects all of them to be quick.
  void send(wire::Reply reply) {
    const Clock::time_point now = Clock::now();
    reply.took = static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now - started_).count());
    wire::append(reply, replies_);
    const bool may_wait = reader_.has_next() && reply.kind != wire::Reply::Kind::kCompiling &&
                          replies_.size() < kMostWaitingBytes && now - flushed_ < kLongestWait;
    if (!may_wait) flush();
  }

  void flush() {
    flushed_ = Clock::now();
    std::string_view rest = replies_;
    while (connected_ && !rest.empty()) {
      const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        rest.remove_prefix(static_cast<size_t>(sent));
      } else {
        connected_ = errno == EINTR;
      }
    }
    replies_.clear();
  }

  void receive() {
    char buffer[1 << 16];
    const ssize_t received = ::recv(fd_, buffer, sizeof buffer, 0);
    flushed_ = Clock::now();
    if (received > 0) {
      reader_.append({buffer, static_cast<size_t>(received)});
    } else {
      connected_ = received < 0 && errno == EINTR;
    }
  }

  const int fd_;
  bool connected_ = true;
  wire::MessageReader reader_;
  Clock::time_point started_;  ///< when the current request was started
  std::string replies_;        ///< replies that have not been sent
  Clock::time_point flushed_;  ///< when replies were last sent, or requests last received
  std::string input_text_;
  std::optional<JqInput> input_;  ///< the parsed input_text_
  Cache<JqProgram> programs_{kMaxPrograms};
  Cache<JsonSchema> schemas_{kMaxSchemas};
};

int run_worker(int fd) {
  leave_signals_to_the_program();
  limit_worker();
  setenv("TZ", "UTC0", 1);  // otherwise libc would open a file
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
  if (verb == kLauncherVerb) return run_jq_launcher(Descriptor(kChildFd));
  if (verb == kWorkerVerb || verb == kBackgroundWorkerVerb) return run_worker(kChildFd);
  return std::nullopt;
}

}  // namespace millrace
