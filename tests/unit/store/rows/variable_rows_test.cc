#include "orchestrator/store/rows/variable_rows.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class VariableRows : public StoreTest {
 protected:
  static VariableName name(VariableScope scope, std::string key) {
    const Instance instance{
        .id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(4), 1}};
    return {owner_of(instance, scope), std::move(key)};
  }
};

TEST_F(VariableRows, AreSeparateForEachOwner) {
  for (const VariableScope scope :
       {VariableScope::kInstance, VariableScope::kWorkflow, VariableScope::kNamespace}) {
    write_variable(*tx, name(scope, "v"), {"text/plain", to_string(scope).data(), false});
  }
  EXPECT_EQ(read_variable(*tx, name(VariableScope::kInstance, "v")).value()->bytes, "instance");
  EXPECT_EQ(read_variable(*tx, name(VariableScope::kWorkflow, "v")).value()->bytes, "workflow");
  EXPECT_EQ(read_variable(*tx, name(VariableScope::kNamespace, "v")).value()->bytes, "namespace");
  erase_variable(*tx, name(VariableScope::kWorkflow, "v"));
  EXPECT_FALSE(read_variable(*tx, name(VariableScope::kWorkflow, "v")).value());
  EXPECT_TRUE(read_variable(*tx, name(VariableScope::kInstance, "v")).value());
}

TEST_F(VariableRows, AreListedAfterTheGivenKey) {
  for (const char* const key : {"a", "b", "c"}) {
    write_variable(*tx, name(VariableScope::kWorkflow, key), {"text/plain", key, false});
  }
  std::string keys;
  const auto see = [&](std::string_view key, const VariableHead& variable) {
    EXPECT_EQ(variable.size, key.size());
    keys += key;
    return true;
  };
  const VariableOwner owner = name(VariableScope::kWorkflow, "").owner;
  EXPECT_TRUE(each_variable(*tx, owner, "a", see));
  EXPECT_EQ(keys, "bc");
  EXPECT_EQ(erase_variables(*tx, owner, 2).value(), 2U);
  EXPECT_EQ(erase_variables(*tx, owner, 2).value(), 1U);
}

TEST_F(VariableRows, HaveSizesThatAreKnownWithoutTheirValues) {
  for (const auto& [key, size] : {std::pair("a", 10), std::pair("b", 1'000)}) {
    write_variable(*tx, name(VariableScope::kInstance, key), {"", std::string(size, 'v'), false});
  }
  write_variable(*tx, name(VariableScope::kWorkflow, "c"), {"", "v", false});
  const VariableOwner owner = name(VariableScope::kInstance, "").owner;
  constexpr size_t kKey = 4 + 1 + 16 + 1;  // namespace, scope, id and the key of the variable
  constexpr size_t kFields = 2;            // the version and the length of the content type
  std::vector<size_t> sizes;
  EXPECT_TRUE(each_variable_size(*tx, owner, [&](size_t bytes) {
    sizes.push_back(bytes);
    return true;
  }));
  EXPECT_EQ(sizes, (std::vector<size_t>{kKey + kFields + 10, kKey + kFields + 1'000}));
  sizes.clear();
  EXPECT_TRUE(each_variable_size(*tx, owner, [&](size_t bytes) {
    sizes.push_back(bytes);
    return false;
  }));
  EXPECT_EQ(sizes.size(), 1U);
}

TEST_F(VariableRows, EncodeAndDecodeAVariableWithoutChange) {
  const Variable variable{"text/plain", std::string("a\0\xff", 3), false};
  write_variable(*tx, name(VariableScope::kNamespace, "u"), variable);
  EXPECT_EQ(**read_variable(*tx, name(VariableScope::kNamespace, "u")), variable);
  EXPECT_EQ(decode_variable_head(encode(variable)).value().size, 3U);
  expect_known_versions(encode(variable), 2, decode_variable_head);
  EXPECT_FALSE(decode_variable_head("\x01\x0btext"));
  EXPECT_TRUE(decode_variable_head(std::string_view("\x02\0\x03\x07", 4)));
  for (const std::string_view cut :
       {std::string_view("\x02\0\x03", 3), std::string_view("\x02\0\x03\x07\0", 5)}) {
    EXPECT_FALSE(decode_variable_head(cut));
  }
  tx->put(Table::kVariables, std::string("\0\0\0\1\2v", 6), "x");
  EXPECT_EQ(read_variable(*tx, name(VariableScope::kNamespace, "v")).error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
