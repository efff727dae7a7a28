#include "language/error_codes.h"

#include <filesystem>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "language/error_table.h"
#include "tests/support/file_bytes.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// Whether the text begins like an error code but is something else, which no instance raises: the
/// reason of a dead letter, the type of a lifecycle event, a label, a subject or a prefix.
bool is_something_else(const std::string& text) {
  static const std::set<std::string> others = {
      "millrace.limits.hops",     "millrace.match.budget",
      "millrace.quota",           "millrace.quota.eventsPerSecond",
      "millrace.quota.workflows", "millrace.data",
      "millrace.source",          "millrace.task"};
  for (const char* prefix : {"millrace.instance.", "millrace.step.", "millrace.retry."}) {
    if (text.starts_with(prefix)) return true;
  }
  return others.contains(text);
}

TEST(ErrorCodes, ListExactlyTheCodesThatTheSourcesRaise) {
  std::set<std::string> listed;
  for (const ErrorEntry& one : instance_errors()) {
    EXPECT_TRUE(listed.emplace(one.code).second) << one.code << " is listed twice";
  }
  const std::regex literal(R"x("((direktiv|millrace)(\.[A-Za-z]+)+)")x");
  std::set<std::string> raised;
  for (const char* room : {"base", "cloudevents", "expressions", "functions", "broker", "policies",
                           "model", "states", "orchestrator"}) {
    for (const auto& entry : fs::recursive_directory_iterator(room)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const std::string text = file_bytes(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), literal), end; found != end;
           ++found) {
        if (!is_something_else((*found)[1])) raised.insert((*found)[1]);
      }
    }
  }
  for (const std::string& code : raised) {
    EXPECT_TRUE(listed.contains(code))
        << code << " is raised, but is not in language/errors_of_instances.cc";
  }
  for (const std::string& code : listed) {
    EXPECT_TRUE(raised.contains(code))
        << code << " is in language/errors_of_instances.cc, but nothing raises it";
  }
}

TEST(ErrorCodes, AreDocumentedInTheReference) {
  const std::string docs = file_bytes("docs/language.md") + file_bytes("docs/functions.md");
  for (const ErrorEntry& one : instance_errors()) {
    const std::string code(one.code);
    const std::string tail = code.substr(code.rfind('.'));  // the pages abbreviate codes in lists
    EXPECT_TRUE(docs.find("`" + code + "`") != std::string::npos ||
                docs.find("`" + tail + "`") != std::string::npos)
        << code << " is neither in docs/language.md nor in docs/functions.md";
  }
}

TEST(ErrorCodes, AreReservedIfTheyBeginWithDirektivOrMillraceInAnyCase) {
  EXPECT_TRUE(is_reserved_code("direktiv.x"));
  EXPECT_TRUE(is_reserved_code("Millrace.x"));
  EXPECT_FALSE(is_reserved_code("direktivx"));
  EXPECT_FALSE(is_reserved_code("card.declined"));
  EXPECT_FALSE(is_reserved_code("*"));
}

}  // namespace
}  // namespace millrace
