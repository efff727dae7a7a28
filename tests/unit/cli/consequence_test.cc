// What the texts of the command line say of the consequence of a timer.
#include "cli/consequence.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ConsequenceText, SaysWhatFollows) {
  const struct {
    const char* item;
    const char* text;
  } rows[] = {
      {R"({})", ""},
      {R"({"then": "late"})", "late"},
      {R"({"causes": "state", "then": "late", "error": "e"})", "late"},
      {R"({"causes": "attempt", "then": "wait", "error": "e"})", "another attempt of wait"},
      {R"({"causes": "run", "then": "wait"})", "another run, from wait"},
      {R"({"causes": "run"})", "another run"},
      {R"({"causes": "end", "ends": "complete", "error": "e"})", "completes"},
      {R"({"causes": "end", "ends": "failed", "error": "e"})", "fails with e"},
      {R"({"causes": "end", "ends": "timedout", "error": "e"})", "times out with e"},
      {R"({"causes": "end", "ends": "cancelled", "error": "e", "compensates": true})",
       "is cancelled with e after its compensations"},
      {R"({"causes": "end", "ends": "failed", "error": "e", "caller": {"retries": true}})",
       "fails with e; its caller calls again"},
      {R"({"causes": "end", "ends": "failed", "error": "e", "caller": {"retries": false}})",
       "fails with e; its caller gets the error"},
      {R"({"causes": "end", "ends": "failed", "error": "e", "caller": {"instance": "i"}})",
       "fails with e; its caller gets the error"},
      {R"({"causes": "call"})", "the next attempt or timeout of a call"},
      {R"({"causes": "depends"})", "depends on the data, or on another timeout"},
      {R"({"causes": "event"})", "publishes the event"},
      {R"({"causes": "expiry"})", "an event leaves its group"},
      {R"({"causes": "start"})", "starts an instance"},
      {R"({"causes": "sleep"})", "sleep"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(consequence_text(Json::parse(row.item)), row.text) << row.item;
  }
}

}  // namespace
}  // namespace millrace
