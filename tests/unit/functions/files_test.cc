// Files of a task are written and read back, and no name leads outside the folder.
#include "functions/files.h"

#include <algorithm>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"
#include "tests/unit/functions/error_message.h"
#include "tests/unit/functions/tar_maker.h"
#include "tests/unit/functions/tree.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

class FilesTest : public testing::Test {
 protected:
  FilesTest() { ::umask(0077); }

  fs::path task() const { return folder_.path() / "task"; }
  fs::path out(std::string_view scope) const { return task() / "out" / scope; }

  Folder folder_;
};

TEST_F(FilesTest, ReadsALargeValueWhenItWritesTheFile) {
  size_t reads = 0;
  TaskFile large{.name = "large", .type = FileType::kBase64};
  large.read = [&]() -> Result<std::string> {
    ++reads;
    return base64_encode("some data");
  };
  ASSERT_EQ(error_message(lay_out_files({{"small", FileType::kPlain, "1"}, large}, task())), "");
  EXPECT_EQ(reads, 1U);
  EXPECT_EQ(file_bytes(task() / "large"), "some data");
  fs::remove_all(task());
  large.read = []() -> Result<std::string> {
    return fail("millrace.function.files", "reading variable v: the row is damaged");
  };
  EXPECT_NE(error_message(lay_out_files({large}, task())).find("reading variable v"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(task()));
}

TEST_F(FilesTest, WritesFilesOfAllFourTypes) {
  const std::string tar = TarMaker()
                              .folder("./")
                              .folder("./bin/")
                              .file("./bin/run", "#!/bin/sh\n", 04755)
                              .file("./data.txt", "some data")
                              .file("deep/er/file", "implied folders")
                              .finish();
  ASSERT_EQ(
      error_message(lay_out_files({{"plain.txt", FileType::kPlain, "as it\0is"},
                                   {"sub/folder/plain", FileType::kPlain, "in folders"},
                                   {"missing", FileType::kPlain, ""},
                                   {"decoded", FileType::kBase64, base64_encode("\x01\x02\xff")},
                                   {"one", FileType::kTar, tar},
                                   {"sub/two", FileType::kTarGz, gzip(tar)},
                                   {"nothing", FileType::kTarGz, ""}},
                                  task())),
      "");
  EXPECT_EQ(file_bytes(task() / "plain.txt"), "as it\0is");
  EXPECT_EQ(file_bytes(task() / "sub/folder/plain"), "in folders");
  EXPECT_TRUE(fs::exists(task() / "missing"));
  EXPECT_EQ(file_bytes(task() / "decoded"), "\x01\x02\xff");
  for (const char* const name : {"one", "sub/two"}) {
    EXPECT_EQ(file_bytes(task() / name / "bin/run"), "#!/bin/sh\n");
    EXPECT_EQ(file_bytes(task() / name / "data.txt"), "some data");
    EXPECT_EQ(file_bytes(task() / name / "deep/er/file"), "implied folders");
  }
  EXPECT_TRUE(fs::is_empty(task() / "nothing"));
  for (const char* const scope : {"instance", "workflow", "namespace"}) {
    EXPECT_TRUE(fs::is_directory(out(scope))) << scope;
  }
}

TEST_F(FilesTest, GrantsAccessToAllUsersAndClearsSetuid) {
  const std::string tar =
      TarMaker().file("run", "x", 06755).file("data", "y", 0400).folder("inner").finish();
  ASSERT_EQ(error_message(lay_out_files(
                {{"a/plain", FileType::kPlain, "x"}, {"tar", FileType::kTar, tar}}, task())),
            "");
  EXPECT_EQ(mode_of(task()), 0777);
  EXPECT_EQ(mode_of(task() / "a"), 0777);
  EXPECT_EQ(mode_of(task() / "a/plain"), 0666);
  EXPECT_EQ(mode_of(task() / "tar/run"), 0777);
  EXPECT_EQ(mode_of(task() / "tar/data"), 0666);
  EXPECT_EQ(mode_of(task() / "tar/inner"), 0777);
  EXPECT_EQ(mode_of(out("instance")), 0777);
}

TEST_F(FilesTest, AcceptsBase64WithLineBreaksOrAsAJsonString) {
  ASSERT_EQ(error_message(lay_out_files({{"lines", FileType::kBase64, "aGVs\r\nbG8=\n"},
                                         {"json", FileType::kBase64, "\"aGVsbG8=\""},
                                         {"empty", FileType::kBase64, ""}},
                                        task())),
            "");
  EXPECT_EQ(file_bytes(task() / "lines"), "hello");
  EXPECT_EQ(file_bytes(task() / "json"), "hello");
  EXPECT_EQ(file_bytes(task() / "empty"), "");
}

TEST_F(FilesTest, NamesTheFileWithMalformedBase64) {
  for (const char* const text : {"aGVsbG8", "aGVs*G8=", "=", "\"", "aGVsbG8=x", "a-_b"}) {
    const Status done = lay_out_files({{"here.bin", FileType::kBase64, text}}, task());
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, kFunctionFiles);
    EXPECT_THAT(done.error().message, HasSubstr("here.bin"));
    EXPECT_FALSE(fs::exists(task()));
  }
}

TEST_F(FilesTest, AcceptsValidFileNames) {
  const std::vector<std::string> names = {"a",      "a.b",     "...", "..a",
                                          "a..",    ".hidden", "a b", "-rf",
                                          "*",      "$HOME",   "~",   "a:b",
                                          "ünï",    "日本",    "a/b", "con",
                                          "a/.b/c", "%2e%2e",  "`x`", std::string(255, 'x')};
  for (const std::string& name : names) {
    EXPECT_EQ(error_message(check_file_name(name)), "") << name;
    ASSERT_EQ(error_message(lay_out_files({{name, FileType::kPlain, "x"}}, task())), "") << name;
    EXPECT_EQ(file_bytes(task() / name), "x") << name;
    fs::remove_all(task());
  }
}

/// Names that lead outside the folder or are misleading.
std::vector<std::string> hostile_names() {
  std::vector<std::string> names = {"",
                                    ".",
                                    "..",
                                    "/",
                                    "//",
                                    "/etc/passwd",
                                    "/x",
                                    "../x",
                                    "../../x",
                                    "../../../../../../tmp/x",
                                    "a/..",
                                    "a/../..",
                                    "a/../../x",
                                    "a/../b",
                                    "./a",
                                    "a/.",
                                    "a/./b",
                                    "../task/x",
                                    "..//x",
                                    "a//b",
                                    "a/",
                                    "a/b/",
                                    "/a/",
                                    "//server/share",
                                    "\\x",
                                    "..\\x",
                                    "a\\..\\b",
                                    "C:\\x",
                                    "a\nb",
                                    "a\rb",
                                    "a\tb",
                                    "a\x1b[2Jb",
                                    "a\x7f",
                                    "\x01",
                                    "a/\n/b",
                                    "\xff",
                                    "a\xc0\xaf"
                                    "b",
                                    "\xc0\xae\xc0\xae/x",
                                    "\xed\xa0\x80",
                                    "a\x80",
                                    "out",
                                    "out/instance/x",
                                    "out/../x",
                                    "a/../out/x",
                                    std::string(256, 'x'),
                                    "a/" + std::string(256, 'x') + "/b",
                                    std::string(100'000, 'x')};
  names.push_back(std::string("a\0b", 3));
  names.push_back(std::string("\0", 1));
  names.push_back(std::string("..\0/x", 5));
  std::string deep = "x";
  for (size_t i = 0; i < kMaxFileDepth; ++i) deep += "/x";
  names.push_back(deep);
  std::string long_one;
  for (int i = 0; i < 6; ++i) long_one.append(200, 'y').append("/");
  names.push_back(long_one + "z");
  return names;
}

TEST_F(FilesTest, RefusesFileNamesThatLeaveTheFolderOrAreMisleading) {
  const std::vector<std::string> names = hostile_names();
  ASSERT_GE(names.size(), 40u);
  write(folder_.path() / "x", "outside");
  const std::map<std::string, std::string> before = tree_of(folder_.path());
  for (const std::string& name : names) {
    for (const FileType type : {FileType::kPlain, FileType::kBase64, FileType::kTar}) {
      const Status done =
          lay_out_files({{"good", FileType::kPlain, "x"}, {name, type, ""}}, task());
      ASSERT_FALSE(done) << testing::PrintToString(name);
      EXPECT_EQ(done.error().code, kFunctionFiles);
      EXPECT_THAT(done.error().message, HasSubstr("file \""));
      EXPECT_TRUE(is_printable_ascii(done.error().message.substr(0, 50)));
      EXPECT_EQ(tree_of(folder_.path()), before) << testing::PrintToString(name);
    }
  }
}

TEST_F(FilesTest, RefusesFilesThatOverlap) {
  using Files = std::vector<TaskFile>;
  const std::string tar = TarMaker().file("x", "1").finish();
  for (const Files& files :
       {Files{{"a"}, {"a"}}, Files{{"a"}, {"a/b"}}, Files{{"a/b/c"}, {"a"}},
        Files{{"a", FileType::kTar, tar}, {"a/x"}}, Files{{"a/x"}, {"a/x/y"}, {"a-b"}}}) {
    const Status done = lay_out_files(files, task());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, kFunctionFiles);
    EXPECT_FALSE(fs::exists(task()));
  }
}

TEST_F(FilesTest, LeavesAnExistingFolderUnchanged) {
  write(task() / "mine", "x");
  EXPECT_FALSE(lay_out_files({{"a"}}, task()));
  EXPECT_EQ(file_bytes(task() / "mine"), "x");
}

TEST_F(FilesTest, LimitsTheTotalSizeOfAllFiles) {
  std::vector<TaskFile> files;
  for (int i = 0; i < 17; ++i) {
    files.push_back({fmt::format("f{}", i), FileType::kPlain, std::string(kMaxVariableBytes, 'x')});
  }
  const Status done = lay_out_files(files, task());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              HasSubstr("\"f16\": the files of the task have more than 64 MiB in all"));
  EXPECT_FALSE(fs::exists(task()));
  files.pop_back();
  EXPECT_EQ(error_message(lay_out_files(files, task())), "");
}

TEST_F(FilesTest, ReadsTheFilesOfAFunctionAsVariables) {
  ASSERT_EQ(error_message(lay_out_files({}, task())), "");
  write(out("instance") / "b.json", R"({"a": 1})");
  write(out("instance") / "a", "just text\n");
  write(out("workflow") / "raw", std::string_view("\x00\x01", 2));
  write(out("namespace") / "latin", "caf\xe9");
  write(out("namespace") / "empty", "");
  const Result<std::vector<TaskVariable>> variables = collect_variables(task());
  ASSERT_TRUE(variables) << variables.error().message;
  std::vector<std::string> seen;
  for (const TaskVariable& variable : *variables) {
    seen.push_back(fmt::format("{} {} {} {}", to_string(variable.scope), variable.key,
                               variable.value.content_type, variable.value.bytes.size()));
  }
  EXPECT_THAT(seen, testing::ElementsAre("instance a text/plain; charset=utf-8 10",
                                         "instance b.json application/json 8",
                                         "workflow raw application/octet-stream 2",
                                         "namespace empty text/plain; charset=utf-8 0",
                                         "namespace latin application/octet-stream 4"));
}

TEST_F(FilesTest, RestoresAFolderFromItsVariable) {
  ASSERT_EQ(error_message(lay_out_files({}, task())), "");
  write(out("instance") / "site" / "index.html", "<p>");
  write(out("instance") / "site" / "sub" / "ünï.txt", "ä");
  write(out("instance") / "site" / ("long" + std::string(200, 'x')), "long");
  fs::create_directories(out("instance") / "site" / "empty");
  fs::permissions(out("instance") / "site" / "index.html", fs::perms::owner_all);
  const Result<std::vector<TaskVariable>> first = collect_variables(task());
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().key, "site");
  EXPECT_EQ(first->front().value.content_type, "application/gzip");

  const fs::path again = folder_.path() / "again";
  ASSERT_EQ(
      error_message(lay_out_files({{"site", FileType::kTarGz, first->front().value.bytes}}, again)),
      "");
  EXPECT_EQ(tree_of(again / "site"), tree_of(out("instance") / "site"));
  EXPECT_EQ(mode_of(again / "site/index.html"), 0777);

  fs::last_write_time(out("instance") / "site" / "index.html", fs::file_time_type());
  const Result<std::vector<TaskVariable>> second = collect_variables(task());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->front().value.bytes, first->front().value.bytes);
}

TEST_F(FilesTest, AllowsAFunctionToRemoveItsOutputFolders) {
  ASSERT_EQ(error_message(lay_out_files({}, task())), "");
  fs::remove_all(out("workflow"));
  write(out("instance") / "a", "1");
  EXPECT_EQ(collect_variables(task())->size(), 1u);
  fs::remove_all(task() / "out");
  EXPECT_TRUE(collect_variables(task())->empty());
}

/// Output of a function that cannot become a variable.
struct BadOutput {
  const char* what;
  std::function<void(const fs::path& out)> create;
  const char* message;
};

std::vector<BadOutput> bad_outputs() {
  const auto socket_at = [](const fs::path& path) {
    // sockaddr_un holds short paths only, so the socket is bound inside its folder.
    sockaddr_un address{.sun_family = AF_UNIX};
    std::strncpy(address.sun_path, path.filename().c_str(), sizeof address.sun_path - 1);
    const fs::path before = fs::current_path();
    fs::current_path(path.parent_path());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(socket);
    fs::current_path(before);
  };
  return {
      {"a link to a file",
       [](const fs::path& o) { fs::create_symlink("/etc/passwd", o / "instance/l"); },
       "instance/\"l\""},
      {"a link to nothing",
       [](const fs::path& o) { fs::create_symlink("nowhere", o / "instance/l"); },
       "neither a regular file nor a folder"},
      {"a link to a folder",
       [](const fs::path& o) { fs::create_symlink("/etc", o / "workflow/l"); }, "workflow/\"l\""},
      {"a link in a folder",
       [](const fs::path& o) {
         fs::create_directories(o / "instance/d");
         fs::create_symlink("/etc/passwd", o / "instance/d/l");
       },
       "\"d\": entry \"l\""},
      {"the folder of a scope is a link",
       [](const fs::path& o) {
         fs::remove_all(o / "instance");
         fs::create_symlink("/etc", o / "instance");
       },
       "\"instance\" is not a folder any more"},
      {"the folder out is a link",
       [](const fs::path& o) {
         fs::remove_all(o);
         fs::create_symlink("/", o);
       },
       "\"out\" is not a folder any more"},
      {"the folder out is a file",
       [](const fs::path& o) {
         fs::remove_all(o);
         write(o, "x");
       },
       "\"out\" is not a folder any more"},
      {"a fifo", [](const fs::path& o) { ::mkfifo((o / "instance/f").c_str(), 0666); }, "\"f\""},
      {"a fifo in a folder",
       [](const fs::path& o) {
         fs::create_directories(o / "instance/d");
         ::mkfifo((o / "instance/d/f").c_str(), 0666);
       },
       "entry \"f\""},
      {"a socket", [=](const fs::path& o) { socket_at(o / "instance/s"); }, "\"s\""},
      {"a file that is too large",
       [](const fs::path& o) { write(o / "instance/f", std::string(kMaxVariableBytes + 1, 'x')); },
       "too large for a variable; a variable has at most 4 MiB: write several files"},
      {"a sparse file",
       [](const fs::path& o) {
         write(o / "instance/f", "");
         fs::resize_file(o / "instance/f", uint64_t{1} << 40);
       },
       "too large for a variable; a variable has at most 4 MiB: write several files"},
      {"a sparse file in a folder",
       [](const fs::path& o) {
         write(o / "instance/d/f", "");
         fs::resize_file(o / "instance/d/f", uint64_t{1} << 40);
       },
       "entry \"f\": it is larger than"},
      {"a name that is not a valid key", [](const fs::path& o) { write(o / "instance/a b", "x"); },
       "not a valid variable key"},
      {"a hidden file", [](const fs::path& o) { write(o / "instance/.x", "x"); },
       "not a valid variable key"},
      {"a name with an escape", [](const fs::path& o) { write(o / "instance/a\x1b[2J", "x"); },
       "a\\x1b[2J"},
      {"a long name",
       [](const fs::path& o) { write(o / ("instance/" + std::string(101, 'x')), ""); },
       "not a valid variable key"},
      {"a name in a folder that no archive may have",
       [](const fs::path& o) { write(o / "instance/d/a\nb", "x"); }, "control characters"},
      {"a folder that is too deep",
       [](const fs::path& o) {
         fs::path deep = o / "instance/d";
         for (size_t i = 0; i <= kMaxFileDepth; ++i) deep /= "x";
         write(deep, "x");
       },
       "parts at most"},
      {"a folder that is too large when compressed",
       [](const fs::path& o) {
         std::string noise(kMaxVariableBytes + 100'000, '\0');
         uint32_t state = 1;
         for (char& byte : noise)
           byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
         write(o / "instance/d/f", noise);
       },
       "its archive is larger than 4194304 bytes; a variable has at most 4 MiB"},
      {"too many files",
       [](const fs::path& o) {
         for (size_t i = 0; i <= kMaxFileVariables; ++i)
           write(o / fmt::format("instance/f{}", i), "");
       },
       "more than 1000 files"},
      {"too many entries",
       [](const fs::path& o) {
         for (size_t i = 0; i <= kMaxFilesEntries; ++i)
           write(o / fmt::format("instance/d/{}", i), "");
       },
       "more than 10000 files and folders"},
      {"files that are too large together",
       [](const fs::path& o) {
         for (int i = 0; i < 17; ++i) {
           write(o / fmt::format("instance/f{}", i), std::string(kMaxVariableBytes, 'x'));
         }
       },
       "\"f9\": the files of the task have more than 64 MiB in all"},
  };
}

TEST_F(FilesTest, NamesAFileThatCannotBecomeAVariable) {
  for (const BadOutput& bad : bad_outputs()) {
    ASSERT_EQ(error_message(lay_out_files({}, task())), "");
    bad.create(task() / "out");
    const Result<std::vector<TaskVariable>> variables = collect_variables(task());
    ASSERT_FALSE(variables) << bad.what;
    EXPECT_EQ(variables.error().code, kFunctionFiles) << bad.what;
    EXPECT_THAT(variables.error().message, HasSubstr(bad.message)) << bad.what;
    fs::remove_all(task());
  }
}

}  // namespace
}  // namespace millrace
