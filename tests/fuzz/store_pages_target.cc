// The bytes of data.mdb, whose pages are checked before LMDB reads them: the check reads only pages
// of the file, each at most once, and ends. tests/unit/store/disk/page_check_test.cc checks that
// LMDB can read the files that have no finding.
//
// Covers: orchestrator/store/disk/page_check.cc orchestrator/store/disk/page_file.cc
// Covers: orchestrator/store/disk/page_layout.cc orchestrator/store/disk/page_walk.cc
#include <filesystem>
#include <fstream>
#include <string>

#include "orchestrator/store/disk/page_check.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/folder.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kLeastPageBytes = 512;

void check_page_report(const PageReport& report, size_t file_bytes, size_t most_damages) {
  CHECK(report.pages <= file_bytes / kLeastPageBytes + 1, "{} pages of a file of {} bytes",
        report.pages, file_bytes);
  CHECK(report.damages.size() <= most_damages, "{} damages", report.damages.size());
  CHECK(report.count >= report.damages.size() && (report.count == 0) == report.damages.empty(),
        "{} damages, counted {}", report.damages.size(), report.count);
  for (const PageDamage& damage : report.damages) {
    CHECK(!damage.found.empty() && is_utf8(to_string(damage)), "a damage is not shown: {}",
          excerpt(to_string(damage)));
  }
}

}  // namespace

FUZZ_TARGET(store_pages) {
  if (bytes.size() > 262'144) return;
  static const Folder folder(fast_folder());
  const std::filesystem::path file = folder.path() / "data.mdb";
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  Result<PageCheck> check = PageCheck::open(file);
  if (!check) return check_shown_error(check.error());
  const PageReport report = check->run({.most_damages = 10});
  check_page_report(report, bytes.size(), 10);
  CHECK(!report.is_stopped, "the check stopped by itself");
  Result<PageCheck> partial = PageCheck::open(file);
  CHECK(partial, "a file opens only once: {}", partial.error().message);
  const PageReport less =
      partial->run({.most_damages = 10, .large_trees = {"live", "ended"}, .most_leaf_pages = 1});
  check_page_report(less, bytes.size(), 10);
  CHECK(less.pages <= report.pages || report.count > 0,
        "{} pages without the leaf pages of large trees, {} with them", less.pages, report.pages);
}

}  // namespace millrace::fuzz
