// The verbs of `secret`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class SecretVerbs : public CliTest {};

TEST_F(SecretVerbs, TakesSecretsFromStandardInputOnly) {
  EXPECT_EQ(run({"secret", "set", "token"}, "s3cr3t\n").code, 0);
  EXPECT_EQ(service_.known_secrets().at("token"), "s3cr3t")
      << "the line break at the end is removed";
  EXPECT_EQ(run({"secret", "set", "two"}, "a\nb\n\n").code, 0);
  EXPECT_EQ(service_.known_secrets().at("two"), "a\nb\n");
  EXPECT_EQ(run({"secret", "set", "token", "s3cr3t"}).code, 2)
      << "other users can see the command line";
  EXPECT_EQ(run({"secret", "set", "empty"}, "\n").code, 2);
  EXPECT_EQ(run({"secret", "list", "-o", "name"}).out, "token\ntwo\n");
  EXPECT_EQ(run({"secret", "delete", "token"}).code, 0);
  EXPECT_EQ(run({"secret", "delete", "token"}).code, 3);
}

}  // namespace
}  // namespace millrace
