#include "tests/unit/functions/fake_runtime.h"

#include <algorithm>
#include <csignal>
#include <fstream>

#include <fmt/format.h>

#include "base/check.h"
#include "tests/support/file_bytes.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScript = R"sh(#!/bin/bash
here=$(dirname "$0")
printf '%s\n' "$*" >> "$here/calls"
tr '\0' '\n' < /proc/$$/environ > "$here/environment"
if [ -f "$here/fail-$1" ]; then cat "$here/fail-$1" >&2; exit 125; fi
case $1 in
ps)
  for argument in "$@"; do
    case $argument in --filter=label=*) label=${argument#--filter=label=} ;; esac
  done
  for container in "$here"/containers/*/; do
    [ -d "$container" ] || continue
    grep -qxF -- "--label=$label" "$container/arguments" && basename "$container"
  done
  exit 0 ;;
rm)
  shift 2
  for name in "$@"; do
    [ -d "$here/containers/$name" ] || { echo "no container $name" >&2; continue; }
    kill -9 -- "-$(cat "$here/containers/$name/pid")" 2>/dev/null
    rm -rf "$here/containers/$name"
  done
  exit 0 ;;
run)
  shift
  arguments=("$@")
  while [ "$1" != -- ]; do
    case $1 in
    --name=*) name=${1#--name=} ;;
    --mount=*) data=${1#*source=}; data=${data%%,*} ;;
    --publish=127.0.0.1:*) port=${1#--publish=127.0.0.1:}; port=${port%%:*} ;;
    esac
    shift
  done
  image=$2
  shift 2
  if [ ! -f "$here/images/$image" ]; then
    echo "Error: $image: image not known" >&2
    exit 125
  fi
  container=$here/containers/$name
  mkdir "$container" || exit 125
  printf '%s\n' "${arguments[@]}" > "$container/arguments"
  exec 3<&0
  export data port
  setsid bash "$here/images/$image" "$@" <&3 &
  echo $! > "$container/pid.new" && mv "$container/pid.new" "$container/pid"
  wait $!
  code=$?
  rm -rf "$container"
  exit $code ;;
esac
exit 125
)sh";

void write(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  CHECK(file.flush().good());
}

}  // namespace

FakeRuntime::FakeRuntime(fs::path folder) : folder_(std::move(folder)) {
  fs::create_directories(folder_ / "images");
  fs::create_directories(folder_ / "containers");
  write(program(), kScript);
  fs::permissions(program(), fs::perms::owner_all);
}

FakeRuntime::~FakeRuntime() {
  for (const std::string& name : containers()) {
    const int pid = std::atoi(file_bytes(folder_ / "containers" / name / "pid").c_str());
    if (pid > 1) ::kill(-pid, SIGKILL);
  }
}

void FakeRuntime::add_image(const std::string& name, std::string_view script) {
  write(folder_ / "images" / name, script);
}

std::vector<std::string> FakeRuntime::calls(std::string_view verb) const {
  std::vector<std::string> found;
  std::ifstream file(folder_ / "calls");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(fmt::format("{} ", verb))) found.push_back(line);
  }
  return found;
}

std::vector<std::string> FakeRuntime::environment() const {
  std::vector<std::string> found;
  std::ifstream file(folder_ / "environment");
  for (std::string line; std::getline(file, line);) found.push_back(line);
  return found;
}

std::vector<std::string> FakeRuntime::containers() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_ / "containers")) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void FakeRuntime::add_container(const std::string& name, const std::string& label) {
  const fs::path container = folder_ / "containers" / name;
  fs::create_directories(container);
  write(container / "arguments", fmt::format("--label={}\n", label));
  const ProcessEnd started =
      run_process({.command = {"bash", "-c",
                               fmt::format("setsid sleep 1000 >/dev/null 2>&1 & echo $! > {}",
                                           (container / "pid").string())}});
  CHECK(started.code == 0);
}

bool FakeRuntime::is_running(const std::string& name) const {
  const int pid = std::atoi(file_bytes(folder_ / "containers" / name / "pid").c_str());
  return pid > 1 && ::kill(pid, 0) == 0;
}

void FakeRuntime::fail(const std::string& verb, std::string_view words) {
  write(folder_ / ("fail-" + verb), words);
}

void FakeRuntime::heal(const std::string& verb) { fs::remove(folder_ / ("fail-" + verb)); }

}  // namespace millrace
