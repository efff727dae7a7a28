// How files that are definitions are detected in a folder.
#include "cli/definition_files.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(DefinitionFiles, TakesAFileForADefinitionByItsKeysOrIfItIsBrokenYaml) {
  for (const char* text : {"id: a\nstate: []\n", "id: a\nsates: []\n", "states: []\n",
                           "id: a\nstate: [\n", R"({"states": 1})", R"({"state": )"}) {
    for (const char* name : {"a.yaml", "a.yml", "a.json"}) {
      EXPECT_TRUE(looks_like_definition(name, text)) << name << "\n" << text;
    }
  }
  for (const char* text : {"", "# nothing\n", "services: {nats: {}}\n", "[1, 2]", "7",
                           "status: done\n", R"({"stats": {}})"}) {
    for (const char* name : {"a.yaml", "a.yml", "a.json"}) {
      EXPECT_FALSE(looks_like_definition(name, text)) << name << "\n" << text;
    }
  }
  for (const char* text : {"a: [\n", "id: order\n", "\t", "a: b: c\n", R"({"id": 7, "a": 3})"}) {
    EXPECT_TRUE(looks_like_definition("a.yaml", text)) << text;
    EXPECT_FALSE(looks_like_definition("a.json", text)) << text;
  }
}

}  // namespace
}  // namespace millrace
