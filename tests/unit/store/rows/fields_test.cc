#include "orchestrator/store/rows/fields.h"

#include <limits>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"

namespace millrace {
namespace {

TEST(Fields, AcceptVersionsFromOneToTheNewest) {
  for (int version = 0; version < 256; ++version) {
    const std::string bytes(1, static_cast<char>(version));
    Reader reader(bytes);
    EXPECT_EQ(rows::read_version(reader, 3), version);
    EXPECT_EQ(reader.ok(), version >= 1 && version <= 3) << version;
  }
  EXPECT_EQ(rows::begin_record().take(), "\x01");
  EXPECT_EQ(rows::begin_record(6).take(), "\x06");
}

TEST(Fields, RefuseARecordWithTrailingBytes) {
  Reader whole = rows::open_record("\x01");
  EXPECT_EQ(rows::end_record(whole, 7, "thing").value(), 7);
  Reader longer = rows::open_record("\x01x");
  const auto read = rows::end_record(longer, 7, "thing");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, "store.corrupt");
  EXPECT_NE(read.error().message.find("(thing)"), std::string::npos) << read.error().message;
}

TEST(Fields, AcceptOnlyTimesOfTheYears0To9999) {
  const auto read = [](TimePoint time) {
    Writer writer;
    rows::put_time(writer, time);
    const std::string bytes = writer.take();
    Reader reader(bytes);
    const TimePoint found = rows::get_time(reader);
    return reader.ok() ? std::optional(found) : std::nullopt;
  };
  for (const TimePoint time : {kFirstTime, kNow, kLastTime}) EXPECT_EQ(read(time), time);
  EXPECT_FALSE(read(kFirstTime - Duration(1)));
  EXPECT_FALSE(read(kLastTime + Duration(1)));
}

TEST(Fields, AcceptOnlyDistancesThatLeadToTimesOfTheYears0To9999) {
  const auto read = [](Duration distance) {
    Writer writer;
    rows::put_duration(writer, distance);
    const std::string bytes = writer.take();
    Reader reader(bytes);
    const TimePoint found = rows::get_time_from(reader, kNow);
    return reader.ok() ? std::optional(found) : std::nullopt;
  };
  EXPECT_EQ(read(std::chrono::hours(-2)), kNow - std::chrono::hours(2));
  EXPECT_EQ(read(kLastTime - kNow), kLastTime);
  EXPECT_FALSE(read(kLastTime - kNow + Duration(1)));
}

TEST(Fields, RefuseNumbersAboveTheirMaximum) {
  const auto reads = [](uint64_t number, auto get) {
    Writer writer;
    writer.varint(number);
    const std::string bytes = writer.take();
    Reader reader(bytes);
    get(reader);
    return reader.done();
  };
  EXPECT_TRUE(reads(kMostNumber, rows::get_number));
  EXPECT_FALSE(reads(kMostNumber + 1, rows::get_number));
  EXPECT_TRUE(reads(std::numeric_limits<uint32_t>::max(), rows::get_u32));
  EXPECT_FALSE(reads(uint64_t{1} << 32, rows::get_u32));
}

TEST(Fields, ReplaceMalformedUtf8WithQuestionMarks) {
  Writer writer;
  writer.bytes("a\xff\xfe z");
  writer.bytes("\xc3\xbc");
  const std::string bytes = writer.take();
  Reader reader(bytes);
  EXPECT_EQ(rows::get_text(reader), "a?? z");
  EXPECT_EQ(rows::get_text(reader), "\xc3\xbc");
  EXPECT_TRUE(reader.done());
}

TEST(Fields, RefuseMalformedJson) {
  Writer writer;
  writer.bytes("{");
  const std::string bytes = writer.take();
  Reader reader(bytes);
  rows::get_json(reader);
  EXPECT_FALSE(reader.ok());
}

TEST(Fields, DecodeErrorsAndCallers) {
  Writer writer;
  rows::put_error(writer, {"a.b", "why"});
  rows::put_caller(writer, caller());
  const std::string bytes = writer.take();
  Reader reader(bytes);
  EXPECT_EQ(rows::get_error(reader), (Error{"a.b", "why"}));
  EXPECT_EQ(rows::get_caller(reader), caller());
  EXPECT_TRUE(reader.done());
}

TEST(Fields, ReportAMalformedEventAsADamagedRow) {
  const auto read = rows::decode_event(Table::kWebhooks, "12345678", "{}");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
