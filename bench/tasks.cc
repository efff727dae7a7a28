// Measures tasks over NATS: each instance has one action, whose task one of four workers runs. The
// comparison is the same queue with workers, but without millrace.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "bench/wire_client.h"

namespace millrace {
namespace {

constexpr size_t kWorkers = 4;
constexpr size_t kInFlight = 10'000;
constexpr size_t kCount = 60'000;
constexpr int kAskedAhead = 512;

/// An event starts the instance, a worker runs its action, and the instance generates an event.
constexpr const char* kWorkflow = R"(
id: outside
functions:
- {id: work, type: knative-namespace, service: bench}
start: {type: event, event: {type: outside.start}}
states:
- id: act
  type: action
  action: {function: work, input: 'jq(.["outside.start"])'}
  transition: publish
- id: publish
  type: generateEvent
  event: {type: outside.done, source: bench, data: jq(.return)}
)";

/// A worker that requests kAskedAhead tasks in advance and answers each task with the input of the
/// task.
class Worker {
 public:
  Worker(const std::string& url, std::string consumer)
      : next_("$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS." + consumer), client_(url) {
    natsInbox* inbox = nullptr;
    CHECK(natsInbox_Create(&inbox) == NATS_OK);
    inbox_ = inbox;
    natsInbox_Destroy(inbox);
    CHECK(natsConnection_Subscribe(&subscription_, client_.handle(), inbox_.c_str(), &Worker::heard,
                                   this) == NATS_OK);
    CHECK(natsSubscription_SetPendingLimits(subscription_, -1, -1) == NATS_OK);
    ask(kAskedAhead);
  }
  ~Worker() {
    natsSubscription_Unsubscribe(subscription_);
    natsSubscription_Destroy(subscription_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  static void heard(natsConnection* connection, natsSubscription*, natsMsg* message, void* self) {
    static_cast<Worker*>(self)->take(connection, message);
    natsMsg_Destroy(message);
  }

  void take(natsConnection* connection, natsMsg* message) {
    const char* answer = nullptr;
    if (natsMsgHeader_Get(message, "Millrace-Reply", &answer) == NATS_OK) {
      natsConnection_Publish(connection, answer, natsMsg_GetData(message),
                             natsMsg_GetDataLength(message));
      natsConnection_PublishString(connection, natsMsg_GetReply(message), "+ACK");
    }
    // A message without the header `Millrace-Reply` is not a task: by such a message the broker
    // ends all open requests.
    taken_ = answer == nullptr ? kAskedAhead : taken_ + 1;
    if (taken_ < kAskedAhead / 2) return;
    ask(taken_);
    taken_ = 0;
  }

  void ask(int tasks) {
    const std::string body = fmt::format(R"({{"batch":{},"expires":1000000000}})", tasks);
    natsConnection_PublishRequestString(client_.handle(), next_.c_str(), inbox_.c_str(),
                                        body.c_str());
  }

  std::string next_;
  std::string inbox_;
  natsSubscription* subscription_ = nullptr;
  int taken_ = 0;
  PlainClient client_;
};

size_t number_in(std::string_view event) {
  const size_t at = event.find("\"n\":");
  CHECK(at != std::string_view::npos, "the event has no number: {}", event);
  return std::stoul(std::string(event.substr(at + 4, 9)));
}

std::string start_event(size_t number) {
  return fmt::format(R"({{"specversion":"1.0","type":"outside.start","source":"bench",)"
                     R"("id":"{}","data":{{"n":{},"text":"{}"}}}})",
                     number, number, std::string(300, 'x'));
}

/// Starts all instances, at most kInFlight in flight at a time, and waits until all have ended.
class Load {
 public:
  Load(const std::string& url, size_t count)
      : count_(count),
        began_(count),
        client_(url, "millrace.events.default.outside.done",
                [this](std::string_view event) { hear(event); }) {}

  std::vector<double> run(const std::function<void()>& half_way) {
    std::unique_lock guard(lock_);
    while (started_ < std::min(kInFlight, count_)) start();
    client_.flush();
    changed_.wait(guard, [&] { return took_.size() >= count_ / 2; });
    half_way();
    changed_.wait(guard, [&] { return took_.size() == count_; });
    return took_;
  }

 private:
  void start() {
    const size_t number = started_++;
    began_[number] = Stopwatch();
    client_.publish(kBenchSubject, start_event(number));
  }
  void hear(std::string_view event) {
    if (event.empty()) return client_.flush();
    const std::lock_guard guard(lock_);
    took_.push_back(began_.at(number_in(event)).seconds() * 1000);
    if (started_ < count_) start();
    if (took_.size() == count_ / 2 || took_.size() == count_) changed_.notify_one();
  }

  const size_t count_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Stopwatch> began_;
  std::vector<double> took_;
  size_t started_ = 0;
  WireClient client_;  // the last member, because its thread uses the other members
};

std::deque<std::unique_ptr<Worker>> workers(const std::string& url, const std::string& consumer) {
  std::deque<std::unique_ptr<Worker>> all;
  for (size_t i = 0; i < kWorkers; ++i) all.push_back(std::make_unique<Worker>(url, consumer));
  return all;
}

/// The number of tasks a second with a work queue and the same workers, but without millrace.
double bare_queue() {
  const Site site;
  PlainClient client(site.broker->url());
  const auto api = [&](const std::string& subject, const std::string& body) {
    natsMsg* answer = nullptr;
    CHECK(natsConnection_RequestString(&answer, client.handle(), ("$JS.API." + subject).c_str(),
                                       body.c_str(), 5000) == NATS_OK);
    natsMsg_Destroy(answer);
  };
  api("STREAM.CREATE.MILLRACE_TASKS",
      R"({"name":"MILLRACE_TASKS","subjects":["millrace.tasks.>"],"retention":"workqueue"})");
  api("STREAM.CREATE.MILLRACE_RESULTS",
      R"({"name":"MILLRACE_RESULTS","subjects":["millrace.results.>"]})");
  api("CONSUMER.DURABLE.CREATE.MILLRACE_TASKS.default+bench",
      R"({"stream_name":"MILLRACE_TASKS","config":{"durable_name":"default+bench",)"
      R"("ack_policy":"explicit","max_ack_pending":-1}})");
  std::atomic<size_t> answered = 0;
  client.subscribe("millrace.results.>", [&](std::string_view) { ++answered; });
  const auto all = workers(site.broker->url(), "default+bench");
  const Stopwatch watch;
  size_t sent = 0;
  while (answered < kCount) {
    for (; sent < kCount && sent < answered + kInFlight; ++sent) {
      natsMsg* message = nullptr;
      const std::string data =
          fmt::format(R"({{"n":{},"text":"{}"}})", sent, std::string(300, 'x'));
      CHECK(natsMsg_Create(&message, "millrace.tasks.default.bench", nullptr, data.data(),
                           static_cast<int>(data.size())) == NATS_OK);
      const std::string reply = fmt::format("millrace.results.default.{}", sent);
      natsMsgHeader_Set(message, "Millrace-Reply", reply.c_str());
      natsConnection_PublishMsg(client.handle(), message);
      natsMsg_Destroy(message);
    }
    client.flush();
  }
  return static_cast<double>(kCount) / watch.seconds();
}

}  // namespace

void tasks() {
  const double bare = bare_queue();
  const Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kWorkflow, "outside");
  // The first task creates the consumer; a request to a consumer that does not exist gets no
  // answer.
  PlainClient client(site.broker->url());
  client.publish(kBenchSubject, start_event(kCount));
  client.flush();
  process.wait_for("millrace_tasks", 1);
  natsMsg* found = nullptr;
  while (natsConnection_RequestString(&found, client.handle(),
                                      "$JS.API.STREAM.MSG.GET.MILLRACE_TASKS", R"({"seq":1})",
                                      5000) != NATS_OK) {
  }
  natsMsg_Destroy(found);
  const auto all = workers(site.broker->url(), "default+bench");
  process.wait_for("millrace_instances_ended_total", 1);
  int64_t half = 0;
  Load load(site.broker->url(), kCount);
  const Stopwatch watch;
  const std::vector<double> took = load.run([&] { half = process.anonymous_memory(); });
  const double rate = static_cast<double>(kCount) / watch.seconds();
  const int64_t end = process.anonymous_memory();
  row(fmt::format("actions over NATS, {} in flight, {} workers", kInFlight, kWorkers),
      fmt::format("{:.0f}/s", rate), fmt::format("bare queue {:.0f}/s: {:.2f}", bare, rate / bare));
  row("  time of one action",
      fmt::format("p50 {:.0f} ms, p99 {:.0f} ms", percentile(took, 0.5), percentile(took, 0.99)));
  row("  memory half way and at the end",
      fmt::format("{:.0f} MB, {:.0f} MB", static_cast<double>(half) / 1e6,
                  static_cast<double>(end) / 1e6));
}

}  // namespace millrace
