#include "app/backup.h"

#include <chrono>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/backup_input.h"
#include "app/end_by_signal.h"
#include "app/progress.h"
#include "orchestrator/backup/backup_folder.h"
#include "orchestrator/backup/backup_tar.h"
#include "orchestrator/backup/backup_writer.h"
#include "orchestrator/backup/rate_limit.h"

namespace millrace {
namespace {

constexpr const char* kStandardStream = "-";

Duration steady_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

Fallible<std::unique_ptr<BackupTarget>> open_target(Console& console,
                                                    const std::string& destination) {
  if (destination != kStandardStream) {
    return std::make_unique<BackupFolderTarget>(
        TRY(or_give_up(BackupFolderTarget::make(destination))));
  }
  if (console.out_is_terminal) {
    return wrong_usage(
        "a tar stream is not written to a terminal; send it to a file or a program: "
        "millrace backup - > backup.tar");
  }
  return std::make_unique<BackupTarTarget>(console.out);
}

/// Copies all chunks, no faster than the rate.
Fallible<void> copy_chunks(BackupInput& input, BackupWriter& writer, uint64_t rate,
                           RowProgress& progress) {
  RateLimit limit(rate);
  while (true) {
    const std::string chunk = TRY(input.next());
    if (chunk.empty()) return {};
    TRY(or_give_up(writer.add(chunk)));
    progress.show(sum_of(writer.manifest().rows), input.about_rows());
    std::this_thread::sleep_for(limit.count(chunk.size(), steady_now()));
  }
}

Json backup_summary(const std::string& destination, const BackupWriter& writer) {
  Json summary = summary_of(writer.manifest().head);
  summary["backup"] = destination;
  summary["rows"] = sum_of(writer.manifest().rows);
  summary["bytes"] = writer.bytes();
  summary["chunks"] = writer.manifest().chunks.size();
  return summary;
}

void show_incomplete(Console& console, const std::string& destination) {
  if (destination == kStandardStream) return;
  console.err << fmt::format("{} has an incomplete backup, which cannot be restored; remove it\n",
                             destination);
}

/// Writes the whole backup.
Fallible<void> write_backup(Console& console, BackupInput& input, BackupWriter& writer,
                            uint64_t rate) {
  TRY(or_give_up(writer.begin()));
  RowProgress progress(console);
  TRY(copy_chunks(input, writer, rate, progress));
  TRY(or_give_up(writer.finish()));
  return {};
}

}  // namespace

Ended back_up_store(Session& session, const BackupOptions& options) {
  spdlog::set_level(spdlog::level::off);
  Console& console = session.console;
  const bool is_stream = options.destination == kStandardStream;
  const std::unique_ptr<BackupTarget> target = TRY(open_target(console, options.destination));
  const std::unique_ptr<BackupInput> input = TRY(open_backup_input(session, options.data));
  BackupWriter writer(*target, input->head());
  const Fallible<void> written = [&] {
    const EndBySignal interrupted([&] {
      input->abandon();
      if (console.err_is_terminal) console.err << "\n";  // the progress may be on the line
      show_incomplete(console, options.destination);
    });
    return write_backup(console, *input, writer, options.rate);
  }();
  if (!written) {
    show_incomplete(console, options.destination);
    return tl::unexpected(written.error());
  }
  const Json summary = backup_summary(options.destination, writer);
  if (is_stream) {
    console.err << "backup: " << dump_json(summary) << "\n";
  } else {
    session.output.item(summary, "backup");
  }
  return ExitCode::kOk;
}

}  // namespace millrace
