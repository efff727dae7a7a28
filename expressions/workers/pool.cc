#include "expressions/workers/pool.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <future>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/defaults.h"
#include "expressions/jq_syntax.h"
#include "expressions/workers/scheduler.h"
#include "expressions/workers/wire.h"

namespace millrace {
namespace {

/// The most jq programs, and the most bytes of them, that are checked in one compile. Most jq
/// programs are only parsed, in 15 µs each. jq programs whose names jq_names.h cannot check are
/// compiled: that takes 18 ms for libjq's own definitions, and 0.35 ms for each usual program,
/// because libjq searches it for each definition. With more than some hundreds of jq programs the
/// searched data no longer fits into the processor's cache, and takes several times as long. The
/// time also grows with the square of a jq program's length (the worst 4 KB take 130 ms, eight of
/// these 5 s).
constexpr size_t kProgramsPerCompile = 100;
constexpr size_t kBytesPerCompile = size_t{8} << 10;

/// Converts a jq worker's reply to a result. The JSON of the reply is checked like any other JSON
/// from outside. A jq worker writes it in the form of dump_json(), so a large result stays text.
QueryResult to_result(const wire::Reply& reply, Query::Mode mode) {
  if (reply.kind != wire::Reply::Kind::kValue) {
    return fail(std::string(mode == Query::Mode::kSchema ? kSchemaFailed : kJqBadCommand),
                reply.text);
  }
  if (reply.text.size() > kLargeJson && is_json(reply.text)) {
    return LazyJson::of_checked_text(reply.text);
  }
  Result<Json> value = parse_json(reply.text);
  if (value) return LazyJson::of_tree(*std::move(value));
  return fail(std::string(kJqBadCommand),
              fmt::format("the result is not valid JSON: {}", value.error().message));
}

/// Converts the replies of a job to results; `modes` are those of the queries, in order. `timeout`
/// and `most_waiting` (JqPool::Settings) are the limits of the job.
std::vector<QueryResult> to_results(Job::End end, const std::vector<wire::Reply>& replies,
                                    const std::vector<Query::Mode>& modes, Duration timeout,
                                    int most_waiting, const std::string& problem) {
  std::vector<QueryResult> results;
  results.reserve(replies.size() + 1);
  for (const wire::Reply& reply : replies) {
    results.push_back(to_result(reply, modes[results.size()]));
  }
  if (end == Job::End::kAnswered) return results;
  const bool is_schema = modes[results.size()] == Query::Mode::kSchema;
  const std::string_view what = is_schema ? "the validation" : "the jq program";
  if (end == Job::End::kTimedOut) {
    results.push_back(fail(std::string(kTaskTimeout),
                           fmt::format("{} was stopped in its second try; a try may use {} ms of "
                                       "processor time, and last {} times as long",
                                       what, timeout.count(), most_waiting)));
  } else if (end == Job::End::kOutOfMemory) {
    results.push_back(fail(std::string(kJqMemory),
                           fmt::format("{} needs more memory than a jq worker may use", what)));
  } else {
    results.push_back(fail(std::string(is_schema ? kSchemaFailed : kJqBadCommand),
                           fmt::format("{} cannot be evaluated: {}", what, problem)));
  }
  return results;
}

}  // namespace

/// How a check ended. `complaint` is the message of the jq worker or the pool; it is empty if all
/// jq programs are valid.
struct JqPool::Verdict {
  Job::End end;
  std::string complaint;
};

Result<std::unique_ptr<JqPool>> JqPool::start(JqLauncher launcher, Settings settings) {
  auto submitted = std::make_unique<PolledMailbox<Job>>();
  if (submitted->fd() < 0) {
    return fail("jq.pool",
                fmt::format("cannot create an eventfd for the jq pool: {}", std::strerror(errno)));
  }
  try {
    return std::unique_ptr<JqPool>(
        new JqPool(std::make_unique<Scheduler>(std::move(launcher), settings, std::move(submitted)),
                   settings));
  } catch (const std::system_error& e) {
    return fail("jq.pool", fmt::format("cannot start a thread for the jq pool: {}", e.what()));
  }
}

JqPool::JqPool(std::unique_ptr<Scheduler> scheduler, const Settings& settings)
    : checks_at_once_(settings.checks_at_once),
      most_waiting_(settings.most_waiting),
      scheduler_(std::move(scheduler)) {}
JqPool::~JqPool() = default;

void JqPool::submit(uint64_t ticket, Evaluation evaluation, Done done) {
  CHECK(!evaluation.queries.empty(), "an evaluation has no queries; expected at least one");
  Job job;
  job.bytes = wire::size_of(evaluation);
  job.lane = evaluation.lane;
  job.space = evaluation.space;
  job.timeout = evaluation.timeout.value_or(defaults::kTaskTimeout);
  job.max_replies = evaluation.queries.size();
  std::vector<Query::Mode> modes;
  for (const Query& query : evaluation.queries) modes.push_back(query.mode);
  job.evaluation = std::move(evaluation);
  job.done = [ticket, modes = std::move(modes), timeout = job.timeout, most_waiting = most_waiting_,
              done = std::move(done)](Job::End end, const std::vector<wire::Reply>& replies,
                                      const std::string& problem) {
    done(ticket, to_results(end, replies, modes, timeout, most_waiting, problem));
  };
  scheduler_->submit(std::move(job));
}

std::future<JqPool::Verdict> JqPool::ask(std::string check) {
  auto promise = std::make_shared<std::promise<Verdict>>();
  std::future<Verdict> answer = promise->get_future();
  Job job;
  job.kind = Job::Kind::kCheck;
  job.check = std::move(check);
  job.done = [promise](Job::End end, const std::vector<wire::Reply>& replies,
                       const std::string& problem) {
    const bool is_good = end == Job::End::kAnswered && replies[0].kind == wire::Reply::Kind::kGood;
    promise->set_value({end, is_good ? "" : replies.empty() ? problem : replies[0].text});
  };
  scheduler_->submit(std::move(job));
  return answer;
}

JqPool::Verdict JqPool::await(std::future<Verdict>& answer,
                              std::chrono::steady_clock::time_point deadline) {
  if (answer.wait_until(deadline) == std::future_status::ready) return answer.get();
  return {Job::End::kTimedOut, ""};
}

std::vector<std::optional<Error>> JqPool::check(std::span<const std::string> programs,
                                                Duration at_most) {
  using Members = std::vector<size_t>;  // indexes of the jq programs that are compiled together
  struct Compile {
    Members members;
    std::future<Verdict> answer;
  };
  std::vector<std::optional<Error>> verdicts(programs.size());
  std::deque<Members> batches;
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

  const auto deadline = std::chrono::steady_clock::now() + at_most;
  const auto compile = [&](const Members& members) {
    std::vector<std::string> texts;
    texts.reserve(members.size());
    for (const size_t member : members) texts.push_back(programs[member]);
    return ask(wire::encode_check(texts));
  };
  const auto refuse = [&](std::span<const size_t> members, const Error& error) {
    for (const size_t member : members) verdicts[member] = error;
  };
  std::deque<Compile> under_way;
  while (!batches.empty() || !under_way.empty()) {
    while (!batches.empty() && under_way.size() < checks_at_once_) {
      std::future<Verdict> answer = compile(batches.front());
      under_way.push_back({std::move(batches.front()), std::move(answer)});
      batches.pop_front();
    }
    const Members members = std::move(under_way.front().members);
    std::future<Verdict> answer = std::move(under_way.front().answer);
    under_way.pop_front();
    const auto [end, complaint] = await(answer, deadline);
    if (end == Job::End::kAnswered && complaint.empty()) continue;
    if (end == Job::End::kUnavailable) {
      refuse(members, {"jq.unavailable", complaint});
    } else if (end == Job::End::kTimedOut) {
      refuse(members, {"jq.check_failed",
                       members.size() == 1
                           ? "jq does not compile the program in time"
                           : fmt::format("jq does not compile this program and {} others in time",
                                         members.size() - 1)});
      for (Compile& other : under_way) batches.push_back(std::move(other.members));
      for (const Members& rest : batches) {
        refuse(rest, {"jq.check_failed", "not checked: programs before this one took too long"});
      }
      return verdicts;
    } else if (members.size() > 1) {  // at least one of them is invalid: check each half
      const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
      batches.emplace_back(members.begin(), middle);
      batches.emplace_back(middle, members.end());
    } else if (end == Job::End::kAnswered) {
      refuse(members, {"jq.syntax", complaint});
    } else {
      refuse(members,
             {"jq.check_failed",
              fmt::format("two jq workers failed while they compiled the program: {}", complaint)});
    }
  }
  return verdicts;
}

std::vector<std::optional<Error>> JqPool::check_schemas(std::span<const std::string> schemas,
                                                        Duration at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  std::vector<std::optional<Error>> verdicts;
  for (const std::string& schema : schemas) {
    std::future<Verdict> answer = ask(wire::encode_check_schema(schema));
    const auto [end, complaint] = await(answer, deadline);
    if (end == Job::End::kAnswered) {
      verdicts.push_back(complaint.empty() ? std::nullopt
                                           : std::optional(Error{"schema.malformed", complaint}));
    } else if (end == Job::End::kUnavailable) {
      verdicts.push_back(Error{"jq.unavailable", complaint});
    } else {
      verdicts.push_back(
          Error{"schema.check_failed",
                end == Job::End::kTimedOut
                    ? "the schema was not compiled in time"
                    : fmt::format("two jq workers failed while they compiled the schema: {}",
                                  complaint)});
    }
  }
  return verdicts;
}

JqPool::Stats JqPool::stats() const { return scheduler_->stats(); }

}  // namespace millrace
