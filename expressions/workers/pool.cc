#include "expressions/workers/pool.h"

#include <cerrno>
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

/// Programs compiled together in a check: the time of a compile grows with their square (100 take
/// 30 ms, 1 600 take 620 ms).
constexpr size_t kProgramsPerCheck = 200;
constexpr Duration kCheckTimeout{10'000};

/// A reply of a worker is checked like any other JSON from outside.
QueryResult to_result(const wire::Reply& reply) {
  if (reply.kind != wire::Reply::Kind::kValue) {
    return evaluation_failed(kJqBadCommand, reply.text);
  }
  Result<Json> value = parse_json(reply.text);
  if (value) return *std::move(value);
  return evaluation_failed(kJqBadCommand,
                           fmt::format("the result is no JSON: {}", value.error().message));
}

std::vector<QueryResult> to_results(Job::End end, const std::vector<wire::Reply>& replies,
                                    Duration timeout, const std::string& problem) {
  std::vector<QueryResult> results;
  results.reserve(replies.size() + 1);
  for (const wire::Reply& reply : replies) results.push_back(to_result(reply));
  if (end == Job::End::kAnswered) return results;
  if (end == Job::End::kTimedOut) {
    results.push_back(evaluation_failed(
        kTaskTimeout, fmt::format("the jq program was stopped after {} ms", timeout.count())));
  } else if (end == Job::End::kOutOfMemory) {
    results.push_back(
        evaluation_failed(kJqMemory, "the jq program needs more memory than it may have"));
  } else {
    results.push_back(evaluation_failed(
        kJqBadCommand, fmt::format("the jq program cannot be evaluated: {}", problem)));
  }
  return results;
}

}  // namespace

Result<std::unique_ptr<JqPool>> JqPool::start(Settings settings) {
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    return fail("jq.pool", fmt::format("no eventfd for the jq pool: {}", std::strerror(errno)));
  }
  try {
    return std::unique_ptr<JqPool>(
        new JqPool(std::make_unique<Manager>(std::move(settings), wake_fd)));
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
  job.timeout = evaluation.timeout;
  job.max_replies = evaluation.queries.size();
  job.done = [ticket, timeout = evaluation.timeout, done = std::move(done)](
                 Job::End end, const std::vector<wire::Reply>& replies,
                 const std::string& problem) {
    done(ticket, to_results(end, replies, timeout, problem));
  };
  manager_->submit(std::move(job));
}

std::vector<std::optional<Error>> JqPool::check(std::span<const std::string> programs) {
  std::vector<std::optional<Error>> verdicts(programs.size());
  struct Answer {
    Job::End end;
    std::optional<std::string> complaint;
  };
  struct Batch {
    std::vector<size_t> members;
    std::future<Answer> answer;
  };
  const auto submitted = [&](std::vector<size_t> members) {
    std::vector<std::string> texts;
    texts.reserve(members.size());
    for (const size_t member : members) texts.push_back(programs[member]);
    auto promise = std::make_shared<std::promise<Answer>>();
    std::future<Answer> answer = promise->get_future();
    Job job;
    job.request = wire::encode_check(texts);
    job.timeout = kCheckTimeout;
    job.waits_for_workers = false;
    job.done = [promise](Job::End end, const std::vector<wire::Reply>& replies,
                         const std::string& problem) {
      if (end != Job::End::kAnswered) return promise->set_value({end, problem});
      if (replies[0].kind == wire::Reply::Kind::kGood) return promise->set_value({end, {}});
      promise->set_value({end, replies[0].text});
    };
    manager_->submit(std::move(job));
    return Batch{std::move(members), std::move(answer)};
  };

  std::deque<Batch> batches;
  std::vector<size_t> members;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (const Status status = check_program_text(programs[i]); !status) {
      verdicts[i] = status.error();
    } else {
      members.push_back(i);
    }
    if (members.size() == kProgramsPerCheck || (i + 1 == programs.size() && !members.empty())) {
      batches.push_back(submitted(std::exchange(members, {})));
    }
  }
  for (; !batches.empty(); batches.pop_front()) {
    const Answer answer = batches.front().answer.get();
    const std::vector<size_t>& asked = batches.front().members;
    if (answer.end == Job::End::kUnavailable) {
      for (const size_t member : asked)
        verdicts[member] = Error{"jq.unavailable", *answer.complaint};
    } else if (!answer.complaint) {
      continue;
    } else if (asked.size() > 1) {
      const auto middle = asked.begin() + static_cast<std::ptrdiff_t>(asked.size() / 2);
      std::vector<size_t> first(asked.begin(), middle);
      std::vector<size_t> second(middle, asked.end());
      batches.push_back(submitted(std::move(first)));
      batches.push_back(submitted(std::move(second)));
    } else if (answer.end == Job::End::kAnswered) {
      verdicts[asked[0]] = Error{"jq.syntax", *answer.complaint};
    } else {
      verdicts[asked[0]] =
          Error{"jq.check_failed",
                answer.end == Job::End::kTimedOut
                    ? fmt::format("jq did not compile the program in {} ms", kCheckTimeout.count())
                    : fmt::format("jq cannot compile the program: {}", *answer.complaint)};
    }
  }
  return verdicts;
}

JqPool::Stats JqPool::stats() const { return manager_->stats(); }

}  // namespace millrace
