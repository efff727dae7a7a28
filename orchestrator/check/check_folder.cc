#include <fmt/format.h>

#include "orchestrator/batch/crash_note_file.h"
#include "orchestrator/check/store_check.h"

namespace millrace {

namespace {

void add(StoreReport& report, StoreFault fault, const char* file, std::string_view found) {
  ++report.codes[std::string(kind_of(fault).code)];
  report.findings.push_back({.fault = fault, .table = file, .found = std::string(found)});
}

}  // namespace

StoreReport damaged_files(std::string_view found) {
  StoreReport report;
  add(report, StoreFault::kStoreDamaged, "files", found);
  return report;
}

StoreReport damaged_pages(const PageReport& pages) {
  StoreReport report;
  for (const PageDamage& damage : pages.damages) {
    report.findings.push_back({.fault = StoreFault::kStoreDamaged,
                               .table = damage.tree,
                               .key = fmt::format("page {}", damage.page),
                               .found = damage.found});
  }
  report.codes[std::string(kind_of(StoreFault::kStoreDamaged).code)] = pages.count;
  return report;
}

Result<StoreReport> check_folder(const std::filesystem::path& folder,
                                 const std::filesystem::path& key_file,
                                 const StoreCheckOptions& options) {
  const auto opened = Environment::open(folder, {.key_file = key_file, .read_only = true});
  if (!opened && opened.error().code == "store.corrupt") {
    std::error_code missing;
    const uintmax_t size = std::filesystem::file_size(folder / "data.mdb", missing);
    if (missing || size == 0) return damaged_files(opened.error().message);  // no pages exist
    auto pages = PageCheck::open(folder / "data.mdb");
    const PageReport found =
        pages ? pages->run({.most_damages = options.most_findings}) : PageReport();
    return found.count > 0 ? damaged_pages(found) : damaged_files(opened.error().message);
  }
  if (!opened) return tl::unexpected(opened.error());
  const Environment& environment = **opened;
  StoreCheckOptions checked = options;
  checked.has_key = !environment.key_is_new();
  const Snapshot view = TRY(Snapshot::take(environment));
  if (!checked.has_tree) {
    checked.has_tree = [&](Table table) { return environment.has_tree(table); };
  }
  checked.unknown_trees = TRY(environment.unknown_trees());
  checked.unknown_journal_keys = TRY(environment.unknown_journal_keys());
  StoreReport report = TRY(check_store(view, checked));
  const auto note = CrashNoteFile::read(environment.folder());
  if (!note && note.error().code != "store.corrupt") return tl::unexpected(note.error());
  if (!note) add(report, StoreFault::kNoteDamaged, "in-hand", note.error().message);
  return report;
}

}  // namespace millrace
