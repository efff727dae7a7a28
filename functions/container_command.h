// The command line that starts a container, as podman and docker both understand it: what it may
// use of the machine, and what it gets of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task.h"

namespace millrace {

/// The labels by which containers of ours are found: whose data folder, and which task had it
/// started.
inline constexpr std::string_view kDataLabel = "millrace.data";
inline constexpr std::string_view kTaskLabel = "millrace.task";

/// Where images listen that are called.
inline constexpr uint16_t kContainerPort = 8080;

struct ContainerPlan {
  std::string runtime;  ///< path of podman or docker
  std::string name;
  std::string data_id;
  std::string task;
  std::filesystem::path source;  ///< the folder that it sees …
  std::string target;            ///< … there
  uint16_t port = 0;             ///< on 127.0.0.1, for its kContainerPort; 0: none
  bool reads_input = false;
  std::string network;               ///< empty: the runtime's own
  std::vector<std::string> options;  ///< further ones, as they are
};

/// `run …` in the foreground, gone when it ends: no capabilities, no way to more rights, the
/// processor and memory of the size, 256 processes, a root that can't be written and 64 MB of
/// memory at /tmp. Error kFunctionUnavailable: the image's name or the command is none.
Result<std::vector<std::string>> run_command(const ContainerPlan& plan, const Container& container);

/// Words as a shell makes them of a line: blanks part them, `'…'` is taken as it is, in `"…"` and
/// outside a backslash takes the next character as it is (in `"…"` only one of `"`, `\`, `$`
/// and a back-tick). Nothing else is of a meaning: there are no variables, patterns, pipes or
/// comments. Error kFunctionUnavailable: a quote or a backslash has no end.
Result<std::vector<std::string>> split_words(std::string_view line);

/// Whether that may be the name of an image: `[registry[:port]/]path[:tag][@algorithm:digest]`.
/// What is taken for an option or for a place on this machine (`dir:/…`) is none.
bool is_image_name(std::string_view name);

}  // namespace millrace
