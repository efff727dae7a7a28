// Output in each format, to a terminal and to a program.
#include "cli/output.h"

#include <sstream>

#include <gtest/gtest.h>

#include "language/yaml_writer.h"
#include "tests/support/text_console.h"
#include "tests/unit/cli/cli_fixture.h"

namespace millrace {
namespace {

class OutputTest : public CliTest {};

TEST_F(OutputTest, ShowsAListInEveryFormat) {
  struct Row {
    const char* format;
    const char* out;
  };
  const std::string id = kId;
  const std::string json = R"({
  "complete": true,
  "items": [
    {
      "id": "0190b5a4-7c1e-7f2a-8000-0123456789ab",
      "revision": 1,
      "startedAt": "2021-09-01T12:00:00.000Z",
      "state": "wait",
      "status": "waiting",
      "workflow": "order"
    }
  ],
  "looked": 1,
  "next": null
}
)";
  const Row rows[] = {
      {"table",
       "INSTANCE                              WORKFLOW  STATUS   STATE  RUN  STARTED  ENDED  WAITS "
       "FOR\n"
       "0190b5a4-7c1e-7f2a-8000-0123456789ab  order     waiting  wait   -    5m       -      -\n"},
      {"json", json.c_str()},
      {"jsonl", R"({"id":"0190b5a4-7c1e-7f2a-8000-0123456789ab","revision":1,)"
                R"("startedAt":"2021-09-01T12:00:00.000Z","state":"wait","status":"waiting",)"
                R"("workflow":"order"})"
                "\n"},
      {"yaml",
       "complete: true\n"
       "items:\n"
       "  - id: \"0190b5a4-7c1e-7f2a-8000-0123456789ab\"\n"
       "    revision: 1\n"
       "    startedAt: \"2021-09-01T12:00:00.000Z\"\n"
       "    state: wait\n"
       "    status: waiting\n"
       "    workflow: order\n"
       "looked: 1\n"
       "next: null\n"},
      {"name", "0190b5a4-7c1e-7f2a-8000-0123456789ab\n"},
  };
  for (const Row& row : rows) {
    const CommandOutput printed = run({"instance", "list", "-o", row.format});
    EXPECT_EQ(printed.code, 0) << row.format;
    EXPECT_EQ(printed.out, row.out) << row.format;
    EXPECT_EQ(printed.err, "") << row.format;
  }
  EXPECT_EQ(run({"instance", "list"}).out, rows[0].out) << "a terminal gets a table";
  terminal_ = false;
  EXPECT_EQ(run({"instance", "list"}).out, rows[1].out) << "a program gets JSON";
  EXPECT_EQ(run({"-o", "name", "instance", "list"}).out, rows[4].out)
      << "flags may come before the command";
  EXPECT_EQ(run({"instance", "list", "-o", "xml"}).code, 2);
}

TEST_F(OutputTest, ColoursStatusesOnATerminalUnlessNoColorIsSet) {
  const Json list = {{"items", {{{"status", "failed"}, {"id", "a"}}}}};
  std::istringstream in;
  for (const bool terminal : {true, false}) {
    for (const char* no_color : {"", "1"}) {
      std::ostringstream out;
      Console console{in,
                      out,
                      out,
                      terminal,
                      [&](const std::string&) { return std::optional<std::string>(no_color); },
                      [] { return TimePoint(); }};
      Output(console, Format::kTable).list(list, {field("STATUS", "status")}, "id");
      const bool coloured = out.str().find("\x1b[31mfailed\x1b[0m") != std::string::npos;
      EXPECT_EQ(coloured, terminal && std::string(no_color).empty());
    }
  }
}

TEST_F(OutputTest, ReplacesControlCharacters) {
  TextConsole text;
  Output(text.console, Format::kTable)
      .list({{"items", {{{"a", "x\x1b[31m"}, {"b", "\xc3\xa4"}}, {{"a", "y"}, {"b", 1}}}}},
            {field("B", "b"), field("A", "a")}, "a");
  EXPECT_EQ(text.out.str(), "B  A\n\xc3\xa4  x [31m\n1  y\n");
  EXPECT_EQ(harmless("a\x1b[2J\n\xc2\x9b"
                     "2J\xc2\xa9\x7f\xc2"),
            "a [2J  2J\xc2\xa9 \xc2");
  EXPECT_EQ(harmless("a\n\tb\r", kLineEnds), "a\n\tb ");
  const Json findings = Json::parse(R"([{"message": "\u001b[31m", "code": "c"}])");
  EXPECT_EQ(render_findings(findings, "f"), "f:1:1: error:  [31m [c]\n");

  text.out.str("");
  Output(text.console, Format::kTable)
      .item({{"a\x1b[m", 1},
             {"data",
              {{"b",
                "\xc2\x9b"
                "2J"}}}},
            "a", {"data"});
  EXPECT_EQ(text.out.str(), "a [m  1\n\ndata:\n{\n  \"b\": \" 2J\"\n}\n");
  text.out.str("");
  Output(text.console, Format::kTable).value(Json("\x7f"));
  EXPECT_EQ(text.out.str(), "\" \"\n");
}

TEST_F(OutputTest, ShowsFindingsAndFlagsOfAnyForm) {
  const Json findings =
      Json::parse(R"([7, {"line": "x", "column": 2, "message": 3, "code": "c"}])");
  EXPECT_EQ(render_findings(findings, "f"), "f:1:1: error:  []\nf:1:2: error:  [c]\n");
  const Column yes = flag("YES", "yes");
  EXPECT_EQ(yes.cell({{"yes", true}}), "yes");
  EXPECT_EQ(yes.cell({{"yes", "true"}}), "-");
  EXPECT_EQ(yes.cell(Json(1)), "-");
}

TEST_F(OutputTest, WritesJsonAsYamlAndQuotesAmbiguousStrings) {
  struct Row {
    const char* json;
    const char* yaml;
  };
  const Row rows[] = {
      {"null", "null\n"},
      {"[]", "[]\n"},
      {R"({"a":{},"b":[]})", "a: {}\nb: []\n"},
      {R"(["true","1","no","a: b","","plain"])",
       "- \"true\"\n- \"1\"\n- \"no\"\n- \"a: b\"\n- \"\"\n- plain\n"},
      {R"([[1,2],{"a":1,"b":{"c":[true]}}])", "- - 1\n  - 2\n- a: 1\n  b:\n    c:\n      - true\n"},
      {R"({"text":"a\n\n  b\n"})", "text: |\n  a\n\n    b\n"},
      {R"({"text":"a\nb","y":"\u0007\n"})", "text: \"a\\nb\"\n\"y\": \"\\u0007\\n\"\n"},
      {"[\"a\x7f\",\"\xc2\x85\xc2\xa0\",\"\xe2\x80\xa8\\n\","
       "\"\xef\xbb\xbf\xef\xbf\xbd\xe2\x82\xac\"]",
       "- \"a\\u007f\"\n- \"\\u0085\xc2\xa0\"\n- \"\\u2028\\n\"\n- "
       "\"\\ufeff\xef\xbf\xbd\xe2\x82\xac\"\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(to_yaml(Json::parse(row.json)), row.yaml) << row.json;
}

}  // namespace
}  // namespace millrace
