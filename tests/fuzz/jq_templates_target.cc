// Texts with jq in them: the scanner that finds the end of a jq program, the checks that need no
// jq, and templates, whose parts give the text again.
// Covers: expressions/jq_syntax.cc expressions/template.cc expressions/jq_names.cc
// Covers: expressions/program_facts.cc expressions/fast_lane_parser.cc expressions/jq_text.cc
#include <string>
#include <vector>

#include "base/characters.h"
#include "expressions/jq_names.h"
#include "expressions/jq_syntax.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

void check_jq_scan(std::string_view text) {
  for (const size_t from : {size_t{0}, text.size() / 2, text.size()}) {
    const JqEnd end = scan_jq(text, from);
    CHECK(end.at <= text.size() && end.open <= text.size(), "a scan ended at byte {} of {}", end.at,
          text.size());
    switch (end.kind) {
      case JqEnd::Kind::kEnd:
        break;
      case JqEnd::Kind::kOpen:
        CHECK(std::string_view("([{\"").find(text.at(end.at)) != std::string_view::npos,
              "no bracket or string begins at byte {} of {}", end.at, excerpt(text));
        break;
      case JqEnd::Kind::kMismatch:
        CHECK(end.open < end.at, "a bracket closes one behind it: {}", excerpt(text));
        CHECK(!describe_mismatch(text, end).empty(), "no message for {}", excerpt(text));
        [[fallthrough]];
      case JqEnd::Kind::kCloser:
        CHECK(std::string_view(")]}").find(text.at(end.at)) != std::string_view::npos,
              "no bracket closes at byte {} of {}", end.at, excerpt(text));
    }
  }
}

void check_program_facts(std::string_view program) {
  const std::string blanked = without_literals(program);
  CHECK(blanked.size() == program.size(), "without_literals() moves bytes of {}", excerpt(program));
  for (size_t i = 0; i < program.size(); ++i) {
    CHECK(blanked[i] == program[i] || blanked[i] == ' ', "without_literals() changes byte {} of {}",
          i, excerpt(program));
  }
  is_assignment(program);
  keys_constructed(program);
  keys_assigned(program);
  const size_t split = find_split_key(program, "a.b");
  CHECK(split == std::string::npos || split < program.size(), "a key is behind {}",
        excerpt(program));
  find_unknown_format(program);
  names_surely_exist(program, JqFunctions{"length/0", "map/1"});
  place_in(program, program.size());
  facts_of(program);
  key_paths_of(program);
}

/// The text that the parts of a template came from.
std::string text_of_parts(const Template& one) {
  std::string text;
  size_t next = 0;
  for (const Template::Part& part : one.parts()) {
    text += part.literal;
    if (!part.program) continue;
    CHECK(*part.program == next++, "the jq programs of a template are not in order");
    text += "jq(" + one.programs()[*part.program].text + ")";
  }
  CHECK(next == one.programs().size(), "a template of one text has programs that are no part");
  return text;
}

void check_template(const std::string& text) {
  const Result<Template> one = Template::literal_or_jq(Json(text), Template::Dot::kLiteral);
  if (!one) {
    check_shown_error(one.error());
    return;
  }
  const std::string joined = text_of_parts(*one);
  CHECK(one->whole() != nullptr ? joined == trimmed(text) : joined == text,
        "the parts of {} give {}", excerpt(text), excerpt(joined));
  std::vector<LazyJson> results;
  std::string expected;
  for (const Template::Part& part : one->parts()) {
    expected += part.literal;
    if (!part.program) continue;
    results.emplace_back(Json("<" + std::to_string(*part.program) + ">"));
    expected += results.back().string();
  }
  CHECK(one->assemble(results).value() == Json(expected), "{} is assembled wrongly", excerpt(text));

  // Within an object, the same text is the same template.
  const Result<Template> inner =
      Template::literal_or_jq(Json{{"k", {text, 1}}}, Template::Dot::kLiteral);
  CHECK(inner && inner->programs().size() == one->programs().size(),
        "another template within an object: {}", excerpt(text));
  CHECK(inner->assemble(results).value() == Json({{"k", {expected, 1}}}),
        "{} is assembled wrongly in an object", excerpt(text));
}

}  // namespace

FUZZ_TARGET(jq_templates) {
  if (bytes.size() > 4 * kMaxProgramBytes) return;
  check_jq_scan(bytes);
  if (!is_utf8(bytes)) return;  // the texts come from JSON or YAML
  if (const Status status = check_program_text(bytes)) {
    check_program_facts(bytes);
  } else {
    check_shown_error(status.error());
  }
  check_template(std::string(bytes));
  const Result<Template> query = Template::query(Json(std::string(bytes)));
  if (!query) check_shown_error(query.error());
}

}  // namespace millrace::fuzz
