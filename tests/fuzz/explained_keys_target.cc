// The name that `millrace explain` gets: a key, a path of keys, a type or a mapping of the
// language.
// Covers: cli/explain.cc language/grammar.cc base/similar_names.h
#include <sstream>
#include <string>

#include "base/bytes.h"
#include "cli/explain.h"
#include "cli/output.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/text_console.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostNameBytes = 256;

struct Explained {
  Ended ended;
  std::string text;
};

Explained explained(const std::string& name) {
  TextConsole text;
  Ended ended = explain_key(text.console, name);
  return {std::move(ended), text.out.str()};
}

}  // namespace

FUZZ_TARGET(explained_keys) {
  if (bytes.size() > kMostNameBytes) return;
  const std::string name(bytes);
  const auto [ended, text] = explained(name);
  if (!ended) {
    CHECK(ended.error().code == ExitCode::kNotFound, "an unknown key is another failure");
    CHECK(text.empty(), "an unknown key is explained: {}", excerpt(text));
    if (is_utf8(name)) check_shown_error(ended.error().error);
    return;
  }
  CHECK(*ended == ExitCode::kOk && !text.empty(), "nothing is explained for {}", excerpt(name));
  CHECK(is_utf8(text) && harmless(text, kLineEnds) == text, "what is explained is not text");
  CHECK(explained(name).text == text, "a key has two explanations: {}", excerpt(name));
}

}  // namespace millrace::fuzz
