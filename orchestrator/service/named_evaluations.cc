#include "orchestrator/service/named_evaluations.h"

#include "orchestrator/loop/namespace_labels.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

Result<std::map<std::string, EvaluationLevels>> evaluations_by_name(
    const Environment& environment, const std::map<NamespaceNumber, EvaluationLevels>& levels) {
  std::map<std::string, EvaluationLevels> named;
  if (levels.empty()) return named;
  std::map<NamespaceNumber, EvaluationLevels> others = levels;
  const Snapshot view = TRY(Snapshot::take(environment));
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    const auto found = others.find(record.number);
    if (found == others.end()) return;
    named[std::string(name)] += found->second;
    others.erase(found);
  }));
  for (const auto& [number, level] : others) named[kOtherNamespaces] += level;
  return named;
}

Json evaluations_json(NamespaceNumber ns,
                      const std::map<NamespaceNumber, EvaluationLevels>& levels) {
  const auto found = levels.find(ns);
  const EvaluationLevels of = found == levels.end() ? EvaluationLevels() : found->second;
  return {{"fast", {{"waiting", of.fast_waiting}, {"running", of.fast_running}}},
          {"slow", {{"waiting", of.slow_waiting}, {"running", of.slow_running}}}};
}

}  // namespace millrace
