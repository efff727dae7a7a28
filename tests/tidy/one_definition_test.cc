// Two classes of the same name in one executable are undefined behaviour, and a linker does not
// report them. So each name is defined in one file of the program, and in no file of a test or
// benchmark that is linked with it.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/definitions.h"
#include "tests/tidy/executables.h"
#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

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
  template <class T>
  using Aliases = std::vector<T>;
  typedef unsigned long Number;
  typedef void (*Callback)(int argument);
  typedef char Buffer[16];
  using Nested::member;
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

TEST(OneDefinition, ConcernsTheDefinitionsThatOtherFilesCanSee) {
  EXPECT_THAT(
      visible_definitions(kPlanted),
      ElementsAre("millrace::Templated", "millrace::Kind", "millrace::Marked", "millrace::Alias",
                  "millrace::Aliases", "millrace::Number", "millrace::Callback", "millrace::Buffer",
                  "millrace::room::Either", "millrace::other::Elsewhere", "Global"));
}

/// Source files and lists of CMake, by their paths from the root.
using Texts = std::map<std::string, std::string>;

bool is_source(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cc"); }

/// A line for each name that two files of the program define, or two files of one test or
/// benchmark.
std::set<std::string> defined_twice(const Texts& texts) {
  std::map<std::string, std::vector<std::string>> names;  // of each source file
  std::set<std::string> program;
  for (const auto& [path, text] : texts) {
    if (is_source(path)) names.emplace(path, visible_definitions(text));
    if (is_program_source(path)) program.insert(path);
  }
  auto executables = executables_of(texts);
  executables["the program"];
  std::set<std::string> lines;
  for (auto& [executable, files] : executables) {
    files.insert(program.begin(), program.end());
    std::map<std::string, std::set<std::string>> places;
    for (const std::string& file : files) {
      for (const std::string& name : names[file]) places[name].insert(file);
    }
    for (const auto& [name, twins] : places) {
      if (twins.size() > 1) lines.insert(fmt::format("{}: {}", name, fmt::join(twins, ", ")));
    }
  }
  return lines;
}

Texts texts_of_tree() {
  Texts texts;
  for (const auto& path : all_files()) {
    const std::string name = path.lexically_relative(root()).string();
    if (is_source(name) || name.ends_with("CMakeLists.txt")) texts.emplace(name, text_of(path));
  }
  return texts;
}

TEST(OneDefinition, IsViolatedByTwoFilesOfOneExecutable) {
  const std::string twin = "namespace n { class Twin {}; }";
  const std::string hidden = "namespace n { namespace { class Twin {}; } }";
  const std::string list = "millrace_test(one_test SOURCES a_test.cc b_test.cc DEPS millrace_rig)";
  const std::string rig = "add_library(millrace_rig STATIC rig.cc)";
  const std::string other = "add_executable(other\n ${PROJECT_SOURCE_DIR}/bench/c.cc)";
  const std::string include = "#include \"tests/one/rig.h\"\n";
  const Texts around = {{"base/CMakeLists.txt", "millrace_library(millrace_base SOURCES a.cc)"},
                        {"tests/one/CMakeLists.txt", rig + list},
                        {"tests/one/a_test.cc", hidden},
                        {"tests/one/rig.cc", include},
                        {"bench/CMakeLists.txt", other}};
  const auto found = [&](const Texts& texts) {
    Texts all = texts;
    all.insert(around.begin(), around.end());
    return defined_twice(all);
  };
  EXPECT_THAT(found({{"base/a.h", twin}, {"base/b.h", twin}}),
              ElementsAre("n::Twin: base/a.h, base/b.h"));
  EXPECT_THAT(found({{"base/a.h", twin}, {"tests/one/b_test.cc", twin}}),
              ElementsAre("n::Twin: base/a.h, tests/one/b_test.cc"));
  EXPECT_THAT(found({{"base/a.h", twin}, {"bench/c.cc", twin}}),
              ElementsAre("n::Twin: base/a.h, bench/c.cc"));
  EXPECT_THAT(found({{"tests/one/a_test.cc", twin}, {"tests/one/b_test.cc", twin}}),
              ElementsAre("n::Twin: tests/one/a_test.cc, tests/one/b_test.cc"));
  EXPECT_THAT(found({{"tests/one/rig.h", twin}, {"tests/one/b_test.cc", twin}}),
              ElementsAre("n::Twin: tests/one/b_test.cc, tests/one/rig.h"));
  EXPECT_THAT(found({{"tests/one/b_test.cc", hidden}, {"base/a.h", twin}}), IsEmpty());
  EXPECT_THAT(found({{"tests/one/b_test.cc", twin}, {"bench/c.cc", twin}}), IsEmpty())
      << "the files belong to two executables";
}

TEST(OneDefinition, HoldsInTheProgramAndInEachTest) {
  const Texts texts = texts_of_tree();
  // The expected counts and names make sure that the scan found the sources.
  std::set<std::string> visible;
  std::set<std::string> unlinked;  // sources of tests and benchmarks that no executable has
  for (const auto& [path, text] : texts) {
    if (!is_source(path)) continue;
    for (const std::string& name : visible_definitions(text)) visible.insert(name);
    if (path.starts_with("tests/") || path.starts_with("bench/")) unlinked.insert(path);
  }
  EXPECT_THAT(visible, SizeIs(Gt(600U)));
  for (const char* const known : {"millrace::Event", "millrace::Instance",
                                  "millrace::HttpConnection", "millrace::Connection"}) {
    EXPECT_EQ(visible.count(known), 1U) << known;
  }
  for (const auto& [executable, files] : executables_of(texts)) {
    for (const std::string& file : files) unlinked.erase(file);
  }
  EXPECT_THAT(unlinked, IsEmpty());
  EXPECT_THAT(defined_twice(texts), IsEmpty());
}

}  // namespace
}  // namespace millrace
