#include "orchestrator/definition/lint_compensations.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/read_members.h"

namespace millrace {
namespace {

/// The types of states that change nothing outside their instance.
constexpr std::array<std::string_view, 8> kIdleTypes = {
    "consumeEvent", "delay", "eventAnd", "eventXor", "getter", "noop", "switch", "validate"};

bool is_idle(std::string_view type) {
  return std::find(kIdleTypes.begin(), kIdleTypes.end(), type) != kIdleTypes.end();
}

/// A key `compensate` of the definition.
struct CompensateKey {
  std::string path;
  Position at;
};

class CompensationLinter {
 public:
  CompensationLinter(const Node& document, Findings& findings)
      : document_(document), findings_(findings) {}

  void run(bool loads) {
    const std::vector<Node>& states = items_of(document_, "states");
    for (size_t i = 0; i < states.size(); ++i) check_state(states[i], path_of("states", i));
    ask(document_, "compensate");
    if (const Node* const on_failure = value_of(document_, "on_failure")) {
      ask(*on_failure, path_of("on_failure", "compensate"));
    }
    if (loads) compare();
  }

 private:
  void check_state(const Node& state, const std::string& path) {
    const Member* const key = state.find("compensate");
    if (key == nullptr) return;
    const std::string own = path_of(path, "compensate");
    const std::string_view type = type_of_state(state);
    if (type == "error") return ask(state, own);
    if (!noted_) noted_ = CompensateKey{own, key->at};
    if (type == "foreach" || type == "parallel") check_input(key->value, own);
    if (!is_idle(type)) return;
    findings_.warning(
        "lint.compensation_idle", own, key->at,
        fmt::format("the state changes nothing outside its instance (its type is {}), so there is "
                    "nothing to undo",
                    type),
        "write `compensate` on the state that does what is undone, or remove it");
  }

  /// Warns of an `input` that reads the data of the instance, which the compensations of calls do
  /// not have.
  void check_input(const Node& compensate, const std::string& path) {
    const Node* const input = value_of(compensate, "input");
    if (input == nullptr) return;
    const auto value = Template::literal_or_jq(to_json(*input), Template::Dot::kIdentity);
    if (!value) return;  // the loader reports it
    const std::optional<std::set<std::string>> members = members_read(*value);
    if (!members) return;
    const auto other = std::find_if(members->begin(), members->end(),
                                    [](const std::string& one) { return one != "return"; });
    if (other == members->end()) return;
    findings_.warning(
        "lint.compensation_input", path_of(path, "input"), input->at,
        fmt::format(
            "each call of the state has a compensation of its own, whose input is evaluated "
            "over `.return` alone, so the member {} is always null",
            in_quotes(*other)),
        "let the function return what its compensation needs, and read it from `.return`");
  }

  /// Notes a place that asks for the compensations.
  void ask(const Node& node, const std::string& path) {
    const Member* const key = node.find("compensate");
    if (key != nullptr && key->value.text == "true" && !asked_)
      asked_ = CompensateKey{path, key->at};
  }

  void compare() {
    if (noted_ && !asked_) {
      findings_.warning("lint.compensation_never", noted_->path, noted_->at,
                        "nothing asks for the compensations of this workflow, so only an operator "
                        "can make them",
                        "write `compensate: true` in the workflow, in its `on_failure` or in an "
                        "Error state");
    } else if (asked_ && !noted_) {
      findings_.warning("lint.compensation_never", asked_->path, asked_->at,
                        "no state has `compensate`, so there is nothing to make",
                        "write `compensate` on the states whose work is to be undone, or remove "
                        "this key");
    }
  }

  const Node& document_;
  Findings& findings_;
  std::optional<CompensateKey> noted_;  ///< the first `compensate` with a function
  std::optional<CompensateKey> asked_;  ///< the first `compensate: true`
};

}  // namespace

void lint_compensations(const Node& document, bool loads, Findings& findings) {
  CompensationLinter(document, findings).run(loads);
}

}  // namespace millrace
