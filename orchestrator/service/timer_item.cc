#include "orchestrator/service/timer_item.h"

#include <utility>

#include "base/ids.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {

void add_consequence(const AfterTimer& after, Json& item) {
  item["causes"] = to_string(after.causes);
  if (!after.then.empty()) item["then"] = after.then;
  if (!after.error.empty()) item["error"] = after.error;
  if (after.causes == AfterTimer::Causes::kEnd) item["ends"] = to_string(after.status);
  if (after.compensates) item["compensates"] = true;
}

Status TimerItems::add(const AfterTimer& after, NamespaceNumber number,
                       const std::optional<Caller>& caller, TimePoint at, Json& item) {
  add_consequence(after, item);
  if (after.causes != AfterTimer::Causes::kEnd || after.error.empty() || !caller) return {};
  const auto by = read_caller(view_, number, *caller);
  if (!by && !is_damaged_row(by.error())) return tl::unexpected(by.error());
  if (!by || !*by || !waits_for(**by, *caller)) return {};
  item["caller"] = Json{{"instance", to_string(caller->instance)}};
  const auto retries = TRY(this->retries(**by, *caller, after.error, at));
  if (retries) item["caller"]["retries"] = *retries;
  return {};
}

Result<std::optional<bool>> TimerItems::retries(const Instance& by, const Caller& call,
                                                std::string_view code, TimePoint at) {
  const auto workflow = definitions_.find_or_load(view_, by.revision);
  if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
  if (!workflow) return std::optional<bool>();
  if (!settings_) settings_ = TRY(readable_settings(view_, ns_));
  const auto& otherwise = settings_->default_retries;
  return retries_call(**workflow, by, call.index, code, at, otherwise ? &*otherwise : nullptr);
}

}  // namespace millrace
