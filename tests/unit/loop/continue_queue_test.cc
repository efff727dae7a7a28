// ContinueQueue: which of many instances that continue a turn gets.
#include "orchestrator/loop/continue_queue.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ContinueInput input_of(uint32_t ns, uint32_t workflow, uint8_t id, uint64_t since = 0) {
  return {NamespaceNumber(ns), numbered_id(id), WorkflowNumber(workflow), since};
}

/// The inputs as "namespace.workflow: last byte of the id".
std::vector<std::string> shown(const std::vector<ContinueInput>& inputs) {
  std::vector<std::string> all;
  for (const ContinueInput& one : inputs) {
    all.push_back(fmt::format("{}.{}: {}", static_cast<uint32_t>(one.ns),
                              static_cast<uint32_t>(one.workflow), one.instance.bytes.back()));
  }
  return all;
}

TEST(ContinueQueue, ReturnsFewInputsAtOnce) {
  ContinueQueue queue;
  EXPECT_THAT(shown(queue.next({input_of(2, 1, 1), input_of(1, 1, 2), input_of(2, 1, 3)})),
              ElementsAre("1.1: 2", "2.1: 1", "2.1: 3"));
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.has_other_lanes());
  EXPECT_THAT(queue.next({}), IsEmpty());
}

TEST(ContinueQueue, ReturnsSomeInputsOfEachLaneInTheirOrder) {
  ContinueQueue queue({.inputs = 4, .lanes = 9});
  std::vector<ContinueInput> inputs;
  for (uint8_t id = 1; id <= 5; ++id) inputs.push_back(input_of(1, 1, id));
  inputs.push_back(input_of(1, 2, 6));
  inputs.push_back(input_of(1, 2, 7));
  inputs.push_back(input_of(1, 2, 8));
  EXPECT_THAT(shown(queue.next(inputs)), ElementsAre("1.1: 1", "1.1: 2", "1.2: 6", "1.2: 7"));
  EXPECT_FALSE(queue.empty());
  EXPECT_FALSE(queue.has_other_lanes());
  // The turn has left one of them, and two more continue.
  EXPECT_THAT(shown(queue.next({input_of(1, 1, 2, 1), input_of(1, 1, 9), input_of(1, 2, 10)})),
              ElementsAre("1.1: 2", "1.1: 3", "1.2: 8", "1.2: 10"));
  EXPECT_THAT(shown(queue.next({})), ElementsAre("1.1: 4", "1.1: 5", "1.1: 9"));
  EXPECT_TRUE(queue.empty());
}

TEST(ContinueQueue, KeepsTheOrderOfInputsThatTurnsHaveLeft) {
  ContinueQueue queue({.inputs = 1, .lanes = 1});
  EXPECT_THAT(shown(queue.next({input_of(1, 1, 3, 7), input_of(1, 1, 5), input_of(1, 1, 1, 4),
                                input_of(1, 1, 4, 7), input_of(1, 1, 2, 4)})),
              ElementsAre("1.1: 1"));
  for (const char* const expected : {"1.1: 2", "1.1: 3", "1.1: 4", "1.1: 5"}) {
    EXPECT_THAT(shown(queue.next({})), ElementsAre(expected));
  }
}

TEST(ContinueQueue, LetsTheLanesOfANamespaceTakeTurnsBesideThoseOfOthers) {
  ContinueQueue queue({.inputs = 4, .lanes = 4});
  std::vector<ContinueInput> inputs = {input_of(2, 1, 100), input_of(2, 1, 101)};
  for (uint32_t workflow = 1; workflow <= 6; ++workflow) {
    inputs.push_back(input_of(1, workflow, static_cast<uint8_t>(workflow)));
    inputs.push_back(input_of(1, workflow, static_cast<uint8_t>(workflow + 10)));
  }
  EXPECT_THAT(shown(queue.next(inputs)), ElementsAre("1.1: 1", "1.2: 2", "2.1: 100"));
  EXPECT_TRUE(queue.has_other_lanes());
  EXPECT_THAT(shown(queue.next({})), ElementsAre("1.3: 3", "1.4: 4", "2.1: 101"));
  EXPECT_THAT(shown(queue.next({})), ElementsAre("1.5: 5", "1.6: 6", "1.1: 11", "1.2: 12"));
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.has_other_lanes());
  EXPECT_THAT(queue.next({}), IsEmpty());
}

TEST(ContinueQueue, ReturnsEachOfManyInputsOnce) {
  ContinueQueue queue;
  std::vector<ContinueInput> inputs;
  for (uint32_t i = 0; i < 20'000; ++i) {
    ContinueInput one = input_of(1 + i % 7, 1 + i % 301, 0);
    one.instance.bytes[0] = static_cast<uint8_t>(i >> 8);
    one.instance.bytes[1] = static_cast<uint8_t>(i);
    inputs.push_back(one);
  }
  std::set<InstanceId> seen;
  size_t all = 0;
  std::vector<ContinueInput> taken = queue.next(inputs);
  for (int turns = 0; turns < 1'000 && !taken.empty(); ++turns) {
    EXPECT_LE(taken.size(), 1'024U);
    all += taken.size();
    for (const ContinueInput& one : taken) seen.insert(one.instance);
    taken = queue.next({});
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(all, inputs.size());
  EXPECT_THAT(seen, SizeIs(inputs.size()));
}

}  // namespace
}  // namespace millrace
