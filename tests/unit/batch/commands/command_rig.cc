#include "tests/unit/batch/commands/command_rig.h"

#include <array>
#include <utility>
#include <variant>

#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {

CommandRig::CommandRig() {
  const auto check = [](const Status& done) { EXPECT_TRUE(done) << done.error().message; };
  check(catalog_.load(tx_));
  check(dedupe_.load(tx_));
  check(kept_events_.load(tx_));
  check(tasks_.load(tx_));
  check(webhook_outbox_.load(tx_));
  check(purges_.load());
  check(catalog_.create_namespace(tx_, std::string(kDefaultNamespace), now));
  check(commit());
}

std::unique_ptr<Environment> CommandRig::open() {
  EnvironmentOptions options;
  options.fails_read = [this](Table, std::string_view) { return ++reads_ == failing_read_; };
  auto opened = Environment::open(folder_.path(), options);
  EXPECT_TRUE(opened) << opened.error().message;
  return *std::move(opened);
}

BatchParts CommandRig::parts() {
  return {.tx = tx_,
          .catalog = catalog_,
          .waiting = waiting_,
          .live = live_,
          .dedupe = dedupe_,
          .kept_events = kept_events_,
          .tasks = tasks_,
          .webhook_outbox = webhook_outbox_,
          .crash_note = crash_note_,
          .damages = damages_,
          .batches = batches_,
          .meter = meter_,
          .make_id =
              [this](TimePoint at) {
                std::array<uint8_t, 10> rest{};
                ++ids_;
                for (size_t i = 0; i < 8; ++i) rest[2 + i] = uint8_t(ids_ >> (56 - 8 * i));
                return make_instance_id(at, rest);
              },
          .id_key = "the key of the ids",
          .limits = {}};
}

Status CommandRig::commit() {
  TRY(instances_.write());
  for (const auto& [counter, number] : batch_.counters) write_counter(tx_, counter, number);
  batch_.counters.clear();
  batch_.outcome = {};
  TRY(tx_.commit());
  batches_.begin();
  return {};
}

Json CommandRig::must(Command command) {
  while (true) {
    Result<CommandProgress> progress = run(command);
    EXPECT_TRUE(progress) << progress.error().code << ": " << progress.error().message;
    if (!progress) return nullptr;
    const Status done = commit();
    EXPECT_TRUE(done) << done.error().message;
    if (auto* const answer = std::get_if<Json>(&*progress)) return std::move(*answer);
    command = std::get<Command>(*std::move(progress));
  }
}

Error CommandRig::refusal(Command command) {
  const Result<CommandProgress> progress = run(command);
  EXPECT_FALSE(progress);
  return progress ? Error{} : progress.error();
}

ApplyWorkflow CommandRig::apply_workflow(const std::string& yaml, std::string ns) {
  auto workflow = load_stored(yaml);
  EXPECT_TRUE(workflow) << workflow.error().message;
  return {.ns = std::move(ns), .text = yaml, .workflow = workflow.value_or(nullptr)};
}

InstanceId CommandRig::start(const std::string& workflow, Json input) {
  const Json answer =
      must(StartInstance{.ns = "default", .workflow = workflow, .input = std::move(input)});
  return parse_instance_id(answer.value("id", "")).value_or(InstanceId{});
}

Instance CommandRig::instance(const InstanceId& id, NamespaceNumber ns) {
  auto found = read_instance(tx_, ns, id);
  EXPECT_TRUE(found && *found);
  return found && *found ? **std::move(found) : Instance{};
}

void expect_every_read_fault_loses_the_batch(
    const std::function<Command(CommandRig& rig)>& prepare) {
  for (uint64_t nth = 1; nth < 1'000; ++nth) {
    SCOPED_TRACE("read " + std::to_string(nth) + " failed");
    CommandRig rig;
    const Command command = prepare(rig);
    rig.fail_read(nth);
    const Result<CommandProgress> progress = rig.run(command);
    const Status done = progress ? rig.commit() : Status(tl::unexpected(progress.error()));
    if (!rig.has_failed()) {
      EXPECT_TRUE(done) << done.error().code << ": " << done.error().message;
      EXPECT_GT(nth, 1U) << "the command read nothing";
      return;
    }
    // An answer is sent only once its batch is on disk. An answer that is wrong because of the
    // failed read is dropped with the batch.
    const Status batch = progress ? done : rig.batch().tx.status();
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, "store.io") << batch.error().message;
  }
  FAIL() << "the command does not end";
}

}  // namespace millrace
