#include "orchestrator/store/disk/write_set.h"

#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string encoded(const WriteSet& writes) {
  std::string bytes;
  append_encoded(bytes, writes);
  return bytes;
}

/// The writes that the bytes encode; nullopt if they are malformed.
std::optional<WriteSet> decoded(std::string_view bytes) {
  WriteSet writes;
  const bool is_whole = each_write(bytes, [&](std::string_view key, auto value) {
    writes.emplace(key, value ? std::optional<std::string>(*value) : std::nullopt);
  });
  return is_whole ? std::optional(writes) : std::nullopt;
}

/// Writes of each kind.
WriteSet all_kinds() {
  return {{"aerased", std::nullopt},
          {"lempty", ""},
          {std::string("l\0zero", 6), std::string("\0\xff", 2)},
          {"mlong", std::string(300, 'v')}};
}

TEST(WriteSetTest, DecodesItsEncodingInKeyOrder) {
  EXPECT_EQ(decoded(encoded(all_kinds())), all_kinds());
  std::vector<std::string> keys;
  EXPECT_TRUE(each_write(encoded(all_kinds()),
                         [&](std::string_view key, auto) { keys.emplace_back(key); }));
  EXPECT_THAT(keys, testing::ElementsAre("aerased", std::string("l\0zero", 6), "lempty", "mlong"));
}

TEST(WriteSetTest, IsEncodedAsNoBytesIfItHasNoWrites) {
  EXPECT_EQ(encoded({}), "");
  EXPECT_EQ(decoded(""), WriteSet());
}

TEST(WriteSetTest, AppendsItsEncodingToTheGivenBytes) {
  std::string bytes = "head";
  append_encoded(bytes, all_kinds());
  EXPECT_EQ(bytes, "head" + encoded(all_kinds()));
  // Two encodings in sequence are one.
  bytes = encoded({{"a", "1"}});
  append_encoded(bytes, {{"b", std::nullopt}});
  EXPECT_EQ(decoded(bytes), (WriteSet{{"a", "1"}, {"b", std::nullopt}}));
}

TEST(WriteSetTest, MayBeEncodedWriteByWrite) {
  std::string bytes;
  for (const auto& [key, value] : all_kinds()) append_write(bytes, key, value);
  EXPECT_EQ(bytes, encoded(all_kinds()));
}

// docs/FORMATS.md: the length of the key, the key, then 0 for a deletion, or 1, the length of the
// value and the value.
TEST(WriteSetTest, HasTheDocumentedEncoding) {
  EXPECT_EQ(encoded({{"lk", "value"}, {"mx", std::nullopt}}),
            std::string("\x02lk\x01\x05value\x02mx\x00", 14));
}

TEST(WriteSetTest, RefusesAnEncodingThatIsTruncatedWithinAWrite) {
  const std::string bytes = encoded(all_kinds());
  std::set<std::string> whole = {""};  // the ends of the writes
  const WriteSet writes = all_kinds();
  std::string before;
  for (const auto& write : writes) {
    append_encoded(before, WriteSet{write});
    whole.insert(before);
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    EXPECT_EQ(decoded(cut).has_value(), whole.contains(cut)) << size;
  }
}

TEST(WriteSetTest, RefusesMalformedBytes) {
  for (const std::string& bytes : {
           std::string("\x00\x01\x01v", 4),  // an empty key
           std::string("\x01k\x02\x01v"),    // neither 0 nor 1
           std::string("\x05k\x00", 3),      // a key longer than the rest
           std::string("\x01k\x01\x7fv"),    // a value longer than the rest
           std::string("\x81\x00k\x00", 4),  // a length that is not in its shortest form
           std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01k\x00", 12),
       }) {
    EXPECT_EQ(decoded(bytes), std::nullopt) << testing::PrintToString(bytes);
  }
}

TEST(WriteSetTest, ReadsNoByteOutsideOfARandomlyDamagedEncoding) {
  std::mt19937_64 random(1);
  const std::string whole = encoded(all_kinds());
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = whole;
    for (int n = 0; n <= i % 4; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    const char* const begin = bytes.data();
    const char* const end = begin + bytes.size();
    each_write(bytes, [&](std::string_view key, std::optional<std::string_view> value) {
      EXPECT_FALSE(key.empty());
      EXPECT_TRUE(key.data() >= begin && key.data() + key.size() <= end);
      EXPECT_TRUE(!value || value->empty() ||
                  (value->data() >= begin && value->data() + value->size() <= end));
    });
  }
}

}  // namespace
}  // namespace millrace
