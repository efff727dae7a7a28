#include "tests/walk/call_path.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Functions, named after the file that defines them. `lib` is a library, `value` an ignored
/// folder.
enum : char { kA = 1, kB, kC, kLib, kLibInside, kValue, kOutside, kConstructsB };

const std::map<char, CodePlace>& places() {
  static const std::map<char, CodePlace> all = {
      {kA, {"a", "a::run()"}},
      {kB, {"b", "b::go(int)"}},
      {kC, {"c", "c::go()"}},
      {kLib, {"lib/door", "lib::open()"}},
      {kLibInside, {"lib/inside", "lib::read()"}},
      {kValue, {"value/name", "value::name()"}},
      {kOutside, {"", "std::function<void ()>::operator()() const"}},
      {kConstructsB, {"b", "b::Thing<std::string>::Thing(int)"}},
  };
  return all;
}

const void* function(char which) { return reinterpret_cast<const void*>(uintptr_t(which)); }

/// The steps of a trace, as lines. A call is the number of a function, 0 is a return; the nth entry
/// happens at time n.
std::vector<std::string> steps(const std::vector<char>& calls, int64_t from = 0,
                               int64_t to = 1000) {
  TracedThread thread{.name = "engine", .calls = {}};
  for (const char call : calls) {
    thread.calls.push_back(
        {static_cast<int64_t>(thread.calls.size()), call == 0 ? nullptr : function(call)});
  }
  const auto place_of = [](const void* one) -> const CodePlace& {
    return places().at(static_cast<char>(reinterpret_cast<uintptr_t>(one)));
  };
  std::vector<std::string> lines;
  for (const FileVisit& step : steps_of(visits_of({thread}, from, to, place_of),
                                        {.ignored = {"value/"}, .libraries = {"lib/"}})) {
    lines.push_back(step.from.file + ">" + step.to.file + (step.parent ? "+" : ""));
  }
  return lines;
}

TEST(CallPath, ContainsOnlyCallsBetweenFiles) {
  EXPECT_THAT(steps({kA, kA, 0, kB, kC, 0, 0}), ElementsAre("a>b", "b>c+"));
}

TEST(CallPath, ContainsAFileOnceForEachVisitOfItsCaller) {
  EXPECT_THAT(steps({kA, kB, 0, kB, kC, 0, kC, 0, 0, kC, kB, 0, 0}),
              ElementsAre("a>b", "b>c+", "a>c", "c>b+"));
}

TEST(CallPath, SkipsFunctionsOutsideTheProject) {
  EXPECT_THAT(steps({kA, kOutside, kB, 0, 0}), ElementsAre("a>b"));
}

TEST(CallPath, EndsAtTheEntryOfALibrary) {
  EXPECT_THAT(steps({kA, kLib, kLibInside, 0, 0, 0}), ElementsAre("a>lib/door"));
}

TEST(CallPath, OmitsIgnoredFoldersAndConstructors) {
  EXPECT_THAT(steps({kA, kValue, kB, 0, 0, kConstructsB, 0, 0}), IsEmpty());
}

TEST(CallPath, ContainsOnlyCallsThatStartWithinTheTimeWindow) {
  EXPECT_THAT(steps({kA, kB, 0, kC, 0}, 2), ElementsAre("a>c"));
  EXPECT_THAT(steps({kA, kB, 0, kC, 0}, 0, 2), ElementsAre("a>b"));
}

TEST(CallPath, ContainsTheVisitThatIsOpenWhenTheTimeWindowStarts) {
  EXPECT_THAT(steps({kA, kB, kC, 0, 0, kB, kC, 0, 0}, 2), ElementsAre("a>b", "b>c+"));
}

TEST(CallPath, NamesFunctionsWithoutTheirArguments) {
  EXPECT_EQ(bare_name("millrace::Batch::apply<A<B> >(long, C const&)"), "millrace::Batch::apply");
  EXPECT_EQ(bare_name("m::(anonymous namespace)::is_one(int)"), "m::is_one");
}

}  // namespace
}  // namespace millrace
