// Two classes of one name in one namespace are undefined behaviour where both come into one
// program, and no linker says so: each name is defined in one file.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/definitions.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kPlanted = R"cc(
#include "a.h"  // struct Not {
#define MACRO  \
    struct Nor { \
      class Neither {
  namespace millrace {
  namespace {
  struct Hidden {
    int a;
  };
  }  // namespace
  class Later;
  /* class Comment { */
  const char* text = "class Quoted {";
  const char* raw = R"x(class Raw { " )x";
  constexpr int kMillion = 1'000'000;
  template <class T>
  class Templated final : public Base<T> {
    struct Nested {
      int b;
    };
  };
  enum class Kind : uint8_t { kOne };
  struct [[nodiscard]] Marked {};
  void function(struct Elaborated* one) {
    struct Local {};
  }
  struct Outer::Inner {};
  auto made = Aggregate{1};
  using Alias = Marked;
  using namespace std;
  namespace room {
  union Either {
    int a;
  };
  }
  }  // namespace millrace
  namespace millrace::other {
  struct Elsewhere {};
  }
  struct Global {};
)cc";

TEST(VisibleDefinitions, AreThoseThatOtherFilesCanSee) {
  EXPECT_THAT(
      visible_definitions(kPlanted),
      ElementsAre("millrace::Templated", "millrace::Kind", "millrace::Marked", "millrace::Alias",
                  "millrace::room::Either", "millrace::other::Elsewhere", "Global"));
}

using Places = std::map<std::string, std::set<std::string>>;

/// Each name with the files that define it, of those rooms.
Places definitions_in(const std::vector<std::string>& rooms) {
  const std::filesystem::path root = MILLRACE_SOURCES;
  Places places;
  for (const std::string& room : rooms) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (const std::string& name : visible_definitions(text)) {
        places[name].insert(entry.path().lexically_relative(root));
      }
    }
  }
  return places;
}

std::vector<std::string> twice(const Places& places) {
  std::vector<std::string> found;
  for (const auto& [name, files] : places) {
    if (files.size() > 1) found.push_back(fmt::format("{}: {}", name, fmt::join(files, ", ")));
  }
  return found;
}

TEST(OneDefinition, OfEachClassIsInTheProgram) {
  const Places places = definitions_in(
      {"app", "base", "broker", "cli", "cloudevents", "expressions", "functions", "gateway", "http",
       "language", "matchers", "model", "orchestrator", "os", "policies", "scenarios", "states"});
  // Else it has looked in the wrong place, or seen nothing there.
  EXPECT_GT(places.size(), 400U);
  for (const char* const known : {"millrace::Event", "millrace::Instance",
                                  "millrace::HttpConnection", "millrace::Connection"}) {
    EXPECT_EQ(places.count(known), 1U) << known;
  }
  EXPECT_THAT(twice(places), IsEmpty());
}

TEST(OneDefinition, IsMissedByNoScanThatFindsTwo) {
  Places places;
  for (const char* const file : {"a.h", "b.h"}) {
    for (const std::string& name : visible_definitions("namespace n {\nclass Twice {};\n}")) {
      places[name].insert(file);
    }
  }
  EXPECT_THAT(twice(places), ElementsAre("n::Twice: a.h, b.h"));
}

}  // namespace
}  // namespace millrace
