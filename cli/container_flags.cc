#include "cli/container_flags.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr size_t kMaxContainerOptions = 64;

bool is_word(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char byte) {
    return static_cast<unsigned char>(byte) <= ' ' || byte == '\x7f';
  });
}

Fallible<std::string> read_network(std::string_view flag, std::string text) {
  if (text.starts_with('-') || !is_word(text)) {
    return wrong_usage(fmt::format(
        "{}: {} is not the name of a network; expected none, default or a network of the "
        "container runtime",
        flag, text));
  }
  return text;
}

Fallible<std::vector<std::string>> read_run_options(const Shell& shell,
                                                    std::vector<std::string> options) {
  if (options.empty()) {
    std::istringstream words(shell.setting("", {"MILLRACE_CONTAINER_OPTIONS"}));
    for (std::string word; words >> word;) options.push_back(word);
  }
  if (options.size() > kMaxContainerOptions) {
    return wrong_usage(fmt::format("--container-option: there are {} options; expected at most {}",
                                   options.size(), kMaxContainerOptions));
  }
  for (const std::string& option : options) {
    if (option.starts_with("--") && option.size() > 2) continue;
    return wrong_usage("--container-option: " + option +
                       " is not an option of the container runtime; expected a whole option, such "
                       "as --container-option=--dns=192.0.2.1");
  }
  return options;
}

/// The path is one value of the runtime's option --mount, in which a comma separates values.
Fallible<std::string> read_container_folder(std::string text) {
  if (!text.empty() &&
      (!std::filesystem::path(text).is_absolute() || text.find(',') != std::string::npos)) {
    return wrong_usage("--container-folder: " + text +
                       " cannot be used; expected an absolute path without a comma");
  }
  return text;
}

}  // namespace

void add_container_flags(Verb& serve, ContainerFlags& to) {
  serve.option("--container-runtime", to.runtime,
               "Program that runs containers (MILLRACE_CONTAINER_RUNTIME; default: podman or "
               "docker, whichever is found)",
               "PROGRAM");
  serve.option("--container-network", to.network,
               "Network of containers: a network of the runtime, `default` for its default "
               "network, or none (MILLRACE_CONTAINER_NETWORK; default: none for functions of the "
               "type container, the default network for container-pool)",
               "NETWORK");
  serve.option("--container-pool-network", to.pool_network,
               "Network of containers for functions of the type container-pool only "
               "(MILLRACE_CONTAINER_POOL_NETWORK; default: that of --container-network)",
               "NETWORK");
  serve
      .option("--container-option", to.options,
              "Further option for the command `run` of the runtime, such as "
              "--container-option=--dns=192.0.2.1; may be repeated (MILLRACE_CONTAINER_OPTIONS, "
              "separated by blanks)",
              "OPTION")
      .one_value_each();
  serve.option("--container-folder", to.folder,
               "Folder for the files of containers, on a file system of its own so that containers "
               "cannot fill the disk of the store (MILLRACE_CONTAINER_FOLDER; default: a folder in "
               "the data folder)",
               "DIR");
}

Fallible<ContainerOptions> read_container_options(const Shell& shell, const ContainerFlags& given) {
  ContainerOptions options;
  options.runtime = shell.setting(given.runtime, {"MILLRACE_CONTAINER_RUNTIME"});
  options.network = TRY(read_network("--container-network",
                                     shell.setting(given.network, {"MILLRACE_CONTAINER_NETWORK"})));
  options.pool_network =
      TRY(read_network("--container-pool-network",
                       shell.setting(given.pool_network, {"MILLRACE_CONTAINER_POOL_NETWORK"})));
  options.options = TRY(read_run_options(shell, given.options));
  options.folder =
      TRY(read_container_folder(shell.setting(given.folder, {"MILLRACE_CONTAINER_FOLDER"})));
  return options;
}

}  // namespace millrace
