#include "tests/integration/order_load.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

constexpr size_t kOrderClients = 3;
/// How many orders must be paid before the load has proceeded.
constexpr size_t kSomeOrders = 15;
/// After this time without an answer a client asks another node.
constexpr Duration kOrderAnswerTime{500};
constexpr Duration kBetweenOrders{100};
constexpr Duration kBeforeNextNode{20};

/// Whether another call can have another outcome.
bool may_be_repeated(const HttpReply& reply) { return reply.status < 400 || reply.status >= 500; }

std::string describe(const HttpReply& reply) {
  return reply.status == 0 ? "no answer" : fmt::format("{} {}", reply.status, reply.body);
}

}  // namespace

const char* const OrderLoad::kDefinition = R"(
id: order
functions:
- {id: pack, type: knative-namespace, service: pack}
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}}
  transition: pack
- id: pack
  type: action
  action:
    function: pack
    input: 'jq({order: .order})'
    retries: {max_attempts: 100, delay: PT0.1S, codes: ['^millrace\.function\.unavailable$']}
  transition: deliver
- id: deliver
  type: generateEvent
  event: {type: delivered, source: /order, data: 'jq({order: .order})'}
)";

OrderLoad::OrderLoad(std::vector<uint16_t> ports) : ports_(std::move(ports)) {
  for (size_t i = 0; i < kOrderClients; ++i) clients_.emplace_back([this, i] { run(i); });
}

OrderLoad::~OrderLoad() {
  is_abandoned_ = true;
  stop();
}

bool OrderLoad::proceeds() const {
  const size_t before = paid_;
  return eventually([&] { return paid_ >= before + kSomeOrders || has_failed_; }) && !has_failed_;
}

void OrderLoad::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& client : clients_) {
    if (client.joinable()) client.join();
  }
}

void OrderLoad::pay_again(const std::string& order) {
  Client client;
  pay(client, order);
}

std::set<std::string> OrderLoad::orders() const {
  const std::lock_guard lock(mutex_);
  return orders_;
}

Duration OrderLoad::longest_gap(Time from) const {
  const std::lock_guard lock(mutex_);
  auto at = std::lower_bound(acknowledged_.begin(), acknowledged_.end(), from);
  if (at != acknowledged_.begin()) --at;
  steady_clock::duration longest{0};
  for (; at != acknowledged_.end() && at + 1 != acknowledged_.end(); ++at) {
    longest = std::max(longest, *(at + 1) - *at);
  }
  return std::chrono::duration_cast<Duration>(longest);
}

void OrderLoad::run(size_t number) {
  Client client{.node = number};
  for (size_t i = 0; !is_stopping_; ++i) {
    const std::string order = fmt::format("{}-{}", number, i);
    {
      const std::lock_guard lock(mutex_);
      orders_.insert(order);
    }
    if (!start(client, order)) return;
    note_acknowledgement();
    if (!pay(client, order)) return;
    ++paid_;
    pause(kBetweenOrders);
  }
}

bool OrderLoad::start(Client& client, const std::string& order) {
  const std::string body = dump_json({{"order", order}});
  const Headers headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", order}};
  return call_until_acknowledged(client, "the start of order " + order, [&](uint16_t port) {
    return request_within(kOrderAnswerTime, port, "POST", "/v1/ns/default/workflows/order/start",
                          headers, body);
  });
}

bool OrderLoad::pay(Client& client, const std::string& order) {
  const std::string event = dump_json({{"specversion", "1.0"},
                                       {"id", "paid-" + order},
                                       {"source", "/load"},
                                       {"type", "paid"},
                                       {"order", order},
                                       {"data", Json::object()}});
  const Headers headers = {{"Content-Type", "application/cloudevents+json"}};
  return call_until_acknowledged(client, "the event paid-" + order, [&](uint16_t port) {
    return request_within(kOrderAnswerTime, port, "POST", "/v1/ns/default/events", headers, event);
  });
}

bool OrderLoad::call_until_acknowledged(Client& client, std::string_view what, const Call& call) {
  const auto deadline = steady_clock::now() + kPatience;
  HttpReply reply;
  size_t calls = 0;
  while (!is_abandoned_ && may_be_repeated(reply) && steady_clock::now() < deadline) {
    reply = call(ports_[client.node % ports_.size()]);
    ++calls;
    if (reply.status >= 200 && reply.status < 300) return true;
    ++client.node;
    pause(kBeforeNextNode);
  }
  if (!is_abandoned_) {
    has_failed_ = true;
    ADD_FAILURE() << what << " was not acknowledged after " << calls
                  << " calls; the latest: " << describe(reply);
  }
  return false;
}

void OrderLoad::note_acknowledgement() {
  const std::lock_guard lock(mutex_);
  acknowledged_.push_back(steady_clock::now());
}

void OrderLoad::pause(Duration time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return is_abandoned_.load(); });
}

}  // namespace millrace
