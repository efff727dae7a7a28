// The word with which a service may say, in the header of its answer, that it answers later.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/result.h"
#include "model/task.h"

namespace millrace {

/// The error kFunctionStatus of an answer whose kAnswerHeader has another value than
/// kAcceptedAnswer; nullopt: the header is absent (`word` is empty) or has this value.
inline std::optional<Error> answer_word_error(std::string_view word) {
  if (word.empty() || word == kAcceptedAnswer) return std::nullopt;
  constexpr size_t kShown = 64;
  const bool is_shown = word.size() <= kShown && is_utf8(word);
  return Error{
      std::string(kFunctionStatus),
      fmt::format("the header {} of the answer is {}; expected: \"{}\"", kAnswerHeader,
                  is_shown ? fmt::format("\"{}\"", word) : "another text", kAcceptedAnswer)};
}

}  // namespace millrace
