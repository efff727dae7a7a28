#include "orchestrator/store/rows/idempotency_rows.h"

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

std::string encode(const IdempotencyRecord& record) {
  Writer writer = begin_record();
  writer.id(record.instance.bytes);
  writer.id(record.input);
  return writer.take();
}

Result<IdempotencyRecord> decode_idempotency(std::string_view bytes) {
  Reader reader = open_record(bytes);
  IdempotencyRecord record;
  record.instance.bytes = reader.id();
  record.input = reader.id();
  return end_record(reader, record, "idempotency");
}

Result<std::optional<IdempotencyRecord>> read_idempotency(const View& view, WorkflowNumber workflow,
                                                          std::string_view key) {
  return read(view, Table::kIdempotency, workflow_prefix(workflow).append(key), decode_idempotency);
}

void write_idempotency(Transaction& tx, WorkflowNumber workflow, std::string_view key,
                       const IdempotencyRecord& record) {
  tx.put(Table::kIdempotency, workflow_prefix(workflow).append(key), encode(record));
}

void erase_idempotency(Transaction& tx, const Instance& head) {
  if (head.idempotency_key.empty()) return;
  tx.erase(Table::kIdempotency,
           workflow_prefix(head.revision.workflow).append(head.idempotency_key));
}

}  // namespace millrace
