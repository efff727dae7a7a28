// ViewReads: the reads of one snapshot, without an engine. All of them show the same commit. For
// one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/store_reads.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class ViewReads final : public StoreReads {
 public:
  /// `queries`, and the Environment of `view`, outlive the ViewReads.
  ViewReads(Queries& queries, Snapshot view) : queries_(queries), view_(std::move(view)) {}

  /// The sequence, in the log of the cluster, of the last commit that the view has; 0: it has none.
  /// Errors: `store.corrupt`, and those of the store.
  Result<uint64_t> position() const;
  /// The time of the last batch that the view has. Errors: a damaged row, and those of the store.
  Result<TimePoint> time() const;

  Result<Json> namespaces(const PageRequest& page) override;
  Result<Json> one_namespace(std::string_view ns) override;
  Result<Json> workflows(std::string_view ns, const PageRequest& page) override;
  Result<Json> workflow(std::string_view ns, std::string_view id) override;
  Result<Json> revisions(std::string_view ns, std::string_view id,
                         const RevisionsRequest& request) override;
  Result<Json> revision(std::string_view ns, std::string_view id, uint32_t number) override;
  Result<Json> graph(std::string_view ns, std::string_view id,
                     std::optional<uint32_t> revision) override;
  Result<Json> input_schema(std::string_view ns, std::string_view id) override;
  Result<Json> instances(std::string_view ns, const InstanceFilter& filter) override;
  Result<Json> instance_counts(std::string_view ns, const CountRequest& request) override;
  Result<Json> instance(std::string_view ns, const InstanceId& id) override;
  Result<Json> instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                              std::string_view cursor) override;
  Result<Json> accepted_tasks(std::string_view ns, const AcceptedFilter& filter) override;
  Result<Json> instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                 std::string_view cursor) override;
  Result<Json> history(std::string_view ns, const InstanceId& id,
                       const HistoryFilter& filter) override;
  Result<Json> listeners(std::string_view ns, const ListenerFilter& filter) override;
  Result<Json> queues(std::string_view ns, size_t limit, std::string_view cursor,
                      std::string_view workflow) override;
  Result<Json> queue_holders(std::string_view ns, const HolderFilter& filter) override;
  Result<Json> groups(std::string_view ns, size_t limit, std::string_view cursor,
                      const GroupFilter& filter) override;
  Result<Json> schedules(std::string_view ns, const PageRequest& page) override;
  Result<Json> schedule(std::string_view ns, std::string_view workflow) override;
  Result<Json> next_firings(std::string_view ns, const NextFilter& filter) override;
  Result<Json> variables(const VariablePlace& place, size_t limit,
                         std::string_view cursor) override;
  Result<Variable> variable(const VariablePlace& place, std::string_view key) override;
  Result<Json> secrets(std::string_view ns, size_t limit, std::string_view cursor) override;

 private:
  Queries& queries_;
  const Snapshot view_;
};

}  // namespace millrace
