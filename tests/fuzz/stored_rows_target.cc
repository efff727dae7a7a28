// One stored row: the byte of its table, the size of its key in one byte, its key, its value. Each
// decoder accepts or refuses the bytes, and writes what it accepted to bytes with the same meaning.
// Covers: orchestrator/store/rows/call_rows.cc orchestrator/store/rows/catalog_rows.cc
// Covers: orchestrator/store/rows/effect_rows.cc orchestrator/store/rows/event_rows.cc
// Covers: orchestrator/store/rows/fields.cc orchestrator/store/rows/group_rows.cc
// Covers: orchestrator/store/rows/head_rows.cc orchestrator/store/rows/history_rows.cc
// Covers: orchestrator/store/rows/index_rows.cc orchestrator/store/rows/instance_rows.cc
// Covers: orchestrator/store/rows/meta_rows.cc orchestrator/store/rows/outbox_rows.cc
// Covers: orchestrator/store/rows/purge.cc orchestrator/store/rows/task_rows.cc
// Covers: orchestrator/store/rows/variable_rows.cc orchestrator/store/rows/idempotency_rows.cc
// Covers: orchestrator/store/rows/archive_rows.cc orchestrator/store/rows/rate_rows.cc
// Covers: orchestrator/store/rows/stream_rows.cc orchestrator/store/rows/replay_rows.cc
// Covers: orchestrator/store/rows/source_rows.cc orchestrator/store/rows/start_rate_rows.cc
// Covers: orchestrator/store/rows/pending_start_rows.cc
// Covers: orchestrator/store/rows/pending_input_rows.cc orchestrator/store/rows/crash_row.cc
// Covers: orchestrator/store/rows/answer_rows.cc orchestrator/store/rows/call_slot_rows.cc
// Covers: orchestrator/store/rows/compensation_rows.cc orchestrator/store/rows/node_rows.cc
// Covers: orchestrator/store/rows/left_consumer_rows.cc orchestrator/store/rows/queue_rows.cc
// Covers: base/codec.cc
#include <cstdint>

#include "tests/fuzz/row_codecs.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_TARGET(stored_rows) {
  if (bytes.size() < 2 || bytes.size() > 65'536) return;
  const auto table = static_cast<Table>(static_cast<uint8_t>(bytes[0]));
  const auto key_size = static_cast<size_t>(static_cast<uint8_t>(bytes[1]));
  bytes.remove_prefix(2);
  const std::string_view key = bytes.substr(0, key_size);
  decodes_as_row(table, key, bytes.substr(key.size()));
  check_row_key(table, key);
}

}  // namespace millrace::fuzz
