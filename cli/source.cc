#include "cli/source.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>

#include <fmt/format.h>

#include "base/ids.h"
#include "cli/definition_files.h"
#include "language/scenario_names.h"
#include "orchestrator/definition/inbound_file.h"
#include "os/read_file.h"

namespace millrace {
namespace {

/// The most bytes that are read. It is more than any request may contain, so that the server
/// reports its own limit.
constexpr size_t kMostBytes = size_t{64} << 20;

Fallible<std::string> read_input(std::istream& in) {
  std::string bytes;
  std::array<char, 65536> buffer;
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    bytes.append(buffer.data(), static_cast<size_t>(in.gcount()));
    if (bytes.size() > kMostBytes) {
      return give_up(ExitCode::kUsage, "file.unreadable",
                     fmt::format("standard input: expected at most {} bytes", kMostBytes));
    }
  }
  // std::cin reads through stdio, where a failed read looks like the end of the input.
  const bool failed = in.bad() || (&in == &std::cin && std::ferror(stdin) != 0);
  if (!failed) return bytes;
  return give_up(ExitCode::kUsage, "file.unreadable",
                 "standard input cannot be read; expected a file, a pipe or a terminal");
}

}  // namespace

Fallible<std::string> read_file(Console& console, const std::string& name) {
  if (name == "-") return read_input(console.in);
  Result<std::string> bytes = read_file(std::filesystem::path(name), kMostBytes);
  if (!bytes) return give_up(ExitCode::kUsage, bytes.error().code, bytes.error().message);
  return *std::move(bytes);
}

Fallible<std::vector<DefinitionFile>> read_definitions(Console& console,
                                                       const std::vector<std::string>& names) {
  std::vector<DefinitionFile> definitions;
  for (const std::string& name : names) {
    std::error_code unknown;
    if (is_scenario_file(name)) {
      console.err << name << ": skipped: it holds scenarios, which `millrace test` runs\n";
    } else if (!std::filesystem::is_directory(name, unknown)) {
      std::string text = TRY(read_file(console, name));  // g++ leaks a temporary made before a TRY
      const std::string file = std::filesystem::path(name).filename().string();
      definitions.push_back({name, std::move(text), is_inbound_file(file)});
    } else {
      const auto files = definition_files_below(name);
      if (!files) return give_up(ExitCode::kUsage, files.error().code, files.error().message);
      for (const std::filesystem::path& file : *files) {
        std::string text = TRY(read_file(console, file.string()));
        const bool is_inbound = is_inbound_file(file.filename().string());
        if (is_inbound || looks_like_definition(file, text)) {
          definitions.push_back({file.string(), std::move(text), is_inbound});
        } else {
          console.err << passed_over(file, text) << "\n";
        }
      }
    }
  }
  std::stable_partition(definitions.begin(), definitions.end(),
                        [](const DefinitionFile& one) { return !one.is_inbound; });
  if (!definitions.empty()) return definitions;
  return give_up(ExitCode::kUsage, "cli.no_definition",
                 fmt::format("no definition was found in {}; a definition is a .yaml, .yml or "
                             ".json file with \"states\"",
                             fmt::join(names, ", ")));
}

Fallible<std::string> read_value(Console& console, const std::string& value) {
  if (value == "-") return read_file(console, "-");
  if (value.starts_with('@')) return read_file(console, value.substr(1));
  if (const Result<Json> json = parse_json(value); !json) {
    return wrong_usage(
        fmt::format("`{}` is not JSON ({}); put a string in quotes, or write @FILE for a file",
                    value, json.error().message));
  }
  return value;
}

std::string fresh_id(Console& console) {
  std::random_device random;
  std::array<uint8_t, 10> bytes{};
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
  return to_string(make_instance_id(console.now(), bytes));
}

}  // namespace millrace
