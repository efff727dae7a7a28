// A whole store as text, and the store check of it. Each line is a row in the form of
// tests/simulation/stores/README.md: the name of the table, the key and the value in hexadecimal
// digits. The check reports at least one finding if a row does not decode. Sealed rows are only
// counted, because the check has no key.
// Covers: orchestrator/check/checker.cc orchestrator/check/check_calls.cc
// Covers: orchestrator/check/check_catalog.cc orchestrator/check/check_event_ids.cc
// Covers: orchestrator/check/check_groups.cc orchestrator/check/check_history.cc
// Covers: orchestrator/check/check_index.cc orchestrator/check/check_instances.cc
// Covers: orchestrator/check/check_kept_events.cc orchestrator/check/check_messages.cc
// Covers: orchestrator/check/check_meta.cc orchestrator/check/check_story.cc
// Covers: orchestrator/check/check_tasks.cc orchestrator/check/check_waits.cc
// Covers: orchestrator/check/record_shape.cc orchestrator/check/finding.cc
// Covers: orchestrator/check/opened_state.cc orchestrator/store/rows/counted_rows.cc
// Covers: orchestrator/check/check_call_slots.cc orchestrator/check/check_compensations.cc
// Covers: orchestrator/check/check_pending_starts.cc orchestrator/check/check_place.cc
// Covers: orchestrator/check/check_purges.cc orchestrator/check/check_queues.cc
// Covers: orchestrator/check/check_start_rates.cc orchestrator/check/check_variables.cc
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/characters.h"
#include "orchestrator/check/store_check.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/definition/namespace_settings.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/row_codecs.h"
#include "tests/fuzz/rows_view.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

struct DumpedRow {
  std::string table;
  std::string key;
  std::string value;
};

/// The bytes of hexadecimal digits; `-` stands for no bytes. nullopt: it is neither.
std::optional<std::string> bytes_of_digits(std::string_view digits) {
  std::string bytes;
  if (digits == "-") return bytes;
  if (digits.empty() || digits.size() % 2 != 0) return std::nullopt;
  const auto number = [](char c) { return is_digit(c) ? c - '0' : lower_case(c) - 'a' + 10; };
  for (size_t i = 0; i < digits.size(); i += 2) {
    if (!is_hex_digit(digits[i]) || !is_hex_digit(digits[i + 1])) return std::nullopt;
    bytes.push_back(static_cast<char>(number(digits[i]) * 16 + number(digits[i + 1])));
  }
  return bytes;
}

std::vector<DumpedRow> read_dumped_rows(std::string_view text) {
  std::vector<DumpedRow> rows;
  while (!text.empty()) {
    const auto [line, behind] = first_line_and_rest(text);
    text = behind;
    const size_t first = line.find(' ');
    if (first == std::string_view::npos) continue;
    const size_t second = std::min(line.find(' ', first + 1), line.size());
    auto key = bytes_of_digits(line.substr(first + 1, second - first - 1));
    auto value = bytes_of_digits(line.substr(std::min(second + 1, line.size())));
    if (!key || !value || key->empty() || key->size() > kMaxKeySize) continue;
    rows.push_back({std::string(line.substr(0, first)), *std::move(key), *std::move(value)});
  }
  return rows;
}

RowsView view_of_dump(const std::vector<DumpedRow>& dumped) {
  std::map<Table, RowsView::Rows> rows;
  for (const DumpedRow& one : dumped) {
    const auto* const table =
        std::find_if(kTables.begin(), kTables.end(),
                     [&](const TableName& known) { return known.name == one.table; });
    if (table != kTables.end()) rows[table->table][one.key] = one.value;
  }
  return RowsView(std::move(rows));
}

/// Loads a definition. The same few definitions are in most stores.
Result<std::shared_ptr<const Workflow>> load_once_for_check(std::string_view text) {
  static std::map<std::string, Result<std::shared_ptr<const Workflow>>, std::less<>> loaded;
  if (const auto found = loaded.find(text); found != loaded.end()) return found->second;
  if (loaded.size() >= 256) loaded.clear();
  return loaded.emplace(text, load_stored(text)).first->second;
}

StoreCheckOptions options_of_check() {
  StoreCheckOptions options;
  options.load = load_once_for_check;
  options.check_settings = [](std::string_view settings) -> Status {
    TRY(read_settings(settings));
    return {};
  };
  options.has_key = false;
  options.most_findings = 100;
  return options;
}

/// A row that does not decode, as text; empty if all rows do.
std::string undecoded_row(const RowsView& view) {
  for (const auto& [table, rows] : view.rows()) {
    for (const auto& [key, value] : rows) {
      if (!decodes_as_row(table, key, value).value_or(true)) {
        return fmt::format("{}/{}", table_name(table), to_hex(key));
      }
    }
  }
  return {};
}

/// Changes one byte of the text, or inserts or erases one.
void change_a_byte(std::string& bytes, std::mt19937& random) {
  const size_t at = bytes.empty() ? 0 : random() % bytes.size();
  switch (random() % 4) {
    case 0:
      bytes.insert(at, 1, static_cast<char>(random() % 256));
      return;
    case 1:
      if (!bytes.empty()) bytes.erase(at, 1);
      return;
    case 2:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      return;
    default:
      if (!bytes.empty()) bytes[at] = static_cast<char>(random() % 256);
  }
}

void change_a_row(std::vector<DumpedRow>& rows, std::mt19937& random) {
  DumpedRow& row = rows[random() % rows.size()];
  const DumpedRow& other = rows[random() % rows.size()];
  switch (random() % 8) {
    case 0:
      rows.erase(rows.begin() + (&row - rows.data()));
      return;
    case 1: {
      DumpedRow copy = row;
      change_a_byte(copy.key, random);
      rows.push_back(std::move(copy));
      return;
    }
    case 2:
      if (other.table == row.table) row.value = std::string(other.value);
      return;
    case 3:
      change_a_byte(row.key, random);
      return;
    default:
      change_a_byte(row.value, random);
  }
}

size_t mutate_store(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<DumpedRow> rows = read_dumped_rows(text);
  std::mt19937 random(seed);
  for (size_t changes = 1 + random() % 3; changes > 0 && !rows.empty(); --changes) {
    change_a_row(rows, random);
  }
  std::string changed;
  for (const DumpedRow& row : rows) {
    if (row.key.empty()) continue;
    changed += row.table + " " + to_hex(row.key) + " ";
    changed += (row.value.empty() ? "-" : to_hex(row.value)) + "\n";
  }
  if (changed.empty() || changed.size() > max_size) return size;
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

}  // namespace

FUZZ_TARGET(store_rows_check) {
  if (bytes.size() > 131'072) return;
  const RowsView view = view_of_dump(read_dumped_rows(bytes));
  const Result<StoreReport> report = check_store(view, options_of_check());
  if (!report) {
    check_shown_error(report.error());
    CHECK(report.error().code == "store.version" || report.error().code == "store.joining",
          "{}: {}", report.error().code, report.error().message);
    return;
  }
  CHECK(report->sound() == report->findings.empty(), "{} findings, and {} codes",
        report->findings.size(), report->codes.size());
  CHECK(is_utf8(dump_json(to_json(*report))), "the report is not UTF-8");
  for (const StoreFinding& finding : report->findings) {
    CHECK(!to_string(finding).empty() && is_utf8(to_string(finding)), "a finding is not UTF-8");
  }
  // The rows of a store of another format are not all those of this release.
  if (!report->sound() || !report->index_compared) return;
  const std::string wrong = undecoded_row(view);
  CHECK(wrong.empty(), "the check does not report the row {}", wrong);
}

FUZZ_MUTATOR(store_rows_check, &mutate_store);

}  // namespace millrace::fuzz
