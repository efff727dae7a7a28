#include "base/bytes.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Bytes, AreEncodedAsBase64AndDecodedStrictly) {
  EXPECT_EQ(base64_encode(std::string_view("\0\xff\x10z", 4)), "AP8Qeg==");
  EXPECT_EQ(base64_decode("AP8Qeg=="), std::string("\0\xff\x10z", 4));
  EXPECT_EQ(base64_decode(""), "");
  for (const char* text : {"AP8Qeg", "AP8Q\n", "AP8-", "A===", "AP8Qeg==x"}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

TEST(Bytes, AreReadFromLowerCaseHexadecimalDigitsOnly) {
  std::array<uint8_t, 2> bytes{};
  EXPECT_TRUE(read_hex("0aff", bytes));
  EXPECT_EQ(bytes, (std::array<uint8_t, 2>{0x0a, 0xff}));
  for (const char* text : {"", "0af", "0aff0", "0aff00", "0aFF", "0ag0", "0a-1", " aff"}) {
    EXPECT_FALSE(read_hex(text, bytes)) << text;
  }
}

TEST(Fingerprint, DependsOnItsKey) {
  EXPECT_EQ(keyed_fingerprint("k", {"a", "b"}), keyed_fingerprint("k", {"a", "b"}));
  EXPECT_NE(keyed_fingerprint("k", {"a", "b"}), keyed_fingerprint("l", {"a", "b"}));
  EXPECT_EQ(keyed_fingerprint("", {"a", "b"}), fingerprint({"a", "b"}));
}

TEST(Fingerprint, DependsOnTheBoundariesOfItsParts) {
  EXPECT_NE(fingerprint({"ab", "c"}), fingerprint({"a", "bc"}));
  EXPECT_EQ(fingerprint({"ab", "c"}), fingerprint({"ab", "c"}));
}

TEST(Bytes, AreUtf8OnlyIfTheyAreWellFormed) {
  EXPECT_TRUE(is_utf8("plain, \xc3\xa4, \xe2\x82\xac, \xf0\x9f\x98\x80"));
  for (const char* bytes :
       {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe"}) {
    EXPECT_FALSE(is_utf8(bytes));
  }
}

TEST(Bytes, ArePrintableAsciiOnlyFromSpaceToTilde) {
  for (size_t size = 0; size < 20; ++size) {
    const std::string text(size, '~');
    EXPECT_TRUE(is_printable_ascii(text));
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = text;
        changed[at] = static_cast<char>(byte);
        ASSERT_EQ(is_printable_ascii(changed), byte >= ' ' && byte <= '~') << size << " " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace millrace
