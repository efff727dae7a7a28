#include "app/workflow_folder.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/definition_files.h"
#include "language/document.h"
#include "orchestrator/definition/inbound_file.h"
#include "orchestrator/definition/inbound_types.h"
#include "os/descriptor.h"
#include "os/read_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// How long an entry of an inbound file that the server has refused waits until it is tried again.
constexpr int kTryAgainMillis = 1000;

void watch_folders(int inotify, const fs::path& folder) {
  constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE;
  inotify_add_watch(inotify, folder.c_str(), kChanges);  // adding a watch again changes nothing
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(error)) inotify_add_watch(inotify, entry->path().c_str(), kChanges);
  }
}

/// The event types that the inbound files among `files` make.
MadeTypes types_of_files(const std::vector<fs::path>& files) {
  MadeTypes made;
  for (const fs::path& file : files) {
    if (!is_inbound_file(file.filename().string())) continue;
    const Result<std::string> text = read_file(file, kMaxDocumentSize);
    if (text) add_made_types(parse_inbound_file(*text).entries, made);
  }
  return made;
}

}  // namespace

void WorkflowFolder::apply(const fs::path& file, const std::string& text, const MadeTypes& made) {
  Loaded loaded = service_.load_definition(text, "default");
  std::string lines = render_text(without_made_types(loaded.findings, text, made), file.string());
  if (lines.ends_with('\n')) lines.pop_back();
  if (!lines.empty()) report_(lines);
  if (!loaded.workflow) return;
  const std::string id = loaded.workflow->id;
  std::promise<Result<Json>> answer;
  service_.command(
      ApplyWorkflow{.ns = "default", .text = text, .workflow = std::move(loaded.workflow)},
      [&](Result<Json> result) { answer.set_value(std::move(result)); });
  const Result<Json> result = answer.get_future().get();
  if (!result) {
    report_(fmt::format("{}: {}", file.string(), result.error().message));
  } else if ((*result)["changed"].get<bool>()) {
    report_(fmt::format("workflow {} is now revision {} ({})", id,
                        (*result)["revision"].get<uint32_t>(), file.string()));
  }
}

void WorkflowFolder::apply_changes() {
  const Result<std::vector<fs::path>> files = definition_files_below(folder_);
  if (!files) return report_(files.error().message);
  std::vector<std::pair<fs::path, std::string>> inbound;
  std::set<fs::path> inbound_files;
  const MadeTypes made = types_of_files(*files);
  for (const fs::path& file : *files) {
    const bool is_inbound = is_inbound_file(file.filename().string());
    if (is_inbound) inbound_files.insert(file);
    const Result<std::string> text = read_file(file, kMaxDocumentSize);
    const auto [seen, is_new] = seen_.try_emplace(file);
    const std::string& now = text ? *text : text.error().message;
    if (!is_new && seen->second == now) continue;
    seen->second = now;
    if (!text) {
      report_(text.error().message);
    } else if (is_inbound) {
      if (!text->empty()) inbound.emplace_back(file, *text);
    } else if (looks_like_definition(file, *text)) {
      apply(file, *text, made);
    } else if (!text->empty()) {  // a file is empty while an editor is about to write it
      report_(passed_over(file, *text));
    }
  }
  inbound_.note_present(inbound_files);
  // A file that comes back is applied, also with the text of before.
  std::erase_if(seen_, [&](const auto& one) {
    return is_inbound_file(one.first.filename().string()) && !inbound_files.contains(one.first);
  });
  // The workflows are known now that the events of these files start.
  for (const auto& [file, text] : inbound) inbound_.apply(file, text);
}

Status WorkflowFolder::watch(const sigset_t& signals) {
  const Descriptor inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const Descriptor ends(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!inotify || !ends) {
    return fail("dev.watch", fmt::format("cannot watch the folder: {}", std::strerror(errno)));
  }
  watch_folders(inotify.fd(), folder_);
  std::array<pollfd, 2> waiting{
      {{.fd = ends.fd(), .events = POLLIN}, {.fd = inotify.fd(), .events = POLLIN}}};
  while (true) {
    const int ready = poll(waiting.data(), waiting.size(), inbound_.waits() ? kTryAgainMillis : -1);
    if (ready < 0 && errno != EINTR) {
      return fail("dev.watch", fmt::format("cannot wait for changes: {}", std::strerror(errno)));
    }
    if (ready > 0 && waiting[0].revents != 0) return {};
    if (ready == 0) {
      inbound_.try_again();
      continue;
    }
    std::array<char, 16384> changes;
    while (read(inotify.fd(), changes.data(), changes.size()) > 0) {
    }
    watch_folders(inotify.fd(), folder_);  // a new folder is watched from now on
    apply_changes();
  }
}

}  // namespace millrace
