// MadeTypes: which types the events have that mappings and generateEvent states make, as far as
// their templates say. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expressions/template.h"

namespace millrace {

class MadeTypes {
 public:
  /// Adds the types that the template may make.
  void add(const Template& type);
  /// Whether one of the templates may make the type: it is one of the constants, or has the literal
  /// texts of a template in their order.
  bool may_make(std::string_view type) const;

 private:
  std::set<std::string, std::less<>> constants_;
  std::vector<Template> templates_;
};

/// Whether events whose type the template makes may have one of these types.
bool may_make_any(const Template& type, const std::set<std::string, std::less<>>& types);

/// The types that the template makes, for messages: `the type "order.placed"`.
std::string described_types(const Template& type);

}  // namespace millrace
