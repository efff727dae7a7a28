// What must hold for the findings about a text. Any thread.
#pragma once

#include <algorithm>
#include <string_view>

#include "language/findings.h"
#include "tests/fuzz/properties.h"

namespace millrace::fuzz {

/// CHECKs that each finding has a code, a message in UTF-8, and a line within `text`.
inline void check_findings(const Findings& findings, std::string_view text) {
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n') +
                                         std::count(text.begin(), text.end(), '\r') + 1);
  bool has_error = false;
  Position last{1, 1};
  for (const Finding& finding : findings.sorted()) {
    CHECK(finding.at.line >= 1 && finding.at.line <= lines, "{} is in line {} of {}", finding.code,
          finding.at.line, lines);
    CHECK(finding.at.column >= 1 && finding.at.column <= text.size() + 1, "{} is in column {}",
          finding.code, finding.at.column);
    CHECK(finding.at >= last, "the findings are not sorted: {}", finding.code);
    last = finding.at;
    CHECK(!finding.code.empty() && !finding.message.empty(), "a finding says nothing");
    CHECK(is_utf8(finding.message) && is_utf8(finding.path) && is_utf8(finding.mend),
          "a finding {} is not UTF-8", finding.code);
    has_error = has_error || finding.severity == Severity::kError;
  }
  CHECK(!has_error || findings.has_errors(), "an error is not counted as one");
  CHECK(findings.omitted() == 0 || findings.full(), "findings are omitted without need");
}

}  // namespace millrace::fuzz
