#include "scenarios/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

std::string seconds(Duration time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// The totals of several reports.
struct Counts {
  size_t scenarios = 0;
  size_t failed = 0;
  size_t wrong = 0;  ///< scenario files with errors
  Duration time{0};
};

void count(const SuiteReport& report, Counts& counts) {
  counts.wrong += report.wrong.empty() ? 0 : 1;
  counts.scenarios += report.played.size();
  for (const Played& one : report.played) {
    counts.failed += one.outcome.passed() ? 0 : 1;
    counts.time += one.outcome.real_time;
  }
}

std::string details(const Played& played, const std::string& file) {
  std::string text;
  for (const std::string& line : played.outcome.unanswered) text += line + "\n";
  for (const Mismatch& one : played.outcome.mismatches) text += render_mismatch(one, file) + "\n";
  for (const std::string& line : played.outcome.story) text += line + "\n";
  return text;
}

std::string render_findings(const SuiteReport& report) {
  std::string text;
  for (const WrongFile& one : report.wrong) text += render_text(one.findings, one.file);
  return text;
}

/// Escapes the text of an XML element. Characters that XML 1.0 cannot represent (control
/// characters, U+FFFE, U+FFFF) become the replacement character.
std::string xml_text(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') {
      out += kReplacement;
    } else if (text.substr(i, 3) == "\xEF\xBF\xBE" || text.substr(i, 3) == "\xEF\xBF\xBF") {
      out += kReplacement;
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

/// Escapes an XML attribute in double quotes. A line break is escaped too, because XML parsers read
/// it as a space.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : xml_text(text)) out += c == '\n' ? "&#10;" : std::string(1, c);
  return out;
}

/// The class name of a file: `examples.purchase.purchase`. Readers of JUnit XML show the part after
/// the last dot as the class.
std::string class_name(std::string name) {
  if (is_scenario_file(name)) name.erase(name.rfind(".test."));
  std::replace(name.begin(), name.end(), '/', '.');
  name.erase(0, name.find_first_not_of('.'));
  return name;
}

std::string render_case(const Played& played, const std::string& file) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\" time=\"{}\"",
                  xml(class_name(file)), xml(played.name), xml(file), played.at.line,
                  seconds(played.outcome.real_time));
  if (played.outcome.passed()) return text + "/>\n";
  const Mismatch& first = played.outcome.mismatches.front();
  const std::string message =
      first.path.empty() ? first.message : fmt::format("{}: {}", first.path, first.message);
  return text + fmt::format(
                    ">\n      <failure type=\"expectation\" message=\"{}\">{}</failure>\n"
                    "    </testcase>\n",
                    xml(message), xml_text(details(played, file)));
}

}  // namespace

std::string render_mismatch(const Mismatch& mismatch, std::string_view file) {
  return fmt::format("{}:{}:{}: {}{}{}", file, mismatch.at.line, mismatch.at.column, mismatch.path,
                     mismatch.path.empty() ? "" : ": ", mismatch.message);
}

std::string render_text(const SuiteReport& report) {
  std::string text = render_findings(report);
  for (const Played& one : report.played) {
    text += fmt::format("{:<6} {}: {} ({} ms)\n", one.outcome.passed() ? "ok" : "FAILED",
                        report.file, one.name, one.outcome.real_time.count());
    if (one.outcome.passed()) continue;
    for (const std::string& line : one.outcome.unanswered) text += fmt::format("    {}\n", line);
    for (const Mismatch& mismatch : one.outcome.mismatches) {
      text += fmt::format("    {}\n", render_mismatch(mismatch, report.file));
    }
    for (const std::string& line : one.outcome.story) text += fmt::format("    {}\n", line);
  }
  return text;
}

std::string render_summary(const std::vector<SuiteReport>& reports) {
  Counts counts;
  for (const SuiteReport& one : reports) count(one, counts);
  const auto number = [](size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text = fmt::format("{} in {}: {} passed", number(counts.scenarios, "scenario"),
                                 number(reports.size(), "file"), counts.scenarios - counts.failed);
  if (counts.failed > 0) text += fmt::format(", {} FAILED", counts.failed);
  if (counts.wrong > 0) text += fmt::format(", {} with errors", number(counts.wrong, "file"));
  return text + fmt::format(" ({} s)\n", seconds(counts.time));
}

std::string render_junit(const std::vector<SuiteReport>& reports) {
  const auto attributes = [](const Counts& counts) {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{}\"",
                       counts.scenarios + counts.wrong, counts.failed, counts.wrong,
                       seconds(counts.time));
  };
  Counts all;
  std::string suites;
  for (const SuiteReport& report : reports) {
    Counts counts;
    count(report, counts);
    count(report, all);
    suites += fmt::format("  <testsuite name=\"{}\" {}>\n", xml(report.file), attributes(counts));
    if (!report.wrong.empty()) {
      suites += fmt::format(
          "    <testcase classname=\"{}\" name=\"can be read\" file=\"{}\" time=\"0.000\">\n"
          "      <error type=\"findings\" message=\"the file, or a workflow that it names, has "
          "errors\">{}</error>\n"
          "    </testcase>\n",
          xml(class_name(report.file)), xml(report.file), xml_text(render_findings(report)));
    }
    for (const Played& one : report.played) suites += render_case(one, report.file);
    suites += "  </testsuite>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"millrace\" {}>\n{}"
      "</testsuites>\n",
      attributes(all), suites);
}

}  // namespace millrace
