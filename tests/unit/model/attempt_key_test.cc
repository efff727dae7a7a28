// The keys of attempts.
#include "model/attempt_key.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

InstanceId attempt(uint8_t number) {
  InstanceId id = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000000");
  id.bytes[15] = number;
  return id;
}

TEST(AttemptKeys, AreTheSameForAnAttemptAndASecretAndDifferOtherwise) {
  const AttemptKeys keys("secret");
  const std::string key = keys.key_of(attempt(1));
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(AttemptKeys("secret").key_of(attempt(1)), key) << "also after a restart";
  EXPECT_NE(keys.key_of(attempt(2)), key);
  EXPECT_NE(AttemptKeys("another").key_of(attempt(1)), key);
}

TEST(AttemptKeys, AcceptTheKeyOfTheAttemptOnly) {
  const AttemptKeys keys("secret");
  const std::string key = keys.key_of(attempt(1));
  EXPECT_TRUE(keys.is_key_of(attempt(1), key));
  EXPECT_FALSE(keys.is_key_of(attempt(2), key));
  EXPECT_FALSE(keys.is_key_of(attempt(1), ""));
  EXPECT_FALSE(keys.is_key_of(attempt(1), key.substr(1)));
  EXPECT_FALSE(keys.is_key_of(attempt(1), key + "0"));
  std::string changed = key;
  changed.front() = changed.front() == '0' ? '1' : '0';
  EXPECT_FALSE(keys.is_key_of(attempt(1), changed));
}

}  // namespace
}  // namespace millrace
