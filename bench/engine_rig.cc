#include "bench/engine_rig.h"

#include <ctime>

#include <fmt/format.h>

#include "base/check.h"
#include "broker/incoming.h"

namespace millrace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void EngineRig::Echo::publish(NatsMessage message, Done done) {
  ++count;
  messages.push_back(std::move(message));
  waiting.push_back(std::move(done));
}

EngineRig::EngineRig() {
  auto opened = Environment::open(folder_.path() / "data");
  CHECK(opened.has_value(), "{}", opened.error().message);
  environment_ = *std::move(opened);
  processor_ = std::make_unique<Processor>(
      ProcessorParts{
          .engine = {.environment = *environment_,
                     .clock = clock_,
                     .publisher = echo_,
                     .functions = no_runner_,
                     .webhooks = webhooks_,
                     .definitions = definitions_,
                     .make_id =
                         [this](TimePoint now) {
                           std::array<uint8_t, 10> rest{};
                           ++ids_;
                           for (size_t i = 0; i < 8; ++i) {
                             rest[2 + i] = static_cast<uint8_t>(ids_ >> (56 - 8 * i));
                           }
                           return make_instance_id(now, rest);
                         },
                     .started_tasks = started_tasks_},
          .intake = intake_,
          .evaluate = [](const Evaluation&, auto) { CHECK(false, "the rig has no jq worker"); },
          .archive = [](const ArchivePage&, auto) { CHECK(false, "the rig has no archive"); },
          .metrics = metrics_},
      ProcessorOptions{});
  CHECK(processor_->load().has_value());
  StreamOpened stream;
  stream.position.stream_created = 1;
  deliveries_.emplace_back(stream);
  turn();
}

EngineRig::~EngineRig() = default;

void EngineRig::apply(const std::string& workflow_text) {
  auto workflow = load_stored(workflow_text);
  CHECK(workflow.has_value(), "{}", workflow.error().message);
  intake_.command(
      ApplyWorkflow{"default", workflow_text, *std::move(workflow)},
      [](const Result<Json>& answer) { CHECK(answer.has_value(), "{}", answer.error().message); });
  turn();
}

void EngineRig::add(std::string_view type, const std::string& id, const std::string& key) {
  add({.subject = fmt::format("millrace.events.default.{}", type),
       .headers = {{"content-type", "application/cloudevents+json"}},
       .data = with_key(type, id, key)});
}

void EngineRig::add_echoes() {
  for (NatsMessage& message : std::exchange(echo_.messages, {})) add(std::move(message));
  acknowledge();
}

void EngineRig::acknowledge() {
  for (Publisher::Done& done : std::exchange(echo_.waiting, {})) {
    done(PublishAck{.sequence = ++echo_.sequence});
  }
}

void EngineRig::add(NatsMessage message) {
  const double before = thread_seconds();
  deliveries_.push_back(
      read_delivery(std::move(message), {.sequence = ++sequence_, .stamped = clock_.now()}));
  decoding += thread_seconds() - before;
  ++events;
}

void EngineRig::turn() {
  if (!deliveries_.empty()) intake_.deliver(std::exchange(deliveries_, {}));
  const double before = thread_seconds();
  processor_->turn();
  turning += thread_seconds() - before;
}

void EngineRig::run_until_idle() {
  turn();
  const double before = thread_seconds();
  do {
    acknowledge();
  } while (processor_->turn());
  turning += thread_seconds() - before;
}

}  // namespace millrace
