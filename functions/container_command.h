// The command line that starts a container, in a form that podman and docker both accept: the
// resources of this machine that the container may use, and the folder that the container gets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task.h"

namespace millrace {

/// The labels for finding containers of millrace: the data folder, and the task for which the
/// container was started.
inline constexpr std::string_view kDataLabel = "millrace.data";
inline constexpr std::string_view kTaskLabel = "millrace.task";

/// The port on which reusable containers listen.
inline constexpr uint16_t kContainerPort = 8080;

struct ContainerPlan {
  std::string runtime;  ///< path of podman or docker
  std::string name;
  std::string data_id;
  std::string task;
  std::filesystem::path source;  ///< a folder of this machine, mounted into the container
  std::string target;            ///< where the container sees `source`
  uint16_t port = 0;  ///< on 127.0.0.1; leads to kContainerPort of the container; 0: none
  bool reads_input = false;
  bool maps_users = false;           ///< whether podman gives the container users of its own
  std::string network;               ///< empty: the default of the runtime
  std::vector<std::string> options;  ///< further options, unchanged
};

/// The command `run …`, in the foreground; the container is removed when it ends. The container has
/// no capabilities and cannot gain privileges. It has the processors and memory of its size, at
/// most 256 processes, a read-only root, and 64 MB of memory at /tmp. It cannot write a file of
/// more than kMaxFolderBytes or a core dump. Error kFunctionUnavailable: the image name or the
/// command is not valid.
Result<std::vector<std::string>> run_command(const ContainerPlan& plan, const Container& container);

/// Values of ContainerSettings::network: no network at all, and the default of the runtime.
inline constexpr std::string_view kNoNetwork = "none";
inline constexpr std::string_view kDefaultNetwork = "default";

/// The network of a container, as ContainerPlan::network. Without a setting, an isolated container
/// has no network. A reusable container has the default of the runtime, because it is called at a
/// published port: a container without a network has none, and on an internal network docker, and
/// podman that root runs, forward none.
std::string network_of(std::string_view setting, bool isolated);

/// Splits a line into words as a shell does. Blanks separate words. Text in `'…'` is not changed. A
/// backslash outside of quotes escapes any character; in `"…"` it escapes only `"`, `\`, `$` and
/// the back-tick. No other syntax is supported: no variables, patterns, pipes or comments. Error
/// kFunctionUnavailable: a quote is not closed, or no character follows a backslash.
Result<std::vector<std::string>> split_words(std::string_view line);

/// Whether the program has the options of podman that docker does not have: its file name contains
/// `podman`.
bool is_podman(const std::filesystem::path& runtime);

}  // namespace millrace
