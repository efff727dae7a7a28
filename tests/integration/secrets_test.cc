// Secrets in the whole program: no output, file or message has them in plain text; the key that
// seals them.
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/server_leaks.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kValue = "correct-horse-battery-staple";

class SecretsTest : public testing::Test {
 protected:
  std::string write_key(const std::string& name, char digit) {
    const std::string path = millrace_.data().parent_path() / name;
    std::ofstream(path) << std::string(64, digit) << "\n";
    return path;
  }
  /// Starts with the key in this file, or without the option if `key_file` is empty. Returns
  /// whether the server listens.
  bool starts_with(const std::string& key_file) {
    std::map<std::string, std::string> environment;
    if (!key_file.empty()) environment["MILLRACE_SECRET_KEY_FILE"] = key_file;
    millrace_.launch(std::move(environment));
    return millrace_.listens();
  }
  Json names() { return millrace_.get("secrets")["items"]; }

  NatsServer nats_;
  MillraceServer millrace_{nats_.url()};
};

TEST_F(SecretsTest, AreExposedNowhere) {
  millrace_.start();
  EXPECT_EQ(millrace_.cli({"secret", "set", "token"}, std::string(kValue) + "\n").code, 0);
  EXPECT_EQ(millrace_.ask("PUT", "secrets/other", kValue).status, 201);
  EXPECT_EQ(millrace_.ask("PUT", "secrets/other", kValue).status, 200);
  EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/nowhere/secrets/a", kValue).status, 404);
  EXPECT_EQ(millrace_.ask("PUT", "secrets/no%20name", kValue).status, 400);
  EXPECT_EQ(millrace_.ask("PUT", "secrets/bytes", std::string("\xff") + kValue).status, 422);
  EXPECT_EQ(names(), (Json{{{"name", "other"}}, {{"name", "token"}}}));
  EXPECT_THAT(leaks_of(millrace_, kValue), IsEmpty());

  millrace_.kill();
  millrace_.start();
  EXPECT_EQ(names().size(), 2U);
  EXPECT_THAT(leaks_of(millrace_, kValue), IsEmpty());
  EXPECT_EQ(millrace_.cli({"secret", "delete", "token"}).code, 0);
  EXPECT_EQ(names().size(), 1U);
  EXPECT_THAT(leaks_of(millrace_, kValue), IsEmpty());

  EXPECT_EQ(millrace_.ask("PUT", "variables/open", kValue).status, 200);
  EXPECT_THAT(leaks_of(millrace_, kValue), Not(IsEmpty())) << "leaks_of() finds plain text";
}

TEST_F(SecretsTest, AreSealedWithAGeneratedKeyByDefault) {
  ASSERT_TRUE(starts_with(""));
  EXPECT_TRUE(millrace_.process().error_line("generated the secret key").has_value());
  struct stat key {};
  ASSERT_EQ(::stat((millrace_.data() / "secret-key").c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777, 0600U);
  millrace_.stop();
  ASSERT_TRUE(starts_with(""));
  EXPECT_THAT(millrace_.process().errors(), Not(HasSubstr("generated the secret key")))
      << "the key exists already";
}

TEST_F(SecretsTest, PreventTheStartOfMillraceWithAnyOtherKeyThanTheirOwn) {
  const std::string right = write_key("right", 'a');
  const std::string wrong = write_key("wrong", 'b');
  ASSERT_TRUE(starts_with(right));
  EXPECT_THAT(millrace_.process().errors(), Not(HasSubstr("generated the secret key")));
  EXPECT_EQ(millrace_.ask("PUT", "secrets/token", kValue).status, 201);
  millrace_.stop();
  for (const std::string& file : {std::string(), wrong, right + "-none"}) {
    ASSERT_FALSE(starts_with(file)) << file;
    const ProcessEnd end = millrace_.end();
    EXPECT_EQ(end.code, 1);
    EXPECT_THAT(end.errors, HasSubstr("[store.key]"));
    EXPECT_THAT(end.errors, HasSubstr(file));
  }
  ASSERT_TRUE(starts_with(right));
  EXPECT_EQ(names(), (Json{{{"name", "token"}}}));
}

}  // namespace
}  // namespace millrace
