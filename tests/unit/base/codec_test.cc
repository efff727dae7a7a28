#include "base/codec.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::string_literals;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(Codec, WritesVarintsInTheFewestBytes) {
  const struct {
    uint64_t value;
    std::string bytes;
  } rows[] = {
      {0, "\x00"s},
      {1, "\x01"},
      {127, "\x7f"},
      {128, "\x80\x01"},
      {300, "\xac\x02"},
      {16383, "\xff\x7f"},
      {16384, "\x80\x80\x01"},
      {kMost, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
  };
  for (const auto& row : rows) {
    Writer writer;
    writer.varint(row.value);
    EXPECT_EQ(writer.view(), row.bytes) << row.value;
    Reader reader(row.bytes);
    EXPECT_EQ(reader.varint(), row.value);
    EXPECT_TRUE(reader.done()) << row.value;
  }
}

TEST(Codec, RefusesAVarintThatIsCutShortOrOverlongOrTooLarge) {
  for (const std::string& bytes : {
           ""s,
           "\x80"s,                                          // cut short
           "\x80\x00"s,                                      // 0, written in two bytes
           "\xff\x80\x00"s,                                  // 127, written in three bytes
           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,      // 65 bits
           "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s,  // eleven bytes
       }) {
    Reader reader(bytes);
    EXPECT_EQ(reader.varint(), 0U);
    EXPECT_FALSE(reader.ok()) << testing::PrintToString(bytes);
  }
}

TEST(Codec, WritesSmallNumbersOfEitherSignInOneByte) {
  const struct {
    int64_t value;
    std::string bytes;
  } rows[] = {
      {0, "\x00"s},
      {-1, "\x01"},
      {1, "\x02"},
      {-64, "\x7f"},
      {64, "\x80\x01"},
      {std::numeric_limits<int64_t>::max(), "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
      {std::numeric_limits<int64_t>::min(), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
  };
  for (const auto& row : rows) {
    Writer writer;
    writer.zigzag(row.value);
    EXPECT_EQ(writer.view(), row.bytes) << row.value;
    Reader reader(row.bytes);
    EXPECT_EQ(reader.zigzag(), row.value);
    EXPECT_TRUE(reader.done()) << row.value;
  }
}

TEST(Codec, WritesNumbersOfFixedWidthSoThatTheirBytesSortLikeTheNumbers) {
  const uint64_t values[] = {0, 1, 255, 256, 65535, 1U << 31, kMost};
  std::string previous;
  for (const uint64_t value : values) {
    Writer writer;
    writer.u64(value);
    EXPECT_EQ(writer.view().size(), 8U);
    EXPECT_LT(previous, writer.view()) << value;
    previous = writer.take();
    EXPECT_EQ(Reader(previous).u64(), value);
  }
  Writer writer;
  writer.u32(0x01020304);
  EXPECT_EQ(writer.view(), "\x01\x02\x03\x04");
  EXPECT_EQ(Reader(writer.view()).u32(), 0x01020304U);
}

TEST(Codec, ReadsARecordAsItWasWritten) {
  const std::array<uint8_t, 16> id{1, 2, 3, 0xff};
  Writer writer;
  writer.u8(7);
  writer.boolean(true);
  writer.boolean(false);
  writer.bytes("a\0b"s);
  writer.bytes("");
  writer.id(id);
  writer.raw("tail");
  const std::string record = writer.take();
  EXPECT_EQ(writer.view(), "") << "take() empties the writer";

  Reader reader(record);
  EXPECT_EQ(reader.u8(), 7);
  EXPECT_TRUE(reader.boolean());
  EXPECT_FALSE(reader.boolean());
  EXPECT_EQ(reader.bytes(), "a\0b"s);
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_EQ(reader.id(), id);
  EXPECT_FALSE(reader.done()) << "four bytes are not read yet";
  EXPECT_EQ(reader.rest(), "tail");
  EXPECT_TRUE(reader.done());
}

TEST(Codec, ReadsNothingMoreAfterAnError) {
  Reader reader("\x02\x01");
  EXPECT_FALSE(reader.boolean());
  EXPECT_FALSE(reader.ok()) << "2 is not a boolean";
  EXPECT_EQ(reader.u8(), 0) << "after an error the reader returns 0, although the next byte is 1";
  EXPECT_EQ(reader.u64(), 0U);
  EXPECT_EQ(reader.id(), (std::array<uint8_t, 16>{}));
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_FALSE(reader.done());
}

TEST(Codec, RefusesALengthOrCountGreaterThanTheRestOfTheRecord) {
  Writer writer;
  writer.varint(kMost);
  writer.raw("abc");
  Reader as_bytes(writer.view());
  EXPECT_EQ(as_bytes.bytes(), "");
  EXPECT_FALSE(as_bytes.ok());
  Reader as_count(writer.view());
  EXPECT_EQ(as_count.count(), 0U);
  EXPECT_FALSE(as_count.ok());

  Reader three("\x03\x01\x02\x03");
  EXPECT_EQ(three.count(), 3U);
  EXPECT_TRUE(three.ok());
  Reader four("\x04\x01\x02\x03");
  EXPECT_EQ(four.count(), 0U);
  EXPECT_FALSE(four.ok());
}

/// A field of a record, with a random value.
struct Field {
  int kind;
  uint64_t number;
  std::string text;
};

void write_field(Writer& writer, const Field& field) {
  switch (field.kind) {
    case 0:
      return writer.u8(static_cast<uint8_t>(field.number));
    case 1:
      return writer.boolean(field.number % 2 == 1);
    case 2:
      return writer.varint(field.number);
    case 3:
      return writer.zigzag(static_cast<int64_t>(field.number));
    case 4:
      return writer.u32(static_cast<uint32_t>(field.number));
    case 5:
      return writer.u64(field.number);
    case 6:
      return writer.id({static_cast<uint8_t>(field.number)});
    default:
      return writer.bytes(field.text);
  }
}

/// Reads a field of the given kind and writes it again.
void copy_field(Reader& reader, Writer& writer, int kind) {
  switch (kind) {
    case 0:
      return writer.u8(reader.u8());
    case 1:
      return writer.boolean(reader.boolean());
    case 2:
      return writer.varint(reader.varint());
    case 3:
      return writer.zigzag(reader.zigzag());
    case 4:
      return writer.u32(reader.u32());
    case 5:
      return writer.u64(reader.u64());
    case 6:
      return writer.id(reader.id());
    default:
      return writer.bytes(reader.bytes());
  }
}

std::vector<Field> random_fields(std::mt19937_64& random) {
  std::vector<Field> fields(random() % 12);
  for (Field& field : fields) {
    const uint64_t number = random() >> random() % 64;
    field = {static_cast<int>(random() % 8), number, std::string(random() % 40, 'x')};
  }
  return fields;
}

// A damaged record is either refused, or it is the only encoding of the values that were read.
TEST(Codec, RefusesADamagedRecordUnlessTheDamageMadeAnotherValidRecord) {
  constexpr uint64_t kSeed = 20240607;
  std::mt19937_64 random(kSeed);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<Field> fields = random_fields(random);
    Writer writer;
    for (const Field& field : fields) write_field(writer, field);
    std::string record = writer.take();

    const auto copy = [&] {
      // A copy on the heap of exactly this length: a sanitizer reports a read past its end.
      const std::vector<char> exact(record.begin(), record.end());
      Reader reader({exact.data(), exact.size()});
      Writer copied;
      for (const Field& field : fields) copy_field(reader, copied, field.kind);
      return reader.done() ? std::optional(copied.take()) : std::nullopt;
    };
    ASSERT_EQ(copy(), record) << "round " << round << " of seed " << kSeed;
    if (record.empty()) continue;

    if (random() % 2 == 0) {
      record.resize(random() % record.size());
      ASSERT_EQ(copy(), std::nullopt) << "cut short: round " << round << " of seed " << kSeed;
      ++refused;
      continue;
    }
    record[random() % record.size()] ^= static_cast<char>(1 << random() % 8);
    const std::optional<std::string> copied = copy();
    if (copied) {
      ASSERT_EQ(*copied, record) << "round " << round << " of seed " << kSeed;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace millrace
