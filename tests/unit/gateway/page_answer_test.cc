// The answers with files of the page: their forms, tags and headers, and the way to a place.
#include "gateway/page_answer.h"

#include <string>

#include <gmock/gmock.h>

#include "tests/unit/gateway/page_fixture.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kScriptPath = "/assets/app-1A2B3C4D.js";
constexpr const char* kPlainTag = "\"00112233445566778899aabbccddeeff\"";

std::string header_of(const Response& answer, std::string_view name) {
  const std::string* const value = find_header(answer.headers, name);
  return value == nullptr ? "" : *value;
}

std::string code_of(const Response& answer) { return Json::parse(answer.body).value("code", ""); }

TEST(PageAnswer, HasTheFormThatTheBrowserAccepts) {
  struct Row {
    const char* accepted;  ///< null: the request has no Accept-Encoding
    const char* body;
    const char* coding;
  };
  const Row rows[] = {
      {nullptr, "<!doctype html>", ""},
      {"", "<!doctype html>", ""},
      {"identity", "<!doctype html>", ""},
      {"gzip", "html-gz", "gzip"},
      {"GZip ", "html-gz", "gzip"},
      {"gzip, deflate, br", "html-br", "br"},
      {"deflate;q=1, br;q=0.4", "html-br", "br"},
      {"br;q=0, gzip", "html-gz", "gzip"},
      {"br; q=0.000, gzip;Q=0", "<!doctype html>", ""},
      {"brotli, xgzip", "<!doctype html>", ""},
      {",,;", "<!doctype html>", ""},
  };
  for (const Row& row : rows) {
    Headers headers;
    if (row.accepted != nullptr) headers.emplace_back("accept-encoding", row.accepted);
    const Response answer = page_answer(kFixturePage, "/", headers);
    const std::string what = row.accepted == nullptr ? "none" : row.accepted;
    EXPECT_EQ(answer.status, 200U) << what;
    EXPECT_EQ(answer.body, row.body) << what;
    EXPECT_EQ(header_of(answer, "Content-Encoding"), row.coding) << what;
    EXPECT_EQ(header_of(answer, "Vary"), "Accept-Encoding") << what;
    EXPECT_EQ(header_of(answer, "Content-Type"), "text/html; charset=utf-8") << what;
  }
  const Headers both = {{"Accept-Encoding", "br, gzip"}};
  EXPECT_EQ(page_answer(kFixturePage, kScriptPath, both).body, "script-gz");
  EXPECT_EQ(page_answer(kFixturePage, "/assets/licences.txt", both).body, "MIT");
}

TEST(PageAnswer, HasNoBodyIfTheBrowserHasTheForm) {
  struct Row {
    const char* known;
    const char* accepted;
    unsigned status;
  };
  const Row rows[] = {
      {kPlainTag, "", 304},
      {"*", "", 304},
      {"W/\"00112233445566778899aabbccddeeff\"", "", 304},
      {"\"x\" , \"00112233445566778899aabbccddeeff\"", "", 304},
      {"\"00112233445566778899aabbccddeeffgzip\"", "gzip", 304},
      {kPlainTag, "gzip", 200},
      {"\"00112233445566778899aabbccddeeffgzip\"", "", 200},
      {"00112233445566778899aabbccddeeff", "", 200},
      {"\"\"", "", 200},
      {"", "", 200},
  };
  for (const Row& row : rows) {
    const Response answer = page_answer(
        kFixturePage, "/", {{"If-None-Match", row.known}, {"Accept-Encoding", row.accepted}});
    EXPECT_EQ(answer.status, row.status) << row.known;
    EXPECT_EQ(answer.body.empty(), row.status == 304) << row.known;
    EXPECT_NE(header_of(answer, "ETag"), "") << row.known;
    EXPECT_EQ(header_of(answer, "Cache-Control"), "no-cache") << row.known;
  }
  EXPECT_EQ(header_of(page_answer(kFixturePage, "/", {}), "ETag"), kPlainTag);
}

TEST(PageAnswer, KeepsThePageFromWhatIsNotItsOwn) {
  for (const WebFile& file : kFixturePage) {
    const Response answer = page_answer(kFixturePage, file.path, {});
    EXPECT_THAT(header_of(answer, "Content-Security-Policy"),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';"),
                      HasSubstr("frame-ancestors 'none'"), HasSubstr("form-action 'none'"),
                      HasSubstr("require-trusted-types-for 'script'"), Not(HasSubstr("unsafe"))))
        << file.path;
    EXPECT_EQ(header_of(answer, "Referrer-Policy"), "no-referrer") << file.path;
    EXPECT_EQ(header_of(answer, "Cross-Origin-Opener-Policy"), "same-origin") << file.path;
    EXPECT_EQ(header_of(answer, "Cross-Origin-Resource-Policy"), "same-origin") << file.path;
  }
}

TEST(PageAnswer, MayBeKeptForeverIfTheNameHasAHash) {
  EXPECT_EQ(header_of(page_answer(kFixturePage, kScriptPath, {}), "Cache-Control"),
            "public, max-age=31536000, immutable");
  EXPECT_EQ(header_of(page_answer(kFixturePage, "/assets/licences.txt", {}), "Cache-Control"),
            "no-cache");
}

TEST(PageAnswer, NamesWhatIsMissing) {
  for (const char* const path : {"/assets/app-00000000.js", "/assets/", "/assets/../", "/x"}) {
    const Response answer = page_answer(kFixturePage, path, {});
    EXPECT_EQ(answer.status, 404U) << path;
    EXPECT_EQ(code_of(answer), "request.not_found") << path;
    EXPECT_EQ(header_of(answer, "Cache-Control"), "no-store") << path;
  }
  for (const Response& answer :
       {page_answer({}, "/", {}), page_answer({}, kScriptPath, {}), place_answer({}, "/ns/shop")}) {
    EXPECT_EQ(answer.status, 404U);
    EXPECT_EQ(code_of(answer), "page.none");
    EXPECT_THAT(answer.body, HasSubstr("this build of millrace has no page"));
  }
}

TEST(PlaceAnswer, LeadsToThePlaceUnderAnyPrefix) {
  struct Row {
    const char* target;
    const char* location;
  };
  const Row rows[] = {
      {"/ns/shop", "../#/shop"},
      {"/ns/shop/", "../../#/shop/"},
      {"/ns/shop/instances?status=failed&at=/x/", "../../#/shop/instances?status=failed&at=/x/"},
      {"/ns/a%2Fb/instances/1/story", "../../../../#/a%2Fb/instances/1/story"},
      {"/ns/a\r\nb: \xC3\xA9", "../#/a%0D%0Ab:%20%C3%A9"},
      {"/ns/evil.example//x", "../../../#/evil.example//x"},
  };
  for (const Row& row : rows) {
    const Response answer = place_answer(kFixturePage, row.target);
    EXPECT_EQ(answer.status, 302U) << row.target;
    EXPECT_EQ(header_of(answer, "Location"), row.location) << row.target;
    EXPECT_EQ(answer.body, "") << row.target;
  }
}

}  // namespace
}  // namespace millrace
