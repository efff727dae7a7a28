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

TEST(AttemptKeys, MayNameADeliveryOfTheAttempt) {
  const AttemptKeys keys("secret");
  const std::string key = keys.key_of(attempt(1), "p1-3");
  EXPECT_EQ(key, keys.key_of(attempt(1)) + "-p1-3");
  EXPECT_EQ(AttemptKeys::key_of_attempt(key), keys.key_of(attempt(1)));
  EXPECT_EQ(AttemptKeys::key_of_attempt(keys.key_of(attempt(1))), keys.key_of(attempt(1)));
  EXPECT_EQ(keys.task_of(to_string(attempt(1)) + "." + key), attempt(1));
  EXPECT_FALSE(keys.task_of(to_string(attempt(2)) + "." + key));
  EXPECT_FALSE(keys.is_key_of(attempt(1), key)) << "it is compared as a whole";
}

TEST(AttemptKeys, NameTheAttemptInOneTextWithItsKey) {
  const AttemptKeys keys("secret");
  const std::string named = keys.named_key_of(attempt(1));
  EXPECT_EQ(named, to_string(attempt(1)) + "." + keys.key_of(attempt(1)));
  EXPECT_EQ(keys.task_of(named), attempt(1));
  EXPECT_FALSE(AttemptKeys("another").task_of(named));
  for (size_t i = 0; i < named.size(); ++i) {
    std::string changed = named;
    changed[i] = changed[i] == '0' ? '1' : '0';
    EXPECT_FALSE(keys.task_of(changed)) << changed;
    EXPECT_FALSE(keys.task_of(named.substr(0, i))) << i;
  }
  EXPECT_FALSE(keys.task_of(named + "0"));
  EXPECT_FALSE(keys.task_of(to_string(attempt(2)) + "." + keys.key_of(attempt(1))));
}

}  // namespace
}  // namespace millrace
