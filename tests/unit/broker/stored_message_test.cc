#include "broker/stored_message.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string code_of(const std::string& answer) {
  const Result<bool> read = read_whether_stored("$JS.API.STREAM.MSG.GET.S", answer);
  if (!read) return read.error().code;
  return *read ? "stored" : "not stored";
}

TEST(StoredMessageTest, IsMissingOnlyIfItsStreamExistsAndDoesNotHaveIt) {
  EXPECT_EQ(code_of(R"({"message":{"subject":"s","seq":7,"data":"eA=="}})"), "stored");
  EXPECT_EQ(code_of(R"({"error":{"code":404,"err_code":10037,"description":"no message found"}})"),
            "not stored");
  EXPECT_EQ(code_of(R"({"error":{"code":404,"err_code":10059,"description":"stream not found"}})"),
            "broker.not_found");
  EXPECT_EQ(code_of(R"({"error":{"code":503,"err_code":10008,"description":"unavailable"}})"),
            "broker.refused");
  EXPECT_EQ(code_of("x"), "broker.protocol");
  EXPECT_EQ(code_of("[]"), "broker.protocol");
}

TEST(StoredMessageTest, IsAskedForByItsSequenceOrItsSubject) {
  EXPECT_EQ(get_request(7), R"({"seq":7})");
  EXPECT_EQ(get_first_request("a.b"), R"({"next_by_subj":"a.b","seq":1})");
}

}  // namespace
}  // namespace millrace
