// Comments and documents name only files, pages and tests that exist in the tree.
#include "tests/tidy/citations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Citations, AreFoundInCommentsAndDocuments) {
  const Citable citable{.files = {"base/ids.h", "docs/PAGES.md", "base/ids.cc"},
                        .headers = {"date/tz.h"},
                        .headings = {{"PAGES", headings_of("# All\n\n## Names\ntext\n")}}};
  EXPECT_THAT(
      missing_citations(citable, "base/ids.cc",
                        "#include \"gone/gone.h\"\n"
                        "// As ids.h, base/ids.h. And tz.h, base/gone.h (lost.md).\n"
                        "int a;  ///< PAGES \"Names\", RULES \"Names\"\n"
                        "// (PAGES, decision 3), PAGES \"Numbers\", MAGES\n"
                        "// https://example.com/page.md  /usr/include/x.h  <any>.h\n"
                        "const char* b = \"elsewhere.md\";\n"
                        "int c;  // (document 003, \"Start\")\n"),
      ElementsAre("base/ids.cc:2: base/gone.h", "base/ids.cc:2: lost.md", "base/ids.cc:3: RULES",
                  "base/ids.cc:4: PAGES", "base/ids.cc:4: PAGES", "base/ids.cc:7: document 003"));
  EXPECT_THAT(missing_citations(citable, "docs/guide.md",
                                "[a](PAGES.md#b), [b](../base/ids.h)\n`gone.cc`\n"),
              ElementsAre("docs/guide.md:2: gone.cc"));
  EXPECT_THAT(library_headers("#include <map>\n#include <date/tz.h>\n#include \"a.h\"\n"),
              ElementsAre("date/tz.h", "map"));
}

TEST(Citations, IncludeTheTestsThatPagesName) {
  const std::set<std::string> tests = tests_of(
      "TEST(Seal, Opens) {\nTEST_F(\n    Disk,\n    IsFull) {\nTEST_P(Each, Holds) {\n// TEST\n");
  EXPECT_THAT(tests, testing::UnorderedElementsAre("Seal.Opens", "Disk.IsFull", "Each.Holds"));
  EXPECT_THAT(missing_tests(tests, "docs/a.md",
                            "`Seal.Opens`, `Disk`,\n`Seal.Closes`, `Disk.IsFull`; `a.Case`\n"),
              ElementsAre("docs/a.md:2: Seal.Closes"));
}

TEST(Citations, NameOnlyTestsThatExist) {
  std::set<std::string> tests;
  for (const auto& path : all_files()) {
    if (path.extension() == ".cc") tests.merge(tests_of(text_of(path)));
  }
  EXPECT_THAT(tests, SizeIs(Gt(2'000U)));
  for (const char* const page :
       {"docs/promises.md", "docs/security.md", "docs/ARCHITECTURE.md", "docs/coverage.md"}) {
    EXPECT_THAT(missing_tests(tests, page, text_of(root() / page)), IsEmpty());
  }
}

TEST(Citations, NameOnlyFilesAndSectionsThatExist) {
  Citable citable;
  std::vector<std::string> readable;
  for (const auto& path : all_files()) {
    const std::string file = path.lexically_relative(root()).string();
    citable.files.insert(file);
    const bool is_code = file.ends_with(".h") || file.ends_with(".cc");
    if (is_code) citable.headers.merge(library_headers(text_of(path)));
    if (is_code || file.ends_with(".md") || file.ends_with("CMakeLists.txt")) {
      readable.push_back(file);
    }
    if (file.ends_with(".md") && path.stem() != "README") {  // several folders have a README
      citable.headings[path.stem().string()].merge(headings_of(text_of(path)));
    }
  }
  EXPECT_THAT(readable, SizeIs(Gt(500U)));
  for (const std::string& file : readable) {
    // These files contain examples of citations, which cite nothing.
    if (file == "tests/tidy/citations_test.cc" || file == "tests/tidy/citations.h") continue;
    EXPECT_THAT(missing_citations(citable, file, text_of(root() / file)), IsEmpty());
  }
}

}  // namespace
}  // namespace millrace
