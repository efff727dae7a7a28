// Files that hold a token.
#include "cli/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"

namespace millrace {
namespace {

class TokenFileTest : public CliTest {};

TEST_F(TokenFileTest, AcceptsOnlyTokensOf16To4096VisibleAsciiCharacters) {
  struct Row {
    std::string text;
    std::string token;  ///< empty: the text is not a token
  };
  const std::string shortest(16, 'x');
  const std::string longest(4096, 'x');
  const Row rows[] = {
      {shortest, shortest},
      {shortest + "\n", shortest},
      {shortest + "\r\n", shortest},
      {longest + "\r\n", longest},
      {"", ""},
      {"\n", ""},
      {shortest.substr(1), ""},
      {shortest.substr(1) + "\n", ""},
      {longest + "x", ""},
      {longest + longest, ""},
      {shortest + "\n\n", ""},
      {shortest + " x", ""},
      {shortest + "\x7f", ""},
      {shortest + "\xc3\xa4", ""},
  };
  for (const Row& row : rows) {
    const Result<std::string> token = read_token_file(file("token", row.text));
    EXPECT_EQ(token ? *token : "", row.token) << row.text;
    EXPECT_TRUE(token || token.error().code == "token.malformed") << row.text;
  }
}

TEST(TokenStrength, RequiresManyCharactersOfWhichSomeDiffer) {
  struct Row {
    std::string token;
    bool is_strong;
  };
  const Row rows[] = {{"0123456789abcdef0123456789abcdef", true},
                      {"0123456789abcdef0123456789abcde", false},
                      {"abcdefghabcdefghabcdefghabcdefgh", true},
                      {"abcdefgabcdefgabcdefgabcdefgabcdefg", false},
                      {std::string(64, 'a'), false},
                      {"", false}};
  for (const Row& row : rows) {
    const Status checked = check_token_strength(row.token, "the file f");
    EXPECT_EQ(checked.has_value(), row.is_strong) << row.token;
    if (checked) continue;
    EXPECT_EQ(checked.error().code, "token.weak");
    EXPECT_THAT(checked.error().message, testing::StartsWith("the file f has a token"));
    EXPECT_THAT(checked.error().message, testing::HasSubstr("openssl rand -hex 32"));
    EXPECT_TRUE(row.token.empty() || checked.error().message.find(row.token) == std::string::npos);
  }
}

TEST_F(TokenFileTest, NamesTheFileThatItCannotRead) {
  for (const std::string& path : {folder_.string(), (folder_ / "none").string()}) {
    const Result<std::string> token = read_token_file(path);
    ASSERT_FALSE(token) << path;
    EXPECT_EQ(token.error().code, "token.unreadable");
    EXPECT_THAT(token.error().message,
                testing::StartsWith("the token file cannot be read: " + path + ": "));
  }
}

}  // namespace
}  // namespace millrace
