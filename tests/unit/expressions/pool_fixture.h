// A JqPool with the workers of the test, and functions that wait for its results.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "expressions/workers/pool.h"
#include "tests/support/patience.h"

namespace millrace {

/// Shows an error in the failure messages of gtest.
inline void PrintTo(const Error& error, std::ostream* out) {
  *out << error.code << ": " << error.message;
}

inline std::shared_ptr<const std::string> shared_text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

/// The timeout of an evaluation whose result is not a timeout: a slow jq worker has a low priority,
/// so on a busy machine it may need minutes for what takes less than a second otherwise.
inline constexpr Duration kNoTimeout = std::chrono::minutes(10);

/// JqPool::Settings::most_waiting for a pool whose evaluations count as slow only because of their
/// processor time, however busy the machine is. Evaluations that never end then take long.
inline constexpr int kOnlyProcessorTime = 1'000;

inline std::future<std::vector<QueryResult>> evaluate_later(JqPool& pool, Evaluation evaluation) {
  if (!evaluation.timeout) evaluation.timeout = kNoTimeout;
  auto promise = std::make_shared<std::promise<std::vector<QueryResult>>>();
  std::future<std::vector<QueryResult>> results = promise->get_future();
  pool.submit(1, evaluation, [promise](uint64_t, std::vector<QueryResult> done) {
    promise->set_value(std::move(done));
  });
  return results;
}

class PoolTest : public testing::Test {
 protected:
  void SetUp() override { start({.most_waiting = kOnlyProcessorTime}); }

  void start(JqPool::Settings settings) {
    stop();
    settings.start_timeout = kPatience;
    auto launcher = JqLauncher::start(MILLRACE_JQ_WORKER);
    ASSERT_TRUE(launcher) << launcher.error().message;
    auto started = JqPool::start(*std::move(launcher), settings);
    ASSERT_TRUE(started) << started.error().message;
    pool_ = *std::move(started);
  }

  void stop() { pool_.reset(); }

  JqPool& pool() { return *pool_; }

  std::vector<std::optional<Error>> check(std::span<const std::string> programs) {
    return pool_->check(programs, kPatience);
  }

  std::vector<QueryResult> evaluate(const Evaluation& evaluation) {
    return evaluate_later(*pool_, evaluation).get();
  }

  QueryResult evaluate(std::string program, std::string input = "null",
                       Query::Mode mode = Query::Mode::kOne) {
    const std::vector<QueryResult> results = evaluate(
        Evaluation{.queries = {{std::move(program), shared_text(std::move(input)), mode}}});
    EXPECT_EQ(results.size(), 1);
    return results.at(0);
  }

 private:
  std::unique_ptr<JqPool> pool_;
};

}  // namespace millrace
