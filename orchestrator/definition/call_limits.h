// CallLimits: how workflows limit the calls of services and images, for lint. All calls of a
// namespace for one service, or for one image, share slots and throttles, but only calls that have
// such a limit count. Pure; for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "language/document.h"
#include "language/findings.h"
#include "states/workflow.h"

namespace millrace {

/// A limit of the calls of a service or an image, by one workflow.
struct CallLimit {
  std::string workflow;
  uint32_t limit = 1;
  std::string period;  ///< of a `throttle`, as the definition has it; empty: a `concurrency`
  std::string key;     ///< the query of the key, such as `jq(.customer)`; empty: there is none

  bool operator==(const CallLimit&) const = default;
};

class CallLimits {
 public:
  enum class Kind { kConcurrency, kThrottle };

  void add(const Workflow& workflow);

  /// The limits of that kind for what `target` describes, in the order of the
  /// workflows that were added.
  std::span<const CallLimit> of(Kind kind, std::string_view target) const;
  /// The workflows with calls of the target that have no limit of that kind.
  std::vector<std::string> without(Kind kind, std::string_view target) const;

 private:
  void note(Kind kind, const Function& function, CallLimit limit);
  void note_without(Kind kind, const Function& function, const std::string& workflow);

  using Calls = std::pair<Kind, std::string>;  ///< of a target
  std::map<Calls, std::vector<CallLimit>> limits_;
  std::map<Calls, std::set<std::string>> without_;
};

/// The limits of the workflows beside which a definition stands. Only called for a definition with
/// calls of services or images.
using LimitsBeside = std::function<std::shared_ptr<const CallLimits>()>;

inline constexpr std::string_view kLimitNotKept = "lint.limit_not_kept";

/// Adds `lint.limit_not_kept` for the calls of the definition that a limit of another workflow does
/// not count: a warning for calls without such a limit, and for a key where the other workflow has
/// none or the other way round, and for a higher limit or a shorter period; a note for another key.
/// Adds nothing if `beside` is null, or returns null.
void lint_limits(const Node& document, const LimitsBeside& beside, Findings& findings);

/// Adds `lint.limit_not_kept` for each limit of the definition that calls of other workflows do not
/// have, or exceed: the same as lint_limits() finds in these workflows.
void lint_calls_beside(const Node& document, const LimitsBeside& beside, Findings& findings);

/// How the message of such a finding of lint_calls_beside() begins.
std::string beginning_on_calls_of(std::string_view workflow);

}  // namespace millrace
