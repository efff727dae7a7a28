// The page check: whether the pages of data.mdb form valid trees. LMDB has no checksums and trusts
// its pages: a damaged byte can make the process that reads it crash or loop, or can hide rows. The
// page check reads the file without LMDB. Each offset, length and page number is checked before its
// use, and no page is read twice. The page check covers pages, keys and free pages;
// orchestrator/check checks the content of rows. The page check writes nothing. One thread at a
// time may use a PageCheck.
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

/// One damage of a page.
struct PageDamage {
  std::string tree;  ///< name of the tree; `main` has the roots of the named trees, `free` the
                     ///< list of free pages
  uint64_t page = 0;
  std::string found;  ///< what was found, and what was expected
};

/// The damage as one line: `page 17 (tree live): …`.
std::string to_string(const PageDamage& damage);

struct PageReport {
  std::vector<PageDamage> damages;  ///< the first PageCheckOptions::most_damages damages
  uint64_t count = 0;               ///< the number of all damages
  uint64_t pages = 0;               ///< the number of pages that were read
  bool is_stopped = false;          ///< the check was stopped before it had read all pages
};

struct PageCheckOptions {
  size_t most_damages = 100;
  /// If a tree of this list has more than `most_leaf_pages` leaf pages, its leaf pages are not
  /// read. The check then covers its branch pages, whether they lead to each leaf page once, and
  /// the numbers of branch and leaf pages.
  std::vector<std::string> large_trees;
  uint64_t most_leaf_pages = 0;
  /// Called every few thousand pages; false stops the check. Empty: the check is never stopped.
  std::function<bool()> goes_on;
};

class PageCheck {
 public:
  /// Opens the file and reads its two meta pages. run() checks the trees of the newer meta page. If
  /// a process may write the file at the same time, the caller must prevent commits during this
  /// call, and must hold a read transaction until run() has ended. Damaged meta pages are not an
  /// error here: run() reports them. Errors: `store.io`, `store.version` (another LMDB format).
  static Result<PageCheck> open(const std::filesystem::path& file);

  PageCheck(PageCheck&&) noexcept;
  ~PageCheck();

  /// Reads every page of the trees once. Memory: two bits for each page of the file, and one page
  /// for each level of a tree. A page that cannot be read is a damage.
  PageReport run(const PageCheckOptions& options = {});

 private:
  explicit PageCheck(std::unique_ptr<PageFile> file);

  std::unique_ptr<PageFile> file_;
};

}  // namespace millrace
