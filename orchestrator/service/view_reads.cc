#include "orchestrator/service/view_reads.h"

#include "orchestrator/service/input_schema.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {

Result<uint64_t> ViewReads::position() const {
  const std::optional<std::string_view> row = view_.get(Table::kMeta, kLogKey);
  TRY(view_.status());
  if (!row) return uint64_t{0};
  return TRY(decode_log_position(*row)).sequence;
}

Result<TimePoint> ViewReads::time() const { return read_engine_time(view_); }

Result<Json> ViewReads::namespaces(const PageRequest& page) {
  return queries_.namespaces(view_, page);
}

Result<Json> ViewReads::one_namespace(std::string_view ns) {
  return queries_.one_namespace(view_, ns);
}

Result<Json> ViewReads::workflows(std::string_view ns, const PageRequest& page) {
  return queries_.workflows(view_, ns, page);
}

Result<Json> ViewReads::workflow(std::string_view ns, std::string_view id) {
  return queries_.workflow(view_, ns, id);
}

Result<Json> ViewReads::revisions(std::string_view ns, std::string_view id,
                                  const RevisionsRequest& request) {
  return queries_.revisions(view_, ns, id, request);
}

Result<Json> ViewReads::revision(std::string_view ns, std::string_view id, uint32_t number) {
  return queries_.revision(view_, ns, id, number);
}

Result<Json> ViewReads::graph(std::string_view ns, std::string_view id,
                              std::optional<uint32_t> revision) {
  return queries_.graph(view_, ns, id, revision);
}

Result<Json> ViewReads::input_schema(std::string_view ns, std::string_view id) {
  return to_json(TRY(queries_.input_schema(view_, ns, id)));
}

Result<Json> ViewReads::instances(std::string_view ns, const InstanceFilter& filter) {
  return queries_.instances(view_, ns, filter);
}

Result<Json> ViewReads::instance_counts(std::string_view ns, const CountRequest& request) {
  return queries_.instance_counts(view_, ns, request);
}

Result<Json> ViewReads::instance(std::string_view ns, const InstanceId& id) {
  return queries_.instance(view_, ns, id);
}

Result<Json> ViewReads::instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                                       std::string_view cursor) {
  return queries_.instance_calls(view_, ns, id, limit, cursor);
}

Result<Json> ViewReads::accepted_tasks(std::string_view ns, const AcceptedFilter& filter) {
  return queries_.accepted_tasks(view_, ns, filter);
}

Result<Json> ViewReads::instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                          std::string_view cursor) {
  return queries_.instance_children(view_, ns, id, limit, cursor);
}

Result<Json> ViewReads::history(std::string_view ns, const InstanceId& id,
                                const HistoryFilter& filter) {
  return queries_.history(view_, ns, id, filter);
}

Result<Json> ViewReads::listeners(std::string_view ns, const ListenerFilter& filter) {
  return queries_.listeners(view_, ns, filter);
}

Result<Json> ViewReads::queues(std::string_view ns, size_t limit, std::string_view cursor,
                               std::string_view workflow) {
  return queries_.queues(view_, ns, limit, cursor, workflow);
}

Result<Json> ViewReads::queue_holders(std::string_view ns, const HolderFilter& filter) {
  return queries_.queue_holders(view_, ns, filter);
}

Result<Json> ViewReads::groups(std::string_view ns, size_t limit, std::string_view cursor,
                               const GroupFilter& filter) {
  return queries_.groups(view_, ns, limit, cursor, filter);
}

Result<Json> ViewReads::schedules(std::string_view ns, const PageRequest& page) {
  return queries_.schedules(view_, ns, page);
}

Result<Json> ViewReads::schedule(std::string_view ns, std::string_view workflow) {
  return queries_.schedule(view_, ns, workflow);
}

Result<Json> ViewReads::next_firings(std::string_view ns, const NextFilter& filter) {
  return queries_.next_firings(view_, ns, filter);
}

Result<Json> ViewReads::variables(const VariablePlace& place, size_t limit,
                                  std::string_view cursor) {
  return queries_.variables(view_, place, limit, cursor);
}

Result<Variable> ViewReads::variable(const VariablePlace& place, std::string_view key) {
  return queries_.variable(view_, place, key);
}

Result<Json> ViewReads::secrets(std::string_view ns, size_t limit, std::string_view cursor) {
  return queries_.secrets(view_, ns, limit, cursor);
}

}  // namespace millrace
