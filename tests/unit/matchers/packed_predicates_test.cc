#include "matchers/packed_predicates.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using PackedKind = PackedPredicate::Kind;

TEST(PackedPredicates, AreUnpackedAsTheyWerePacked) {
  const std::string uuid(36, 'u');
  const std::string longer(300, 'v');
  std::string bytes;
  pack({.attribute = 0, .value = uuid}, bytes);
  pack({.kind = PackedKind::kPattern, .pattern = 70000}, bytes);
  pack({.attribute = 0xfffffffe, .value = longer}, bytes);
  pack({.kind = PackedKind::kSuffix, .attribute = 5, .value = ""}, bytes);

  const PackedPredicates packed(bytes);
  std::string_view rest = packed.bytes();
  EXPECT_EQ(unpack(rest).value, uuid);
  EXPECT_EQ(unpack(rest), (PackedPredicate{.kind = PackedKind::kPattern, .pattern = 70000}));
  EXPECT_EQ(unpack(rest), (PackedPredicate{.attribute = 0xfffffffe, .value = longer}));
  EXPECT_EQ(unpack(rest),
            (PackedPredicate{.kind = PackedKind::kSuffix, .attribute = 5, .value = ""}));
  EXPECT_TRUE(rest.empty());
}

TEST(PackedPredicates, KeepTheirBytesWhenTheyAreMoved) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{43}, size_t{44}, size_t{255}, size_t{256}, size_t{70000}}) {
    const std::string bytes(size, 'x');
    PackedPredicates first(bytes);
    EXPECT_EQ(first.bytes(), bytes);
    PackedPredicates second(std::move(first));
    EXPECT_EQ(second.bytes(), bytes);
    PackedPredicates third(std::string(100, 'y'));
    third = std::move(second);
    EXPECT_EQ(third.bytes(), bytes);
  }
}

}  // namespace
}  // namespace millrace
