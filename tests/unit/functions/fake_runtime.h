// FakeRuntime: a script that stands in for podman. It runs `run`, `ps` and `rm` with processes of
// this machine and records its command lines. As with podman, a container continues to run when the
// `run` that started it is killed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class FakeRuntime {
 public:
  /// Writes the script into `folder`.
  explicit FakeRuntime(std::filesystem::path folder);
  /// Kills the containers that still run.
  ~FakeRuntime();

  std::string program() const { return folder_ / "podman"; }

  /// Defines what a container of this image runs, in bash. `$data` is its folder, `$port` the
  /// published port, `$1` and so on are the words of the command.
  void add_image(const std::string& name, std::string_view script);

  /// All command lines of `verb` so far; arguments are separated by one blank.
  std::vector<std::string> calls(std::string_view verb) const;

  /// The environment variables of the latest call of the runtime, as `NAME=value`.
  std::vector<std::string> environment() const;

  /// The names of the containers that exist.
  std::vector<std::string> containers() const;

  /// Adds a container that an earlier process has left.
  void add_container(const std::string& name, const std::string& label);

  /// Whether a process of this container runs.
  bool is_running(const std::string& name) const;

  /// From now on `verb` fails with this message.
  void fail(const std::string& verb, std::string_view words);
  void heal(const std::string& verb);

 private:
  const std::filesystem::path folder_;
};

}  // namespace millrace
