// The report of `millrace test`, as text and as JUnit XML.
#include "scenarios/report.h"

#include <gmock/gmock.h>

namespace millrace {
namespace {

using testing::HasSubstr;

/// Checks whether a text is well-formed XML of the kind that a report uses: a declaration, then one
/// element; names, attributes in double quotes, text, four entities and one decimal reference.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  bool read() {
    if (!take("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") || !element()) return false;
    return take("\n") && rest_.empty();
  }
  /// The text from the first error on.
  std::string rest() const { return std::string(rest_); }

 private:
  bool element() {
    if (!take("<")) return false;
    const std::string_view name = word();
    if (name.empty()) return false;
    while (take(" ")) {
      if (word().empty() || !take("=\"") || !content('"') || !take("\"")) return false;
    }
    if (take("/>")) return true;
    if (!take(">")) return false;
    while (content('<') && !rest_.starts_with("</")) {
      if (!element()) return false;
    }
    return take("</") && take(name) && take(">");
  }

  /// Reads up to the delimiter, which is not consumed.
  bool content(char delimiter) {
    while (!rest_.empty() && rest_.front() != delimiter) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      if (byte == '<' || byte == '>' || (byte < 0x20 && byte != '\n' && byte != '\t')) return false;
      if (byte == '&') {
        const std::string_view entity = rest_.substr(1, rest_.find(';') - 1);
        const bool known = entity == "amp" || entity == "lt" || entity == "gt" ||
                           entity == "quot" || entity == "#10";
        if (!known) return false;
      }
      rest_.remove_prefix(1);
    }
    return !rest_.empty();
  }

  std::string_view word() {
    const size_t end = rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(found.size());
    return found;
  }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  std::string_view rest_;
};

std::string stops_at(const std::string& document) {
  XmlReader reader(document);
  return reader.read() ? "" : "stops at: " + reader.rest();
}

std::vector<SuiteReport> some_reports() {
  const Mismatch wrong{
      {7, 9}, "scenarios[1].expect.status", "expected \"failed\", got \"complete\""};
  const Mismatch second{{8, 9}, "scenarios[1].expect.output", "expected <1>, got \"\x01&\""};
  const Mismatch endless{{9, 5}, "", "given up"};
  Findings findings;
  findings.error("definition.type", "states[0]", {2, 3}, "this is <b>");
  return {
      {.file = "shop/order.test.yaml",
       .played = {{"is paid", {3, 5}, {.real_time = Duration(12)}},
                  {"is \"lost\" & <found>\n\xEF\xBF\xBF",
                   {5, 5},
                   {.mismatches = {wrong, second},
                    .unanswered = {"the function f is not answered"},
                    .story = {"what happened to order:", "  0s       ended"},
                    .real_time = Duration(1'008)}},
                  {"turns round", {9, 5}, {.mismatches = {endless}}}}},
      {.file = "./bill.test.json", .wrong = {{"./bill.json", findings}}},
  };
}

TEST(Report, HasALineForEachScenarioFollowedByItsFailures) {
  const auto reports = some_reports();
  EXPECT_EQ(
      render_text(reports[0]),
      "ok     shop/order.test.yaml: is paid (12 ms)\n"
      "FAILED shop/order.test.yaml: is \"lost\" & <found>\n\xEF\xBF\xBF (1008 ms)\n"
      "    the function f is not answered\n"
      "    shop/order.test.yaml:7:9: scenarios[1].expect.status: expected \"failed\", got "
      "\"complete\"\n"
      "    shop/order.test.yaml:8:9: scenarios[1].expect.output: expected <1>, got \"\x01&\"\n"
      "    what happened to order:\n"
      "      0s       ended\n"
      "FAILED shop/order.test.yaml: turns round (0 ms)\n"
      "    shop/order.test.yaml:9:5: given up\n");
  EXPECT_EQ(render_text(reports[1]),
            "./bill.json:2:3: error: states[0]: this is <b> [definition.type]\n");
  EXPECT_EQ(render_summary(reports),
            "3 scenarios in 2 files: 1 passed, 2 FAILED, 1 file with errors (1.020 s)\n");
  EXPECT_EQ(render_summary({{.file = "a", .played = {{"x", {}, {}}}}}),
            "1 scenario in 1 file: 1 passed (0.000 s)\n");
}

TEST(Report, IsWellFormedXmlWhateverItContains) {
  const std::string document = render_junit(some_reports());
  EXPECT_EQ(stops_at(document), "") << document;
  EXPECT_THAT(document, HasSubstr("<testsuites name=\"millrace\" tests=\"4\" failures=\"2\" "
                                  "errors=\"1\" skipped=\"0\" time=\"1.020\">"));
  EXPECT_THAT(document, HasSubstr("<testsuite name=\"shop/order.test.yaml\" tests=\"3\" "
                                  "failures=\"2\" errors=\"0\" skipped=\"0\" time=\"1.020\">"));
  EXPECT_THAT(document, HasSubstr("<testcase classname=\"shop.order\" name=\"is paid\" "
                                  "file=\"shop/order.test.yaml\" line=\"3\" time=\"0.012\"/>"));
  EXPECT_THAT(document,
              HasSubstr("name=\"is &quot;lost&quot; &amp; &lt;found&gt;&#10;\xEF\xBF\xBD\""));
  EXPECT_THAT(document, HasSubstr("message=\"scenarios[1].expect.status: expected &quot;failed"));
  EXPECT_THAT(document, HasSubstr(">the function f is not answered\nshop/order.test.yaml:7:9: "));
  EXPECT_THAT(document, HasSubstr("what happened to order:\n"));
  EXPECT_THAT(document, HasSubstr("classname=\"bill\" name=\"can be read\""));
  EXPECT_THAT(document, HasSubstr("./bill.json:2:3: error: states[0]: this is &lt;b&gt;"));
}

TEST(Report, IsCheckedByAReaderThatRefusesMalformedXml) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  EXPECT_EQ(stops_at(head + "<a b=\"1\"><c/>x</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"<\"/>", "<a>&x;</a>", "<a/><b/>",
                          "<a>\x01</a>", "<a b=\"1\"c=\"2\"/>"}) {
    EXPECT_NE(stops_at(head + bad + "\n"), "") << bad;
  }
}

}  // namespace
}  // namespace millrace
