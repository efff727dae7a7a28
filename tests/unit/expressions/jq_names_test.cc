#include "expressions/jq_names.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

bool sure(std::string_view program) {
  return names_surely_exist(program, {"length/0", "map/1", "limit/2", "not/0", "error/1"});
}

TEST(JqNames, AreAcceptedWithoutLibjqInMostPrograms) {
  for (const char* program : {
           ".",
           "..",
           ".a",
           ".a.b[0]",
           ".[\"a b\"]",
           ".[1:2]",
           "$instance.id",
           "{$instance} | length",
           "map($instance.id) | map({a: $instance})",
           "length",
           ".a | length",
           "map(length)",
           "map (.a)",
           "limit(3; .[])",
           "map(limit(1; map(length)))",
           "{a, b: length, \"c\": 1, (.d): 2, if: 3, e: [length, .f]}",
           "{a: {b: {c}}}",
           "if .a then length elif .b then 1 else 2 end",
           ".a and .b or (.c | not)",
           "1.5e-3 + .5 - 2E10",
           "@base64",
           "\"text # and \\\" nosuch\"",
           ".a?",
           "-length",
           ". as $x | $x",
           ".a as $x | .b as $y | [$x, $y, ($x | $y)]",
           "map(. as $x | {$x, a: $x})",
           "if . as $x | $x then 1 else 2 end",
           "try error(1)",
           ".a as $x | if $x then $x else $x end",
       }) {
    EXPECT_TRUE(sure(program)) << program;
  }
}

TEST(JqNames, AreNeverAcceptedIfTheyAreUnknown) {
  for (const char* program : {
           "nosuch",
           "length(1)",
           "map",
           "map(.a; .b)",
           "limit(1)",
           "length | nosuch",
           "$x",
           "$instances",
           "$instance.id as $x | . as $instance | $x",
           "(. as $instance | 1) | $instance",
           "{a: nosuch}",
           "[1, nosuch]",
           "{$x}",
           "(. as $x | 1) | $x",
           "[. as $x | 1] | $x",
           "map(. as $x | 1) | $x",
           "limit(. as $x | 1; $x)",
           "$x | . as $x | 1",
           "if . as $x | 1 then $x else 1 end",
           "if 1 then . as $x | 1 else $x end",
           "if 1 then . as $x | 1 else 1 end | $x",
           "{a: (. as $x | 1), b: $x}",
           ".[(. as $x | 1):$x]",
           ".[. as $x | 1 : $x]",
           "length #\n(1)",
           "length::length",
           "$ENV",
           "$__loc__",
           "@base64 \"\\(nosuch)\"",
           ".a as $x | $y",
       }) {
    EXPECT_FALSE(sure(program)) << program;
  }
}

TEST(JqNames, AreLeftToLibjqInProgramsThatTheCheckDoesNotSupport) {
  for (const char* program : {
           "def f: 1; f",
           "reduce .[] as $x (0; . + $x)",
           "foreach .[] as $x (0; 1)",
           ". as [$a] | $a",
           ". as {$a} | $a",
           "label $out | break $out",
           "try 1 catch length",
           "\"\\(length)\"",
           "# comment\nlength",
           ".a as [$x] ?// $x | $x",
       }) {
    EXPECT_FALSE(sure(program)) << program;
  }
}

}  // namespace
}  // namespace millrace
