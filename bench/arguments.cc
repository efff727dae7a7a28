#include "bench/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

tl::unexpected<Error> wrong(std::string_view argument, std::string_view what) {
  return fail("bench.argument", fmt::format("{}: {}", argument, what));
}

bool is_option(std::string_view name) { return name.starts_with("--"); }

/// Whether the whole text is one number, which `number` gets.
template <class Number>
bool read_whole_text(const std::string& text, Number& number) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last;
}

Status set_value(const Argument& argument, const std::string& text) {
  if (const auto* const path = std::get_if<std::filesystem::path*>(&argument.value)) {
    **path = text;
    return {};
  }
  if (const auto* const word = std::get_if<std::string*>(&argument.value)) {
    **word = text;
    return {};
  }
  if (const auto* const count = std::get_if<size_t*>(&argument.value)) {
    if (read_whole_text(text, **count)) return {};
    return wrong(argument.name, fmt::format("{} is not a whole number from 0 on", text));
  }
  double number = 0;
  if (!read_whole_text(text, number) || !std::isfinite(number) || number <= 0) {
    return wrong(argument.name, fmt::format("{} is not a number greater than 0", text));
  }
  *std::get<double*>(argument.value) = number;
  return {};
}

std::string names_of(const std::vector<Argument>& accepted) {
  std::vector<std::string_view> names;
  for (const Argument& argument : accepted) names.push_back(argument.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Status read_arguments(const std::vector<std::string>& given,
                      const std::vector<Argument>& accepted) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& text = given[i];
    const auto argument = std::find_if(accepted.begin(), accepted.end(), [&](const Argument& one) {
      return is_option(text) ? one.name == text : !is_option(one.name) && !seen.contains(one.name);
    });
    if (argument == accepted.end()) {
      return wrong(text, fmt::format("unexpected argument; expected: {}", names_of(accepted)));
    }
    if (!seen.insert(argument->name).second) return wrong(text, "given twice; give it once");
    if (is_option(text) && i + 1 == given.size()) {
      return wrong(text, "no value; write the value after the name");
    }
    TRY(set_value(*argument, is_option(text) ? given[++i] : text));
  }
  return {};
}

}  // namespace millrace
