#include "tests/support/podman.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "os/programs.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

namespace fs = std::filesystem;

ProcessEnd podman(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "podman");
  return run_process({.command = arguments});
}

namespace {

/// The file of the program, and the shared libraries that the program needs.
std::vector<fs::path> closure_of(const fs::path& program) {
  std::vector<fs::path> files = {program};
  std::istringstream words(run_process({.command = {"ldd", program}}).output);
  for (std::string word; words >> word;) {
    if (word.starts_with('/')) files.push_back(word);
  }
  return files;
}

void make_image(const fs::path& folder, const std::string& image) {
  const fs::path root = folder / "root";
  for (const char* const name : {"tmp", "direktiv-data", "mnt/shared", "proc", "dev", "sys"}) {
    fs::create_directories(root / name);
  }
  for (const char* const program : {"/bin/sh", "/bin/cat", "/bin/sleep", "/usr/bin/perl"}) {
    for (const fs::path& file : closure_of(program)) {
      const fs::path copy = root / file.relative_path();
      fs::create_directories(copy.parent_path());
      fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    }
  }
  const std::string tar = folder / "root.tar";
  ASSERT_EQ(run_process({.command = {"tar", "-C", root, "-cf", tar, "."}}).code, 0);
  const ProcessEnd imported = podman({"import", tar, image});
  ASSERT_EQ(imported.code, 0) << imported.errors;
}

}  // namespace

PodmanImage::PodmanImage(std::string name) : name_(std::move(name)) {
  if (find_program("podman").empty()) {
    missing_ = "podman is not installed";
    return;
  }
  const Folder folder;
  make_image(folder.path(), name_);
  const ProcessEnd tried = podman({"run", "--rm", name_, "/bin/sh", "-c", "echo works"});
  if (tried.output != "works\n") missing_ = "podman runs nothing here: " + tried.errors;
}

PodmanImage::~PodmanImage() {
  if (!find_program("podman").empty()) podman({"rmi", "--force", name_});
}

bool PodmanImage::is_needed() { return std::getenv("MILLRACE_NEEDS_PODMAN") != nullptr; }

}  // namespace millrace
