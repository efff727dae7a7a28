// The routes about the workflow language itself: POST /v1/expressions and GET /v1/schema.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "gateway/problem.h"
#include "gateway/routes.h"
#include "language/editor_schema.h"
#include "language/findings.h"

namespace millrace {
namespace {

tl::unexpected<Error> wrong_trial(std::string_view what) {
  return fail("request.parameter",
              fmt::format("{}; write {{\"text\": …, \"as\": \"query\", \"value\" or \"template\", "
                          "\"data\": …, \"instance\": …}}",
                          what));
}

/// Reads {"text","as","data","instance"}.
Result<ExpressionTrial> trial_of(const std::string& body) {
  Json json = TRY(parse_json(body));
  if (!json.is_object()) return wrong_trial("the body is not an object");
  ExpressionTrial trial;
  bool has_text = false;
  for (auto& [key, value] : json.items()) {
    if (key == "text") {
      trial.text = std::move(value);
      has_text = true;
    } else if (key == "data") {
      trial.data = LazyJson::of_tree(std::move(value));
    } else if (key == "instance") {
      trial.instance = LazyJson::of_tree(std::move(value));
    } else if (key != "as") {
      return wrong_trial(fmt::format("the body has an unknown member {}", in_quotes(key)));
    }
  }
  if (!has_text) return wrong_trial("the member `text` is missing");
  const Json as = json.value("as", Json("query"));
  if (as == "value") {
    trial.as = ExpressionTrial::As::kValue;
  } else if (as == "template") {
    trial.as = ExpressionTrial::As::kTemplate;
  } else if (as != "query") {
    return wrong_trial(fmt::format("as: {} is not valid", in_quotes(dump_json(as))));
  }
  return trial;
}

/// The answer {"result": value}. A large value stays the text that the jq worker has written.
Response result_response(const LazyJson& value) {
  Response response = json_response(200, Json());
  response.body = "{\"result\":" + value.text() + "}\n";
  return response;
}

Status try_expression(Service& service, const std::shared_ptr<Exchange>& exchange) {
  ExpressionTrial trial = TRY(trial_of(exchange->request().body));
  exchange->free_body();
  service.try_expression(
      std::move(trial),
      exchange->back_to_read<Result<LazyJson>>([exchange](const Result<LazyJson>& result) {
        exchange->answer(result ? result_response(*result) : problem(result.error()));
      }));
  return {};
}

}  // namespace

void add_language_routes(Router& router, Service& service, const RequestLimits& limits) {
  router.add(
      {.method = "POST",
       .path = "/v1/expressions",
       .operation = "tryExpression",
       .summary = "Evaluates an expression with some data; nothing changes.",
       .body = "ExpressionTrial",
       .answer = "ExpressionResult",
       .errors = {"json.", "jq.empty", "jq.malformed", "jq.syntax", "jq.too_long", "jq.unbalanced",
                  "jq.unterminated", "direktiv.jq.", "millrace.jq.memory", "millrace.timeout.task"},
       .max_body = limits.input_bytes,
       .handler = [&service](const auto& exchange) { return try_expression(service, exchange); }});
  router.add({.method = "GET",
              .path = "/v1/schema",
              .operation = "getDefinitionSchema",
              .summary = "Shows the JSON Schema of definitions, for editors.",
              .answer = "DefinitionSchema",
              .handler = reading([](const Request&) -> Result<Json> { return editor_schema(); })});
}

}  // namespace millrace
