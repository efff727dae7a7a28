// The query for a page of the history of an instance, and the line of an instance in the archive,
// which has all of its history and its variables.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "orchestrator/service/cursor.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

Json json_of_record(uint64_t number, const HistoryRecord& record, const Disclosure& disclosure) {
  Json json{
      {"number", number}, {"time", format_rfc3339(record.time)}, {"kind", to_string(record.kind)}};
  if (!record.state.empty()) json["state"] = record.state;
  if (!record.detail.is_null()) json["detail"] = shown_detail(record.detail.value(), disclosure);
  return json;
}

/// The items of all pages of the history of an instance, oldest first, with their data.
Result<Json> all_items(const View& view, const Instance& instance, const Disclosure& disclosure) {
  Json items = Json::array();
  const std::vector<HistoryRecord> records = TRY(read_history(view, instance));
  for (const HistoryRecord& record : records) {
    const uint64_t number = instance.history_trimmed + items.size() + 1;
    Json item = json_of_record(number, record, disclosure);
    if (record.data) item["data"] = shown(*record.data, disclosure);
    items.push_back(std::move(item));
  }
  return items;
}

/// What a record that is not shown counts for the bytes of a page: a page looks at about 20 000.
constexpr size_t kPassedRecordBytes = 52;

/// The numbers of the records of a page: those after `after` and before `before`.
struct RecordRange {
  uint64_t after = 0;
  uint64_t before = std::numeric_limits<uint64_t>::max();
};

RecordRange range_of(const HistoryFilter& filter, const std::optional<uint64_t>& cursor) {
  RecordRange range;
  if (filter.after) range.after = *filter.after;
  if (filter.before) range.before = *filter.before;
  if (cursor && filter.newest_first) range.before = std::min(range.before, *cursor);
  if (cursor && !filter.newest_first) range.after = std::max(range.after, *cursor);
  return range;
}

/// Fills a page with records of one instance.
class HistoryPage {
 public:
  HistoryPage(const View& view, const Instance& instance, const HistoryFilter& filter,
              const RecordRange& range, const Disclosure& disclosure)
      : view_(view),
        instance_(instance),
        filter_(filter),
        range_(range),
        disclosure_(disclosure),
        page_(filter.limit) {}

  /// Adds the records of the row that are in the range, in the order of the filter. Returns false
  /// when the page is complete.
  Result<bool> add(const HistoryPlace& place) {
    const std::vector<HistoryRecord> records = TRY(read_history_row(view_, instance_, place.row));
    for (size_t i = 0; i < records.size(); ++i) {
      const size_t index = filter_.newest_first ? records.size() - 1 - i : i;
      const uint64_t number = place.first + index;
      if (number <= range_.after || number >= range_.before) continue;
      if (!page_.has_room()) return false;
      if (is_asked(records[index].kind)) {
        add(number, records[index]);
      } else {
        page_.pass(std::to_string(number), kPassedRecordBytes);
      }
    }
    return true;
  }

  Json json() && { return std::move(page_).json(); }

 private:
  bool is_asked(HistoryKind kind) const {
    const auto& kinds = filter_.kinds;
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }

  void add(uint64_t number, const HistoryRecord& record) {
    Json json = json_of_record(number, record, disclosure_);
    size_t bytes = record.detail.is_null() ? 0 : record.detail.text().size();
    if (record.data && filter_.data) {
      json["data"] = shown(*record.data, disclosure_);
      bytes += record.data->text().size();
    }
    page_.add(std::move(json), std::to_string(number), bytes);
  }

  const View& view_;
  const Instance& instance_;
  const HistoryFilter& filter_;
  const RecordRange& range_;
  const Disclosure& disclosure_;
  Page page_;
};

/// Adds the records of the range, the newest first. Reads no row before those of the page.
Status add_newest_first(const View& view, const Instance& instance, const RecordRange& range,
                        HistoryPage& page) {
  return each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
    if (place.records == 0 || place.first >= range.before) return true;
    if (place.first + place.records - 1 <= range.after) return false;
    return page.add(place);
  });
}

/// Adds the records of the range, the oldest first. A row names only the row before it, so the rows
/// are looked at from the newest one back to the first one of the range.
Status add_oldest_first(const View& view, const Instance& instance, const RecordRange& range,
                        HistoryPage& page) {
  std::vector<HistoryPlace> places;
  TRY(each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
    if (place.records == 0 || place.first >= range.before) return true;
    if (place.first + place.records - 1 <= range.after) return false;
    places.push_back(place);
    return true;
  }));
  for (size_t i = places.size(); i > 0; --i) {
    if (!TRY(page.add(places[i - 1]))) break;
  }
  return {};
}

}  // namespace

Result<Json> Queries::history(const View& view, std::string_view ns, const InstanceId& id,
                              const HistoryFilter& filter) {
  const std::optional<uint64_t> cursor = TRY(parse_number_cursor(filter.cursor));
  const RecordRange range = range_of(filter, cursor);
  const Instance found = TRY(find_instance(view, ns, id));
  Disclosures disclosures = TRY(Disclosures::read(view, ns, found.ns));
  const Disclosure disclosure = disclosures.of(found.sealed);
  HistoryPage page(view, found, filter, range, disclosure);
  const auto add = filter.newest_first ? add_newest_first : add_oldest_first;
  TRY(add(view, found, range, page));
  return std::move(page).json();
}

Result<std::optional<std::string>> Queries::archive_line(const View& view, std::string_view ns,
                                                         const ArchivePageEntry& entry) {
  Result<Instance> found = find_instance(view, ns, entry.id);
  if (!found &&
      (found.error().code == "instance.not_found" || found.error().code == "namespace.not_found")) {
    return std::nullopt;
  }
  const Instance head = TRY(std::move(found));
  if (head.last_history != entry.last_history) return std::nullopt;
  Disclosures disclosures = TRY(Disclosures::read(view, ns, head.ns));
  disclosures.hide_masked();
  Json line = TRY(whole(view, head, disclosures));
  line["namespace"] = ns;
  line["history"] = TRY(all_items(view, head, disclosures.of(head.sealed)));
  TRY(add_variables(view, head, line));
  return dump_json(line);
}

}  // namespace millrace
