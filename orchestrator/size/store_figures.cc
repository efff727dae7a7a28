#include "orchestrator/size/store_figures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "orchestrator/archive/archive_files.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

using NumberedNamespace = std::pair<std::string, NamespaceNumber>;

Result<std::vector<NumberedNamespace>> all_namespaces(const View& view) {
  std::vector<NumberedNamespace> all;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    all.emplace_back(name, record.number);
  }));
  return all;
}

/// Whether the index has every instance. The formats before 6 have no index.
Result<bool> has_index(const View& view) {
  const auto format = TRY(read_format(view));
  const bool is_incomplete = is_index_incomplete(view);
  TRY(view.status());
  return format == kStoreFormat && !is_incomplete;
}

Result<std::vector<NamespaceUsage>> usage_of(const View& view,
                                             const std::vector<NumberedNamespace>& namespaces) {
  std::vector<NamespaceUsage> all;
  for (const auto& [name, number] : namespaces) {
    const Result<Usage> usage = read_usage(view, number);
    if (usage) {
      all.push_back({.ns = name, .usage = *usage});
    } else if (!is_damaged_row(usage.error())) {
      return tl::unexpected(usage.error());
    }
  }
  return all;
}

}  // namespace

Result<StoreFigures> read_figures(const Environment& environment) {
  StoreFigures figures{.size = TRY(environment.size()),
                       .checkpoint_rate = environment.checkpoint_rate(),
                       .commit_waits = environment.commit_waits().time};
  figures.archive_bytes = archive_bytes(environment.folder() / kArchiveFolder);
  const Snapshot view = TRY(Snapshot::take(environment));
  TRY(check_known_numbers(view));
  const std::vector<NumberedNamespace> namespaces = TRY(all_namespaces(view));
  if (TRY(has_index(view))) figures.namespaces = TRY(usage_of(view, namespaces));
  std::map<std::string, TimePoint> oldest;
  for (const auto& [name, number] : namespaces) {
    const auto one = TRY(read_oldest_ended(view, number));
    if (!one) continue;
    oldest.emplace(name, *one);
    figures.oldest_ended = std::min(figures.oldest_ended.value_or(*one), *one);
  }
  if (!figures.namespaces) return figures;
  for (NamespaceUsage& usage : *figures.namespaces) {
    if (const auto found = oldest.find(usage.ns); found != oldest.end()) {
      usage.oldest_ended = found->second;
    }
  }
  return figures;
}

Json to_json(const StoreFigures& figures) {
  Json json = {
      {"dataBytes", figures.size.data_bytes},     {"usedBytes", figures.size.used_bytes},
      {"freeBytes", figures.size.free_bytes},     {"journalBytes", figures.size.journal_bytes},
      {"waitingRows", figures.size.waiting_rows}, {"waitingBytes", figures.size.waiting_bytes}};
  if (figures.checkpoint_rate) json["checkpointBytesPerSecond"] = *figures.checkpoint_rate;
  if (figures.archive_bytes) json["archiveBytes"] = *figures.archive_bytes;
  if (figures.oldest_ended) json["oldestEnded"] = format_rfc3339(*figures.oldest_ended);
  if (!figures.namespaces) return json;
  Json namespaces = Json::array();
  for (const auto& [ns, usage, oldest] : *figures.namespaces) {
    Json one = {{"namespace", ns},
                {"live", usage.live},
                {"ended", usage.ended},
                {"rowBytes", usage.row_bytes},
                {"historyBytes", usage.history_bytes},
                {"otherBytes", usage.counted_bytes}};
    if (oldest) one["oldestEnded"] = format_rfc3339(*oldest);
    namespaces.push_back(std::move(one));
  }
  json["namespaces"] = std::move(namespaces);
  return json;
}

}  // namespace millrace
