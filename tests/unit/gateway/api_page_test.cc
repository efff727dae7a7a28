// docs/api.md: the table of all calls, which is made from the routes.
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "gateway/openapi.h"
#include "gateway/routes.h"
#include "tests/support/file_bytes.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

constexpr const char* kApiPage = "docs/api.md";

constexpr const char* kHeadOfApiPage = R"(# Calls of the HTTP API

This page lists the calls by the noun in their path. `GET /v1/openapi.json` and `millrace openapi` describe the same calls as an OpenAPI
document, which has the schemas that this page names. [http.md](http.md) has an example of each call.

Besides the errors in these tables, any call may answer with the errors of a malformed request (`request.…`), of the token (`token.…`), of the
store (`store.…`), of the cluster (`cluster.…`, `log.…`), with `busy`, `starting`, `stopping` or `internal`. [errors.md](errors.md) says what each code means. A code that ends with
`…` stands for all codes that begin so.

A test compares this page with the routes, and writes this page with `UPDATE_GOLDEN=1`.
)";

std::string in_code(const std::vector<std::string>& names) {
  std::vector<std::string> made;
  for (const std::string& name : names) {
    made.push_back(name.ends_with('.') ? fmt::format("`{}…`", name) : fmt::format("`{}`", name));
  }
  return fmt::format("{}", fmt::join(made, ", "));
}

/// A cell of a table, with the blank before it.
std::string cell(const std::string& text) {
  return text.empty() ? " |" : fmt::format(" {} |", text);
}

std::string row_of(const Route& route) {
  std::vector<std::string> parameters = route.query;
  parameters.insert(parameters.end(), route.headers.begin(), route.headers.end());
  std::vector<std::string> answers = {
      fmt::format("{}{}{}", route.answer_status, route.answer.empty() ? "" : " ", route.answer)};
  for (const FurtherAnswer& further : route.further_answers) {
    answers.push_back(
        fmt::format("{}{}{}", further.status, further.answer.empty() ? "" : " ", further.answer));
  }
  return "|" + cell(fmt::format("`{} {}`", route.method, route.path)) + cell(route.operation) +
         cell(route.summary) + cell(in_code(parameters)) + cell(route.body) +
         cell(fmt::format("{}", fmt::join(answers, ", "))) + cell(in_code(route.errors)) + "\n";
}

std::string api_page(const std::vector<Route>& routes) {
  std::map<std::string, std::map<std::tuple<std::string, std::string>, std::string>> sections;
  for (const Route& route : routes) {
    sections[noun_of(route)][{route.path, route.method}] = row_of(route);
  }
  std::string page = kHeadOfApiPage;
  for (const auto& [noun, rows] : sections) {
    page += fmt::format(
        "\n## {}\n| call | operation | what it does | parameters | body | answers | errors |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n",
        noun);
    for (const auto& [key, row] : rows) page += row;
  }
  return page;
}

TEST(ApiPage, ListsAllCallsOfTheRoutes) {
  FakeService service;
  const Router router = make_router(service, {}, [] { return std::string(); });
  const std::string page = api_page(router.routes());
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(kApiPage) << page;
  EXPECT_EQ(file_bytes(kApiPage), page) << "UPDATE_GOLDEN=1 writes the page";
}

}  // namespace
}  // namespace millrace
