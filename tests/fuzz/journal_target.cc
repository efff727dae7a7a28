// Journal files. The first byte chooses what the rest is:
//   f  the whole file journal-0
//   r  records behind an undamaged header, and so with hashes of any bytes
//   w  write-sets, each with its length in one byte before it, which become commits with the right
//      hashes; the bytes that are left follow the last commit
// Covers: orchestrator/store/disk/journal.cc orchestrator/store/disk/write_set.cc base/codec.cc
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sodium.h>

#include "base/codec.h"
#include "orchestrator/store/disk/journal.h"
#include "orchestrator/store/disk/write_set.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/folder.h"

namespace millrace::fuzz {
namespace {

/// The key of the hashes: that of a file is in its header, so it may be any.
constexpr std::array<uint8_t, 16> kJournalKey{};
constexpr size_t kJournalHead = 4096;

std::string journal_hash(std::string_view bytes) {
  std::string hash(crypto_shorthash_BYTES, '\0');
  crypto_shorthash(reinterpret_cast<unsigned char*>(hash.data()),
                   reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                   kJournalKey.data());
  return hash;
}

/// The header of a file that begins with the first commit (docs/FORMATS.md).
std::string journal_head() {
  Writer head;
  head.raw("millrjnl");
  head.u64(1);
  head.u64(1);
  head.id(kJournalKey);
  head.raw(journal_hash(head.view()));
  std::string page = head.take();
  page.resize(kJournalHead, '\0');
  return page;
}

std::string journal_record(uint64_t commit, std::string_view write_set) {
  Writer place;
  place.u64(commit);
  place.u64(write_set.size());
  Writer hashed;
  hashed.raw(place.view());
  hashed.raw(journal_hash(place.view()));
  hashed.raw(write_set);
  std::string record = journal_hash(hashed.view());
  record += hashed.view();
  record.resize((record.size() + 7) / 8 * 8, '\0');
  return record;
}

/// Takes the write-sets off the bytes.
std::vector<std::string> take_write_sets(std::string_view& bytes) {
  std::vector<std::string> write_sets;
  while (!bytes.empty() && write_sets.size() < 32) {
    const auto size = static_cast<size_t>(static_cast<uint8_t>(bytes.front()));
    if (size == 0 || size >= bytes.size()) break;
    write_sets.emplace_back(bytes.substr(1, size));
    bytes.remove_prefix(1 + size);
  }
  return write_sets;
}

/// A write-set that is accepted has one encoding.
void check_write_set(std::string_view bytes) {
  std::string written;
  const bool is_valid = each_write(bytes, [&](std::string_view key, auto value) {
    CHECK(!key.empty(), "a write has no key");
    append_write(written, key, value);
  });
  CHECK(!is_valid || written == bytes, "a write-set has two encodings");
  CHECK(std::string_view(bytes).starts_with(written), "a write-set is read otherwise than written");
}

/// The commits that the journal with that first file has; nullopt: it is refused.
std::optional<std::vector<std::string>> commits_of(const std::string& file) {
  static const Folder folder(fast_folder());
  std::ofstream(folder.path() / "journal-0", std::ios::binary | std::ios::trunc) << file;
  std::vector<std::string> commits;
  const Result<uint64_t> last =
      Journal::read(folder.path(), std::nullopt,
                    [&](uint64_t first, uint64_t commit, std::string_view write_set) -> Status {
                      CHECK(first == 1 && commit == commits.size() + 1,
                            "commit {} follows commit {}", commit, commits.size());
                      check_write_set(write_set);
                      commits.emplace_back(write_set);
                      return {};
                    });
  if (last) {
    CHECK(*last == commits.size(), "the last commit is {} of {}", *last, commits.size());
    return commits;
  }
  check_shown_error(last.error());
  return std::nullopt;
}

}  // namespace

FUZZ_TARGET(journal) {
  if (bytes.empty() || bytes.size() > 65'536) return;
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  if (kind == 'f') commits_of(std::string(bytes));
  if (kind == 'r') commits_of(journal_head() + std::string(bytes));
  if (kind != 'w') return;
  const std::vector<std::string> write_sets = take_write_sets(bytes);
  std::string file = journal_head();
  for (size_t i = 0; i < write_sets.size(); ++i) file += journal_record(i + 1, write_sets[i]);
  const auto commits = commits_of(file + std::string(bytes));
  CHECK(commits == write_sets, "the commits are not those that were written");
  // A file that is cut has the commits before the cut.
  file.resize(kJournalHead + (file.size() - kJournalHead) / 2);
  const auto first_commits = commits_of(file);
  CHECK(first_commits && first_commits->size() <= write_sets.size() &&
            std::equal(first_commits->begin(), first_commits->end(), write_sets.begin()),
        "a file that is cut has other commits");
}

}  // namespace millrace::fuzz
