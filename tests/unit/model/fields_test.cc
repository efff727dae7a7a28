#include "model/fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// What a reader of Fields makes of a text: the findings as `line:column path: message [code]`.
std::vector<std::string> reading(std::string_view text, const std::function<void(Fields&)>& read) {
  Findings findings;
  const std::optional<Node> node = parse_document(text, findings);
  if (node) {
    Fields fields(*node, "", findings);
    read(fields);
  }
  std::vector<std::string> out;
  for (const Finding& finding : findings.sorted()) {
    out.push_back(fmt::format("{}:{} {}: {} [{}]", finding.at.line, finding.at.column, finding.path,
                              finding.message, finding.code));
  }
  return out;
}

TEST(Fields, ReadEveryType) {
  enum class Mode { kAnd, kOr };
  const char* const text =
      "name: a\ncount: 5\nratio: 2\nscale: 0.5\nasync: true\ntimeout: PT1H\nmode: or\nid: a.b-c_1\n"
      "codes: [x, 'y']\ninput: null\nnested: {k: v}\nlist: [{n: 1}, {n: 2}]\n"
      "context: {source: s, Any Key: 7}\nmixed: [1, a]\n";
  const std::vector<std::string> found = reading(text, [](Fields& fields) {
    EXPECT_EQ(fields.string("name"), "a");
    EXPECT_EQ(fields.integer("count", 1, 20), 5);
    EXPECT_EQ(fields.number("ratio"), 2.0);
    EXPECT_EQ(fields.number("scale", 0, 1), 0.5);
    EXPECT_EQ(fields.boolean("async"), true);
    EXPECT_EQ(fields.duration("timeout")->fixed, 1h);
    EXPECT_EQ(fields.one_of<Mode>("mode", {{"and", Mode::kAnd}, {"or", Mode::kOr}}), Mode::kOr);
    EXPECT_EQ(fields.identifier("id"), "a.b-c_1");
    EXPECT_THAT(fields.strings("codes"), ElementsAre("x", "y"));
    ASSERT_NE(fields.node("input"), nullptr);
    EXPECT_EQ(fields.node("input")->kind, Node::Kind::kNull);
    EXPECT_TRUE(fields.object("nested", [](Fields& nested) {
      EXPECT_EQ(nested.path(), "nested");
      EXPECT_EQ(nested.required_string("k"), "v");
    }));
    std::string order;
    EXPECT_TRUE(fields.objects("list", [&](Fields& item) {
      order += fmt::format("{}={} ", item.path(), *item.integer("n"));
    }));
    EXPECT_EQ(order, "list[0]=1 list[1]=2 ");
    order.clear();
    EXPECT_TRUE(fields.each("context", [&](const Member& member, const std::string& path) {
      order += fmt::format("{}={} ", path, member.value.text);
    }));
    EXPECT_EQ(order, "context.source=s context[\"Any Key\"]=7 ");
    size_t items = 0;
    EXPECT_TRUE(fields.sequence("mixed", [&](const Node&, const std::string&) { ++items; }));
    EXPECT_EQ(items, 2U);
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST(Fields, AreNothingWhereTheKeyIsAbsent) {
  const std::vector<std::string> found = reading("{}", [](Fields& fields) {
    EXPECT_FALSE(fields.has("a"));
    EXPECT_EQ(fields.string("a"), std::nullopt);
    EXPECT_EQ(fields.integer("a"), std::nullopt);
    EXPECT_EQ(fields.number("a"), std::nullopt);
    EXPECT_EQ(fields.boolean("a"), std::nullopt);
    EXPECT_EQ(fields.duration("a"), std::nullopt);
    EXPECT_EQ(fields.identifier("a"), std::nullopt);
    EXPECT_EQ(fields.one_of<int>("a", {{"x", 1}}), std::nullopt);
    EXPECT_EQ(fields.node("a"), nullptr);
    EXPECT_THAT(fields.strings("a"), IsEmpty());
    EXPECT_FALSE(fields.object("a", [](Fields&) { FAIL(); }));
    EXPECT_FALSE(fields.objects("a", [](Fields&) { FAIL(); }));
    EXPECT_FALSE(fields.each("a", [](const Member&, const std::string&) { FAIL(); }));
    EXPECT_EQ(fields.at("a"), fields.at());
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST(Fields, SayWhatWasFoundAndWhatIsWanted) {
  struct Row {
    const char* text;
    std::function<void(Fields&)> read;
    const char* finding;
  };
  const std::vector<Row> rows = {
      {"k: 1.0", [](Fields& f) { f.string("k"); },
       "1:4 k: k is a number; put it in quotes: \"1.0\" [definition.type]"},
      {"k: true", [](Fields& f) { f.string("k"); },
       "1:4 k: k is a boolean; put it in quotes: \"true\" [definition.type]"},
      {"k:", [](Fields& f) { f.string("k"); }, "1:3 k: k is empty; write a text [definition.type]"},
      {"k: [1]", [](Fields& f) { f.string("k"); },
       "1:4 k: k is a list; write a text [definition.type]"},
      {"k: yes", [](Fields& f) { f.boolean("k"); },
       "1:4 k: k is a text; write true or false [definition.type]"},
      {"k: '5'", [](Fields& f) { f.integer("k"); },
       "1:4 k: k is a text; write a whole number [definition.type]"},
      {"k: 5.5", [](Fields& f) { f.integer("k"); },
       "1:4 k: k is a number; write a whole number [definition.type]"},
      {"k: 21", [](Fields& f) { f.integer("k", 1, 20); },
       "1:4 k: k is 21; it must be between 1 and 20 [definition.value]"},
      {"k: -1", [](Fields& f) { f.integer("k", 0); },
       "1:4 k: k is -1; it must be at least 0 [definition.value]"},
      {"k: 6", [](Fields& f) { f.integer("k", INT64_MIN, 5); },
       "1:4 k: k is 6; it must be at most 5 [definition.value]"},
      {"k: 18446744073709551615", [](Fields& f) { f.integer("k"); },
       "1:4 k: k is 18446744073709551615; it must be at most 9223372036854775807 "
       "[definition.value]"},
      {"k: x", [](Fields& f) { f.number("k"); },
       "1:4 k: k is a text; write a number [definition.type]"},
      {"k: 0.5", [](Fields& f) { f.number("k", 1, 10); },
       "1:4 k: k is 0.5; it must be between 1 and 10 [definition.value]"},
      {"k: 30", [](Fields& f) { f.duration("k"); },
       "1:4 k: k is a number; write a duration such as \"PT1H\" [definition.type]"},
      {"k: 1.5h", [](Fields& f) { f.duration("k"); },
       "1:4 k: \"1.5h\" is no duration: only whole numbers stand before a unit; PT1.5H may have a "
       "fraction (byte 1) [duration.malformed]"},
      {"k: PT0S", [](Fields& f) { f.duration("k"); },
       "1:4 k: \"PT0S\" is zero; it must be longer [duration.zero]"},
      {"k: 0", [](Fields& f) { f.duration("k", {.number = true}); },
       "1:4 k: \"0\" is zero; it must be longer [duration.zero]"},
      {"k: -1", [](Fields& f) { f.duration("k", {.number = true}); },
       "1:4 k: \"-1\" is no duration: it must not be negative (byte 0) [duration.negative]"},
      {"k: a b", [](Fields& f) { f.identifier("k"); },
       "1:4 k: \"a b\" is no identifier; write 1 to 128 letters, digits, \".\", \"-\", \"_\" "
       "[definition.identifier]"},
      {"k: adn",
       [](Fields& f) {
         f.one_of<int>("k", {{"and", 1}, {"or", 2}});
       },
       "1:4 k: k is \"adn\"; write one of \"and\", \"or\"; did you mean \"and\"? "
       "[definition.value]"},
      {"k: 1",
       [](Fields& f) {
         f.one_of<int>("k", {{"and", 1}, {"or", 2}});
       },
       "1:4 k: k is a number; write one of \"and\", \"or\" [definition.type]"},
      {"k: [a, 1]", [](Fields& f) { f.strings("k"); },
       "1:8 k[1]: this is a number; put it in quotes: \"1\" [definition.type]"},
      {"k: a", [](Fields& f) { f.strings("k"); },
       "1:4 k: k is a text; write a list (\"- item\" lines) [definition.type]"},
      {"k: a", [](Fields& f) { f.object("k", [](Fields&) { FAIL(); }); },
       "1:4 k: k is a text; write a mapping (\"key: value\" lines) [definition.type]"},
      {"k:\n- a", [](Fields& f) { f.objects("k", [](Fields&) { FAIL(); }); },
       "2:3 k[0]: this is a text; write a mapping (\"key: value\" lines) [definition.type]"},
      {"[1]", [](Fields& f) { f.required_string("k"); },
       "1:1 : this is a list; write a mapping (\"key: value\" lines) [definition.type]"},
      {"a: {}", [](Fields& f) { f.object("a", [](Fields& g) { g.required_identifier("id"); }); },
       "1:4 a.id: \"id\" is missing [definition.missing]"},
      {"a:\n  b: 1\n  c: 2",
       [](Fields& f) {
         f.object("a", [](Fields& g) {
           g.has("b");
           g.has("c");
           g.required_duration("duration");
         });
       },
       "2:3 a.duration: \"duration\" is missing [definition.missing]"},
      {"{}", [](Fields& f) { f.required_node("k"); },
       "1:1 k: \"k\" is missing [definition.missing]"},
      {"transtion: x", [](Fields& f) { f.string("transition"); },
       "1:1 transtion: \"transtion\" is not a known key here; did you mean \"transition\"? "
       "[definition.unknown_key]"},
      {"colour: x", [](Fields& f) { f.string("transition"); },
       "1:1 colour: \"colour\" is not a known key here [definition.unknown_key]"},
      {"filters: {}\ncontext: {}",
       [](Fields& f) {
         f.node(f.either({"filters", "context"}));
       },
       "2:1 context: \"filters\" and \"context\" are the same field; write one of them "
       "[definition.both_keys]"},
      {"a: 1\nk: {x: 2}",
       [](Fields& f) {
         f.has("a");
         f.object("k", [](Fields& g) {
           g.report("x", "definition.mine", "mine");
           g.has("x");
         });
       },
       "2:8 k.x: mine [definition.mine]"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(reading(row.text, row.read), ElementsAre(row.finding)) << row.text;
  }
}

TEST(Fields, TakeZeroAndMillisecondsWhereTheyAreToldTo) {
  const std::vector<std::string> found = reading("a: 0\nb: 1500\nc: PT0S", [](Fields& fields) {
    EXPECT_EQ(fields.duration("a", {.zero = true, .number = true})->fixed, 0ms);
    EXPECT_EQ(fields.duration("b", {.number = true})->fixed, 1500ms);
    EXPECT_EQ(fields.duration("c", {.zero = true})->fixed, 0ms);
  });
  EXPECT_THAT(found, IsEmpty());
}

TEST(Fields, TakeEitherSpelling) {
  for (const char* text : {"filters: {a: 1}", "context: {a: 1}"}) {
    const std::vector<std::string> found = reading(text, [](Fields& fields) {
      EXPECT_TRUE(fields.each(
          fields.either({"filters", "context"}),
          [](const Member& member, const std::string&) { EXPECT_EQ(member.key, "a"); }));
    });
    EXPECT_THAT(found, IsEmpty()) << text;
  }
  EXPECT_THAT(reading("{}",
                      [](Fields& fields) {
                        EXPECT_EQ(fields.either({"filters", "context"}), "filters");
                      }),
              IsEmpty());
}

TEST(Fields, DoNotRepeatWhatTheDocumentHasReported) {
  const std::vector<std::string> found =
      reading("id: .nan\nlist: [*x]\nmap: *y", [](Fields& fields) {
        EXPECT_EQ(fields.required_string("id"), "");
        fields.objects("list", [](Fields&) { FAIL(); });
        fields.object("map", [](Fields&) { FAIL(); });
      });
  EXPECT_THAT(found, ElementsAre(testing::EndsWith("[definition.number]"),
                                 testing::EndsWith("[definition.alias]"),
                                 testing::EndsWith("[definition.alias]")));
}

TEST(Fields, WarnToo) {
  Findings findings;
  const Node node = *parse_document("a: 1", findings);
  {
    Fields fields(node, "root", findings);
    fields.has("a");
    fields.warn("a", "lint.a", "hm");
  }
  EXPECT_FALSE(findings.has_errors());
  EXPECT_EQ(render_text(findings, "f"), "f:1:4: warning: root.a: hm [lint.a]\n");
}

/// A small schema, as a loader would write it.
void read_workflow(Fields& workflow) {
  workflow.required_identifier("id");
  workflow.string("name");
  workflow.boolean("singular");
  workflow.require("states");
  workflow.objects("states", [](Fields& state) {
    state.required_identifier("id");
    state.require("type");
    state.one_of<int>("type", {{"delay", 1}, {"action", 2}, {"consumeEvent", 3}});
    state.duration("duration");
    state.duration("timeout");
    state.string("transition");
    state.object("retries", [](Fields& retries) {
      retries.require("max_attempts");
      retries.integer("max_attempts", 0);
      retries.duration("delay", {.zero = true});
    });
    state.object("event", [](Fields& event) {
      event.required_string("type");
      event.each("context", [&](const Member& member, const std::string& path) {
        if (member.value.kind == Node::Kind::kMapping) {
          event.findings().error("definition.type", path, member.value.at, "no mappings here");
        }
      });
    });
  });
}

TEST(ADefinition, WithTenMistakesHasTenFindings) {
  Findings findings;
  const std::optional<Node> node = parse_document(
      R"(id: my flow
singular: yes
nmae: first
states:
- id: sleep
  type: dealy
  duration: 1.5h
  transition: 5
- type: action
  retries:
    delay: PT0S
    max_attempts: -1
- id: wait
  type: consumeEvent
  id: again
  timeout: 30
  event:
    type: booking
    context:
      source: {a: b}
)",
      findings);
  ASSERT_TRUE(node);
  {
    Fields fields(*node, "", findings);
    read_workflow(fields);
  }
  EXPECT_EQ(
      render_text(findings, "w.yaml"),
      R"(w.yaml:1:5: error: id: "my flow" is no identifier; write 1 to 128 letters, digits, ".", "-", "_" [definition.identifier]
w.yaml:2:11: error: singular: singular is a text; write true or false [definition.type]
w.yaml:3:1: error: nmae: "nmae" is not a known key here; did you mean "name"? [definition.unknown_key]
w.yaml:6:9: error: states[0].type: type is "dealy"; write one of "delay", "action", "consumeEvent"; did you mean "delay"? [definition.value]
w.yaml:7:13: error: states[0].duration: "1.5h" is no duration: only whole numbers stand before a unit; PT1.5H may have a fraction (byte 1) [duration.malformed]
w.yaml:8:15: error: states[0].transition: transition is a number; put it in quotes: "5" [definition.type]
w.yaml:9:3: error: states[1].id: "id" is missing [definition.missing]
w.yaml:12:19: error: states[1].retries.max_attempts: max_attempts is -1; it must be at least 0 [definition.value]
w.yaml:15:3: error: states[2].id: "id" stands here a second time; the first is on line 13 [definition.duplicate_key]
w.yaml:16:12: error: states[2].timeout: timeout is a number; write a duration such as "PT1H" [definition.type]
w.yaml:20:15: error: states[2].event.context.source: no mappings here [definition.type]
)");
}

TEST(ADefinition, OfUnknownKeysOnlyIsReadToItsEnd) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("transitio{}: 1\n", i);
  Findings findings;
  const Node node = *parse_document(text, findings);
  {
    Fields fields(node, "", findings);
    read_workflow(fields);
  }
  EXPECT_EQ(findings.sorted().size(), Findings::kMost);
  EXPECT_EQ(findings.omitted(), 20'002 - Findings::kMost);
}

}  // namespace
}  // namespace millrace
