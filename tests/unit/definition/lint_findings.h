// The findings of lint as strings to compare.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/definition/lint.h"

namespace millrace {

/// `line:column code`
inline std::string described(const Finding& finding) {
  return fmt::format("{}:{} {}", finding.at.line, finding.at.column, finding.code);
}

/// All findings of lint, without those of the loader: `severity path: message [code]`.
inline std::vector<std::string> lint_of(const std::string& text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (document) lint(*document, findings);
  std::vector<std::string> out;
  for (const Finding& one : findings.sorted()) {
    out.push_back(fmt::format("{} {}: {} [{}]",
                              one.severity == Severity::kNote ? "note" : "warning", one.path,
                              one.message, one.code));
  }
  return out;
}

/// The findings of lint without notes.
inline std::vector<std::string> warnings_of(const std::string& text) {
  std::vector<std::string> found = lint_of(text);
  std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
  return found;
}

/// The notes of lint.
inline std::vector<std::string> notes_of(const std::string& text) {
  std::vector<std::string> found = lint_of(text);
  std::erase_if(found, [](const std::string& one) { return !one.starts_with("note"); });
  return found;
}

/// `severity path` of the findings with that code.
inline std::vector<std::string> places_of(std::string_view code, const std::string& text,
                                          const LintContext& context) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (document) lint(*document, findings, context);
  std::vector<std::string> out;
  for (const Finding& one : findings.sorted()) {
    if (one.code != code) continue;
    out.push_back((one.severity == Severity::kNote ? "note " : "warning ") + one.path);
  }
  return out;
}

}  // namespace millrace
