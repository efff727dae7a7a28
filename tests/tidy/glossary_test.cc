// Sources and documents use the terms of docs/GLOSSARY.md, and not those that it retires.
#include "tests/tidy/glossary.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kGlossary = "docs/GLOSSARY.md";
constexpr const char* kPage = R"(# Glossary
| term | meaning | elsewhere |
| --- | --- | --- |
| event | A CloudEvent. | |
| transition, transform | The next state. | |

## Retired words
| retired | write |
| --- | --- |
| errand, errands | instance message |
| in hand | the current batch |
)";

struct NamedText {
  std::string file;
  std::string text;
};

/// The sources and pages, without the glossary and this check, which contain the retired words as
/// data.
std::vector<NamedText> readable_files() {
  std::vector<NamedText> files;
  for (const auto& path : all_files()) {
    const std::string file = path.lexically_relative(root()).string();
    const bool is_read = file.ends_with(".h") || file.ends_with(".cc") || file.ends_with(".md");
    if (!is_read || file == kGlossary || file.starts_with("tests/tidy/glossary")) continue;
    files.push_back({file, text_of(path)});
  }
  return files;
}

TEST(Glossary, IsReadFromItsTables) {
  EXPECT_THAT(defined_terms(kPage), ElementsAre("event", "transition", "transform"));
  EXPECT_THAT(retired_terms(kPage),
              ElementsAre(Field(&RetiredTerm::words, ElementsAre("errand")),
                          Field(&RetiredTerm::words, ElementsAre("errands")),
                          Field(&RetiredTerm::words, ElementsAre("in", "hand"))));
}

TEST(Glossary, FindsRetiredWordsInIdentifiersAndSentences) {
  EXPECT_THAT(retired_uses(retired_terms(kPage), "a.h",
                           "class Errands;\nstd::string in_hand;\nclass InHand;  // An errand\n"
                           "// What is in hand.\n// inhand, handing in, an errandless day\n"
                           "fail(\"x\", \"an errand\");\n"),
              ElementsAre("a.h:1: \"errands\": write instance message",
                          "a.h:2: \"in hand\": write the current batch",
                          "a.h:3: \"errand\": write instance message",
                          "a.h:3: \"in hand\": write the current batch",
                          "a.h:4: \"in hand\": write the current batch",
                          "a.h:6: \"errand\": write instance message"));
}

TEST(Glossary, AllowsRetiredWordsInNamesOnDiskAndInDefinitions) {
  const std::vector<RetiredTerm> terms = retired_terms(kPage);
  EXPECT_THAT(retired_uses(terms, "a.cc",
                           "{\"errand.twice\", \"a b\", \"in-hand\"};  // `errand`\n"
                           "const char* a = R\"(id: errand\n)\";\n"),
              IsEmpty());
  EXPECT_THAT(retired_uses(terms, "a.md", "`in-hand`\n```\nid: errand\n```\nan errand\n"),
              ElementsAre("a.md:5: \"errand\": write instance message"));
}

TEST(Glossary, HasNoRetiredWordThatIsInUse) {
  const std::vector<RetiredTerm> terms = retired_terms(text_of(root() / kGlossary));
  EXPECT_THAT(terms, SizeIs(Gt(20U)));
  std::vector<std::string> uses;
  for (const NamedText& one : readable_files()) {
    for (std::string& use : retired_uses(terms, one.file, one.text)) uses.push_back(use);
  }
  EXPECT_THAT(uses, IsEmpty());
}

TEST(Glossary, HasNoTermThatIsUnused) {
  std::vector<std::vector<std::string>> files;
  for (const NamedText& one : readable_files()) files.push_back(words_of(one.text));
  std::vector<std::string> unused;
  for (const std::string& term : defined_terms(text_of(root() / kGlossary))) {
    const std::vector<std::string> words = words_of(term);
    const bool is_used = std::any_of(files.begin(), files.end(), [&](const auto& file) {
      return std::search(file.begin(), file.end(), words.begin(), words.end()) != file.end();
    });
    if (!is_used) unused.push_back(term);
  }
  EXPECT_THAT(unused, IsEmpty());
}

}  // namespace
}  // namespace millrace
