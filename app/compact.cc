#include "app/compact.h"

#include <spdlog/spdlog.h>

#include "app/log.h"
#include "app/progress.h"
#include "app/store_exit_code.h"
#include "orchestrator/size/compaction.h"

namespace millrace {
Ended compact_data(Console& console, Output& output, const CompactOptions& options) {
  log_to_stderr();
  spdlog::set_level(spdlog::level::warn);
  RowProgress progress(console);
  const auto compacted = compact_store(
      {.folder = options.data, .progress = [&](auto rows, auto of) { progress.show(rows, of); }});
  progress.clear();
  if (!compacted) return give_up(exit_code_of(compacted.error()), compacted.error());
  output.item({{"data", compacted->folder.string()},
               {"rows", compacted->rows},
               {"bytesBefore", compacted->bytes_before},
               {"bytesAfter", compacted->bytes_after}},
              "data");
  return ExitCode::kOk;
}

}  // namespace millrace
