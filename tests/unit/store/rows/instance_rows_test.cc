#include "orchestrator/store/rows/instance_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class InstanceRows : public StoreTest {
 protected:
  InstanceRows() {
    instance_ = {.id = {{1, 2, 3}},
                 .ns = NamespaceNumber(1),
                 .revision = {WorkflowNumber(1), 1},
                 .status = InstanceStatus::kWaiting,
                 .input = Json{{"in", "the input"}}};
    instance_.input.shared_text();
    instance_.data = instance_.input;
  }

  void write(std::vector<HistoryRecord> records, std::vector<size_t> with_input = {}) {
    write_history(*tx, instance_.last_history + 1,
                  {.ns = instance_.ns,
                   .instance = instance_.id,
                   .previous = instance_.last_history,
                   .records = std::move(records),
                   .with_input = std::move(with_input)});
    ++instance_.last_history;
  }

  size_t rows_with(Table table, std::string_view what) const {
    size_t rows = 0;
    static_cast<const View&>(*tx).scan(table, {}, [&](std::string_view, std::string_view value) {
      rows += value.find(what) == std::string_view::npos ? 0 : 1;
      return true;
    });
    return rows;
  }

  Instance instance_;
};

TEST_F(InstanceRows, KeepTheDataOfAnEndedInstanceInItsHistory) {
  write_instance(*tx, instance_, {.input = true});
  write({{.kind = HistoryKind::kStarted}});
  instance_.data = Json{{"at", "the end"}};
  instance_.status = InstanceStatus::kComplete;
  instance_.phase = Phase::kEnded;
  instance_.ended_at = instance_.started_at;
  write({{.kind = HistoryKind::kLog, .data = LazyJson(Json("before"))},
         {.kind = HistoryKind::kEntered, .state = "z", .data = instance_.data},
         {.kind = HistoryKind::kEnded}});
  write_instance(*tx, instance_, {.data = true, .ends_history = true});
  commit();
  EXPECT_EQ(rows_with(Table::kEnded, "the end"), 0U);
  EXPECT_EQ(rows_with(Table::kHistory, "the end"), 1U);

  const auto whole = read_instance(*tx, instance_.ns, instance_.id);
  ASSERT_TRUE(whole && *whole) << whole.error().message;
  EXPECT_EQ((*whole)->data, instance_.data);
  EXPECT_EQ((*whole)->input, instance_.input);
}

TEST_F(InstanceRows, GetTheDataOfAnEndedInstanceFromItsHistoryBeforeTheRecordIsErased) {
  for (const bool is_input : {false, true}) {
    instance_.status = InstanceStatus::kComplete;
    instance_.phase = Phase::kEnded;
    instance_.ended_at = instance_.started_at;
    instance_.data = is_input ? instance_.input : LazyJson(Json{{"at", "the end"}});
    write({{.kind = HistoryKind::kStarted},
           {.kind = HistoryKind::kEntered, .state = "z", .data = instance_.data},
           {.kind = HistoryKind::kEnded}});
    write_instance(*tx, instance_, {.input = true, .data = true, .ends_history = true});
    ASSERT_TRUE(store_final_data(*tx, instance_));
    begin_history_within(*tx, instance_.last_history,
                         read_history_row(*tx, instance_.last_history).value(), 2);
    write_head(*tx, instance_);
    const Instance whole = read_instance(*tx, instance_.ns, instance_.id).value().value();
    EXPECT_EQ(whole.data, instance_.data);
    EXPECT_EQ(whole.part_bytes, instance_.part_bytes);
    EXPECT_EQ(rows_with(Table::kEnded, "the end"), is_input ? 0U : 1U);
    const size_t before = rows_with(Table::kEnded, "");
    ASSERT_TRUE(store_final_data(*tx, instance_)) << "a second call changes nothing";
    EXPECT_EQ(rows_with(Table::kEnded, ""), before);
    EXPECT_EQ(before, is_input ? 2U : 3U) << "data that equals the input has no row";
  }
}

TEST_F(InstanceRows, KeepTheStartingEventUntilTheInstanceIsErased) {
  instance_.start_event = Json{{"id", "the event"}};
  write({{.kind = HistoryKind::kStarted}});
  write_instance(*tx, instance_, {.is_new = true, .input = true});
  EXPECT_EQ(rows_with(Table::kLive, "the event"), 1U);
  const Instance live = read_live(*tx, instance_.ns, instance_.id).value().value();
  EXPECT_TRUE(live.start_event.is_null()) << "most steps do not need it";
  EXPECT_EQ(read_start_event(*tx, live).value(), instance_.start_event);

  instance_.status = InstanceStatus::kComplete;
  instance_.phase = Phase::kEnded;
  instance_.ended_at = instance_.started_at;
  const std::vector<Call> none;
  write_instance(*tx, instance_, {.calls = &none});
  EXPECT_EQ(rows_with(Table::kLive, "the event"), 0U);
  EXPECT_EQ(rows_with(Table::kEnded, "the event"), 1U);
  const Instance whole = read_instance(*tx, instance_.ns, instance_.id).value().value();
  EXPECT_EQ(whole.start_event, instance_.start_event);
  EXPECT_EQ(whole.part_bytes, instance_.part_bytes);
  erase_instance(*tx, whole);
  EXPECT_EQ(rows_with(Table::kEnded, ""), 0U);
}

TEST_F(InstanceRows, HaveNoRowForAStartWithoutAnEvent) {
  write({{.kind = HistoryKind::kStarted}});
  write_instance(*tx, instance_, {.input = true});
  const Instance live = read_live(*tx, instance_.ns, instance_.id).value().value();
  EXPECT_TRUE(read_start_event(*tx, live).value().is_null());
  EXPECT_EQ(rows_with(Table::kLive, ""), 2U) << "the head and the input";
}

TEST_F(InstanceRows, KeepTheDataOfALiveInstanceInARowOfItsOwn) {
  instance_.data = Json{{"on", "the way"}};
  write({{.kind = HistoryKind::kEntered, .state = "a", .data = instance_.data}});
  write_instance(*tx, instance_, {.input = true, .data = true, .ends_history = true});
  commit();
  EXPECT_EQ(rows_with(Table::kLive, "the way"), 1U) << "each wake reads the data";
}

TEST_F(InstanceRows, AreReportedAsDamagedIfTheHistoryLacksTheDataOfAnEndedInstance) {
  instance_.status = InstanceStatus::kFailed;
  instance_.phase = Phase::kEnded;
  instance_.ended_at = instance_.started_at;
  write({{.kind = HistoryKind::kStarted}});
  write_instance(*tx, instance_, {.input = true, .data = true, .ends_history = true});
  commit();
  const auto whole = read_instance(*tx, instance_.ns, instance_.id);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, kDamagedRow);
}

TEST_F(InstanceRows, KeepTheInputOnceForTheWholeHistory) {
  write({{.kind = HistoryKind::kStarted},
         {.kind = HistoryKind::kEntered, .state = "a", .data = instance_.data},
         {.kind = HistoryKind::kLog, .state = "a", .data = LazyJson(Json("other"))},
         {.kind = HistoryKind::kEntered, .state = "b", .data = instance_.data}},
        {1, 3});
  write_instance(*tx, instance_, {.input = true});
  commit();
  EXPECT_EQ(rows_with(Table::kLive, "the input"), 1U);
  EXPECT_EQ(rows_with(Table::kHistory, "the input"), 0U);

  const auto whole = read_instance(*tx, instance_.ns, instance_.id);
  ASSERT_TRUE(whole && *whole);
  const auto records = read_history(*tx, **whole);
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 4U);
  EXPECT_FALSE((*records)[0].data);
  EXPECT_EQ((*records)[1].data, instance_.input);
  EXPECT_EQ((*records)[2].data, LazyJson(Json("other")));
  EXPECT_EQ((*records)[3].data, instance_.input);
}

TEST_F(InstanceRows, AreReadWithTheInputOnRequest) {
  write_instance(*tx, instance_, {.input = true});
  EXPECT_EQ(read_input(*tx, instance_).value(), instance_.input);
  EXPECT_EQ(read_live(*tx, instance_.ns, instance_.id).value()->data, instance_.input)
      << "unchanged data is the input";
  EXPECT_FALSE(read_live(*tx, NamespaceNumber(2), instance_.id).value());
}

TEST_F(InstanceRows, AreReportedAsDamagedIfTheInputIsMissing) {
  write_instance(*tx, instance_, {.data = true});
  EXPECT_EQ(read_input(*tx, instance_).error().code, kDamagedRow);
  EXPECT_EQ(read_instance(*tx, instance_.ns, instance_.id).error().code, kDamagedRow);
}

TEST_F(InstanceRows, KeepTheSlotsAndTheDataOfAState) {
  instance_.slots = {Json("one"), std::nullopt};
  instance_.found_data = LazyJson(Json{{"found", 1}});
  instance_.failed_data = LazyJson(Json{{"failed", 1}});
  write_instance(*tx, instance_,
                 {.input = true, .slots = true, .found_data = true, .failed_data = true});
  auto read = read_live(*tx, instance_.ns, instance_.id).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->slots, instance_.slots);
  EXPECT_EQ(read->found_data, instance_.found_data);
  EXPECT_EQ(read->failed_data, instance_.failed_data);
  instance_.slots.clear();
  instance_.found_data.reset();
  write_instance(*tx, instance_, {.slots = true, .found_data = true});
  read = read_live(*tx, instance_.ns, instance_.id).value();
  EXPECT_TRUE(read->slots.empty());
  EXPECT_FALSE(read->found_data);
}

TEST_F(InstanceRows, EncodeAndDecodeSlotsWithoutChange) {
  const std::vector<std::optional<LazyJson>> slots{LazyJson(Json("one")), std::nullopt};
  EXPECT_EQ(decode_slots(encode_slots(slots)).value(), slots);
  expect_whole(encode_slots(slots), decode_slots);
  expect_known_versions(encode_slots(slots), 1, decode_slots);
}

TEST_F(InstanceRows, CanBeErasedWithoutDecoding) {
  write_instance(*tx, instance_, {.input = true, .data = true});
  EXPECT_EQ(erase_parts(*tx, instance_.ns, instance_.id).value().rows, 3U);
  EXPECT_FALSE(read_instance(*tx, instance_.ns, instance_.id).value());
}

TEST_F(InstanceRows, ReturnTheTimeOfTheLatestHistoryRecord) {
  EXPECT_FALSE(read_last_moved(*tx, instance_.ns, instance_.id).value());
  write_instance(*tx, instance_, {.input = true});
  EXPECT_EQ(read_last_moved(*tx, instance_.ns, instance_.id).value(), instance_.started_at);
  write({{.time = kNow, .kind = HistoryKind::kStarted}});
  write_instance(*tx, instance_, {});
  EXPECT_EQ(read_last_moved(*tx, instance_.ns, instance_.id).value(), kNow);
}

TEST_F(InstanceRows, AreErasedFromTheLiveOnesOnlyIfTheyExist) {
  const std::string key = part_key(rows::instance_prefix(instance_.ns, instance_.id), Part::kData);
  for (const bool has_data_row : {false, true}) {
    Instance one = instance_;
    if (has_data_row) one.data = Json{{"more", 1}};
    write_instance(*tx, one, {.input = true, .data = has_data_row});
    commit();
    one.data = Json{{"at", "the end"}};
    one.status = InstanceStatus::kComplete;
    one.phase = Phase::kEnded;
    one.ended_at = one.started_at;
    write_instance(*tx, one, {.data = true});
    const AbsoluteKey live(Table::kLive, key);
    EXPECT_EQ(tx->write_set().contains(live.view()), has_data_row);
    commit();
    EXPECT_FALSE(read_live(*tx, one.ns, one.id).value());
    EXPECT_EQ(read_instance(*tx, one.ns, one.id).value()->data, one.data);
    ASSERT_EQ(erase_parts(*tx, one.ns, one.id).value().rows, 3U) << "head, input and data";
    commit();
  }
}

TEST_F(InstanceRows, AreReadOnlyIfTheHeadSaysThatTheyExist) {
  write_instance(*tx, instance_, {.input = true});
  const std::string prefix = rows::instance_prefix(instance_.ns, instance_.id);
  for (const Part part : {Part::kSlots, Part::kFoundData}) {
    tx->put(Table::kLive, part_key(prefix, part), "rubbish");
  }
  const auto read = read_live(*tx, instance_.ns, instance_.id);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(*read);
  EXPECT_TRUE((*read)->slots.empty());
  EXPECT_FALSE((*read)->found_data);
  // As the head of an earlier release, which has no sizes.
  instance_.part_bytes = {};
  write_head(*tx, instance_);
  EXPECT_FALSE(read_live(*tx, instance_.ns, instance_.id)) << "the rows are read, and are damaged";
}

TEST_F(InstanceRows, MoveTheRowsThatDoNotChangeWhenTheInstanceEnds) {
  instance_.data = Json{{"on", "the way"}};
  instance_.failed_data = LazyJson(Json{{"failed", 1}});
  instance_.slots = {LazyJson(Json("one")), std::nullopt};
  instance_.found_data = LazyJson(Json{{"found", 1}});
  write_instance(
      *tx, instance_,
      {.input = true, .data = true, .slots = true, .found_data = true, .failed_data = true});
  commit();
  EXPECT_EQ(rows_with(Table::kLive, ""), 6U);
  instance_.slots.clear();
  instance_.found_data.reset();
  instance_.status = InstanceStatus::kFailed;
  instance_.phase = Phase::kEnded;
  instance_.ended_at = instance_.started_at;
  write_instance(*tx, instance_, {.slots = true, .found_data = true});
  commit();
  EXPECT_EQ(rows_with(Table::kLive, ""), 0U);
  EXPECT_EQ(rows_with(Table::kEnded, ""), 4U) << "head, input, data and failed data";
  const auto whole = read_instance(*tx, instance_.ns, instance_.id).value();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->input, instance_.input);
  EXPECT_EQ(whole->data, instance_.data);
  EXPECT_EQ(whole->failed_data, instance_.failed_data);
  EXPECT_EQ(whole->part_bytes, instance_.part_bytes);
}

TEST_F(InstanceRows, ReplaceTheInputOfAnInstanceWhoseNextRunBegins) {
  instance_.data = Json{{"on", "the way"}};
  write_instance(*tx, instance_, {.is_new = true, .input = true, .data = true});
  commit();
  for (const bool ends : {false, true}) {  // in the batch in which the next run begins
    Instance one = instance_;
    erase_data(*tx, one);
    one.input = Json{{"in", ends ? "the last run" : "the next run"}};
    one.data = one.input;
    if (ends) {
      one.status = InstanceStatus::kCancelled;
      one.phase = Phase::kEnded;
      one.ended_at = one.started_at;
    }
    write_instance(*tx, one, {.input = true});
    commit();
    EXPECT_EQ(rows_with(Table::kLive, ""), ends ? 0U : 2U) << "head and input";
    EXPECT_EQ(rows_with(Table::kEnded, ""), ends ? 2U : 0U);
    const auto whole = read_instance(*tx, one.ns, one.id).value();
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->input, one.input);
    EXPECT_EQ(whole->data, one.input);
    EXPECT_EQ(whole->part_bytes, one.part_bytes);
  }
}

}  // namespace
}  // namespace millrace
