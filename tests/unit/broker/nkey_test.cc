#include "broker/nkey.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Nkey, DerivesThePublicKeyFromTheSeed) {
  const std::string seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
  EXPECT_EQ(public_nkey(seed),
            std::string("UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"));
  EXPECT_EQ(public_nkey("  " + seed + "\n"), public_nkey(seed));
}

TEST(Nkey, RefusesAMalformedSeed) {
  for (const char* seed :
       {"", "SU", "not a seed", "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VA",
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"}) {
    const Result<std::string> nkey = public_nkey(seed);
    ASSERT_FALSE(nkey) << seed;
    EXPECT_EQ(nkey.error().code, "broker.nkey");
  }
}

}  // namespace
}  // namespace millrace
