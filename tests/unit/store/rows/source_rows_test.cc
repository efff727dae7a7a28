#include "orchestrator/store/rows/source_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

const SourcePlace kSource{.ns = NamespaceNumber(7), .name = "orders"};
const OriginStream kOrigin{.source = {1, 2, 3}, .created = 1'600'000'000'000'000'001, .round = 2};

SourceRecord some_source() {
  return {.origin = kOrigin,
          .created_at = from_millis(1'600'000'000'000),
          .applied_at = from_millis(1'600'000'000'001),
          .is_paused = true,
          .stream = "ORDERS",
          .begin = R"("new")",
          .settings = R"({"stream":"ORDERS"})"};
}

OriginRecord some_origin() {
  OriginRecord record{.ns = NamespaceNumber(7),
                      .applied = AppliedSequences(10),
                      .stamped = from_millis(1'600'000'000'000),
                      .events = 9,
                      .repeated = 2,
                      .refused = 1,
                      .refused_sequence = 4,
                      .refused_at = from_millis(1'600'000'000'002),
                      .refusal = {"source.mapping", "no id"}};
  record.applied.add(11, 13);
  record.applied.add(20, 21);
  return record;
}

using SourceRowsTest = StoreTest;

TEST_F(SourceRowsTest, KeepEachSource) {
  EXPECT_EQ(*read_source(*tx, kSource), std::nullopt);
  write_source(*tx, kSource, some_source());
  EXPECT_EQ(*read_source(*tx, kSource), some_source());
  const SourcePlace other{.ns = NamespaceNumber(8), .name = "orders"};
  write_source(*tx, other, some_source());
  std::vector<SourcePlace> all;
  ASSERT_TRUE(each_source(
      *tx, [&](const SourcePlace& place, const SourceRecord&) { all.push_back(place); }));
  EXPECT_THAT(all, ElementsAre(kSource, other));
  std::vector<SourcePlace> of_one;
  ASSERT_TRUE(each_source_of(
      *tx, NamespaceNumber(8),
      [&](const SourcePlace& place, const SourceRecord&) { of_one.push_back(place); }));
  EXPECT_THAT(of_one, ElementsAre(other));
  erase_source(*tx, kSource);
  EXPECT_EQ(*read_source(*tx, kSource), std::nullopt);
}

TEST_F(SourceRowsTest, KeepEachOriginStreamOfASource) {
  write_origin(*tx, kOrigin, some_origin());
  EXPECT_EQ(*read_origin(*tx, kOrigin), some_origin());
  OriginStream next = kOrigin;
  ++next.round;
  write_origin(*tx, next, {.ns = NamespaceNumber(7)});
  OriginStream of_another = kOrigin;
  of_another.source[0] = 9;
  write_origin(*tx, of_another, some_origin());
  std::vector<OriginStream> all;
  ASSERT_TRUE(each_origin_of(
      *tx, kOrigin.source,
      [&](const OriginStream& origin, const OriginRecord&) { all.push_back(origin); }));
  EXPECT_THAT(all, ElementsAre(kOrigin, next));
  erase_origin(*tx, kOrigin);
  EXPECT_EQ(*read_origin(*tx, kOrigin), std::nullopt);
}

TEST_F(SourceRowsTest, NameTheirPlaceByTheKey) {
  const std::string key = std::string("source/\0\0\0\7orders", 17);
  EXPECT_EQ(source_place(key), kSource);
  for (const std::string& wrong :
       {std::string("source/"), std::string("source/\0\0\0\7", 11),
        std::string("source/\0\0\0\0orders", 17), std::string("rate/")}) {
    EXPECT_EQ(source_place(wrong), std::nullopt) << wrong;
  }
  EXPECT_TRUE(origin_place("origin/" + std::string(28, 'x')));
  EXPECT_EQ(origin_place("origin/" + std::string(29, 'x')), std::nullopt);
  EXPECT_EQ(origin_place("origin/" + std::string(27, 'x')), std::nullopt);
  EXPECT_EQ(origin_place("source/" + std::string(28, 'x')), std::nullopt);
}

TEST_F(SourceRowsTest, GiveAnErrorIfTheyAreDamaged) {
  const std::string source = encode(some_source());
  EXPECT_EQ(*decode_source(source), some_source());
  for (size_t size = 0; size < source.size(); ++size) {
    EXPECT_FALSE(decode_source(source.substr(0, size))) << size;
  }
  const std::string origin = encode(some_origin());
  EXPECT_EQ(*decode_origin(origin), some_origin());
  for (size_t size = 0; size < origin.size(); ++size) {
    EXPECT_FALSE(decode_origin(origin.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_origin(encode(OriginRecord{}))) << "the namespace is 0";
}

/// A record with these numbers for the sequences that were applied.
std::string origin_with(const std::vector<uint64_t>& numbers) {
  const std::string whole = encode(OriginRecord{.ns = NamespaceNumber(7)});
  Writer writer;
  for (const uint64_t number : numbers) writer.varint(number);
  constexpr size_t kBefore = 2;    // the version and the namespace
  constexpr size_t kReplaced = 2;  // a floor of 0, and no range
  return whole.substr(0, kBefore) + std::string(writer.view()) + whole.substr(kBefore + kReplaced);
}

TEST_F(SourceRowsTest, HaveOneEncodingOfTheAppliedSequences) {
  EXPECT_TRUE(decode_origin(origin_with({5, 2, 1, 1, 1, 1})));
  EXPECT_FALSE(decode_origin(origin_with({5, 1, 0, 1}))) << "a range that adjoins the floor";
  EXPECT_FALSE(decode_origin(origin_with({5, 1, 1, 0}))) << "an empty range";
  EXPECT_FALSE(decode_origin(origin_with({5, 1, UINT64_MAX, 1}))) << "a gap that is too large";
  EXPECT_FALSE(decode_origin(origin_with({5, 1, 1, UINT64_MAX - 5}))) << "a range too large";
  EXPECT_TRUE(decode_origin(origin_with({5, 1, 1, UINT64_MAX - 6}))) << "the largest range";
  std::vector<uint64_t> many{0, kMostGaps + 1};
  many.resize(2 + 2 * (kMostGaps + 1), 1);
  EXPECT_FALSE(decode_origin(origin_with(many))) << "too many ranges";
}

}  // namespace
}  // namespace millrace
