#include "tests/model/written_time.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tests/model/case_yaml.h"

namespace millrace::reference {

namespace {

// The value at a path such as .go.wait; null if it is not there.
Json value_at(Json value, const std::string& at) {
  std::string path = at.substr(1) + ".";
  while (!path.empty()) {
    const std::string name = path.substr(0, path.find('.'));
    path = path.substr(name.size() + 1);
    value = value.is_object() && value.contains(name) ? value[name] : Json();
  }
  return value;
}

// The right side of jq's `//` counts if the left one is null or false.
bool is_missing(const Json& value) { return value.is_null() || value == false; }

// Reads the texts of durations that the cases have: `1500ms`.
std::optional<Ms> duration_in(const Json& value, bool may_be_zero) {
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  if (text.size() < 3 || !text.ends_with("ms")) return std::nullopt;
  const std::string digits = text.substr(0, text.size() - 2);
  const bool is_number =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  const Ms time = std::stoll(digits);
  if (time == 0 && !may_be_zero) return std::nullopt;
  return time;
}

// "357ms" of 5357 ms: the text to which a number is put in front.
std::string tail_of(Ms time) { return fmt::format("{:03}ms", time % 1000); }

// The time of a case in seconds since 1970, with three decimals.
std::string seconds_of(Ms time) {
  const Ms all = kStartOfCases + time;
  return fmt::format("{}.{:03}", all / 1000, all % 1000);
}

}  // namespace

std::optional<WrittenTime> read_time(const State& state, Ms time, const Json& data, int attempt,
                                     int run) {
  const auto span = [](Ms value) { return WrittenTime{.span = value, .until = {}}; };
  switch (state.writing) {
    case Writing::kConstant:
      break;
    case Writing::kOfData: {
      const Json value = value_at(data, state.written_path);
      if (is_missing(value)) break;
      const auto written = duration_in(value, false);
      return written ? std::optional(span(*written)) : std::nullopt;
    }
    case Writing::kOfAttempt:
      return span(Ms{1000} * attempt + time % 1000);
    case Writing::kOfRun:
      return span(Ms{1000} * run + time % 1000);
    case Writing::kUntil: {
      const Json value = state.written_path.empty() ? Json() : value_at(data, state.written_path);
      if (is_missing(value)) return WrittenTime{.span = {}, .until = time};
      if (!value.is_number()) return std::nullopt;
      const Ms seconds = std::llround(value.get<double>() * 1000);
      return WrittenTime{.span = {}, .until = seconds - kStartOfCases};
    }
  }
  return span(time);
}

std::optional<Policy> with_delay(Policy policy, const Json& data, const Error& error) {
  if (policy.delay_path.empty()) return policy;
  Json seen = data;
  seen["error"] = {{"code", error.code}, {"msg", error.message}};
  const Json value = value_at(seen, policy.delay_path);
  // The message of a timeout is a sentence, which the model does not know.
  if (!is_missing(value)) {
    const auto delay = duration_in(value, true);
    if (!delay) return std::nullopt;
    policy.delay = *delay;
  }
  return policy;
}

std::string time_line(const State& state, const std::string& key, Ms time) {
  const auto line = [&key](const std::string& text) { return "  " + key + ": " + text + "\n"; };
  switch (state.writing) {
    case Writing::kConstant:
      break;
    case Writing::kOfData:
      return line("'jq(" + state.written_path + " // \"" + ms(time) + "\")'");
    case Writing::kOfAttempt:
      return line("'jq($instance.attempt)" + tail_of(time) + "'");
    case Writing::kOfRun:
      return line("'jq($instance.run)" + tail_of(time) + "'");
    case Writing::kUntil:
      if (state.written_path.empty()) return "  until: " + seconds_of(time) + "\n";
      return "  until: 'jq(" + state.written_path + " // " + seconds_of(time) + ")'\n";
  }
  return line(ms(time));
}

std::string delay_text(const Retry& retry) {
  const std::string constant = ms(retry.delay.value_or(0));
  if (retry.delay_path.empty()) return constant;
  return "'jq(" + retry.delay_path + " // \"" + constant + "\")'";
}

}  // namespace millrace::reference
