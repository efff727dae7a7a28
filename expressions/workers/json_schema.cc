#include "expressions/workers/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <regex>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/big_integer.h"
#include "base/excerpt.h"

namespace millrace {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

constexpr size_t kMaxListed = 5;         ///< the most errors in one message
constexpr size_t kMaxBytesListed = 300;  ///< the most bytes of one error in a message

/// Converts floats with an integer value to integers: for JSON Schema, 1.0 is an integer, but
/// valijson uses the type that the JSON library gives to the number.
void make_integers(Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value.is_structured()) {
    for (Json& one : value) make_integers(one);
  } else if (is_big_integer(value)) {
    value = double_of(value);
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::abs(number) <= kExact && std::trunc(number) == number) {
      value = static_cast<int64_t>(number);
    }
  }
}

/// For valijson, 7.5 is a multiple of 1, and 19.99 is not a multiple of 0.01. So this keyword is
/// replaced by one of millrace's own, which MultipleOf implements.
constexpr const char* kMultipleOf = "multipleOf";
constexpr const char* kOurMultipleOf = "millrace:multipleOf";

class MultipleOf final : public valijson::constraints::PolyConstraint {
 public:
  explicit MultipleOf(double divisor) : divisor_(divisor) {}

  bool validate(const valijson::adapters::Adapter& target, const std::vector<std::string>& context,
                valijson::ValidationResults* results) const override {
    if (!target.isNumber()) return true;
    double number = 0;
    target.asDouble(number);
    const double quotient = number / divisor_;
    constexpr double kTolerance = 8 * std::numeric_limits<double>::epsilon();
    const double off = std::abs(quotient - std::round(quotient));
    if (off <= kTolerance * std::max(1.0, std::abs(quotient))) return true;
    if (results != nullptr) {
      results->pushError(context, fmt::format("Value should be a multiple of {}", divisor_));
    }
    return false;
  }

 private:
  Constraint* cloneInto(void* place) const override { return new (place) MultipleOf(*this); }
  size_t sizeOf() const override { return sizeof *this; }

  double divisor_;
};

class MultipleOfBuilder final : public valijson::ConstraintBuilder {
 public:
  valijson::constraints::Constraint* make(
      const valijson::adapters::Adapter& divisor) const override {
    return new MultipleOf(divisor.asDouble());
  }
};

/// Throws if the pattern is not valid. valijson would compile a pattern only when it first needs
/// that pattern.
void compile_pattern(const std::string& pattern) {
  try {
    const std::regex compiled(pattern);
  } catch (const std::regex_error& e) {
    throw std::runtime_error(
        fmt::format("pattern {}: {}", Json(excerpt(pattern)).dump(), e.what()));
  }
}

/// Checks the patterns of a schema, and renames the keywords that millrace implements itself.
void prepare(Json& schema) {
  constexpr std::array<std::string_view, 4> kData = {"enum", "const", "default", "examples"};
  for (const auto& [key, value] : schema.items()) {
    if (std::find(kData.begin(), kData.end(), key) != kData.end()) continue;
    if (key == "pattern" && value.is_string()) compile_pattern(value.get<std::string>());
    if (key == "patternProperties" && value.is_object()) {
      for (const auto& [pattern, property] : value.items()) compile_pattern(pattern);
    }
    if (value.is_structured()) prepare(value);
  }
  if (!schema.is_object()) return;
  if (const auto found = schema.find(kMultipleOf); found != schema.end() && found->is_number()) {
    const Json divisor = *found;
    schema.erase(found);
    schema[kOurMultipleOf] = divisor;
  }
}

/// Whether the error only reports that a part of the value has errors.
bool is_summary(const valijson::ValidationResults::Error& error) {
  for (const std::string_view begin :
       {"Failed to validate against schema associated with", "Failed to validate item #",
        "Failed to validate against child schema #",
        "Failed to validate against additional properties schema"}) {
    if (error.description.starts_with(begin)) return true;
  }
  return false;
}

bool is_word(std::string_view key) {
  const auto may_stand = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !key.empty() && (key.front() < '0' || key.front() > '9') &&
         std::all_of(key.begin(), key.end(), may_stand);
}

/// Converts valijson's path, such as `<root>`, `[lines]`, `[0]`, to `.lines[0]`.
std::string path_of(const std::vector<std::string>& context) {
  std::string path;
  for (size_t i = 1; i < context.size(); ++i) {
    const std::string key = context[i].substr(1, context[i].size() - 2);
    if (is_word(key)) {
      path += "." + key;
    } else if (key.find_first_not_of("0123456789") == std::string::npos) {
      path += "[" + key + "]";
    } else {
      path += "[" + Json(key).dump() + "]";
    }
  }
  return path.starts_with('.') ? path : "." + path;
}

/// Removes the trailing zeros of a number at the end of the text, which std::to_string made.
void drop_zeros(std::string& text) {
  constexpr size_t kDigits = 6;
  const size_t point = text.find_last_not_of("0123456789");
  if (point == std::string::npos || text[point] != '.') return;
  if (text.size() - point - 1 != kDigits) return;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
}

std::string described(const valijson::ValidationResults::Error& error) {
  std::string text = fmt::format("{}: {}", path_of(error.context), error.description);
  if (text.ends_with('.')) text.pop_back();
  drop_zeros(text);
  if (text.size() <= kMaxBytesListed) return text;
  size_t end = kMaxBytesListed;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // inside a character
  return text.substr(0, end) + "...";
}

std::string described(const valijson::ValidationResults& results) {
  std::vector<std::string> lines;
  for (const auto& error : results) {
    if (!is_summary(error)) lines.push_back(described(error));
  }
  if (lines.empty()) {
    for (const auto& error : results) lines.push_back(described(error));
  }
  // valijson reports no error for some keywords.
  if (lines.empty()) return ".: The value is not allowed";
  const size_t more = lines.size() - std::min(lines.size(), kMaxListed);
  lines.resize(lines.size() - more);
  std::string text = fmt::format("{}", fmt::join(lines, "; "));
  return more == 0 ? text : fmt::format("{}; and {} more", text, more);
}

}  // namespace

struct JsonSchema::State {
  valijson::Schema schema;
  valijson::Validator validator;  // holds the compiled patterns
};

JsonSchema::JsonSchema(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonSchema::~JsonSchema() = default;
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;

Result<JsonSchema> JsonSchema::compile(std::string_view text) {
  Json schema = TRY(parse_json(text));
  make_integers(schema);
  auto state = std::make_unique<State>();
  try {
    if (schema.is_object()) prepare(schema);
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.addConstraintBuilder(kOurMultipleOf, new MultipleOfBuilder);  // the parser owns it
    parser.populateSchema(Adapter(schema), state->schema);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return fail("schema.malformed", fmt::format("this is not a valid JSON Schema: {}", e.what()));
  }
  return JsonSchema(std::move(state));
}

std::optional<std::string> JsonSchema::violations(const Json& subject) {
  Json value = subject;
  make_integers(value);
  const Adapter target(value);
  try {
    if (state_->validator.validate(state_->schema, target, nullptr)) return std::nullopt;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return fmt::format(".: The value cannot be validated: {}", e.what());
  }
  try {
    valijson::ValidationResults results;
    state_->validator.validate(state_->schema, target, &results);
    return described(results);
  } catch (const std::exception&) {
    return ".: There are too many errors to list";
  }
}

}  // namespace millrace
