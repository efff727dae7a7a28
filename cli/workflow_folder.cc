#include "cli/workflow_folder.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>

#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "scenarios/scenario_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

bool is_definition(const fs::path& file) {
  if (is_scenario_file(file.filename().string())) return false;
  const fs::path ending = file.extension();
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

/// Closes a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// The files below a folder in the order of their names; what cannot be read is passed over.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error) && is_definition(entry->path())) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void watch_folders(int inotify, const fs::path& folder) {
  constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE;
  inotify_add_watch(inotify, folder.c_str(), kChanges);  // adding one again changes nothing
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(error)) inotify_add_watch(inotify, entry->path().c_str(), kChanges);
  }
}

}  // namespace

void WorkflowFolder::apply(const fs::path& file, const std::string& text) {
  Loaded loaded = service_.load_definition(text, "default");
  std::string lines = render_text(loaded.findings, file.string());
  if (lines.ends_with('\n')) lines.pop_back();
  if (!lines.empty()) tell_(lines);
  if (!loaded.workflow) return;
  const std::string id = loaded.workflow->id;
  std::promise<Result<Json>> answer;
  service_.command(
      ApplyWorkflow{.space = "default", .text = text, .workflow = std::move(loaded.workflow)},
      [&](Result<Json> result) { answer.set_value(std::move(result)); });
  const Result<Json> result = answer.get_future().get();
  if (!result) {
    tell_(fmt::format("{}: {}", file.string(), result.error().message));
  } else if ((*result)["changed"].get<bool>()) {
    tell_(fmt::format("workflow {} is now revision {} ({})", id,
                      (*result)["revision"].get<uint32_t>(), file.string()));
  }
}

void WorkflowFolder::apply_changes() {
  for (const fs::path& file : files_below(folder_)) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    // Other YAML and JSON may live beside the workflows: payloads, a compose file.
    if (!stream || text.find("states") == std::string::npos) continue;
    auto& seen = seen_[file];
    if (seen == text) continue;
    seen = text;
    apply(file, text);
  }
}

Status WorkflowFolder::watch(const sigset_t& signals) {
  const Descriptor inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const Descriptor ends(signalfd(-1, &signals, SFD_CLOEXEC));
  if (inotify.get() < 0 || ends.get() < 0) {
    return fail("dev.watch", fmt::format("the folder cannot be watched: {}", std::strerror(errno)));
  }
  watch_folders(inotify.get(), folder_);
  std::array<pollfd, 2> waiting{
      {{.fd = ends.get(), .events = POLLIN}, {.fd = inotify.get(), .events = POLLIN}}};
  while (true) {
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
      return fail("dev.watch", fmt::format("waiting for changes: {}", std::strerror(errno)));
    }
    if (waiting[0].revents != 0) return {};
    std::array<char, 16384> changes;
    while (read(inotify.get(), changes.data(), changes.size()) > 0) {
    }
    watch_folders(inotify.get(), folder_);  // a new folder is watched from now on
    apply_changes();
  }
}

}  // namespace millrace
