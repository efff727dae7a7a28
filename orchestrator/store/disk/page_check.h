// The page check: whether the pages of data.mdb make sound trees. LMDB has no checksums and trusts
// its pages: a damaged byte can end the process that reads it, have it loop, or hide rows. This
// reads the file with code of its own, which follows no offset, length or page number before it has
// checked it, and reads no page twice. It knows pages, keys and free pages; what rows hold is the
// business of orchestrator/check. It writes nothing. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

class PageFile;

/// One thing that is wrong with a page.
struct PageDamage {
  std::string tree;  ///< name of the tree; `main` has the others' roots, `free` the free pages
  uint64_t page = 0;
  std::string found;  ///< what was found, and what was expected
};

/// `page 17 (tree live): …`: one line.
std::string to_string(const PageDamage& damage);

struct PageReport {
  std::vector<PageDamage> damages;  ///< the first ones, PageCheckOptions::most_damages
  uint64_t count = 0;               ///< how many there are, those left out as well
  uint64_t pages = 0;               ///< how many were read
  bool is_stopped = false;          ///< not all were
};

struct PageCheckOptions {
  size_t most_damages = 100;
  /// Where one of these trees has more leaf pages than that, its leaf pages are not read: what is
  /// checked are the branch pages, which lead to each of them once, and the number of both.
  std::vector<std::string> large_trees;
  uint64_t most_leaf_pages = 0;
  /// Asked every few thousand pages whether to go on; empty: always.
  std::function<bool()> goes_on;
};

class PageCheck {
 public:
  /// Opens the file and reads its two meta pages: the check is of the trees as the newest of them
  /// has them. Where a process may write the file meanwhile, the caller keeps it from committing
  /// during this call, and keeps a read transaction until run() has ended. Damaged meta pages are
  /// no error but a finding of run(). Errors: `store.io`, `store.version` (another LMDB format).
  static Result<PageCheck> open(const std::filesystem::path& file);

  PageCheck(PageCheck&&) noexcept;
  ~PageCheck();

  /// Reads every page that the trees reach, once. Memory: two bits for each page of the file, and a
  /// page for each level of a tree. A page that cannot be read is a damage.
  PageReport run(const PageCheckOptions& options = {});

 private:
  explicit PageCheck(std::unique_ptr<PageFile> file);

  std::unique_ptr<PageFile> file_;
};

}  // namespace millrace
