#include "cli/consequence.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/why_parts.h"

namespace millrace {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr std::array<Words, 4> kEnds{{
    {"complete", "completes"},
    {"failed", "fails"},
    {"timedout", "times out"},
    {"cancelled", "is cancelled"},
}};

constexpr std::array<Words, 6> kOtherCauses{{
    {"call", "the next attempt or timeout of a call"},
    {"depends", "depends on the data, or on another timeout"},
    {"event", "publishes the event"},
    {"expiry", "an event leaves its group"},
    {"handOut", "makes the call"},
    {"start", "starts an instance"},
}};

/// The word for a value of the API; the value itself if this program does not know it.
template <size_t size>
std::string_view word_for(const std::array<Words, size>& words, std::string_view value) {
  for (const auto& [known, text] : words) {
    if (known == value) return text;
  }
  return value;
}

std::string caller_text(const Json& item) {
  if (!item.contains("caller")) return "";
  const Json& caller = item.at("caller");
  return caller.value("retries", false) ? "; its caller calls again"
                                        : "; its caller gets the error";
}

std::string ended_text(const Json& item) {
  const std::string ends = member_text(item, "ends");
  std::string text(word_for(kEnds, ends));
  const std::string code = member_text(item, "error");
  if (!code.empty() && ends != "complete") text += " with " + code;
  if (item.value("compensates", false)) text += " after its compensations";
  return text + caller_text(item);
}

}  // namespace

std::string consequence_text(const Json& item) {
  const std::string causes = member_text(item, "causes");
  const std::string then = member_text(item, "then");
  if (causes == "attempt") return "another attempt of " + then;
  if (causes == "run") return then.empty() ? "another run" : "another run, from " + then;
  if (causes == "end") return ended_text(item);
  return then.empty() ? std::string(word_for(kOtherCauses, causes)) : then;
}

}  // namespace millrace
