#include "functions/container_command.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "functions/container_folder.h"
#include "model/image_name.h"

namespace millrace {

namespace fs = std::filesystem;

namespace {

struct Share {
  const char* cpus;
  const char* memory;
};

/// The sizes of Direktiv's ReusableFunctionDefinition.
Share share_of(ContainerSize size) {
  switch (size) {
    case ContainerSize::kSmall:
      return {"1", "256m"};
    case ContainerSize::kMedium:
      return {"1", "512m"};
    case ContainerSize::kLarge:
      return {"2", "1024m"};
  }
  return {"1", "256m"};
}

tl::unexpected<Error> bad(std::string message) {
  return fail(std::string(kFunctionUnavailable), std::move(message));
}

}  // namespace

Result<std::vector<std::string>> run_command(const ContainerPlan& plan,
                                             const Container& container) {
  TRY(check_image_name(container.image));
  const Share share = share_of(container.size);
  const bool podman = is_podman(plan.runtime);
  std::vector<std::string> command = {
      plan.runtime, "run", "--rm",
      // This process reads the output; the runtime must not store it.
      "--log-driver=none",
      // `rm --force` must kill the container at once.
      "--stop-timeout=0", fmt::format("--name={}", plan.name),
      fmt::format("--label={}={}", kDataLabel, plan.data_id),
      fmt::format("--label={}={}", kTaskLabel, plan.task),
      fmt::format("--mount=type=bind,source={},target={}{}", plan.source.string(), plan.target,
                  podman ? ",nosuid,nodev" : ""),
      "--cap-drop=all", "--security-opt=no-new-privileges", "--pids-limit=256",
      fmt::format("--cpus={}", share.cpus), fmt::format("--memory={}", share.memory),
      // The measurement of the folder does not see a file that has no name any more.
      fmt::format("--ulimit=fsize={0}:{0}", kMaxFolderBytes),
      // A core dump is written outside of the container, and may contain a secret.
      "--ulimit=core=0:0", "--read-only", "--tmpfs=/tmp:size=64m,mode=1777,nosuid,nodev"};
  // podman gives the proxies of its own environment, which may have passwords, to containers.
  if (podman) command.push_back("--http-proxy=false");
  if (podman && plan.maps_users) command.push_back("--userns=auto");
  if (plan.reads_input) command.push_back("--interactive");
  if (plan.port != 0) {
    command.push_back(fmt::format("--publish=127.0.0.1:{}:{}", plan.port, kContainerPort));
  }
  if (!plan.network.empty()) command.push_back("--network=" + plan.network);
  command.insert(command.end(), plan.options.begin(), plan.options.end());
  command.insert(command.end(), {"--", container.image});
  std::vector<std::string> words = TRY(split_words(container.cmd));
  std::move(words.begin(), words.end(), std::back_inserter(command));
  return command;
}

std::string network_of(std::string_view setting, bool isolated) {
  if (setting == kDefaultNetwork) return "";
  if (setting.empty()) return isolated ? std::string(kNoNetwork) : "";
  return std::string(setting);
}

Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char byte = line[i];
    if (byte == '\0') return bad("cmd: the command contains a zero byte");
    if (byte == '\\' && quote != '\'') {
      if (++i == line.size()) return bad("cmd: no character follows the last backslash");
      const bool is_escape =
          quote == 0 || std::string_view("\"\\$`").find(line[i]) != std::string_view::npos;
      if (!is_escape) word += byte;
      word += line[i];
      in_word = true;
    } else if (quote != 0) {
      if (byte == quote) {
        quote = 0;
      } else {
        word += byte;
      }
    } else if (byte == '"' || byte == '\'') {
      quote = byte;
      in_word = true;
    } else if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
      if (in_word) words.push_back(std::exchange(word, ""));
      in_word = false;
    } else {
      word += byte;
      in_word = true;
    }
  }
  if (quote != 0) return bad(fmt::format("cmd: the quote {} is not closed", quote));
  if (in_word) words.push_back(std::move(word));
  return words;
}

bool is_podman(const fs::path& runtime) {
  return runtime.filename().string().find("podman") != std::string::npos;
}

}  // namespace millrace
