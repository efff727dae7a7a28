// The page of the program: what `millrace serve` and `millrace dev` answer and print, with the page
// with which the program was built, or without one.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;

/// Expects that the answer to GET / is the page if `is_announced`, and otherwise says that there is
/// none.
void expect_page(const HttpReply& reply, bool is_announced) {
  EXPECT_EQ(reply.status, is_announced ? 200 : 404) << reply.body;
  if (is_announced) {
    EXPECT_THAT(reply.header("Content-Type"), HasSubstr("text/html"));
    EXPECT_THAT(reply.header("Content-Security-Policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_NE(reply.header("ETag"), "");
    EXPECT_THAT(reply.body, HasSubstr("<!doctype html>"));
  } else {
    EXPECT_EQ(reply.code(), "page.none");
  }
}

class PageOfServer : public MillraceTest {};

TEST_F(PageOfServer, IsWhereTheLogSaysAndNeedsNoFile) {
  EXPECT_TRUE(millrace_.process().error_line(" listens on port "));
  // The server logs the address of the page before it waits for signals; /v1/info comes later.
  ASSERT_EQ(millrace_.ask("GET", "/v1/info").status, 200);
  const HttpReply reply = millrace_.ask("GET", "/");
  if (reply.status == 200) {
    EXPECT_TRUE(millrace_.process().error_line("the page is at " + millrace_.url() + "/"));
  }
  expect_page(reply, reply.status == 200);
  EXPECT_EQ(millrace_.ask("GET", "/assets/app-00000000.js").status, 404);
  EXPECT_EQ(millrace_.ask("POST", "/").status, 405);
}

TEST(PageOfDevServer, HasItsAddressInTheFirstLine) {
  const Folder folder;
  Process dev({.command = {millrace_program(), "dev", "--listen", "127.0.0.1:0"},
               .environment = {{"TMPDIR", folder.path().string()}}});
  ASSERT_TRUE(eventually([&] {
    return dev.output().find("Ctrl-C stops millrace.") != std::string::npos;
  })) << dev.errors();
  const std::string output = dev.output();
  const std::string head = "\nThe page of millrace is at http://127.0.0.1:";
  const std::string url = "MILLRACE_URL=http://127.0.0.1:";
  const size_t at = output.find(url);
  ASSERT_NE(at, std::string::npos) << output;
  const auto port = static_cast<uint16_t>(std::stoi(output.substr(at + url.size())));
  const bool is_announced = output.starts_with(head + std::to_string(port) + "/\n");
  EXPECT_EQ(is_announced, output.find("The page of millrace") != std::string::npos) << output;
  expect_page(request(port, "GET", "/"), is_announced);
}

}  // namespace
}  // namespace millrace
