// Answers whose files are too large for one commit: their pieces are stored ahead of them, and no
// variable has a part of a value, however the task ends.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/loop/answer_stager.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;

constexpr const char* kFetches = R"(
id: fetches
functions: [{id: fetch, type: knative-namespace, service: fetch}]
states:
- id: call
  type: action
  action: {function: fetch}
  timeout: PT1H
)";
constexpr size_t kMebibyte = size_t{1} << 20;

class StagedValues : public testing::Test {
 protected:
  StagedValues() {
    world.apply(kFetches);
    id = world.start("fetches")["id"];
    world.run_until_idle();
    begin_process();
  }

  void begin_process() { stager = std::make_unique<AnswerStager>(world.intake()); }
  void restart() {
    stager->end();
    world.restart();
    begin_process();
  }

  static TaskVariable file(VariableScope scope, std::string key, std::string bytes) {
    return {.scope = scope, .key = std::move(key), .value = {.bytes = std::move(bytes)}};
  }
  static std::string text(size_t bytes, char first) {
    std::string made(bytes, ' ');
    for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(first + i / 1'000 % 20);
    return made;
  }
  /// The answer has 4 MiB and some bytes: two values are in pieces, the third one is with it.
  static std::vector<TaskVariable> files() {
    return {file(VariableScope::kNamespace, "large", text(3 * kMebibyte + 5, 'a')),
            file(VariableScope::kInstance, "other", text(kMebibyte, 'c')),
            file(VariableScope::kWorkflow, "small", "7")};
  }
  void answer(std::vector<TaskVariable> variables = files()) {
    stager->report({.task = world.functions.tasks().at(0).id,
                    .what = TaskEnded{.result = "1", .variables = std::move(variables)}},
                   [this] { ++stored; });
  }
  /// Runs until some pieces are stored, but not all of them.
  void run_until_some() {
    while (pieces() < 3 && world.step()) {
    }
    ASSERT_GE(pieces(), 3U);
    ASSERT_LT(pieces(), 17U);
  }

  size_t rows_with(std::string_view text) const {
    size_t count = 0;
    for (const auto& [key, value] : world.rows()) {
      count += key.find(text) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  /// The rows of pieces: behind its mark, the key of one has the eight bytes of its group.
  size_t pieces() const {
    size_t count = 0;
    for (const char* const key : {"large", "other"}) {
      count += rows_with(std::string(key) + std::string("\0\0\0", 3));
    }
    return count;
  }
  size_t purges() const { return rows_with("meta/purge/"); }
  std::string value(const VariablePlace& place, std::string_view key) {
    const Snapshot view = *Snapshot::take(world.environment());
    const auto found = world.queries().variable(view, place, key);
    return found ? found->bytes : found.error().code;
  }
  /// The value without its bytes: how many there are, and the first one.
  static std::string excerpt_of(const std::string& value) {
    return value.size() < 100 ? value : fmt::format("{} {}", value.size(), value.front());
  }
  std::string large() { return excerpt_of(value({.ns = "default"}, "large")); }

  World world;
  std::unique_ptr<AnswerStager> stager;
  std::string id;
  int stored = 0;  ///< answers whose report was stored
};

TEST_F(StagedValues, BecomeVariablesTogether) {
  answer();
  run_until_some();
  EXPECT_EQ(large(), "variable.not_found");
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_EQ(purges(), 1U);
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(stored, 1);
  EXPECT_TRUE(value({.ns = "default"}, "large") == text(3 * kMebibyte + 5, 'a'));
  EXPECT_EQ(value({.ns = "default", .workflow = "fetches"}, "small"), "7");
  EXPECT_TRUE(value({.ns = "default", .instance = *parse_instance_id(id)}, "other") ==
              text(kMebibyte, 'c'));
  EXPECT_EQ(pieces(), 17U) << "13 of one value, 4 of the other";
  EXPECT_EQ(purges(), 0U);
  restart();  // checks the store
  EXPECT_EQ(large(), "3145733 a");
}

TEST_F(StagedValues, AreReplacedByTheNextValue) {
  answer();
  world.run_until_idle();
  const Answered set = world.command(PutVariable{{.ns = "default"}, "large", {.bytes = "new"}});
  world.run_until_idle();
  ASSERT_TRUE(*set && **set);
  EXPECT_EQ(large(), "new");
  EXPECT_EQ(pieces(), 4U);
  world.must(DeleteInstance{.ns = "default", .instance = *parse_instance_id(id)});
  world.run_until_idle();
  EXPECT_EQ(pieces(), 0U) << "those of the instance are erased with it";
  restart();
}

TEST_F(StagedValues, AreErasedIfTheTaskEndsBeforeItsAnswer) {
  answer();
  run_until_some();
  const Answered cancelled = world.command(
      CancelInstance{.ns = "default", .instance = *parse_instance_id(id), .now = true});
  while (!*cancelled && world.step()) {
  }
  ASSERT_LT(pieces(), 17U);
  world.run_until_idle();
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(large(), "variable.not_found");
  EXPECT_EQ(stored, 1) << "the late answer is ignored";
  EXPECT_EQ(pieces(), 0U);
  EXPECT_EQ(purges(), 0U);
  restart();
}

TEST_F(StagedValues, AreErasedAfterACrashAndComeOnceFromTheNextAnswer) {
  for (int crash = 0; crash < 4; ++crash) {
    answer();
    run_until_some();
    restart();
    EXPECT_EQ(large(), "variable.not_found");
    world.run_until_idle();
    world.run_for(minutes(1));
    EXPECT_EQ(pieces(), 0U);
    EXPECT_EQ(purges(), 0U);
  }
  answer();
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(large(), "3145733 a");
  EXPECT_EQ(pieces(), 17U);
  restart();
}

TEST_F(StagedValues, AreErasedIfTheAnswerHasOthers) {
  answer();
  run_until_some();
  // The service answers again, and the pieces of its first answer are still under way.
  answer({file(VariableScope::kNamespace, "large", text(2 * kMebibyte, 'e'))});
  world.run_until_idle();
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(large(), "2097152 e");
  EXPECT_EQ(pieces(), 8U);
  EXPECT_EQ(purges(), 0U);
  restart();
}

TEST_F(StagedValues, AreAnErrorIfTheirPiecesAreNotThere) {
  TaskVariable lost = file(VariableScope::kNamespace, "large", "");
  lost.staged = StagedValue{.staging = 77, .size = 9};
  world.intake().report({.task = world.functions.tasks().at(0).id,
                         .what = TaskEnded{.result = "1", .variables = {lost}}},
                        {});
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.function.files");
  EXPECT_EQ(large(), "variable.not_found");
}

TEST_F(StagedValues, AreErasedWithTheirNamespace) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kFetches, "shop");
  const std::string of_shop =
      world.must(StartInstance{.ns = "shop", .workflow = "fetches", .input = Json::object()})["id"];
  world.run_until_idle();
  const InstanceId task = world.functions.tasks().at(1).id;
  stager->report({.task = task, .what = TaskEnded{.result = "1", .variables = files()}}, {});
  run_until_some();
  const Answered cancelled = world.command(
      CancelInstance{.ns = "shop", .instance = *parse_instance_id(of_shop), .now = true});
  while (!*cancelled && world.step()) {
  }
  ASSERT_GE(pieces(), 3U);
  world.must(DeleteNamespace{.name = "shop"});
  world.run_until_idle();
  world.run_for(minutes(1));
  EXPECT_EQ(pieces(), 0U);
  EXPECT_EQ(purges(), 0U);
  restart();
}

TEST_F(StagedValues, AreTheWorkOfOtherTurnsThanThoseOfOthers) {
  world.apply("id: short\nstates:\n- {id: a, type: noop}\n");
  answer();
  run_until_some();
  const Answered started =
      world.command(StartInstance{.ns = "default", .workflow = "short", .input = Json::object()});
  while (!*started && world.step()) {
  }
  ASSERT_TRUE(*started && **started);
  const std::string other = (***started)["id"];
  EXPECT_EQ(world.status(other), "complete");
  EXPECT_LT(pieces(), 17U) << "another instance has ended meanwhile";
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
}

}  // namespace
}  // namespace millrace
