// Tar archives as streams: entries in their order, and streams that are cut, broken or no archive.
#include "orchestrator/backup/tar_stream.h"

#include <sstream>

#include <archive.h>
#include <archive_entry.h>

#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

/// The bytes of a tar archive with these entries.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::ostringstream out;
  TarStreamWriter writer(out);
  for (const auto& [name, bytes] : entries) EXPECT_TRUE(writer.add(name, bytes));
  EXPECT_TRUE(writer.finish());
  return out.str();
}

/// The bytes of a tar archive with one entry that is not a regular file.
std::string tar_with(const char* name, mode_t type) {
  std::string bytes(10'240, '\0');
  size_t used = 0;
  archive* const writer = archive_write_new();
  archive_write_set_format_gnutar(writer);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, name);
  archive_entry_set_filetype(entry, type);
  archive_entry_set_perm(entry, 0755);
  if (type == AE_IFLNK) archive_entry_set_symlink(entry, "elsewhere");
  archive_write_header(writer, entry);
  archive_entry_free(entry);
  archive_write_close(writer);
  archive_write_free(writer);
  return bytes.substr(0, used);
}

/// The bytes of a tar archive with a file whose bytes are in the archive, except for a hole.
std::string tar_with_a_hole(const char* name, size_t size) {
  std::string bytes(10'240, '\0');
  size_t used = 0;
  archive* const writer = archive_write_new();
  archive_write_set_format_pax(writer);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, name);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, static_cast<la_int64_t>(size));
  archive_entry_sparse_add_entry(entry, static_cast<la_int64_t>(size - 1), 1);
  archive_write_header(writer, entry);
  const std::string content(size, 'x');
  archive_write_data(writer, content.data(), content.size());
  archive_entry_free(entry);
  archive_write_close(writer);
  archive_write_free(writer);
  return bytes.substr(0, used);
}

TEST(TarStream, HasItsEntriesInTheirOrder) {
  const std::vector<std::pair<std::string, std::string>> entries = {
      {"first", "one"},
      {"empty", ""},
      {"./third", std::string("\0\xff", 2)},
      {"large", std::string(300'000, 'x')}};
  std::istringstream in(tar_of(entries));
  TarStreamReader reader(in);
  for (const auto& [name, bytes] : entries) {
    const auto entry = reader.next();
    ASSERT_TRUE(entry && *entry) << name;
    EXPECT_EQ((*entry)->name, name == "./third" ? "third" : name);
    EXPECT_EQ((*entry)->bytes == bytes, true) << name;
  }
  EXPECT_EQ(reader.next().value(), std::nullopt);
}

TEST(TarStream, IsRefusedIfItHasASparseFile) {
  const std::string tar = tar_with_a_hole("manifest.json", 1'000'000);
  ASSERT_LT(tar.size(), 10'000U);
  std::istringstream in(tar);
  const auto entry = TarStreamReader(in).next();
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code, "backup.read");
  EXPECT_THAT(entry.error().message, testing::HasSubstr("entry manifest.json"));
  EXPECT_THAT(entry.error().message, testing::HasSubstr("sparse file"));
}

// Without the version of the sparse format in its header, an entry has no map of its holes. Its
// size is nevertheless that of the file with the holes.
TEST(TarStream, IsRefusedIfItHasASparseFileWithoutAMap) {
  std::string tar = tar_with_a_hole("manifest.json", 1'000'000);
  const size_t at = tar.find("GNU.sparse.major");
  ASSERT_NE(at, std::string::npos);
  tar[at] = 'X';
  std::istringstream in(tar);
  const auto entry = TarStreamReader(in).next();
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code, "backup.read");
  EXPECT_THAT(entry.error().message, testing::HasSubstr("sparse file"));
}

TEST(TarStream, IsRefusedIfItIsCutWithinAnEntry) {
  const std::string whole = tar_of({{"a", std::string(2'000, 'x')}});
  for (const size_t size : {size_t{100}, size_t{600}, size_t{2'000}}) {
    std::istringstream in(whole.substr(0, size));
    TarStreamReader reader(in);
    EXPECT_EQ(code_of(reader.next()), "backup.read") << size;
  }
}

TEST(TarStream, IsRefusedIfItIsNoArchive) {
  for (const std::string& bytes : {std::string(2'000, 'x'), std::string("\x1f\x8b rubbish")}) {
    std::istringstream in(bytes);
    TarStreamReader reader(in);
    const auto entry = reader.next();
    EXPECT_EQ(code_of(entry), "backup.read");
    EXPECT_THAT(entry.error().message, testing::HasSubstr("uncompressed"));
  }
}

TEST(TarStream, NamesTheProgramThatCompressedIt) {
  const std::pair<std::string, std::string> rows[] = {
      {"\x1f\x8b rubbish", "it is compressed by gzip"},
      {"\x28\xb5\x2f\xfd rubbish", "`zstd -dc FILE | millrace restore -`"},
      {"\xfd\x37zXZ rubbish", "it is compressed by xz"},
      {"BZh9 rubbish", "it is compressed by bzip2"},
  };
  for (const auto& [bytes, text] : rows) {
    std::istringstream in(bytes);
    const auto entry = TarStreamReader(in).next();
    EXPECT_EQ(code_of(entry), "backup.read") << text;
    EXPECT_THAT(entry.error().message, testing::HasSubstr(text));
  }
}

TEST(TarStream, IsRefusedIfItIsEmptyOrCannotBeRead) {
  std::istringstream empty;
  const auto nothing = TarStreamReader(empty).next();
  EXPECT_EQ(code_of(nothing), "backup.read");
  EXPECT_THAT(nothing.error().message, testing::HasSubstr("it is empty"));
  std::istringstream broken("x");
  broken.setstate(std::ios::badbit);
  const auto failed = TarStreamReader(broken).next();
  EXPECT_EQ(code_of(failed), "backup.read");
  EXPECT_THAT(failed.error().message, testing::Not(testing::HasSubstr("it is empty")));
}

TEST(TarStream, SkipsFoldersAndRefusesLinks) {
  std::istringstream folder(tar_with("./", AE_IFDIR));
  EXPECT_EQ(TarStreamReader(folder).next().value(), std::nullopt);
  std::istringstream link(tar_with("link", AE_IFLNK));
  EXPECT_EQ(code_of(TarStreamReader(link).next()), "backup.read");
}

TEST(TarStream, HasNoEndIfItsWriterDidNotFinish) {
  std::ostringstream nothing;
  { const TarStreamWriter writer(nothing); }
  EXPECT_EQ(nothing.str(), "");
  std::ostringstream part;
  {
    TarStreamWriter writer(part);
    EXPECT_TRUE(writer.add("a", std::string(100'000, 'x')));
  }
  EXPECT_LT(part.str().size(), tar_of({{"a", std::string(100'000, 'x')}}).size());
}

TEST(TarStream, ReportsAnOutputThatAcceptsNoMoreBytes) {
  std::ostringstream out;
  TarStreamWriter writer(out);
  out.setstate(std::ios::badbit);
  Status written = writer.add("a", std::string(100'000, 'x'));
  if (written) written = writer.finish();
  EXPECT_EQ(code_of(written), "backup.write");
}

}  // namespace
}  // namespace millrace
