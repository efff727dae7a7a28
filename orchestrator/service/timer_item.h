// What an item of an answer says of the consequence of a timer: what follows, and what becomes of
// the call if the instance is a subflow. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/engine/after_timer.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Adds "causes", "then"?, "error"?: its code, "ends"?: a status, and "compensates"? to the item.
void add_consequence(const AfterTimer& after, Json& item);

/// Adds the consequences of timers to the items of one answer.
class TimerItems {
 public:
  TimerItems(const View& view, std::string_view ns, DefinitionCache& definitions)
      : view_(view), ns_(ns), definitions_(definitions) {}

  /// As add_consequence(). If an instance with the caller ends by it at `at` without a result, and
  /// the call waits for it, also "caller": {"instance","retries"?}: whether another attempt of the
  /// call follows, if that is known. `number`: of the namespace. Errors: those of the view.
  Status add(const AfterTimer& after, NamespaceNumber number, const std::optional<Caller>& caller,
             TimePoint at, Json& item);

 private:
  Result<std::optional<bool>> retries(const Instance& by, const Caller& call, std::string_view code,
                                      TimePoint at);

  const View& view_;
  const std::string ns_;
  DefinitionCache& definitions_;
  std::optional<NamespaceSettings> settings_;  ///< nullopt: not read yet
};

}  // namespace millrace
