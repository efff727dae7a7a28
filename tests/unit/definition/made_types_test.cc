// Which event types templates may make.
#include "orchestrator/definition/made_types.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(MadeTypes, AreTheConstantsAndWhatTheLiteralTextsOfTemplatesPermit) {
  const struct {
    const char* made;
    const char* type;
    bool expected;
  } rows[] = {
      {"order.placed", "order.placed", true},
      {"order.placed", "order.placd", false},
      {"order.placed", "order.placed.eu", false},
      {"jq(.type)", "anything", true},
      {"order.jq(.kind)", "order.placed", true},
      {"order.jq(.kind)", "order.", true},
      {"order.jq(.kind)", "my.order.placed", false},
      {"order.jq(.kind)", "payment.order.", false},
      {"jq(.kind).done", "order.done", true},
      {"jq(.kind).done", "order.done.done", true},
      {"jq(.kind).done", "order.done.late", false},
      {"a.jq(.x).b.jq(.y)", "a.1.b.2", true},
      {"a.jq(.x).b.jq(.y)", "a.1.c.2", false},
      {"a.jq(.x).b", "a.1.b", true},
      {"a.jq(.x).b", "a.1.b.c", false},
  };
  for (const auto& row : rows) {
    MadeTypes types;
    EXPECT_FALSE(types.may_make(row.type));
    types.add(Template::literal_or_jq(Json(row.made), Template::Dot::kLiteral).value());
    EXPECT_EQ(types.may_make(row.type), row.expected) << row.made << ' ' << row.type;
  }
}

}  // namespace
}  // namespace millrace
