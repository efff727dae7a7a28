// Which jq programs name `$instance`.
#include "expressions/instance_name.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expressions/template.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(InstanceName, IsFoundWhereverAProgramUsesIt) {
  for (const char* program : {
           "$instance",
           "$instance.id",
           ".a + $instance.attempt",
           "{$instance}",
           "{a: $instance.id}",
           "[$instance]",
           "map($instance.id)",
           "\"order \\($instance.id)\"",
           "\"a\" + \"\\(\"b \\($instance.id)\")\"",
           "$ instance.id",
           ". as $x | $instance.id + $x",
           ". as [$a, {b: $c}] | $instance.id",
           ". as {as: $x} | $instance",
           ".as | $instance",
           "{as: $instance}",
           "{def: $instance}",
           "def f: $instance.id; f",
           "def f($x; g): $instance.id; f(1; 2)",
           "reduce .[] as $x (0; . + $instance.run)",
           ". as [$a] ?// $a | $instance",
           "label $out | $instance",
           "# a comment\n$instance",
       }) {
    EXPECT_TRUE(names_instance(program)) << program;
  }
}

TEST(InstanceName, IsNotFoundInOtherPrograms) {
  for (const char* program : {
           ".",
           ".instance",
           "instance",
           "$instances",
           "$my_instance",
           "\"$instance\"",
           "# $instance\n.",
           ".a.instance | {instance: 1}",
           "$x.instance",
       }) {
    EXPECT_FALSE(names_instance(program)) << program;
  }
}

TEST(InstanceName, IsThatOfTheProgramIfItBindsTheVariableItself) {
  for (const char* program : {
           ". as $instance | $instance",
           ".a as $instance | .b + $instance",
           ". as [$instance] | $instance",
           ". as {$instance} | $instance",
           ". as {a: {b: [$instance]}} | $instance",
           ". as $x ?// $instance | $instance",
           ". as [$x] ?// {$instance} | $instance",
           "def f($instance): $instance; f(1)",
           "def f(g; $instance): $instance; f(1; 2)",
           "reduce .[] as $instance (0; . + $instance)",
           "foreach .[] as $instance (0; . + $instance; .)",
           "$instance.id as $x | . as $instance | $x",
           "label $instance | break $instance",
       }) {
    EXPECT_FALSE(names_instance(program)) << program;
  }
}

TEST(InstanceName, HasTheMembersThatAProgramReads) {
  const auto members = [](std::string_view program) { return instance_members_of(program); };
  EXPECT_THAT(members("{a: $instance.id, b: [$instance.event.source]}"),
              ElementsAre("id", "event"));
  EXPECT_THAT(members("\"a \\($instance.run)\" + $instance.x_1"), ElementsAre("run", "x_1"));
  for (const char* const program :
       {"$instance", "$instance | .id", "$instance[\"id\"]", "$instance.\"id\"", "$instances.id",
        ".instance.id", "\"$instance.id\"", ". as $instance | $instance.id", "."}) {
    EXPECT_THAT(members(program), IsEmpty()) << program;
  }
}

TEST(InstanceName, MarksTheTemplatesThatNeedTheValue) {
  const auto names = [](const Json& value) {
    return Template::literal_or_jq(value, Template::Dot::kIdentity)->names_instance();
  };
  EXPECT_TRUE(names("jq($instance.id)"));
  EXPECT_TRUE(names("order jq(.n) of jq($instance.id)"));
  EXPECT_TRUE(names(Json{{"a", Json::array({"x", "jq($instance)"})}}));
  EXPECT_FALSE(names("$instance"));
  EXPECT_FALSE(names("jq(.instance)"));
  EXPECT_FALSE(names("."));
  EXPECT_TRUE(Template::query("$instance.id")->names_instance());
}

}  // namespace
}  // namespace millrace
