#include "app/store_report.h"

#include <set>
#include <string>

#include <fmt/format.h>

namespace millrace {
namespace {

/// Prints to standard error what to do about each kind of finding, and a summary.
void explain(Console& console, const Json& report) {
  std::set<std::string> explained;
  for (const Json& finding : report.at("items")) {
    const auto code = finding.at("code").get<std::string>();
    if (!explained.insert(code).second) continue;
    console.err << fmt::format("{}: expected {}; action: {}\n", code,
                               finding.at("expected").get<std::string>(),
                               finding.at("action").get<std::string>());
  }
  uint64_t rows = 0;
  for (const auto& [table, count] : report.at("rows").items()) rows += count.get<uint64_t>();
  uint64_t findings = 0;
  for (const auto& [code, count] : report.at("codes").items()) findings += count.get<uint64_t>();
  const size_t listed = report.at("items").size();
  console.err << fmt::format("{} rows checked, {} {}", rows, findings,
                             findings == 1 ? "finding" : "findings");
  if (findings > listed) console.err << fmt::format(", the first {} are listed", listed);
  if (const auto unreadable = report.at("unreadable").get<uint64_t>(); unreadable > 0) {
    console.err << fmt::format("; {} sealed rows were not read, because their key is not available",
                               unreadable);
  }
  if (!report.value("indexCompared", true)) {
    console.err << "; the index is being computed, so counts, sizes and indexes were not compared";
  }
  console.err << "\n";
}

}  // namespace

ExitCode show_findings(Console& console, Output& output, const Json& report) {
  const bool is_sound = report.at("sound").get<bool>();
  const auto place = [](const Json& finding) {
    const auto key = finding.at("key").get<std::string>();
    const auto table = finding.at("table").get<std::string>();
    return key.empty() ? table : table + "/" + key;
  };
  if (output.format() != Format::kTable || !is_sound) {
    output.list(report, {field("CODE", "code"), {"PLACE", place}, field("FOUND", "found")}, "code");
  }
  explain(console, report);
  return is_sound ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace millrace
