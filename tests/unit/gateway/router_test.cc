#include "gateway/router.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

Router two_routes() {
  Router router;
  router.add({.method = "GET", .path = "/v1/ns/{ns}/workflows", .query = {"limit", "q"}});
  router.add({.method = "GET", .path = "/v1/ns/{ns}/workflows/{workflow}"});
  router.add({.method = "PUT", .path = "/v1/ns/{ns}/workflows/{workflow}"});
  return router;
}

TEST(Router, DecodesThePartsOfThePathAndTheParametersOfARequest) {
  struct Row {
    const char* target;
    const char* path;
    std::map<std::string, std::string, std::less<>> parts;
    std::map<std::string, std::string, std::less<>> query;
  };
  const Row rows[] = {
      {"/v1/ns/a/workflows", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {}},
      {"/v1/ns/a/workflows?", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {}},
      {"/v1/ns/%61%2Fb/workflows", "/v1/ns/{ns}/workflows", {{"ns", "a/b"}}, {}},
      {"/v1/ns/a/workflows?limit=5&q=a+b%26c",
       "/v1/ns/{ns}/workflows",
       {{"ns", "a"}},
       {{"limit", "5"}, {"q", "a b&c"}}},
      {"/v1/ns/a/workflows?q", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {{"q", ""}}},
      {"http://localhost:1/v1/ns/a/workflows", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {}},
      {"/v1/ns/a/workflows/b",
       "/v1/ns/{ns}/workflows/{workflow}",
       {{"ns", "a"}, {"workflow", "b"}},
       {}},
  };
  const Router router = two_routes();
  for (const Row& row : rows) {
    const auto outcome = router.find("GET", row.target);
    const auto* found = std::get_if<Router::Found>(&outcome);
    ASSERT_NE(found, nullptr) << row.target;
    EXPECT_EQ(found->route->path, row.path) << row.target;
    EXPECT_EQ(found->request.parts, row.parts) << row.target;
    EXPECT_EQ(found->request.query, row.query) << row.target;
  }
}

TEST(Router, ReportsWhatIsWrongWithARequestThatMatchesNoRoute) {
  struct Row {
    const char* method;
    const char* target;
    unsigned status;
    const char* code;
  };
  const Row rows[] = {
      {"GET", "/", 404, "request.not_found"},
      {"GET", "", 404, "request.not_found"},
      {"OPTIONS", "*", 404, "request.not_found"},
      {"GET", "/v1/ns/a/workflow", 404, "request.not_found"},
      {"GET", "/v1/ns/a/workflows/", 404, "request.not_found"},
      {"GET", "/v1/ns//workflows", 404, "request.not_found"},
      {"GET", "/v1/ns/a/workflows/b/c", 404, "request.not_found"},
      {"get", "/v1/ns/a/workflows", 405, "request.method_not_allowed"},
      {"POST", "/v1/ns/a/workflows", 405, "request.method_not_allowed"},
      {"GET", "/v1/ns/%zz/workflows", 400, "request.malformed_target"},
      {"GET", "/v1/ns/a%2/workflows", 400, "request.malformed_target"},
      {"GET", "/v1/ns/a/workflows?limit=%", 400, "request.malformed_target"},
      {"GET", "/v1/ns/a/workflows?limits=1", 400, "request.unknown_parameter"},
      {"GET", "/v1/ns/a/workflows?q=1&q=2", 400, "request.parameter"},
  };
  const Router router = two_routes();
  for (const Row& row : rows) {
    const auto outcome = router.find(row.method, row.target);
    const auto* refusal = std::get_if<Response>(&outcome);
    ASSERT_NE(refusal, nullptr) << row.target;
    EXPECT_EQ(refusal->status, row.status) << row.target;
    EXPECT_EQ(Json::parse(refusal->body)["code"], row.code) << row.target;
  }
}

TEST(Router, NamesUnknownParametersAndListsTheKnownOnes) {
  const auto outcome = two_routes().find("GET", "/v1/ns/a/workflows?limits=1&Q=2");
  const std::string detail = Json::parse(std::get<Response>(outcome).body)["detail"];
  EXPECT_EQ(detail,
            "unknown parameters: \"limits\", \"Q\"; GET /v1/ns/a/workflows accepts limit, q");
}

TEST(Router, NamesWhatMayBeAppendedToAPathThatDoesNotExist) {
  Router router = two_routes();
  router.add({.method = "POST", .path = "/v1/callbacks/{callback}/complete", .open = true});
  router.add({.method = "POST", .path = "/v1/callbacks/{callback}/fail", .open = true});
  router.add({.method = "GET", .path = "/v1/callbacks/{callback}/fail", .open = true});
  const auto detail_of = [&](const char* method, const char* target) {
    const auto outcome = router.find(method, target);
    return Json::parse(std::get<Response>(outcome).body)["detail"].get<std::string>();
  };
  for (const char* const method : {"GET", "POST"}) {
    EXPECT_EQ(detail_of(method, "/v1/callbacks/k.1?x=1"),
              "the path \"/v1/callbacks/k.1\" does not exist; append one of /complete, /fail");
  }
  EXPECT_EQ(detail_of("GET", "/v1/callbacks"), "the path \"/v1/callbacks\" does not exist");
  EXPECT_EQ(detail_of("GET", "/v1"), "the path \"/v1\" does not exist");
}

TEST(Router, SaysWhetherAPathBelongsToRoutesThatNeedNoToken) {
  Router router = two_routes();
  router.add({.method = "POST", .path = "/v1/callbacks/{callback}/complete", .open = true});
  router.add({.method = "GET", .path = "/v1/hooks/{hook}"});
  router.add({.method = "POST", .path = "/v1/hooks/{hook}", .open = true});
  router.add({.method = "POST", .path = "/v1/tasks/{task}/open", .open = true});
  router.add({.method = "POST", .path = "/v1/tasks/{task}/closed"});
  router.add({.method = "GET", .path = "/ns/{place}", .open = true, .is_page = true});
  for (const char* const open : {"/v1/callbacks/k.1/complete", "/v1/callbacks/k.1/complete?x=1",
                                 "/v1/callbacks/k.1", "/v1/tasks/1/open"}) {
    EXPECT_TRUE(router.is_open(open)) << open;
  }
  for (const char* const closed :
       {"/", "", "*", "/v1/callbacks", "/v1/callbacks/k.1/none", "/v1/callbacks/k.1/complete/x",
        "/v1/hooks/git", "/v1/tasks/1", "/v1/ns/a/workflows", "/ns/a"}) {
    EXPECT_FALSE(router.is_open(closed)) << closed;
  }
}

TEST(Router, PrefersATextToAPlaceholderWhereBothFit) {
  for (const bool text_first : {true, false}) {
    Router router;
    if (text_first) router.add({.method = "GET", .path = "/v1/instances/count"});
    router.add({.method = "GET", .path = "/v1/instances/{instance}"});
    router.add({.method = "DELETE", .path = "/v1/instances/{instance}"});
    if (!text_first) router.add({.method = "GET", .path = "/v1/instances/count"});
    const auto found = router.find("GET", "/v1/instances/count");
    EXPECT_EQ(std::get<Router::Found>(found).route->path, "/v1/instances/count");
    const auto other = router.find("GET", "/v1/instances/counts");
    EXPECT_EQ(std::get<Router::Found>(other).route->path, "/v1/instances/{instance}");
    const auto refused = router.find("PATCH", "/v1/instances/count");
    EXPECT_EQ(*find_header(std::get<Response>(refused).headers, "Allow"), "GET, HEAD, DELETE");
  }
}

TEST(Router, LetsARouteTakeTheRestOfThePathAndChecksItsQuery) {
  Router router = two_routes();
  router.add({.method = "GET", .path = "/files"});
  router.add({.method = "GET", .path = "/files/{file}", .query = {"a"}, .takes_rest = true});
  const auto found = router.find("GET", "/files/deep/x%20y%2Fz?a=1");
  EXPECT_EQ(std::get<Router::Found>(found).request.parts.at("file"), "deep/x y/z");
  EXPECT_EQ(std::get<Router::Found>(router.find("GET", "/files")).route->path, "/files");
  EXPECT_EQ(std::get<Response>(router.find("GET", "/files/x?b=1")).status, 400U);
  EXPECT_EQ(std::get<Response>(router.find("GET", "/files/")).status, 404U);
}

TEST(Router, LetsARouteOfThePageTakeTheRestOfThePathAndAnyQuery) {
  Router router = two_routes();
  router.add({.method = "GET", .path = "/", .is_page = true});
  router.add({.method = "GET", .path = "/ns/{place}", .is_page = true});
  router.add({.method = "GET", .path = "/ns/{one}/two"});
  struct Row {
    const char* target;
    const char* path;  ///< of the route; empty: none
    const char* place;
  };
  const Row rows[] = {
      {"/", "/", ""},
      {"/?status=failed&status=%", "/", ""},
      {"/ns/shop", "/ns/{place}", "shop"},
      {"/ns/shop/", "/ns/{place}", "shop/"},
      {"/ns/shop/instances/1/story?at=3", "/ns/{place}", "shop/instances/1/story"},
      {"/ns/a%2Fb/c", "/ns/{place}", "a/b/c"},
      {"/ns/shop/two", "/ns/{one}/two", ""},
      {"/v1/ns/a/workflows", "/v1/ns/{ns}/workflows", ""},
      {"/x", "", ""},
      {"//", "", ""},
      {"/ns", "", ""},
      {"/ns/", "", ""},
      {"/ns//x", "", ""},
      {"/ns/%zz", "", ""},
  };
  for (const Row& row : rows) {
    const auto outcome = router.find("GET", row.target);
    const auto* const found = std::get_if<Router::Found>(&outcome);
    EXPECT_EQ(found == nullptr ? "" : found->route->path, row.path) << row.target;
    if (found == nullptr || *row.place == '\0') continue;
    EXPECT_EQ(found->request.parts.at("place"), row.place) << row.target;
    EXPECT_EQ(found->request.target, row.target);
  }
}

TEST(Router, ListsTheMethodsOfAPathInTheAllowHeader) {
  const auto outcome = two_routes().find("DELETE", "/v1/ns/a/workflows/b");
  const std::string* allow = find_header(std::get<Response>(outcome).headers, "Allow");
  ASSERT_NE(allow, nullptr);
  EXPECT_EQ(*allow, "GET, HEAD, PUT");
}

TEST(Router, AcceptsHeadWhereItAcceptsGet) {
  const auto outcome = two_routes().find("HEAD", "/v1/ns/a/workflows");
  EXPECT_TRUE(std::get<Router::Found>(outcome).head);
  EXPECT_EQ(std::get<Router::Found>(outcome).request.method, "GET");
}

TEST(Router, SelectsTheLaneByTheMethodUnlessARouteNamesOne) {
  Router router = two_routes();
  router.add({.method = "GET", .path = "/livez", .lane = Lane::kInPlace});
  const auto lane_of = [&](const char* method, const char* target) {
    return std::get<Router::Found>(router.find(method, target)).route->lane;
  };
  EXPECT_EQ(lane_of("GET", "/v1/ns/a/workflows"), Lane::kRead);
  EXPECT_EQ(lane_of("PUT", "/v1/ns/a/workflows/b"), Lane::kCommand);
  EXPECT_EQ(lane_of("GET", "/livez"), Lane::kInPlace);
}

TEST(Router, ShortensALongRequestTargetInItsAnswer) {
  std::string target = "/v1/ns/" + std::string(4'000, 'a') + "/workflows?x=1";
  for (int i = 0; i < 500; ++i) target += fmt::format("&unknown{}=1", i);
  const auto outcome = two_routes().find("GET", target);
  EXPECT_LE(std::get<Response>(outcome).body.size(), 1'000U);
}

}  // namespace
}  // namespace millrace
