// Measures the evaluation of an expression: in the fast lane, with libjq in this process (with the
// conversion of the data, which every use of libjq needs), and with jq workers.
#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "expressions/fast_lane.h"
#include "expressions/workers/jq_program.h"
#include "expressions/workers/pool.h"

namespace millrace {
namespace {

/// An order as 1 KB of JSON.
Json order() {
  Json order = *parse_json(R"({
    "specversion": "1.0", "id": "5f9c4b02-3c1e-4c55-9f0a-6a34d2c1b7aa", "type": "order.placed",
    "source": "https://shop.example/orders", "time": "2021-09-01T10:00:00Z", "subject": "order-7",
    "a": {"id": 7, "b": {"c": 129.95, "currency": "EUR"}, "customer": {"name": "Ada", "vip": true}},
    "b": {"c": 129.95, "d": [1, 2, 3]},
    "items": [{"sku": "a-1", "count": 2, "price": 19.95}, {"sku": "b-7", "count": 1, "price": 90.05}],
    "address": {"street": "Example Street 1", "city": "Berlin", "zip": "10115", "country": "DE"}
  })");
  const std::string text = dump_json(order);
  order["note"] = std::string(1024 - text.size() - 10, 'x');
  return order;
}

/// How often `body` can be called in a second: the best of several measurements, because other
/// processes may slow the machine down.
template <class Body>
double rate(size_t count, const Body& body) {
  double best = 0;
  for (int run = 0; run < 7; ++run) {
    const Stopwatch watch;
    for (size_t i = 0; i < count; ++i) body();
    best = std::max(best, static_cast<double>(count) / watch.seconds());
  }
  return best;
}

/// Evaluations a second with libjq in this process, from Json to Json.
double by_libjq(const char* program) {
  const Json input = order();
  auto compiled = JqProgram::compile(program);
  CHECK(compiled.has_value(), "{}", compiled.error().message);
  return rate(5'000, [&] {
    const auto text = compiled->run(JqInput(dump_json(input)), TimePoint(), Query::Mode::kOne);
    CHECK(parse_json(*text).has_value());
  });
}

void in_lane(const char* what, const char* program) {
  const Json input = order();
  const auto fast = compile_fast(program);
  CHECK(fast != nullptr, "the fast lane does not support {}", program);
  const double fast_rate = rate(300'000, [&] { CHECK(fast->run(input).has_value()); });
  const double libjq_rate = by_libjq(program);
  row(fmt::format("fast lane, {}", what), fmt::format("{:.2f} M/s", fast_rate / 1e6),
      fmt::format("libjq with conversion {:.0f} k/s: {:.0f}", libjq_rate / 1e3,
                  fast_rate / libjq_rate));
}

/// Evaluations a second by the jq workers: runs `count` evaluations, at most `in_flight` at once,
/// over 64 different inputs.
double by_workers(JqPool& pool, const char* program, size_t in_flight, size_t count) {
  std::vector<std::shared_ptr<const std::string>> inputs;
  for (int i = 0; i < 64; ++i) {
    Json input = order();
    input["number"] = i;
    inputs.push_back(std::make_shared<const std::string>(dump_json(input)));
  }
  std::mutex lock;
  std::condition_variable answered;
  size_t done = 0;
  const Stopwatch watch;
  for (size_t asked = 0; asked < count; ++asked) {
    {
      std::unique_lock guard(lock);
      answered.wait(guard, [&] { return asked - done < in_flight; });
    }
    pool.submit(asked, {.queries = {{program, inputs[asked % inputs.size()]}}},
                [&](uint64_t, const std::vector<QueryResult>& results) {
                  CHECK(results.at(0).has_value());
                  const std::lock_guard guard(lock);
                  ++done;
                  answered.notify_one();
                });
  }
  std::unique_lock guard(lock);
  answered.wait(guard, [&] { return done == count; });
  return static_cast<double>(count) / watch.seconds();
}

}  // namespace

void expressions() {
  in_lane("a path (.a.b.c), 1 KB", ".a.b.c");
  in_lane("an object ({id: .a.id, total: .b.c, tag: \"x\"})",
          "{id: .a.id, total: .b.c, tag: \"x\"}");
  in_lane("a condition (.a.b.c > 100 and .a.customer.vip)", ".a.b.c > 100 and .a.customer.vip");
  in_lane("a text (\"Order \\(.a.id) of \\(.a.customer.name)\")",
          R"x("Order \(.a.id) of \(.a.customer.name)")x");
  in_lane("the data with one more field (. + {n: 1})", ". + {n: 1}");

  auto launcher = JqLauncher::start();
  CHECK(launcher.has_value(), "{}", launcher.error().message);
  auto pool = JqPool::start(*std::move(launcher), {});
  CHECK(pool.has_value(), "{}", pool.error().message);
  constexpr const char* kProgram = ".items | map(.count) | add";
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    best = std::max(best, by_workers(**pool, kProgram, 256, 50'000));
  }
  const double libjq_rate = by_libjq(kProgram);
  row("2 jq workers (a sum over an array), 256 in flight", fmt::format("{:.0f} k/s", best / 1e3),
      fmt::format("libjq with conversion {:.0f} k/s: {:.2f}", libjq_rate / 1e3, best / libjq_rate));
}

}  // namespace millrace
