#include "expressions/workers/pool.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <future>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "expressions/jq_syntax.h"
#include "expressions/workers/manager.h"
#include "expressions/workers/wire.h"

namespace millrace {
namespace {

/// Programs compiled together in a check: the time of a compile grows with the square of their
/// number (100 take 30 ms, 1 600 take 620 ms) and of their length (the worst 4 KB take 130 ms,
/// eight of them 5 s).
constexpr size_t kProgramsPerCompile = 200;
constexpr size_t kBytesPerCompile = size_t{8} << 10;
constexpr std::chrono::seconds kCheckTime(20);

/// A reply of a worker is checked like any other JSON from outside.
QueryResult to_result(const wire::Reply& reply, Query::Mode mode) {
  if (reply.kind != wire::Reply::Kind::kValue) {
    return evaluation_failed(mode == Query::Mode::kSchema ? kSchemaFailed : kJqBadCommand,
                             reply.text);
  }
  Result<Json> value = parse_json(reply.text);
  if (value) return *std::move(value);
  return evaluation_failed(kJqBadCommand,
                           fmt::format("the result is no JSON: {}", value.error().message));
}

/// `modes` are those of the queries, in order.
std::vector<QueryResult> to_results(Job::End end, const std::vector<wire::Reply>& replies,
                                    const std::vector<Query::Mode>& modes, Duration timeout,
                                    const std::string& problem) {
  std::vector<QueryResult> results;
  results.reserve(replies.size() + 1);
  for (const wire::Reply& reply : replies) {
    results.push_back(to_result(reply, modes[results.size()]));
  }
  if (end == Job::End::kAnswered) return results;
  const bool is_schema = modes[results.size()] == Query::Mode::kSchema;
  const std::string_view what = is_schema ? "the validation" : "the jq program";
  if (end == Job::End::kTimedOut) {
    results.push_back(evaluation_failed(
        kTaskTimeout, fmt::format("{} was stopped after {} ms", what, timeout.count())));
  } else if (end == Job::End::kOutOfMemory) {
    results.push_back(
        evaluation_failed(kJqMemory, fmt::format("{} needs more memory than it may have", what)));
  } else {
    results.push_back(evaluation_failed(is_schema ? kSchemaFailed : kJqBadCommand,
                                        fmt::format("{} cannot be evaluated: {}", what, problem)));
  }
  return results;
}

}  // namespace

/// How a check ended, and what the worker or the pool says of it: nothing if all is good.
struct JqPool::Verdict {
  Job::End end;
  std::string complaint;
};

Result<std::unique_ptr<JqPool>> JqPool::start(JqLauncher launcher, Settings settings) {
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    return fail("jq.pool", fmt::format("no eventfd for the jq pool: {}", std::strerror(errno)));
  }
  try {
    return std::unique_ptr<JqPool>(
        new JqPool(std::make_unique<Manager>(std::move(launcher), settings, wake_fd)));
  } catch (const std::system_error& e) {
    close(wake_fd);
    return fail("jq.pool", fmt::format("no thread for the jq pool: {}", e.what()));
  }
}

JqPool::JqPool(std::unique_ptr<Manager> manager) : manager_(std::move(manager)) {}
JqPool::~JqPool() = default;

void JqPool::submit(uint64_t ticket, const Evaluation& evaluation, Done done) {
  CHECK(!evaluation.queries.empty(), "an evaluation without queries");
  Job job;
  job.request = wire::encode(evaluation);
  job.lane = evaluation.lane;
  job.timeout = evaluation.timeout;
  job.max_replies = evaluation.queries.size();
  std::vector<Query::Mode> modes;
  for (const Query& query : evaluation.queries) modes.push_back(query.mode);
  job.done = [ticket, modes = std::move(modes), timeout = evaluation.timeout,
              done = std::move(done)](Job::End end, const std::vector<wire::Reply>& replies,
                                      const std::string& problem) {
    done(ticket, to_results(end, replies, modes, timeout, problem));
  };
  manager_->submit(std::move(job));
}

JqPool::Verdict JqPool::ask(std::string check, std::chrono::steady_clock::time_point deadline) {
  auto promise = std::make_shared<std::promise<Verdict>>();
  std::future<Verdict> answer = promise->get_future();
  Job job;
  job.kind = Job::Kind::kCheck;
  job.request = std::move(check);
  job.done = [promise](Job::End end, const std::vector<wire::Reply>& replies,
                       const std::string& problem) {
    const bool is_good = end == Job::End::kAnswered && replies[0].kind == wire::Reply::Kind::kGood;
    promise->set_value({end, is_good ? "" : replies.empty() ? problem : replies[0].text});
  };
  manager_->submit(std::move(job));
  if (answer.wait_until(deadline) == std::future_status::ready) return answer.get();
  return {Job::End::kTimedOut, ""};
}

std::vector<std::optional<Error>> JqPool::check(std::span<const std::string> programs) {
  std::vector<std::optional<Error>> verdicts(programs.size());
  std::deque<std::vector<size_t>> batches;  // places of programs that are compiled together
  size_t bytes = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (const Status status = check_program_text(programs[i]); !status) {
      verdicts[i] = status.error();
      continue;
    }
    bytes += programs[i].size();
    if (batches.empty() || batches.back().size() == kProgramsPerCompile ||
        bytes > kBytesPerCompile) {
      batches.emplace_back();
      bytes = programs[i].size();
    }
    batches.back().push_back(i);
  }

  const auto deadline = std::chrono::steady_clock::now() + kCheckTime;
  const auto refuse = [&](std::span<const size_t> members, const Error& error) {
    for (const size_t member : members) verdicts[member] = error;
  };
  for (; !batches.empty(); batches.pop_front()) {
    const std::vector<size_t> members = std::move(batches.front());
    std::vector<std::string> texts;
    texts.reserve(members.size());
    for (const size_t member : members) texts.push_back(programs[member]);
    const auto [end, complaint] = ask(wire::encode_check(texts), deadline);
    if (end == Job::End::kAnswered && complaint.empty()) continue;
    if (end == Job::End::kUnavailable) {
      refuse(members, {"jq.unavailable", complaint});
    } else if (end == Job::End::kTimedOut) {
      refuse(members, {"jq.check_failed",
                       members.size() == 1
                           ? "jq does not compile the program in time"
                           : fmt::format("jq does not compile this program and {} others in time",
                                         members.size() - 1)});
      batches.pop_front();
      for (const std::vector<size_t>& rest : batches) {
        refuse(rest, {"jq.check_failed", "not checked: programs before this one took too long"});
      }
      return verdicts;
    } else if (members.size() > 1) {  // one of them is bad: which half has it?
      const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
      batches.emplace_back(members.begin(), middle);
      batches.emplace_back(middle, members.end());
    } else if (end == Job::End::kAnswered) {
      refuse(members, {"jq.syntax", complaint});
    } else {
      refuse(members,
             {"jq.check_failed", fmt::format("jq cannot compile the program: {}", complaint)});
    }
  }
  return verdicts;
}

std::vector<std::optional<Error>> JqPool::check_schemas(std::span<const std::string> schemas) {
  const auto deadline = std::chrono::steady_clock::now() + kCheckTime;
  std::vector<std::optional<Error>> verdicts;
  for (const std::string& schema : schemas) {
    const auto [end, complaint] = ask(wire::encode_check_schema(schema), deadline);
    if (end == Job::End::kAnswered) {
      verdicts.push_back(complaint.empty() ? std::nullopt
                                           : std::optional(Error{"schema.malformed", complaint}));
    } else if (end == Job::End::kUnavailable) {
      verdicts.push_back(Error{"jq.unavailable", complaint});
    } else {
      verdicts.push_back(Error{"schema.check_failed",
                               end == Job::End::kTimedOut
                                   ? "the schema cannot be read in time"
                                   : fmt::format("the schema cannot be read: {}", complaint)});
    }
  }
  return verdicts;
}

JqPool::Stats JqPool::stats() const { return manager_->stats(); }

}  // namespace millrace
