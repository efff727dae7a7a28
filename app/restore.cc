#include "app/restore.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/log.h"
#include "app/progress.h"
#include "app/store_report.h"
#include "orchestrator/backup/backup_folder.h"
#include "orchestrator/backup/backup_tar.h"
#include "orchestrator/backup/restore.h"
#include "orchestrator/service/store_check_options.h"

namespace millrace {
namespace {

Result<std::unique_ptr<BackupSource>> open_source(Console& console, const std::string& backup) {
  if (backup == "-") return TRY(BackupTarSource::open(console.in));
  BackupFolderSource source = TRY(BackupFolderSource::open(backup));
  return std::make_unique<BackupFolderSource>(std::move(source));
}

Json restore_summary(const Restored& restored, const BackupSource& source) {
  Json summary = summary_of(source.head());
  summary["data"] = restored.folder.string();
  summary["rows"] = sum_of(source.manifest().rows);
  return summary;
}

}  // namespace

Ended restore_store(Console& console, Output& output, const RestoreOptions& options) {
  log_to_stderr();
  spdlog::set_level(spdlog::level::warn);
  const std::unique_ptr<BackupSource> source =
      TRY(or_give_up(open_source(console, options.backup)));
  RowProgress progress(console);
  RestoreSettings settings{.folder = options.data,
                           .key_file = options.secret_key_file,
                           .copies_key = options.copy_key,
                           .takes_over = options.take_over,
                           .keeps_failed = options.keep,
                           .check = store_check_options()};
  settings.check.progress = [&](uint64_t rows, uint64_t of) {
    progress.show(rows, of);
    return true;
  };
  settings.on_loaded = [&](uint64_t rows) { progress.show(rows, sum_of(source->manifest().rows)); };
  Result<Restored> restored = restore_backup(*source, settings);
  progress.clear();
  if (!restored) {
    if (options.keep) {
      console.err << fmt::format("if the temporary folder {} exists, it is kept\n",
                                 partial_folder(options.data).string());
    }
    return give_up(ExitCode::kFailed, std::move(restored).error());
  }
  if (restored->report.sound()) {
    output.item(restore_summary(*restored, *source), "data");
    return ExitCode::kOk;
  }
  const ExitCode code = show_findings(console, output, to_json(restored->report));
  console.err << fmt::format(
      "{} was not made, because the restored store has findings{}; restore another backup\n",
      restored->folder.string(),
      options.keep ? fmt::format(" (it is kept in {})", partial_folder(restored->folder).string())
                   : "");
  return code;
}

}  // namespace millrace
