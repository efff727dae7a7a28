// Files that other programs leave for millrace: the ports file of a nats-server (the first byte is
// p), the record of a restored store (r), and the files in which a container leaves its error (e)
// or its result (o).
// Covers: broker/ports_file.cc orchestrator/backup/restored_file.cc functions/isolated.cc
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/bytes.h"
#include "broker/ports_file.h"
#include "functions/isolated.h"
#include "orchestrator/backup/restored_file.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/folder.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostFileOfProgram = 65'536;

void check_ports_file(std::string_view text) {
  const std::optional<uint16_t> port = port_in_ports_file(text);
  if (!port) return;
  CHECK(*port > 0, "the port is 0");
  const Json urls = Json::array({fmt::format("nats://127.0.0.1:{}", *port)});
  const std::string written = dump_json(Json{{"nats", urls}});
  CHECK(port_in_ports_file(written) == port, "the port {} is read as another one", *port);
  for (size_t size = 0; size < written.size(); ++size) {
    CHECK(!port_in_ports_file(std::string_view(written).substr(0, size)),
          "a file that is not complete names a port");
  }
}

void leave_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

void check_restored_record(std::string_view text) {
  const Folder folder(fast_folder());
  leave_file(folder.path() / "restored", text);
  const Result<std::optional<RestoredStreams>> read = read_restored_file(folder.path());
  if (!read) {
    check_shown_error(read.error());
    CHECK(read.error().code == "store.corrupt", "{}", read.error().code);
    return;
  }
  CHECK(*read, "the file is not found");
  is_over(**read, from_millis(1'630'454'400'000));
  CHECK(write_restored_file(folder.path(), **read), "the record cannot be written");
  const Result<std::optional<RestoredStreams>> again = read_restored_file(folder.path());
  CHECK(again && *again == *read, "a record that was written is another one");
}

void check_isolated_file(const char* name, std::string_view text) {
  const Folder folder(fast_folder());
  std::filesystem::create_directory(folder.path() / "vars");
  leave_file(folder.path() / name, text);
  const IsolatedAnswer answer = read_isolated(folder.path(), {});
  CHECK(!answer.is_output_result, "the output is the result, although there is a file");
  if (answer.ended.result) {
    CHECK(*answer.ended.result == text, "the result is not the file");
    return;
  }
  const Error& error = answer.ended.result.error();
  CHECK(!error.code.empty() && is_utf8(error.code), "the code is {}", excerpt(error.code));
  CHECK(is_utf8(error.message), "the message is not UTF-8");
}

}  // namespace

FUZZ_TARGET(program_files) {
  if (bytes.empty() || bytes.size() > kMostFileOfProgram) return;
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  if (kind == 'p') check_ports_file(bytes);
  if (kind == 'r') check_restored_record(bytes);
  if (kind == 'e') check_isolated_file("error.json", bytes);
  if (kind == 'o') check_isolated_file("output.json", bytes);
}

}  // namespace millrace::fuzz
