// Reads the policies of an action for tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "language/document.h"
#include "language/fields.h"
#include "language/grammar.h"
#include "language/policy_fields.h"

namespace millrace {

inline Span span(Duration fixed) { return {.fixed = fixed}; }

/// The policies of an action, and the findings as `line:column path: message [code]`.
struct ActionPolicies {
  std::optional<WrittenPolicy> retries;
  WrittenTimeouts timeouts;
  std::vector<std::string> findings;
};

inline ActionPolicies read_action(const std::string& action) {
  const Mapping& grammar = *state_grammar().kind("action")->find("action")->object;
  Findings findings;
  ActionPolicies out;
  if (const std::optional<Node> node = parse_document("function: f\n" + action, findings)) {
    Fields fields(*node, "action", findings, grammar);
    fields.has("function");
    if (const Member* const retries = fields.member("retries")) {
      out.retries = read_retries(*retries, fields.path("retries"), findings);
    }
    out.timeouts = read_timeouts(fields);
  }
  for (const Finding& one : findings.sorted()) {
    out.findings.push_back(fmt::format("{}:{} {}: {} [{}]", one.at.line, one.at.column, one.path,
                                       one.message, one.code));
  }
  return out;
}

}  // namespace millrace
