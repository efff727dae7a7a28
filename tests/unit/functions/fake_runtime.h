// A container runtime that is a script: it plays `run`, `ps` and `rm` of podman with processes of
// this machine, and writes down what it was called with. As with the real one, a container goes on
// when the `run` that started it is killed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class FakeRuntime {
 public:
  /// In that folder.
  explicit FakeRuntime(std::filesystem::path folder);
  /// Kills what is left.
  ~FakeRuntime();

  std::string program() const { return folder_ / "podman"; }

  /// What a container of that image does: lines of bash. `$data` is its folder, `$port` the port
  /// that is published, `$1` and so on the command.
  void add_image(const std::string& name, std::string_view script);

  /// The command lines so far, of `verb` only; arguments with one blank between them.
  std::vector<std::string> calls(std::string_view verb) const;

  /// The names of the containers that exist.
  std::vector<std::string> containers() const;

  /// A container that somebody has left behind.
  void add_container(const std::string& name, const std::string& label);

  /// Whether a process of that container runs.
  bool is_running(const std::string& name) const;

  /// From now on `verb` fails with these words.
  void fail(const std::string& verb, std::string_view words);
  void heal(const std::string& verb);

 private:
  const std::filesystem::path folder_;
};

}  // namespace millrace
