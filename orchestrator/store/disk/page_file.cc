#include "orchestrator/store/disk/page_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchestrator/store/disk/store_error.h"

namespace millrace {

using namespace lmdb;

Result<std::unique_ptr<PageFile>> PageFile::open(const std::filesystem::path& path) {
  auto opened = std::make_unique<PageFile>();
  opened->descriptor = Descriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened->descriptor) {
    return tl::unexpected(store_error(errno, "opening data.mdb", path));
  }
  TRY(opened->read_metas(path));
  return opened;
}

bool PageFile::read(uint64_t at, char* to, size_t bytes, size_t& got) const {
  for (got = 0; got < bytes;) {
    const ssize_t some =
        ::pread(descriptor.fd(), to + got, bytes - got, static_cast<off_t>(at + got));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return false;
    if (some == 0) break;
    got += static_cast<size_t>(some);
  }
  return true;
}

Result<Meta> PageFile::read_meta(const std::filesystem::path& path, uint64_t number) {
  std::array<char, kPageHead + kMetaSize> bytes{};
  size_t got = 0;
  if (!read(number * page_bytes, bytes.data(), bytes.size(), got)) {
    return tl::unexpected(store_error(errno, "reading the meta pages", path));
  }
  const Meta page = load_meta({bytes.data(), bytes.size()});  // zeros after the end of the file
  std::string fault = fault_of(page, number);
  if (!fault.empty() && !damage) damage = {.tree = "main", .page = number, .found = fault};
  return page;
}

Status PageFile::read_metas(const std::filesystem::path& path) {
  struct stat found {};
  if (::fstat(descriptor.fd(), &found) != 0) {
    return tl::unexpected(store_error(errno, "opening data.mdb", path));
  }
  size = static_cast<uint64_t>(found.st_size);
  const Meta first = TRY(read_meta(path, 0));
  if (first.magic == kLmdbMagic && first.format != kLmdbFormat) {
    // If both meta pages have this format, the format number is not damaged: the file has another
    // LMDB format.
    const Meta same = TRY(read_meta(path, 1));
    if (same.magic == kLmdbMagic && same.format == first.format) {
      return fail("store.version",
                  fmt::format("{} has LMDB format {}, this release reads {}{}", path.string(),
                              first.format, kLmdbFormat, advice_for("store.version")));
    }
  }
  if (damage) return {};
  page_bytes = first.free.page_bytes;
  const Meta second = TRY(read_meta(path, 1));
  if (damage) return {};
  meta = first.transaction < second.transaction ? second : first;
  const uint64_t apart = std::max(first.transaction, second.transaction) -
                         std::min(first.transaction, second.transaction);
  if (apart > 1 || first.free.page_bytes != second.free.page_bytes) {
    damage = {
        .tree = "main",
        .page = 1,
        .found = fmt::format("the meta pages are of transactions {} and {} with pages of {} and {} "
                             "bytes, expected transactions at most 1 apart and pages of one size",
                             first.transaction, second.transaction, first.free.page_bytes,
                             second.free.page_bytes)};
  }
  return {};
}

}  // namespace millrace
