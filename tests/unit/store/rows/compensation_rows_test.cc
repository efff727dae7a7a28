#include "orchestrator/store/rows/compensation_rows.h"

#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

Compensation compensation(int number) { return {.state = 3, .input = Json{{"n", number}}}; }

TEST(CompensationRow, KeepsTheStateAndTheInput) {
  const std::string bytes = encode_compensation(compensation(7));
  const Compensation read = decode_compensation(bytes).value();
  EXPECT_EQ(read.state, 3U);
  EXPECT_EQ(read.input, LazyJson(Json{{"n", 7}}));
  EXPECT_FALSE(read.of_call);
  const Compensation of_call{.state = 3, .input = Json{{"return", 1}}, .of_call = true};
  EXPECT_TRUE(decode_compensation(encode_compensation(of_call)).value().of_call);
  expect_whole(bytes, decode_compensation);
  expect_known_versions(bytes, 1, decode_compensation);
}

TEST(CompensationsOfAHead, AreKept) {
  Instance head{.id = id(1)};
  head.compensations = 7;
  head.part_bytes[static_cast<size_t>(Part::kCompensation)] = 300;
  head.compensates = true;
  head.compensating = PendingEnd{.status = InstanceStatus::kTimedOut, .state = 4};
  head.compensation_error = Error{"a", "b"};
  const std::string bytes = encode_head(head);
  EXPECT_EQ(bytes[0], 10);
  const Instance read = decode_head(bytes).value();
  EXPECT_EQ(read.compensations, 7U);
  EXPECT_EQ(read.part_bytes, [&] {
    auto sizes = head.part_bytes;
    sizes[static_cast<size_t>(Part::kHead)] = bytes.size();
    return sizes;
  }());
  EXPECT_TRUE(read.compensates);
  EXPECT_EQ(read.compensating, head.compensating);
  EXPECT_EQ(read.compensation_error, head.compensation_error);
  expect_whole(bytes, decode_head);
}

TEST(CompensationsOfAHead, AreRefusedIfNoInstanceHasThem) {
  Instance head{.id = id(1), .compensations = kMostCompensations};
  EXPECT_TRUE(decode_head(encode_head(head)));
  head.compensations = kMostCompensations + 1;
  EXPECT_FALSE(decode_head(encode_head(head))) << "too many";
  head.compensations = 0;
  head.compensation_error = Error{"a", "b"};
  EXPECT_FALSE(decode_head(encode_head(head))) << "none can have failed";
  head.compensation_error.reset();
  head.compensations = 1;
  head.compensating = PendingEnd{.status = InstanceStatus::kComplete};
  EXPECT_FALSE(decode_head(encode_head(head))) << "the instance would complete";
}

class CompensationRows : public StoreTest {
 protected:
  CompensationRows() {
    instance_ = {.id = id(1),
                 .ns = NamespaceNumber(1),
                 .revision = {WorkflowNumber(1), 1},
                 .status = InstanceStatus::kWaiting,
                 .input = Json::object()};
    instance_.data = instance_.input;
    for (const int number : {0, 1, 2}) note_compensation(instance_, compensation(number));
    write_instance(*tx, instance_, {.input = true});
  }

  void end() {
    instance_.status = InstanceStatus::kFailed;
    instance_.phase = Phase::kEnded;
    instance_.ended_at = instance_.started_at;
  }
  /// The size of the rows, by the head.
  uint64_t size() const { return instance_.part_bytes[static_cast<size_t>(Part::kCompensation)]; }
  uint64_t size_of_one() const { return encode_compensation(compensation(0)).size(); }

  Instance instance_;
};

TEST_F(CompensationRows, AreReadOneByOne) {
  EXPECT_TRUE(instance_.new_compensations.empty()) << "all of them have rows";
  EXPECT_EQ(size(), 3 * size_of_one());
  EXPECT_EQ(read_compensation(*tx, instance_, 1).value().input, LazyJson(Json{{"n", 1}}));
  EXPECT_TRUE(is_damaged_row(read_compensation(*tx, instance_, 3).error()));
}

TEST_F(CompensationRows, AreWrittenAndErasedAtTheEndOfTheStackOnly) {
  remove_compensation(instance_);
  remove_compensation(instance_);
  note_compensation(instance_, compensation(5));
  write_instance(*tx, instance_, {.compensations = 3});
  EXPECT_EQ(size(), 2 * size_of_one());
  EXPECT_EQ(read_compensation(*tx, instance_, 0).value().input, LazyJson(Json{{"n", 0}}));
  EXPECT_EQ(read_compensation(*tx, instance_, 1).value().input, LazyJson(Json{{"n", 5}}));
  EXPECT_FALSE(read_compensation(*tx, instance_, 2));
}

TEST_F(CompensationRows, AreNotWrittenAgainByAnEndOrANewRun) {
  constexpr uint32_t kMany = 200;
  constexpr size_t kLarge = size_t{32} << 10;
  for (uint32_t n = 3; n < kMany; ++n) {
    note_compensation(instance_, {.state = 3, .input = Json(std::string(kLarge, 'x'))});
  }
  write_instance(*tx, instance_, {.compensations = 3});
  commit();
  EXPECT_GT(size(), kLarge * (kMany - 3));
  const auto written = [this] {
    uint64_t bytes = 0;
    for (const auto& [key, value] : tx->write_set()) {
      bytes += key.size() + (value ? value->size() : 0);
    }
    return bytes;
  };
  end();
  write_instance(*tx, instance_, {.compensations = kMany});
  EXPECT_LT(written(), 1'000U) << "the rows of the compensations stay where they are";
  commit();
  revive_rows(*tx, instance_);
  EXPECT_LT(written(), 1'000U);
  EXPECT_GT(size(), kLarge * (kMany - 3));
  EXPECT_EQ(compensation_bytes(*tx, instance_), size());
  commit();
  instance_.status = InstanceStatus::kRunning;
  remove_compensations(instance_);
  write_instance(*tx, instance_, {.is_new = true, .input = true, .compensations = kMany});
  EXPECT_LT(written(), kMany * 50U) << "the keys of the erased rows, and no value";
  EXPECT_EQ(size(), 0U);
}

TEST_F(CompensationRows, AreErasedInPartIfMoreAreDroppedThanOneCommitErases) {
  constexpr uint32_t kMany = 100;
  for (uint32_t n = 3; n < kMany; ++n) note_compensation(instance_, compensation(1));
  bool is_left = true;
  write_instance(*tx, instance_, {.compensations = 3, .leaves_compensations = &is_left});
  EXPECT_FALSE(is_left) << "nothing was dropped";
  for (uint32_t n = 0; n < kErasedCompensations + 6; ++n) remove_compensation(instance_);
  write_instance(*tx, instance_, {.compensations = kMany, .leaves_compensations = &is_left});
  EXPECT_FALSE(is_left) << "each of them was made or passed over in a step of its own";
  EXPECT_EQ(size(), 30 * size_of_one());
  for (uint32_t n = 30; n < kMany; ++n) note_compensation(instance_, compensation(1));
  write_instance(*tx, instance_, {.compensations = 30, .leaves_compensations = &is_left});
  remove_compensations(instance_);
  note_compensation(instance_, compensation(9));
  write_instance(*tx, instance_, {.compensations = kMany, .leaves_compensations = &is_left});
  EXPECT_TRUE(is_left);
  EXPECT_EQ(size(), size_of_one());
  EXPECT_EQ(compensation_bytes(*tx, instance_), size()) << "a dropped one counts for nothing";
  EXPECT_EQ(read_compensation(*tx, instance_, 0).value().input, LazyJson(Json{{"n", 9}}));
  const std::string prefix =
      part_key(rows::instance_prefix(instance_.ns, instance_.id), Part::kCompensation);
  const auto last = [&] {
    std::string number;
    tx->scan(Table::kEnded, prefix, {}, Direction::kBackward, [&](std::string_view key, auto) {
      number = key.substr(prefix.size());
      return false;
    });
    return Reader(number).u32();
  };
  EXPECT_EQ(last(), kMany - 1);
  const DroppedCompensations dropped{.ns = instance_.ns, .instance = instance_.id};
  PurgeBudget budget{.rows = 10};
  EXPECT_FALSE(purge_compensations(*tx, dropped, 1, budget).value());
  budget = {};
  EXPECT_TRUE(purge_compensations(*tx, dropped, 1, budget).value());
  EXPECT_EQ(budget.rows, PurgeBudget().rows - (kMany - 1 - kErasedCompensations - 10));
  EXPECT_EQ(last(), 0U);
  EXPECT_EQ(size(), size_of_one());
}

TEST_F(CompensationRows, OfADeletedInstanceAreErasedInPart) {
  for (uint32_t n = 3; n < 100; ++n) note_compensation(instance_, compensation(1));
  end();
  write_instance(*tx, instance_, {.compensations = 3});
  EXPECT_TRUE(erase_instance(*tx, instance_, 40));
  EXPECT_FALSE(read_compensation(*tx, instance_, 39));
  EXPECT_TRUE(read_compensation(*tx, instance_, 40)) << "for a purge";
  const ErasedParts erased = erase_parts(*tx, instance_.ns, instance_.id).value();
  EXPECT_FALSE(erased.has_compensations);
  EXPECT_EQ(erased.rows, 60U);
  EXPECT_FALSE(has_rows(*tx, instance_.ns, instance_.id).value());
}

TEST_F(CompensationRows, GoWithAnInstanceThatEnds) {
  remove_compensation(instance_);
  end();
  write_instance(*tx, instance_, {.compensations = 3});
  EXPECT_EQ(size(), 2 * size_of_one());
  EXPECT_TRUE(read_compensation(*tx, instance_, 1));
  erase_instance(*tx, instance_);
  EXPECT_FALSE(has_rows(*tx, instance_.ns, instance_.id).value());
}

TEST_F(CompensationRows, ComeBackWithANewRunAlsoIfOneIsDamaged) {
  end();
  write_instance(*tx, instance_, {.compensations = 3});
  const uint64_t bytes = size();
  Writer damaged;
  damaged.raw(part_key(rows::instance_prefix(instance_.ns, instance_.id), Part::kCompensation));
  damaged.u32(1);
  ASSERT_TRUE(tx->get(Table::kEnded, damaged.view()));
  tx->put(Table::kEnded, damaged.view(), "\1");
  revive_rows(*tx, instance_);
  instance_.status = InstanceStatus::kRunning;
  instance_.phase = Phase::kEntering;
  instance_.ended_at.reset();
  write_instance(*tx, instance_, {.is_new = true, .input = true, .compensations = 3});
  EXPECT_EQ(size(), bytes);
  EXPECT_EQ(read_compensation(*tx, instance_, 0).value().input, LazyJson(Json{{"n", 0}}));
  EXPECT_TRUE(is_damaged_row(read_compensation(*tx, instance_, 1).error()));
  EXPECT_EQ(read_compensation(*tx, instance_, 2).value().input, LazyJson(Json{{"n", 2}}));
  remove_compensation(instance_);
  remove_compensation(instance_);
  write_instance(*tx, instance_, {.compensations = 3});
  EXPECT_EQ(instance_.compensations, 1U);
  EXPECT_TRUE(read_compensation(*tx, instance_, 0)) << "the damaged row is erased like any other";
}

TEST_F(CompensationRows, LeaveNothingWhenAllAreMade) {
  remove_compensations(instance_);
  end();
  write_instance(*tx, instance_, {.compensations = 3});
  EXPECT_EQ(size(), 0U);
  erase_instance(*tx, instance_);
  EXPECT_FALSE(has_rows(*tx, instance_.ns, instance_.id).value());
}

}  // namespace
}  // namespace millrace
