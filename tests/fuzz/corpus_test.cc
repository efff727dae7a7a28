// Runs each fuzz target of the program on the files of its folder in tests/fuzz/corpus/, on changes
// of them by its mutator, and on no bytes. Each file was once an input that reached new code, or a
// find.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/target.h"
#include "tests/support/file_bytes.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace millrace::fuzz {
namespace {

const std::filesystem::path kCorpus = MILLRACE_SOURCES "/tests/fuzz/corpus";

/// How often the mutator of a target changes each file.
constexpr unsigned kChanges = 8;
constexpr size_t kMostGrowth = 256;

std::vector<std::string> names_of_targets() {
  std::vector<std::string> names;
  for (const auto& [name, target] : targets()) names.push_back(name);
  return names;
}

std::set<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> entries;
  if (!std::filesystem::is_directory(folder)) return entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    entries.insert(entry.path());
  }
  return entries;
}

/// The input that runs, as text, for the message if the process dies.
char current_input[4096];

void note_input(const std::string& input) {
  std::snprintf(current_input, sizeof current_input, "the input was %s\n", input.c_str());
}

void print_input() { std::fwrite(current_input, 1, std::strlen(current_input), stderr); }

void print_input_and_die(int signal) {
  print_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// If a target finds a fault, the process dies. Then the name of the input is printed.
void print_input_at_death() {
  std::signal(SIGABRT, print_input_and_die);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(print_input);
#else
  std::signal(SIGSEGV, print_input_and_die);
#endif
}

class FuzzCorpus : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { print_input_at_death(); }
  void TearDown() override { std::signal(SIGABRT, SIG_DFL); }
};

TEST_P(FuzzCorpus, HoldsForItsTarget) {
  const Target& target = targets().at(GetParam());
  ASSERT_NE(target.run, nullptr) << "FUZZ_MUTATOR names a target that does not exist";
  note_input("empty");
  target.run("");
  const std::set<std::filesystem::path> files = entries_of(kCorpus / GetParam());
  EXPECT_FALSE(files.empty()) << "write an input of the target into " << kCorpus / GetParam();
  for (const std::filesystem::path& file : files) {
    ASSERT_TRUE(std::filesystem::is_regular_file(file)) << file;
    const std::string bytes = file_bytes(file);
    note_input(file.string());
    target.run(bytes);
    for (unsigned seed = 0; target.mutate != nullptr && seed < kChanges; ++seed) {
      note_input(file.string() + " after a change with the seed " + std::to_string(seed));
      std::vector<uint8_t> changed(bytes.begin(), bytes.end());
      const size_t most = bytes.size() + kMostGrowth;
      changed.resize(most);
      const size_t size = target.mutate(changed.data(), bytes.size(), most, seed);
      ASSERT_LE(size, most) << current_input;
      target.run({reinterpret_cast<const char*>(changed.data()), size});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, FuzzCorpus, testing::ValuesIn(names_of_targets()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace millrace::fuzz
