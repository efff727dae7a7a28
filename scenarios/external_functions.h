// The functions of the workflows of a scenario file whose behaviour a scenario describes: all
// except subflows. Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class ExternalFunctions {
 public:
  /// Adds the functions of a definition.
  void add(std::string_view definition);

  /// Whether a workflow has the function, and it is no subflow.
  bool has(std::string_view id) const;
  bool has_subflow(std::string_view id) const;
  /// The ids of all functions that are no subflows, in the order of the text.
  std::vector<std::string_view> ids() const;
  /// A clause that names these functions: `the functions are "charge", "refund"`.
  std::string list() const;

 private:
  std::vector<std::string> ids_;  ///< each once
  std::set<std::string, std::less<>> known_;
  std::set<std::string, std::less<>> subflows_;
};

}  // namespace millrace
