// HMAC: the vectors of RFC 4231, and keys and texts at the bounds.
#include "orchestrator/signatures/hmac.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace millrace {
namespace {

/// What `openssl dgst -hmac` or the crypto module of Node.js gives.
struct HmacRow {
  std::string key;
  std::string text;
  const char* sha256;
  const char* sha512;
};

TEST(Hmac, IsThatOfOtherPrograms) {
  const HmacRow rows[] = {
      // RFC 4231, section 4.3
      {"Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
       "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8"
       "f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
      // a key that is longer than a block
      {std::string(200, 'k'), "a",
       "d7f8e98271dcb639c89f64e845c96931ff9594e0d8f69abe33ec5f1d427835d1",
       "47286c7ddfd89c1319a8a8b013c1fb96d7c2a9d77751a2997142a6dfe596d558abc00f8c3c1f68f1279fd69d36"
       "df02aec13e05364bc531a4139fd6438556deee"},
      {"new-secret", R"({"id":"evt_1","type":"paid"})",
       "75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64",
       "570b598b3582ee883db0ef129dc59bfaeaeeec5c5d57f1756c96ec397d6c71cb3f9128d05fa2828f08c9230c57"
       "969395217a40cc480d3be88753516e47c02c06"},
  };
  for (const HmacRow& row : rows) {
    EXPECT_EQ(to_hex(hmac_sha256(row.key, {row.text})), row.sha256) << row.text;
    EXPECT_EQ(to_hex(hmac_sha512(row.key, {row.text})), row.sha512) << row.text;
  }
}

TEST(Hmac, OfPartsIsThatOfTheWholeText) {
  EXPECT_EQ(hmac_sha256("k", {"ab", "", "c"}), hmac_sha256("k", {"abc"}));
  EXPECT_EQ(hmac_sha512("k", {"ab", "", "c"}), hmac_sha512("k", {"abc"}));
}

TEST(Hmac, ComparesTextsOfAnyLength) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secret2"));
  EXPECT_FALSE(equal_in_constant_time("secret", ""));
}

}  // namespace
}  // namespace millrace
