#include "orchestrator/batch/crash_note_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "os/descriptor.h"

namespace millrace {
namespace {

constexpr const char* kNoteFile = "in-hand";

constexpr std::string_view kNothing = "nothing";

constexpr size_t kLine =
    128;  // the length of the line; always the same, so that each note overwrites the previous one

/// Written over the end of the line by on_crash(), and removed by the next note.
constexpr std::string_view kCrashed = "crashed\n";

constexpr uint32_t kCrashesOfPoison = 2;
constexpr uint32_t kDeathsOfPoison = 6;

std::atomic<int> g_file = -1;  // descriptor of the note's file, for on_crash

void on_crash(int signal) {
  if (const int file = g_file; file >= 0) {
    [[maybe_unused]] const ssize_t written =
        ::pwrite(file, kCrashed.data(), kCrashed.size(), kLine - kCrashed.size());
  }
  ::raise(signal);  // SA_RESETHAND restored the default action
}

std::optional<CrashNoteText> parse(const std::string& line) {
  CrashNoteText left;
  unsigned long long inputs = 0;
  unsigned long long sequence = 0;
  unsigned ns = 0;
  char id[40] = "";
  if (std::sscanf(line.c_str(), "inputs %llu deaths %u event %llu instance %u %39s", &inputs,
                  &left.input.deaths, &sequence, &ns, static_cast<char*>(id)) < 1) {
    return std::nullopt;
  }
  left.inputs = inputs;
  left.crashed = line.ends_with(kCrashed);
  left.input.sequence = sequence;
  if (const auto instance = parse_instance_id(static_cast<const char*>(id))) {
    left.input.instance = NotedInstance{NamespaceNumber(ns), *instance};
  }
  return left;
}

std::string render(const CrashNoteText& note) {
  const auto& [deaths, sequence, instance] = note.input;
  std::string line = fmt::format("inputs {} deaths {} event {}", note.inputs, deaths, sequence);
  if (instance) {
    line += fmt::format(" instance {} {}", static_cast<uint32_t>(instance->ns),
                        to_string(instance->id));
  }
  return line;
}

}  // namespace

CrashNoteFile::CrashNoteFile(Descriptor file) : file_(std::move(file)) { g_file = file_.fd(); }

CrashNoteFile::~CrashNoteFile() { g_file = -1; }

uint32_t CrashNoteFile::deaths_of_poison(const CrashNoteText& left) const {
  return left.crashed ? kCrashesOfPoison : kDeathsOfPoison;
}

SignalStack::SignalStack() : bytes_(std::make_unique<char[]>(kSize)) {
  stack_t stack{};
  stack.ss_sp = bytes_.get();
  stack.ss_size = kSize;
  sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

void CrashNoteFile::note_crashes() {
  static const SignalStack stack;  // for the thread that opens the store at startup
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE}) {
    sigaction(signal, &action, nullptr);
  }
}

Result<std::optional<CrashNoteText>> CrashNoteFile::read(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kNoteFile;
  std::string line(kLine + 1, '\0');
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<CrashNoteText>();
  const ssize_t size = file ? ::pread(file.fd(), line.data(), line.size(), 0) : -1;
  if (size < 0) {
    return fail("store.io", fmt::format("reading {}: {}", path.string(), std::strerror(errno)));
  }
  line.resize(static_cast<size_t>(size));
  if (line.empty()) return std::optional<CrashNoteText>();  // no batch was ever started
  const std::optional<CrashNoteText> left = parse(line);
  std::string_view text = line;
  if (text.ends_with(kCrashed)) text.remove_suffix(kCrashed.size());
  text = text.substr(0, text.find_last_not_of(" \n") + 1);
  // A process that crashed before its first batch wrote `crashed` and nothing else.
  const bool has_text = text.find_first_not_of('\0') != std::string_view::npos;
  const bool is_note = left ? text == render(*left) : text == kNothing || !has_text;
  if (line.size() == kLine && line.back() == '\n' && is_note) return left;
  return fail("store.corrupt",
              fmt::format("{} has {} bytes that are neither `nothing` nor a valid crash note",
                          path.string(), line.size()));
}

Status CrashNoteFile::discard(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kNoteFile;
  std::error_code failed;
  std::filesystem::remove(path, failed);
  if (!failed) return {};
  return fail("store.io", fmt::format("removing {}: {}", path.string(), failed.message()));
}

Result<std::unique_ptr<CrashNoteFile>> CrashNoteFile::open(const std::filesystem::path& folder,
                                                           std::optional<CrashNoteText>& left) {
  const std::filesystem::path path = folder / kNoteFile;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  std::string line(kLine, '\0');
  const ssize_t size = !file ? -1 : ::pread(file.fd(), line.data(), line.size(), 0);
  if (size < 0) {
    return fail("store.io", fmt::format("opening {}: {}", path.string(), std::strerror(errno)));
  }
  line.resize(static_cast<size_t>(size));
  left = parse(line);
  return std::unique_ptr<CrashNoteFile>(new CrashNoteFile(std::move(file)));
}

void CrashNoteFile::write(const CrashNoteText& note) { write_line(render(note)); }

void CrashNoteFile::remove() { write_line(kNothing); }

void CrashNoteFile::write_line(std::string_view line) {
  std::string padded(line);
  padded.resize(kLine - 1, ' ');
  padded += '\n';
  // If the write fails because the disk is full, only the note is lost.
  if (::pwrite(file_.fd(), padded.data(), padded.size(), 0) < 0 && errno != ENOSPC) {
    spdlog::warn("the crash note could not be written: {}", std::strerror(errno));
  }
}

}  // namespace millrace
