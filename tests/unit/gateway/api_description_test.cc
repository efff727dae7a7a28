// The descriptions of the routes: each route has all parts from which the OpenAPI document is made.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/api_parameters.h"
#include "gateway/api_schemas.h"
#include "gateway/routes.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

constexpr std::string_view kRef = "#/components/schemas/";

/// The names of the placeholders in a path.
std::vector<std::string> placeholders_of(std::string_view path) {
  std::vector<std::string> names;
  for (size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    names.emplace_back(path.substr(at + 1, path.find('}', at) - at - 1));
  }
  return names;
}

/// The names of the schemas of a route's bodies.
std::vector<std::string> schemas_of(const Route& route) {
  std::vector<std::string> names;
  if (!route.body.empty()) names.push_back(route.body);
  if (!route.answer.empty()) names.push_back(route.answer);
  for (const FurtherAnswer& further : route.further_answers) {
    if (!further.answer.empty()) names.push_back(further.answer);
  }
  return names;
}

/// Adds the schema `name`, and all schemas to which it refers.
void add_with_references(const std::string& name, std::set<std::string>& seen) {
  if (!seen.insert(name).second) return;
  const auto found = api_schemas().find(name);
  ASSERT_NE(found, api_schemas().end()) << "there is no schema " << name;
  const std::string text = found->second.schema.dump() + found->second.media.dump();
  for (size_t at = text.find(kRef); at != std::string::npos; at = text.find(kRef, at + 1)) {
    const size_t begin = at + kRef.size();
    add_with_references(text.substr(begin, text.find('"', begin) - begin), seen);
  }
}

class ApiDescription : public testing::Test {
 protected:
  FakeService service_;
  const Router router_ = make_router(service_, {}, [] { return std::string(); });
};

TEST_F(ApiDescription, NamesAndSummarizesEachRoute) {
  std::set<std::string> operations;
  for (const Route& route : router_.routes()) {
    const std::string what = route.method + " " + route.path;
    EXPECT_TRUE(operations.insert(route.operation).second)
        << what << ": another route has the operation \"" << route.operation << "\"";
    EXPECT_EQ(
        route.operation.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        std::string::npos)
        << what;
    ASSERT_FALSE(route.operation.empty()) << what << " has no operation";
    EXPECT_TRUE(route.operation.front() >= 'a' && route.operation.front() <= 'z') << what;
    ASSERT_FALSE(route.summary.empty()) << what << " has no summary";
    EXPECT_EQ(route.summary.back(), '.') << what;
    EXPECT_LE(route.summary.size(), 100U) << what;
  }
}

TEST_F(ApiDescription, DescribesEachParameterAndNoOther) {
  using enum ParameterPlace;
  std::set<const ApiParameter*> used;
  for (const Route& route : router_.routes()) {
    const auto expect_described = [&](ParameterPlace place, const std::string& name) {
      const ApiParameter* const found = find_parameter(place, name, route.operation);
      used.insert(found);
      EXPECT_NE(found, nullptr) << route.operation << ": add the " << to_string(place)
                                << " parameter `" << name << "` to gateway/api_parameters.cc";
    };
    for (const std::string& name : placeholders_of(route.path)) expect_described(kPath, name);
    for (const std::string& name : route.query) expect_described(kQuery, name);
    for (const std::string& name : route.headers) expect_described(kHeader, name);
  }
  for (const ApiParameter& one : api_parameters()) {
    EXPECT_TRUE(used.contains(&one)) << "no route has the parameter " << one.name;
    EXPECT_TRUE(one.description.ends_with('.')) << one.name;
  }
}

TEST_F(ApiDescription, HasASchemaOfEachBodyAndUsesEachSchema) {
  std::set<std::string> used;
  add_with_references("Problem", used);
  for (const Route& route : router_.routes()) {
    EXPECT_EQ(route.body.empty(), route.max_body == 0)
        << route.operation << ": a route with a body has a schema of it and a limit of its size";
    for (const std::string& name : schemas_of(route)) add_with_references(name, used);
    std::set<unsigned> statuses = {route.answer_status};
    for (const FurtherAnswer& further : route.further_answers) {
      EXPECT_TRUE(statuses.insert(further.status).second) << route.operation << further.status;
    }
  }
  for (const auto& [name, schema] : api_schemas()) {
    EXPECT_TRUE(used.contains(name)) << "no route uses the schema " << name;
    EXPECT_FALSE(schema.schema.is_null() && schema.media.empty()) << name << " is empty";
  }
}

}  // namespace
}  // namespace millrace
