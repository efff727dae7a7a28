#include "orchestrator/store/rows/event_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

constexpr const char* kEvent = R"({"specversion":"1.0","id":"1","source":"s","type":"t"})";

class EventRows : public StoreTest {};

TEST_F(EventRows, StoreKeptEventsByNamespaceAndType) {
  const KeptEventPlace place{.ns = NamespaceNumber(2), .type = {9}, .number = 7};
  const KeptEventRecord record{.known_as = {1, 2},
                               .event = kEvent,
                               .stamped = from_millis(3),
                               .after_timers = from_millis(4)};
  write_kept_event(*tx, place, record);
  write_kept_event(*tx, {place.ns, place.type, 8}, record);
  write_kept_event(*tx, {place.ns, {3}, 99}, record);
  const auto read = read_kept_event(*tx, place).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->known_as, record.known_as);
  EXPECT_EQ(read->stamped, record.stamped);
  EXPECT_EQ(read->after_timers, record.after_timers);
  EXPECT_EQ(event_of(place, *read).value().type, "t");
  EXPECT_EQ(last_kept_event(*tx).value(), 99U);
  size_t all = 0;
  EXPECT_TRUE(each_kept_event(*tx, [&](const KeptEventPlace&, const KeptEventRecord&) { ++all; }));
  EXPECT_EQ(all, 3U);
  erase_kept_event(*tx, place);
  EXPECT_FALSE(read_kept_event(*tx, place).value());
  expect_whole(encode(record), decode_kept_event);
  expect_known_versions(encode(record), 3, decode_kept_event);
  std::string older = encode(record);
  for (const uint8_t version : {2, 1}) {  // each lacks two fields of one byte
    older.front() = static_cast<char>(version);
    older.resize(older.size() - 2);
    EXPECT_EQ(decode_kept_event(older).value().position, EventPosition{});
    EXPECT_EQ(decode_kept_event(older).value().stamped, TimePoint{});
  }
}

TEST_F(EventRows, RefuseKeptEventsUnderAMalformedKey) {
  tx->put(Table::kKeptEvents, "short", encode(KeptEventRecord{.event = kEvent}));
  const auto walked = each_kept_event(*tx, [](const KeptEventPlace&, const KeptEventRecord&) {});
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code, kDamagedRow);
}

TEST_F(EventRows, StoreFanOutsByNumber) {
  write_fan_out(*tx, 7);
  write_fan_out(*tx, 9);
  erase_fan_out(*tx, 7);
  tx->put(Table::kFanout, "bad", "");
  std::vector<uint64_t> numbers;
  size_t damages = 0;
  EXPECT_TRUE(each_fan_out(
      *tx, [&](uint64_t number) { numbers.push_back(number); }, [&](const Error&) { ++damages; }));
  EXPECT_EQ(numbers, std::vector<uint64_t>{9});
  EXPECT_EQ(damages, 1U);
}

TEST_F(EventRows, StoreLateMatchesBesideFanOuts) {
  const LateMatchRecord record{.starts = {WorkflowNumber(3), WorkflowNumber(400)},
                               .instances = {id(1), id(2)}};
  write_fan_out(*tx, 7);
  write_late_match(*tx, 7, record);
  write_late_match(*tx, 9, {});
  erase_late_match(*tx, 9);
  std::vector<uint64_t> numbers;
  EXPECT_TRUE(each_fan_out(*tx, [&](uint64_t number) { numbers.push_back(number); }));
  EXPECT_EQ(numbers, std::vector<uint64_t>{7});
  numbers.clear();
  EXPECT_TRUE(each_late_match(*tx, [&](uint64_t number, const LateMatchRecord& read) {
    numbers.push_back(number);
    EXPECT_EQ(read, record);
  }));
  EXPECT_EQ(numbers, std::vector<uint64_t>{7});
  expect_whole(encode(record), decode_late_match);
  expect_known_versions(encode(record), 1, decode_late_match);
  const std::string key = rows::key_of(uint64_t{0}) + '\1';
  EXPECT_TRUE(is_late_match_key(key));
  EXPECT_EQ(late_match_number(key).error().code, kDamagedRow);
  EXPECT_FALSE(is_late_match_key(rows::key_of(uint64_t{1})));
}

TEST_F(EventRows, StoreDelayedEvents) {
  const DelayedRecord record{
      .ns = NamespaceNumber(2), .instance = id(1), .at = kNow, .event = kEvent};
  write_delayed(*tx, 7, record);
  const auto read = read_delayed(*tx, 7).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ns, record.ns);
  EXPECT_EQ(read->instance, id(1));
  EXPECT_EQ(read->at, kNow);
  EXPECT_EQ(event_of(7, *read).value().id, "1");
  size_t all = 0;
  EXPECT_TRUE(each_delayed(*tx, [&](uint64_t number, const DelayedRecord&) { all += number; }));
  EXPECT_EQ(all, 7U);
  erase_delayed(*tx, 7);
  EXPECT_FALSE(read_delayed(*tx, 7).value());
  expect_whole(encode(record), decode_delayed);
  expect_known_versions(encode(record), 1, decode_delayed);
}

TEST_F(EventRows, StoreTheFingerprintsOfABatchInOneRow) {
  const std::vector<Fingerprint> events{{255, 1}, {2}};
  write_dedupe(*tx, kNow, 17, events);
  EXPECT_EQ(read_dedupe(*tx, kNow, 17).value(), events) << "the first byte is not taken for a seal";
  EXPECT_TRUE(read_dedupe(*tx, kNow, 18).value().empty());
  size_t rows = 0;
  const auto see = [&](TimePoint time, uint64_t sequence, const std::vector<Fingerprint>& read) {
    ++rows;
    EXPECT_EQ(time, kNow);
    EXPECT_EQ(sequence, 17U);
    EXPECT_EQ(read, events);
  };
  tx->put(Table::kDedupe, "bad", "x");
  EXPECT_FALSE(each_dedupe(*tx, see));
  size_t damages = 0;
  rows = 0;
  EXPECT_TRUE(each_dedupe(*tx, see, [&](const Error&) { ++damages; }));
  EXPECT_EQ(rows, 1U);
  EXPECT_EQ(damages, 1U);
  erase_dedupe(*tx, kNow, 17);
  EXPECT_TRUE(read_dedupe(*tx, kNow, 17).value().empty());
}

TEST_F(EventRows, RefuseFingerprintsThatAreCutShort) {
  write_dedupe(*tx, kNow, 1, {{7}});
  for (const size_t size : {1, 15, 17, 31}) {
    const std::string key = rows::key_of(static_cast<uint64_t>(to_millis(kNow))) +
                            rows::key_of(static_cast<uint64_t>(2));
    tx->put(Table::kDedupe, key, std::string(size, 'x'));
    std::vector<uint64_t> sequences;
    std::vector<std::string> damages;
    EXPECT_TRUE(each_dedupe(
        *tx,
        [&](TimePoint, uint64_t sequence, const std::vector<Fingerprint>&) {
          sequences.push_back(sequence);
        },
        [&](const Error& error) { damages.push_back(error.code); }));
    EXPECT_EQ(sequences, std::vector<uint64_t>{1}) << size;
    EXPECT_EQ(damages, std::vector<std::string>{std::string(kDamagedRow)}) << size;
  }
}

}  // namespace
}  // namespace millrace
