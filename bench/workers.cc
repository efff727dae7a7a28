// Measures round trips to jq workers.
#include <condition_variable>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "expressions/workers/pool.h"

namespace millrace {

/// Evaluates a short jq program on 1 KB of data.
void workers() {
  auto launcher = JqLauncher::start();
  CHECK(launcher.has_value(), "{}", launcher.error().message);
  auto pool = JqPool::start(*std::move(launcher), {});
  CHECK(pool.has_value(), "{}", pool.error().message);
  const Evaluation question{
      .queries = {
          {".a | length", std::make_shared<const std::string>(fmt::format(
                              R"({{"a":[1,2,3],"filler":"{}"}})", std::string(1000, 'x')))}}};
  std::mutex lock;
  std::condition_variable answered;
  const auto ask = [&](size_t in_flight, size_t count) {
    std::vector<double> took;  // in microseconds
    size_t asked = 0;
    const Stopwatch watch;
    std::unique_lock guard(lock);
    while (took.size() < count) {
      for (; asked < count && asked - took.size() < in_flight; ++asked) {
        (*pool)->submit(asked, question, [&, since = Stopwatch()](uint64_t, const auto& results) {
          CHECK(results.at(0).has_value());
          const std::lock_guard inner(lock);
          took.push_back(since.seconds() * 1e6);
          answered.notify_one();
        });
      }
      answered.wait(guard);
    }
    row(fmt::format("round trip to a jq worker, 1 KB, {} in flight", in_flight),
        fmt::format("{:.0f}/s", static_cast<double>(count) / watch.seconds()),
        fmt::format("p50 {:.0f} us, p99 {:.0f} us", percentile(took, 0.5), percentile(took, 0.99)));
  };
  ask(1, 50'000);
  ask(64, 200'000);
}

}  // namespace millrace
