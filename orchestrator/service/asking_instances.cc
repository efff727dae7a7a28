#include "orchestrator/service/asking_instances.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "orchestrator/memory/wait_index.h"

namespace millrace {
namespace {

/// The steps of a question about a value, as many as those of a question of the why desk.
constexpr size_t kStepsForListeners = 1'000;

}  // namespace

std::optional<std::vector<InstanceId>> instances_asking(const AskIndex& ask, std::string_view ns,
                                                        const ListenerFilter& filter) {
  const bool has_value = !filter.attribute.empty() && filter.value.has_value();
  if (filter.kind == ListenerFilter::Kind::kStart) return std::nullopt;
  if (!has_value && filter.type.empty()) return std::nullopt;
  AskingInstances asking{.ids = {}, .is_complete = false};
  const Status asked = ask([&](const EngineMemory& memory) {
    const WaitIndex& waiting = memory.waiting;
    if (!filter.type.empty() && waiting.near(ns, filter.type, {}, 0).of == 0) {
      asking.is_complete = true;
    } else if (has_value) {
      asking =
          waiting.asking(ns, filter.type, {filter.attribute, *filter.value}, kStepsForListeners);
    }
  });
  if (!asked || !asking.is_complete) return std::nullopt;
  std::reverse(asking.ids.begin(), asking.ids.end());
  return std::move(asking.ids);
}

}  // namespace millrace
