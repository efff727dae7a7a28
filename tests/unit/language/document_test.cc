#include "language/document.h"

#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using NodeKind = Node::Kind;

/// The tree of a text without findings.
Node read(std::string_view text) {
  Findings findings;
  std::optional<Node> node = parse_document(text, findings);
  EXPECT_EQ(render_text(findings, "text"), "") << text;
  return node.value_or(Node{});
}

Json value(std::string_view text) { return to_json(read(text)); }

/// The findings as lines without messages: `3:1 states[0].id definition.duplicate_key`.
std::vector<std::string> problems(std::string_view text) {
  Findings findings;
  const std::optional<Node> node = parse_document(text, findings);
  EXPECT_TRUE(node || findings.has_errors()) << text;
  std::vector<std::string> out;
  for (const Finding& finding : findings.sorted()) {
    out.push_back(
        fmt::format("{}:{} {} {}", finding.at.line, finding.at.column, finding.path, finding.code));
  }
  return out;
}

std::string only_message(std::string_view text) {
  Findings findings;
  parse_document(text, findings);
  const std::vector<Finding> all = findings.sorted();
  EXPECT_EQ(all.size(), 1U) << text;
  return all.empty() ? "" : all[0].message;
}

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (; times > 0; --times) out += text;
  return out;
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Document, ReadsPlainScalarsByTheCoreSchema) {
  struct Row {
    const char* text;
    NodeKind kind;
    Json value;
  };
  const std::vector<Row> rows = {
      {"~", NodeKind::kNull, nullptr},
      {"null", NodeKind::kNull, nullptr},
      {"NULL", NodeKind::kNull, nullptr},
      {"nULL", NodeKind::kString, "nULL"},
      {"true", NodeKind::kBool, true},
      {"False", NodeKind::kBool, false},
      {"TRUE", NodeKind::kBool, true},
      {"tRUE", NodeKind::kString, "tRUE"},
      {"no", NodeKind::kString, "no"},
      {"on", NodeKind::kString, "on"},
      {"Yes", NodeKind::kString, "Yes"},
      {"y", NodeKind::kString, "y"},
      {"0", NodeKind::kInt, 0},
      {"-12", NodeKind::kInt, -12},
      {"+12", NodeKind::kInt, 12},
      {"010", NodeKind::kInt, 10},
      {"0o10", NodeKind::kInt, 8},
      {"0xfF", NodeKind::kInt, 255},
      {"0xffffffffffffffff", NodeKind::kInt, UINT64_MAX},
      {"9007199254740993", NodeKind::kInt, 9007199254740993},
      {"-9223372036854775808", NodeKind::kInt, INT64_MIN},
      {"18446744073709551615", NodeKind::kInt, UINT64_MAX},
      {"18446744073709551616", NodeKind::kFloat, 18446744073709551616.0},
      {"-9223372036854775809", NodeKind::kFloat, -9223372036854775809.0},
      {"1.5", NodeKind::kFloat, 1.5},
      {"-.5", NodeKind::kFloat, -0.5},
      {"+1.", NodeKind::kFloat, 1.0},
      {"1e3", NodeKind::kFloat, 1000.0},
      {"1.5E-3", NodeKind::kFloat, 0.0015},
      {"1e-999", NodeKind::kFloat, 0.0},
      {"0o8", NodeKind::kString, "0o8"},
      {"0xg", NodeKind::kString, "0xg"},
      {"0x", NodeKind::kString, "0x"},
      {"0b1", NodeKind::kString, "0b1"},
      {"-0x1", NodeKind::kString, "-0x1"},
      {"1_000", NodeKind::kString, "1_000"},
      {"1:30", NodeKind::kString, "1:30"},
      {"2021-09-01", NodeKind::kString, "2021-09-01"},
      {".", NodeKind::kString, "."},
      {"e3", NodeKind::kString, "e3"},
      {"1e", NodeKind::kString, "1e"},
      {"1.2.3", NodeKind::kString, "1.2.3"},
      {"inf", NodeKind::kString, "inf"},
      {"+", NodeKind::kString, "+"},
  };
  for (const Row& row : rows) {
    const Node node = read(std::string("[ ") + row.text + ", x]").items.at(0);
    EXPECT_EQ(node.kind, row.kind) << row.text;
    EXPECT_EQ(node.scalar, row.value) << row.text;
    EXPECT_EQ(node.text, row.text);
  }
  EXPECT_EQ(value("a:\nb: 1"), Json({{"a", nullptr}, {"b", 1}}));
}

TEST(Document, ReadsQuotedScalarsAsStrings) {
  EXPECT_EQ(value(R"(['1', "true", "~", '', "a\tb\x41\u00e4\/"])"),
            Json({"1", "true", "~", "", "a\tbA\xc3\xa4/"}));
  EXPECT_EQ(value("a: |\n  1\nb: >-\n  null"), Json({{"a", "1\n"}, {"b", "null"}}));
}

TEST(Document, TakesTheKindFromATagOfTheCoreSchema) {
  EXPECT_EQ(value("[!!str 1, ! 1, !!int '1', !!float 1, !!bool \"true\", !!null '']"),
            Json({"1", "1", 1, 1.0, true, nullptr}));
  EXPECT_EQ(read("[!!float 1]").items[0].kind, NodeKind::kFloat);
  EXPECT_EQ(read("[!!float 0o17]").items[0].scalar, Json(15.0));
  EXPECT_EQ(read("[!!float 0x1f]").items[0].scalar, Json(31.0));
  EXPECT_EQ(value("!!map {a: !!seq [1]}"), Json({{"a", {1}}}));
  EXPECT_EQ(problems("a: !!int x\nb: !!binary aGk=\nc: !mine {}\nd: !!seq {}\ne: !!map 1\n"
                     "f: !!str [1]\n!mine g: 1"),
            (std::vector<std::string>{"1:4 a definition.tag", "2:4 b definition.tag",
                                      "3:4 c definition.tag", "4:4 d definition.tag",
                                      "5:4 e definition.tag", "6:4 f definition.tag",
                                      "7:1  definition.tag"}));
}

TEST(Document, CountsLinesAndColumnsOfKeysAndValuesFromOne) {
  const Node root = read("id: a\nstates:\n  - type: noop\n    log: {x: 'ä', y: 2}\n");
  EXPECT_EQ(root.at, (Position{1, 1}));
  const Member* states = root.find("states");
  ASSERT_NE(states, nullptr);
  EXPECT_EQ(states->at, (Position{2, 1}));
  EXPECT_EQ(states->value.at, (Position{3, 3}));
  const Node& state = states->value.items.at(0);
  EXPECT_EQ(state.at, (Position{3, 5}));
  EXPECT_EQ(state.members.at(1).at, (Position{4, 5}));
  const Member& y = state.members.at(1).value.members.at(1);
  EXPECT_EQ(y.at, (Position{4, 19})) << "columns count characters, not bytes";
  EXPECT_EQ(y.value.at, (Position{4, 22}));
  EXPECT_EQ(root.find("nothing"), nullptr);
}

TEST(Document, KeepsTheOrderOfKeys) {
  const Node node = read("z: 1\na: 2\n1: 3\ntrue: 4\nnull: 5\n'': 6\n1.50: 7");
  std::string keys;
  for (const Member& member : node.members) keys += member.key + ",";
  EXPECT_EQ(keys, "z,a,1,true,null,,1.50,");
}

TEST(Document, ReadsJsonAndYamlOfEqualContentIntoTheSameTree) {
  const char* const yaml =
      "id: w\nstates:\n- id: a\n  timeout: PT1H\n  input: {n: [1, -2.5, null, true, 1e3]}\n"
      "  text: \"line\\nbreak \\\"q\\\" \\\\ / é\"\n";
  const char* const json =
      "\n {\"id\":\"w\",\t\"states\":[\n\t{\"id\":\"a\",\"timeout\":\"PT1H\",\r\n"
      "\"input\":{\"n\":[1,-2.5,null,true,1e3]},"
      "\"text\":\"line\\nbreak \\\"q\\\" \\\\ \\/ \\u00e9\"}]}\n";
  EXPECT_EQ(value(yaml), value(json));
  EXPECT_EQ(value(json), *parse_json(json));
}

TEST(Document, ReadsEveryKindOfJsonAsTheJsonReaderDoes) {
  for (const char* text : {
           "{}",
           "[]",
           "  [ ]  ",
           "{\"a\":{\"b\":[{}]}}",
           "[\"\\ud83d\\ude00\"]",
           "[\"x\\uD83D\\uDE00\\u00e9y\", \"\\\\ud83d\\\\ude00\", \"\\\\\\ud83d\\ude00\"]",
           "{\"\\ud83d\\ude00\":1}",
           "[\"\\u0000\\b\\f\\n\\r\\t\\/\\\"\\\\\"]",
           "[0,-0,1,-1,1.0,1E5,1e-5,123456789012345678901234567890]",
           "[\"a \xc2\x85 b\", \"a\xe2\x80\xa8z\", \"\xe2\x80\xa9\"]",
           "[\"# no comment\", \"- : ? & * ! | > % @ `\"]",
           "{\"a\":\"b\",\"c\":\"d\"}",
           "\xef\xbb\xbf{\"a\":1}",
       }) {
    std::string_view json = text;
    if (json.starts_with("\xef\xbb\xbf")) json.remove_prefix(3);
    ASSERT_TRUE(is_json(json)) << text;
    EXPECT_EQ(value(text), *parse_json(json)) << text;
  }
}

TEST(Document, ReadsSurrogatePairsAsCharactersInDoubleQuotesOnly) {
  EXPECT_EQ(value("a: \"\\ud83d\\ude00\""), Json({{"a", "😀"}}));
  EXPECT_EQ(value("a: '\\ud83d\\ude00'\nb: \\ud83d\\ude00\nc: |\n  \\ud83d\\ude00 # \\\\ud83d\n"),
            Json({{"a", "\\ud83d\\ude00"},
                  {"b", "\\ud83d\\ude00"},
                  {"c", "\\ud83d\\ude00 # \\\\ud83d\n"}}));
  EXPECT_EQ(read("[\"\\ud83d\\ude00\", 1]").items.at(1).at, (Position{1, 18}));
  for (const char* text : {"[\"\\ud83d\"]", "[\"\\ude00\\ud83d\"]", "[\"\\ud83d\\u0041\"]",
                           "[\"\\\\ud83d\\ude00\"]"}) {
    EXPECT_FALSE(is_json(text)) << text;
    EXPECT_THAT(problems(text), testing::ElementsAre(testing::EndsWith("definition.syntax")))
        << text;
  }
}

TEST(Document, BreaksLinesAsYaml12Does) {
  const Node node = read("a: x\xe2\x80\xa8y\nb: z\xc2\x85\xe2\x80\xa9w\r\nc: 1\n");
  EXPECT_EQ(to_json(node), Json({{"a", "x\u2028y"}, {"b", "z\u0085\u2029w"}, {"c", 1}}));
  EXPECT_EQ(node.find("c")->at, (Position{3, 1}));
}

TEST(Document, ReportsEachDuplicateKeyWithBothLines) {
  const std::string text = "id: a\nstates:\n- id: x\n  id: y\n  'id': z\nid: b\n";
  EXPECT_EQ(problems(text), (std::vector<std::string>{"4:3 states[0].id definition.duplicate_key",
                                                      "5:3 states[0].id definition.duplicate_key",
                                                      "6:1 id definition.duplicate_key"}));
  EXPECT_EQ(only_message("a: 1\nb: 2\na: 3"), "the key \"a\" is repeated; it is already on line 1");
  Findings findings;
  EXPECT_EQ(to_json(*parse_document(text, findings)),
            Json({{"id", "a"}, {"states", {{{"id", "x"}}}}}))
      << "the first value is kept";
}

TEST(Document, ReplacesAnAliasByTheValueOfItsAnchor) {
  const Node node = read("a: &x {k: &y [1, 2]}\nb: *x\nc: *y\n&k d: 1\ne: {*k : 2}\n");
  EXPECT_EQ(to_json(node), Json::parse(R"({"a":{"k":[1,2]},"b":{"k":[1,2]},"c":[1,2],"d":1,
                                           "e":{"d":2}})"));
  EXPECT_EQ(node.find("b")->at, (Position{2, 1}));
  EXPECT_EQ(node.find("b")->value.at, (Position{1, 4}));
  EXPECT_EQ(value("[&a 1, *a, &a 2, *a]"), Json({1, 1, 2, 2}));
}

TEST(Document, ReportsAliasesWithoutAnAnchorAndAliasCycles) {
  EXPECT_EQ(problems("a: *x\nb: &x 1\nc: {*y : 1}\nd: &z {? {*z : 1} : 2, ? *z : 3}"),
            (std::vector<std::string>{"1:4 a definition.alias", "3:5 c definition.alias",
                                      "4:10 d definition.key", "4:26 d definition.alias_cycle"}));
  EXPECT_EQ(problems("a: &x\n  b: [*x]\nc: &z [*z]\n"),
            (std::vector<std::string>{"2:7 a.b[0] definition.alias_cycle",
                                      "3:8 c[0] definition.alias_cycle"}));
}

TEST(Document, ReportsAFindingInAnAnchoredValueOnceForAllItsAliases) {
  EXPECT_EQ(problems("a: &x {k: 1, k: 2, n: .nan}\nb: *x\nc: *x\n"),
            (std::vector<std::string>{"1:14 a.k definition.duplicate_key",
                                      "1:23 a.n definition.number"}));
}

std::string laughs(size_t levels, size_t each) {
  std::string text = "a0: &a0 [" + std::string(8, 'x') + "]\n";
  for (size_t level = 1; level <= levels; ++level) {
    text += fmt::format("a{0}: &a{0} [*a{1}", level, level - 1);
    for (size_t i = 1; i < each; ++i) text += fmt::format(", *a{}", level - 1);
    text += "]\n";
  }
  return text;
}

TEST(Document, StopsAnAliasBombAtTheLimitOfBytes) {
  EXPECT_EQ(problems(laughs(9, 10)), std::vector<std::string>{"6:15 a5[1] definition.alias_bomb"});
  EXPECT_THAT(problems(laughs(100, 100)), testing::SizeIs(1));
  EXPECT_EQ(only_message(laughs(40, 2)),
            "the aliases of this text expand to more than 1048576 bytes");
  EXPECT_EQ(problems(laughs(3, 10)), std::vector<std::string>());
}

TEST(Document, CountsTheBytesOfALongStringForEachAlias) {
  const auto text = [](size_t times) {
    std::string out = "- &x " + std::string(1016, 'x') + "\n";
    for (size_t i = 0; i < times; ++i) out += "- *x\n";
    return out;
  };
  EXPECT_EQ(read(text(1024)).items.size(), 1025U);
  EXPECT_EQ(problems(text(1025)),
            std::vector<std::string>({"1026:3 [1025] definition.alias_bomb"}));
}

TEST(Document, CountsTheBytesOfAliasesThatAreKeys) {
  std::string text = "? &k " + std::string(1000, 'k') + "\n: 1\nlist:\n";
  for (size_t i = 0; i < 2000; ++i) text += "- {*k : 1}\n";
  EXPECT_EQ(problems(text), std::vector<std::string>{"1044:4 list[1040] definition.alias_bomb"});
}

TEST(Document, RefusesNestingDeeperThan128Levels) {
  EXPECT_EQ(to_json(read(nested(128))), *parse_json(nested(128)));
  EXPECT_EQ(problems(nested(129)), std::vector<std::string>{"1:129  definition.depth"});
  EXPECT_EQ(problems(std::string(kMaxDocumentSize, '[')),
            std::vector<std::string>{"1:129  definition.depth"});
  EXPECT_EQ(
      read("a: &x " + nested(64) + "\nb: " + std::string(63, '[') + "*x" + std::string(63, ']'))
          .members.size(),
      2U);
  EXPECT_THAT(
      problems("a: &x " + nested(64) + "\nb: " + std::string(64, '[') + "*x" +
               std::string(64, ']')),
      testing::ElementsAre(testing::Eq("2:68 b" + repeated("[0]", 64) + " definition.depth")));
}

TEST(Document, RefusesTextsThatAreEmptyOrTooLongOrHaveSeveralDocuments) {
  EXPECT_EQ(value("---\na: 1\n...\n"), Json({{"a", 1}}));
  EXPECT_EQ(value("%YAML 1.2\n---\na: 1\n"), Json({{"a", 1}}));
  EXPECT_EQ(value("just text"), "just text");
  EXPECT_EQ(problems("a: 1\n---\nb: 2\n---\nc: 3"),
            std::vector<std::string>{"2:1  definition.documents"});
  for (const char* text : {"", "  \n", "# nothing\n", "\xef\xbb\xbf"}) {
    EXPECT_THAT(problems(text), testing::ElementsAre(testing::EndsWith("definition.empty")));
  }
  const std::string full = "a: " + std::string(kMaxDocumentSize - 3, 'x');
  EXPECT_EQ(read(full).members.at(0).value.text.size(), kMaxDocumentSize - 3);
  EXPECT_EQ(problems(full + "x"), std::vector<std::string>{"1:1  definition.too_large"});
}

TEST(Document, PlacesNothingBehindTheLastLine) {
  using testing::ElementsAre;
  EXPECT_THAT(problems("# id: a"), ElementsAre("1:8  definition.empty"));
  EXPECT_THAT(problems("# id: a\n"), ElementsAre("2:1  definition.empty"));
  EXPECT_EQ(read("--- # id: a").at, (Position{1, 12}));
}

TEST(Document, ReadsUpTo64TagDirectives) {
  const auto text = [](size_t lines) { return repeated("%TAG !a! b\n", lines) + "---\nx\n"; };
  EXPECT_EQ(value("%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1"), "1");
  EXPECT_THAT(only_message(text(64)), testing::HasSubstr("duplicate %TAG directive"));
  EXPECT_EQ(only_message(text(65)), "the text has more than 64 %TAG lines");
}

TEST(Document, ReportsNumbersThatJsonCannotExpress) {
  EXPECT_EQ(problems("a: .inf\nb: -.INF\nc: [.NaN, 1e999]\nd: 0x10000000000000000\ne: '.inf'"),
            (std::vector<std::string>{"1:4 a definition.number", "2:4 b definition.number",
                                      "3:5 c[0] definition.number", "3:11 c[1] definition.number",
                                      "4:4 d definition.number"}));
}

TEST(Document, ReportsKeysThatAreNotScalars) {
  EXPECT_EQ(problems("a:\n  ? [1, 2]\n  : x\n  ? {b: 1}\n  : y\n"),
            (std::vector<std::string>{"2:5 a definition.key", "4:5 a definition.key"}));
  EXPECT_EQ(problems("a: &x {b: 1}\nc:\n  <<: *x\n  '<<': 1\n"),
            std::vector<std::string>{"3:3 c definition.merge_key"});
}

TEST(Document, ReportsASyntaxErrorWithItsPlaceAndLikelyCause) {
  struct Row {
    const char* text;
    const char* at;
    const char* message;
  };
  const std::vector<Row> rows = {
      {"a:\n\tb: 1\n", "2:1",
       "found character that cannot start any token while scanning for the next token that begins "
       "on line 2; YAML does not allow tabs as indentation, use spaces"},
      {"a: @b\n", "1:4", "must be in quotes"},
      {"t: jq({a: .b})\n", "1:9", "a text that contains \": \" must be in quotes"},
      {"a: [1, 2\nb: 3\n", "2:2", "expected \",\" or \"]\" in the list that begins on line 1"},
      {"a: [jq(.b[0])]\n", "1:10", "put a text with brackets or commas in quotes"},
      {"a: {b: jq(.b[0])}\n", "1:13", "put a text with brackets or commas in quotes"},
      {"{\"a\":1", "1:7", "expected \",\" or \"}\" in the mapping that begins on line 1"},
      {"a: 'x\n", "2:1", "the text in quotes that begins on line 1 is not closed"},
      {"a: \"\\q\"\n", "1:5", "unknown escape in the text in double quotes"},
      {"a: 1\n b: 2\n", "2:3", "mapping values are not allowed"},
      {"- a\nb: 1\n", "2:1", "expected the next \"- \" item of the list"},
      {"a: *\n", "1:5", "a text that begins with \"*\" must be in quotes: \"*\""},
      {"ä: x\xff\n", "1:5", "the text must be UTF-8"},
      {"a: 1\nb: \x01\n", "2:4", "without control characters"},
      {"a: \xf4\x8f\xbf\xbf", "1:4", "noncharacters"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(problems(row.text),
              std::vector<std::string>{fmt::format("{}  definition.syntax", row.at)})
        << row.text;
    EXPECT_THAT(only_message(row.text), testing::HasSubstr(row.message)) << row.text;
  }
}

TEST(Document, ReadsAnyBytesIntoATreeOrFindings) {
  const std::string sample =
      "id: w # c\n&a functions: [&x {id: f, 'type': \"re\\ud83d\\ude00us\\u00e4ble\"}, *x]\n"
      "? k\n: |\n  text\n  \\ud83d\\ude00\nstates:\n- <<: *x\n  timeout: PT1H\n  n: [1, -2.5e3, "
      "0x1F, "
      ".inf, ~, !!str 5]\n- !x {a: 1, a: 2}\n---\nsecond: \xe2\x80\xa8\xc3\xa4\n";
  const std::string pieces[] = {"&a ", "*a", "*x", "\t",   "\n",      "\n  ", ": ",
                                "- ",  "[",  "]",  "{",    "}",       "\"",   "'",
                                "\\",  "!!", "? ", "\xff", "\\ud83d", "<<: "};
  std::mt19937 random(20210901);
  size_t trees = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = sample;
    for (unsigned change = 1 + random() % 6; change > 0; --change) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 2:
          text.erase(at, random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
      if (text.empty()) text = " ";
    }
    Findings findings;
    const std::optional<Node> node = parse_document(text, findings);
    ASSERT_TRUE(node || findings.has_errors()) << text;
    EXPECT_TRUE(is_json(dump_json(to_json(findings)))) << text;
    if (node) {
      ++trees;
      EXPECT_TRUE(is_json("[" + dump_json(to_json(*node)) + "]")) << text;
    }
  }
  EXPECT_GT(trees, 100U) << "enough of the changed texts must be readable";
}

TEST(Document, KeepsTheDigitsOfIntegersBeyond64Bits) {
  Findings findings;
  const std::optional<Node> document = parse_document(
      "[18446744073709551616, -9223372036854775809, 123456789012345678901234567890, 1.5, "
      "18446744073709551615, !!float 7, '18446744073709551616']",
      findings);
  ASSERT_TRUE(document);
  EXPECT_FALSE(findings.has_errors());
  EXPECT_EQ(dump_json(to_json(*document)),
            "[18446744073709551616,-9223372036854775809,123456789012345678901234567890,1.5,"
            "18446744073709551615,7.0,\"18446744073709551616\"]");
}

}  // namespace
}  // namespace millrace
