// The route that finds what a text names.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class FindRoute : public ApiTest {};

TEST_F(FindRoute, FindsWhatATextNames) {
  const std::string target = "/v1/ns/default/find";
  const Row rows[] = {
      {"GET",
       target + "?q=o+1",
       {},
       "",
       200,
       R"({"items":[{"kind":"workflow","id":"o 1","label":"revision 1"}],"next":null,"complete":true})"},
      {"GET",
       target + "?q=event.time",
       {},
       "",
       200,
       R"({"items":[{"kind":"deadLetter","id":"12",)"
       R"("label":"event.time, 2021-09-01T12:00:00.000Z"}],"next":null,"complete":true})"},
      {"GET", target, {}, "", 400, "request.parameter"},
      {"GET", target + "?q=", {}, "", 400, "request.parameter"},
      {"GET", target + "?q=" + std::string(256, 'o'), {}, "", 400, "request.parameter"},
      {"GET", target + "?q=o&limit=3", {}, "", 400, "request.unknown_parameter"},
      {"GET", "/v1/ns/none/find?q=o", {}, "", 404, "namespace.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target));
}

}  // namespace
}  // namespace millrace
