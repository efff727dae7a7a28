#include <fmt/format.h>

#include "orchestrator/store/check/store_check.h"
#include "orchestrator/store/in_hand.h"

namespace millrace {

Result<StoreReport> check_folder(const std::filesystem::path& folder,
                                 const std::filesystem::path& key_file,
                                 const StoreCheckOptions& options) {
  const auto found = [](StoreReport& report, StoreFault fault, const char* file,
                        const Error& error) {
    ++report.codes[std::string(kind_of(fault).code)];
    report.findings.push_back({.fault = fault, .table = file, .found = error.message});
  };
  const auto opened = Environment::open(folder, {.key_file = key_file, .read_only = true});
  if (!opened && opened.error().code == "store.corrupt") {
    StoreReport report;
    found(report, StoreFault::kStoreDamaged, "files", opened.error());
    return report;
  }
  if (!opened) return tl::unexpected(opened.error());
  const Environment& environment = **opened;
  StoreCheckOptions checked = options;
  checked.has_key = !environment.key_is_new();
  const Snapshot view = TRY(Snapshot::take(environment));
  if (!checked.has_tree) {
    checked.has_tree = [&](Table table) { return environment.has_tree(table); };
  }
  StoreReport report = TRY(check_store(view, checked));
  const auto note = InHand::read(environment.folder());
  if (!note && note.error().code != "store.corrupt") return tl::unexpected(note.error());
  if (!note) found(report, StoreFault::kNoteDamaged, "in-hand", note.error());
  return report;
}

}  // namespace millrace
