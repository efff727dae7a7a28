#include "scenarios/external_functions.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "language/document.h"
#include "language/findings.h"
#include "language/grammar.h"
#include "language/walk.h"

namespace millrace {
namespace {

/// The most functions that a message names.
constexpr size_t kMostNamed = 12;

}  // namespace

void ExternalFunctions::add(std::string_view definition) {
  Findings reported_before;  // by the loader
  const std::optional<Node> document = parse_document(definition, reported_before);
  const Member* const functions = document ? document->find("functions") : nullptr;
  if (functions == nullptr) return;
  const Mapping& grammar = *workflow_grammar().find("functions")->object;
  for (const Node& function : functions->value.items) {
    const Member* const id = function.find("id");
    if (id == nullptr) continue;
    const bool is_subflow = kind_of(function, grammar).types[0] == "subflow";
    const bool is_new = (is_subflow ? subflows_ : known_).insert(id->value.text).second;
    if (is_new && !is_subflow) ids_.push_back(id->value.text);
  }
}

bool ExternalFunctions::has(std::string_view id) const { return known_.contains(id); }

bool ExternalFunctions::has_subflow(std::string_view id) const { return subflows_.contains(id); }

std::vector<std::string_view> ExternalFunctions::ids() const { return {ids_.begin(), ids_.end()}; }

std::string ExternalFunctions::list() const {
  if (ids_.empty()) return "no workflow of this file has a function that is no subflow";
  std::string text = ids_.size() == 1 ? "the only function is " : "the functions are ";
  for (size_t i = 0; i < std::min(ids_.size(), kMostNamed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", in_quotes(ids_[i]));
  }
  if (ids_.size() > kMostNamed) text += fmt::format(" and {} more", ids_.size() - kMostNamed);
  return text;
}

}  // namespace millrace
