// Calls in a CMakeLists.txt are read with the values of the variables that it sets.
#include "tests/tidy/cmake_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(CMakeCalls, HaveNamesAndArguments) {
  const std::vector<CMakeCall> calls =
      cmake_calls("# no(call)\nadd_library(a STATIC a.cc  # of all\n  b.cc)\nendif ()\n");
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(calls[0].name, "add_library");
  EXPECT_THAT(calls[0].arguments, ElementsAre("a", "STATIC", "a.cc", "b.cc"));
  EXPECT_EQ(calls[1].name, "endif");
  EXPECT_THAT(calls[1].arguments, IsEmpty());
}

TEST(CMakeCalls, HaveTheValuesOfVariablesThatWereSetBefore) {
  const std::vector<CMakeCall> calls = cmake_calls(
      "f(${FILES})\n"
      "set(FILES\n  a.cc\n  b.cc\n)\n"
      "f(x ${FILES} y)\n"
      "set(FILES ${FILES} c.cc)\n"
      "f(${FILES})\n"
      "set(FILES)\n"
      "f(${FILES} ${PROJECT_SOURCE_DIR}/d.cc ${OTHER})\n");
  ASSERT_THAT(calls, SizeIs(7));
  EXPECT_THAT(calls[0].arguments, ElementsAre("${FILES}")) << "it is set later";
  EXPECT_THAT(calls[1].arguments, ElementsAre("FILES", "a.cc", "b.cc"));
  EXPECT_THAT(calls[2].arguments, ElementsAre("x", "a.cc", "b.cc", "y"));
  EXPECT_THAT(calls[4].arguments, ElementsAre("a.cc", "b.cc", "c.cc"));
  EXPECT_THAT(calls[6].arguments, ElementsAre("${PROJECT_SOURCE_DIR}/d.cc", "${OTHER}"));
}

}  // namespace
}  // namespace millrace
