#include "gateway/openapi.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <span>

#include "base/check.h"
#include "gateway/api_parameters.h"
#include "gateway/api_schemas.h"
#include "gateway/problem.h"
#include "gateway/schema_parts.h"
#include "gateway/stale_read.h"
#include "language/error_table.h"

namespace millrace {
namespace {

constexpr std::string_view kOfNamespace = "/v1/ns/{ns}/";

/// An answer with one of these errors.
Json problem_answer(std::string_view description, const std::set<std::string_view>& codes) {
  Json code = {{"enum", Json::array()}};
  for (const std::string_view one : codes) code["enum"].push_back(one);
  Json both = {
      {"allOf", Json::array({schema::ref("Problem"), Json{{"properties", {{"code", code}}}}})}};
  return {{"description", description},
          {"content", {{"application/problem+json", {{"schema", std::move(both)}}}}}};
}

Json good_answer(const std::string& name) {
  Json answer = {{"description", name.empty() ? "No body." : name}};
  if (!name.empty()) answer["content"] = content_of(name);
  return answer;
}

/// The headers of an answer from the folder of a node that is not the active.
Json stale_headers() {
  return {{kStaleHeader,
           {{"description",
             "If the answer is from a copy: it has all that was committed this many seconds ago."},
            {"schema", {{"type", "number"}, {"minimum", 0}}}}},
          {kPositionHeader,
           {{"description",
             "If the answer is from a copy: the position of its last commit in the log."},
            {"schema", {{"type", "integer"}, {"minimum", 0}}}}}};
}

Json answers_of(const Route& route) {
  Json answers = Json::object();
  std::map<unsigned, std::set<std::string_view>> errors;
  for (const std::string_view code : own_errors(route)) errors[status_of(code)].insert(code);
  for (const std::string_view code : common_errors()) {
    if (const auto own = errors.find(status_of(code)); own != errors.end()) {
      own->second.insert(code);
    }
  }
  for (const auto& [status, codes] : errors) {
    answers[std::to_string(status)] = problem_answer(title_of(status), codes);
  }
  answers["default"] = {{"$ref", "#/components/responses/Error"}};
  answers[std::to_string(route.answer_status)] = good_answer(route.answer);
  if (route.read) answers[std::to_string(route.answer_status)]["headers"] = stale_headers();
  for (const FurtherAnswer& further : route.further_answers) {
    answers[std::to_string(further.status)] = good_answer(further.answer);
  }
  return answers;
}

/// Adds a parameter. A test holds the routes against the table of the parameters.
void add_parameter(Json& parameters, ParameterPlace place, std::string_view name,
                   const Route& route) {
  const ApiParameter* const found = find_parameter(place, name, route.operation);
  CHECK(found != nullptr, "{}: `{}` is not in gateway/api_parameters.cc", route.operation, name);
  parameters.push_back({{"name", name},
                        {"in", to_string(place)},
                        {"required", place == ParameterPlace::kPath || found->is_required},
                        {"description", found->description},
                        {"schema", found->schema}});
}

Json parameters_of(const Route& route) {
  using enum ParameterPlace;
  Json parameters = Json::array();
  const std::string_view path = route.path;
  for (size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    add_parameter(parameters, kPath, path.substr(at + 1, path.find('}', at) - at - 1), route);
  }
  for (const std::string& name : route.query) add_parameter(parameters, kQuery, name, route);
  for (const std::string& name : route.headers) add_parameter(parameters, kHeader, name, route);
  return parameters;
}

Json operation_of(const Route& route) {
  Json operation = {{"operationId", route.operation},
                    {"summary", route.summary},
                    {"tags", Json::array({noun_of(route)})},
                    {"parameters", parameters_of(route)},
                    {"responses", answers_of(route)}};
  if (!route.body.empty()) {
    operation["requestBody"] = {{"required", !route.may_lack_body},
                                {"content", content_of(route.body)}};
  }
  if (route.open) operation["security"] = Json::array();
  return operation;
}

}  // namespace

const std::set<std::string_view>& common_errors() {
  static const std::set<std::string_view> codes = {
      "busy",
      "cluster.loading",
      "cluster.no_active",
      "cluster.no_answer",
      "internal",
      "log.closed",
      "log.deposed",
      "log.lost",
      "log.unreachable",
      "request.body_too_large",
      "request.content_encoding",
      "request.headers_too_large",
      "request.host",
      "request.identifier",
      "request.malformed",
      "request.malformed_target",
      "request.method_not_allowed",
      "request.not_found",
      "request.origin",
      "request.page",
      "request.parameter",
      "request.unknown_parameter",
      "session.ended",
      "starting",
      "stopping",
      "store.corrupt",
      "store.damaged_row",
      "store.full",
      "store.io",
      "store.readers",
      "store.sync",
      "token.missing",
      "token.wrong",
  };
  return codes;
}

std::set<std::string_view> own_errors(const Route& route) {
  std::set<std::string_view> codes;
  for (const std::string& entry : route.errors) {
    if (!entry.ends_with('.')) {
      codes.insert(entry);
      continue;
    }
    for (const auto group : {request_errors(), instance_errors()}) {
      for (const ErrorEntry& one : group) {
        if (one.status != 0 && one.code.starts_with(entry)) codes.insert(one.code);
      }
    }
  }
  return codes;
}

std::string noun_of(const Route& route) {
  const std::string_view path = route.path;
  if (path.starts_with(kOfNamespace)) {
    const std::string_view rest = path.substr(kOfNamespace.size());
    return std::string(rest.substr(0, rest.find('/')));
  }
  return path.starts_with("/v1/ns") ? "namespaces" : "server";
}

Json openapi_document(const std::vector<Route>& routes) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    std::string method = route.method;
    std::transform(method.begin(), method.end(), method.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    paths[route.path][method] = operation_of(route);
  }
  Json schemas = Json::object();
  for (const auto& [name, one] : api_schemas()) {
    if (!one.schema.is_null()) schemas[name] = one.schema;
  }
  const Json bearer = {{"type", "http"},
                       {"scheme", "bearer"},
                       {"description", "Needed if the server was started with a token."}};
  const Json session = {{"type", "apiKey"},
                        {"in", "cookie"},
                        {"name", "millrace-8780"},
                        {"description",
                         "In place of the token, with the port of the server in its name: the "
                         "session that `POST /v1/session` begins. A call that may change something "
                         "then needs the header `Millrace-Page: 1`."}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "millrace"},
            {"version", "1"},
            {"description", "Event-driven workflows. docs/http.md has an example of each call."}}},
          // The document is at /v1/openapi.json, also behind a proxy that adds a prefix.
          {"servers", Json::array({Json{{"url", ".."}}})},
          {"security", Json::array({Json{{"bearer", Json::array()}},
                                    Json{{"session", Json::array()}}, Json::object()})},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", std::move(schemas)},
            {"responses", {{"Error", problem_answer("An error.", common_errors())}}},
            {"securitySchemes", {{"bearer", bearer}, {"session", session}}}}}};
}

}  // namespace millrace
