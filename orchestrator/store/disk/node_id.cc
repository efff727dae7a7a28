#include "orchestrator/store/disk/node_id.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/bytes.h"
#include "orchestrator/store/disk/store_error.h"
#include "os/read_file.h"
#include "os/write_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNodeFile = "node";

/// The bytes of the file: 32 hexadecimal digits and a line break.
constexpr size_t kNodeFileBytes = 33;

}  // namespace

Result<RandomName> node_id(const fs::path& folder, const std::function<RandomName()>& make_id) {
  const fs::path path = folder / kNodeFile;
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(path, failed))) {
    const RandomName id = make_id();
    TRY(replace_node_id(folder, id));
    return id;
  }
  const Result<std::string> text = read_file(path, kNodeFileBytes);
  if (!text && text.error().code != "file.unreadable") return tl::unexpected(text.error());
  RandomName id{};
  const bool is_whole = text && text->size() == kNodeFileBytes && text->back() == '\n';
  if (is_whole && read_hex(std::string_view(*text).substr(0, kNodeFileBytes - 1), id)) return id;
  return fail("store.corrupt",
              fmt::format("{} is not the id of a node; expected 32 hexadecimal digits and a line "
                          "break. Remove the file: the node gets another id, and the former one "
                          "stays registered until `millrace cluster remove`",
                          path.string()));
}

Status replace_node_id(const fs::path& folder, const RandomName& id) {
  const fs::path path = folder / kNodeFile;
  if (const int error = replace_file(path, to_hex(id) + "\n")) {
    return tl::unexpected(store_error(error, "writing the id of the node", path));
  }
  return {};
}

}  // namespace millrace
