// Measures reading the event stream, with events that match nothing.
#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"
#include "broker/pull_consumer.h"
#include "broker/streams.h"

namespace millrace {
namespace {

constexpr size_t kCount = 500'000;

void publish_all(const std::string& url) {
  WireClient client(url);
  for (size_t i = 0; i < kCount; ++i) {
    client.publish(kBenchSubject, event_text("bench.ignore", std::to_string(i), "k"));
  }
}

/// Pulls messages and drops them unread. The rate of this loop is the limit for reading events.
class RawPull {
 public:
  explicit RawPull(const std::string& url) : connection_(Connection::open({.servers = {url}})) {
    CHECK(connection_.has_value() && (*connection_)->wait_until_connected(Duration(5000)));
    const auto stream = ensure_stream(**connection_, wanted_);
    CHECK(stream.has_value(), "{}", stream.error().message);
    consumer_ = PullConsumer::open(**connection_, wanted_, *stream, {}, settings_);
    CHECK(consumer_.has_value(), "{}", consumer_.error().message);
  }
  void run(size_t count) {
    for (size_t seen = 0; seen < count;) {
      NatsMsgHandle message;
      DeliveryNumbers numbers;
      const auto got = (*consumer_)->next(true, message, numbers);
      CHECK(got != PullConsumer::Got::kBroken && got != PullConsumer::Got::kGap);
      if (got == PullConsumer::Got::kMessage) ++seen;
      spent_.push_back(std::move(message));
      if (spent_.size() == 64) spent_.clear();
    }
  }

 private:
  const StreamSettings wanted_ = events_stream();
  const PullSettings settings_;
  Result<std::unique_ptr<Connection>> connection_;
  Result<std::unique_ptr<PullConsumer>> consumer_ = fail("bench", "not yet");
  std::vector<NatsMsgHandle> spent_;
};

void print(std::string_view what, double rate, double raw) {
  row(what, fmt::format("{:.0f}/s", rate),
      fmt::format("bare pull {:.0f}/s: {:.2f}", raw, rate / raw));
}

void backlog() {
  Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();  // millrace creates the stream
  process.apply(kLifecycle, "life");
  process.kill();
  publish_all(site.broker->url());
  RawPull bare(site.broker->url());
  const Stopwatch pulling;
  bare.run(kCount);
  const double raw = kCount / pulling.seconds();
  process.start();
  const double before = process.metric("millrace_events_total");
  const Stopwatch watch;
  process.wait_for("millrace_events_total", kCount);
  print("events that match nothing, 512 B, a backlog of 500 000",
        (kCount - before) / watch.seconds(), raw);
}

void live() {
  double raw = 0;
  {
    Site site;
    RawPull bare(site.broker->url());
    const Stopwatch watch;
    std::thread load([&] { publish_all(site.broker->url()); });
    bare.run(kCount);
    raw = kCount / watch.seconds();
    load.join();
  }
  Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  const Stopwatch watch;
  publish_all(site.broker->url());
  process.wait_for("millrace_events_total", kCount);
  print("events that match nothing, 512 B, while they are published", kCount / watch.seconds(),
        raw);
}

}  // namespace

void unmatched() {
  backlog();
  live();
}

}  // namespace millrace
