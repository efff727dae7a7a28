#include "orchestrator/store/rows/doubtful_head.h"

#include <string>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

/// Returns `read`; but if its error is that of a damaged row, returns nullopt, as for a missing
/// row.
template <class T>
Result<std::optional<T>> unless_damaged(Result<std::optional<T>> read) {
  if (!read && is_damaged_row(read.error())) return std::optional<T>();
  return read;
}

}  // namespace

Result<std::optional<Instance>> read_doubtful_head(const View& view, NamespaceNumber ns,
                                                   const InstanceId& id) {
  const std::string key = rows::instance_prefix(ns, id) + static_cast<char>(Part::kHead);
  for (const Table table : {Table::kLive, Table::kEnded}) {
    auto head = TRY(unless_damaged(rows::read(view, table, key, decode_head)));
    if (!head) continue;
    const auto row = TRY(unless_damaged(
        rows::read(view, Table::kHistory, rows::key_of(head->last_history), decode_history)));
    if (!row || row->ns != ns || row->instance != id) head->last_history = 0;
    const auto started =
        TRY(unless_damaged(read_idempotency(view, head->revision.workflow, head->idempotency_key)));
    if (!started || started->instance != id) head->idempotency_key.clear();
    return head;
  }
  return std::optional<Instance>();
}

Status each_doubtful_head(
    const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
    const std::function<bool(const InstanceId& id, const Instance& head)>& see) {
  // The first key after all parts of the instance `behind`.
  const std::string from = behind ? rows::instance_prefix(ns, *behind).append("\xff") : "";
  return rows::walk(view, Table::kLive, rows::ns_prefix(ns), from,
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      if (!rows::is_head(key)) return true;
                      const InstanceId id{Reader(key.substr(sizeof(uint32_t))).id()};
                      const auto sound = read_live_head(view, ns, id);
                      if (sound) return true;
                      if (!is_damaged_row(sound.error())) return tl::unexpected(sound.error());
                      const auto head = rows::decode(view, Table::kLive, key, value, decode_head);
                      return !head || see(id, *head);
                    });
}

}  // namespace millrace
