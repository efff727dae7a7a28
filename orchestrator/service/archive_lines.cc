#include "orchestrator/service/archive_lines.h"

#include <map>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/archive_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

ArchiveLine archive_lines(Environment& environment, Queries& queries) {
  return [&](std::string_view ns,
             const ArchivePageEntry& entry) -> Result<std::optional<std::string>> {
    const Snapshot view = TRY(Snapshot::take(environment));
    std::optional<std::string> line = TRY(queries.archive_line(view, ns, entry));
    TRY(view.status());
    return line;
  };
}

Status cut_archives(const View& view, const std::filesystem::path& folder) {
  std::map<NamespaceNumber, std::string> names;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    names.emplace(record.number, name);
  }));
  TRY(each_archive(
      view,
      [&](NamespaceNumber ns, const ArchivePosition& position) {
        const auto name = names.find(ns);
        if (name == names.end()) return;  // the namespace was deleted
        const Status cut = cut_archive(folder, ns, name->second, position);
        if (!cut) spdlog::warn("{}", cut.error().message);
      },
      [](const Error&) {}));
  return view.status();
}

}  // namespace millrace
