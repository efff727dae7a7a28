// StoreCheckOptions: the store check accepts the definitions and settings that the server accepts.
#include "orchestrator/service/store_check_options.h"

#include <gtest/gtest.h>

#include "orchestrator/definition/namespace_settings.h"
#include "states/workflow.h"

namespace millrace {
namespace {

TEST(StoreCheckOptions, LoadAStoredDefinition) {
  const StoreCheckOptions options = store_check_options();
  const auto loaded = options.load("id: a\nstates:\n- {id: one, type: noop}\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->id, "a");
  for (const char* const wrong : {"", "{", "id: a\n", "id: a\nstates: []\n"}) {
    EXPECT_FALSE(options.load(wrong)) << wrong;
  }
}

TEST(StoreCheckOptions, LoadADefinitionWithoutCheckingItsJqPrograms) {
  const auto loaded = store_check_options().load(
      "id: a\nstates:\n- {id: one, type: noop, transform: 'jq(.a as [$x] | $x)'}\n");
  EXPECT_TRUE(loaded) << loaded.error().message;
}

TEST(StoreCheckOptions, AcceptExactlyTheSettingsThatTheServerReads) {
  const StoreCheckOptions options = store_check_options();
  const std::pair<const char*, bool> rows[] = {
      {"{}", true},
      {R"({"lifecycle": true})", true},
      {R"({"services": {"charge": {"url": "http://charge"}}})", true},
      {"{", false},
      {"[]", false},
      {R"({"services": 5})", false},
      {R"({"later": true})", false},
      {R"({"services": {"charge": {"url": "http://charge", "queue": "q"}}})", false},
  };
  for (const auto& [text, is_right] : rows) {
    const Status checked = options.check_settings(text);
    EXPECT_EQ(checked.has_value(), is_right) << text;
    const auto read = read_settings(text);
    EXPECT_EQ(read.has_value(), is_right) << text;
    if (!checked && !read) {
      EXPECT_EQ(checked.error(), read.error()) << text;
    }
  }
}

TEST(StoreCheckOptions, CheckSealedRowsAndAllTrees) {
  const StoreCheckOptions options = store_check_options();
  EXPECT_TRUE(options.has_key);
  EXPECT_FALSE(options.has_tree);
  EXPECT_FALSE(options.progress);
}

}  // namespace
}  // namespace millrace
