// Sealed rows: no file of the folder shows their content, and the key of the store opens them.
#include "orchestrator/store/rows/row.h"

#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/support/folder.h"
#include "tests/support/leaks.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::Not;

constexpr const char* kValue = "correct-horse-battery-staple";

class SealedRows : public testing::Test {
 protected:
  SealedRows() {
    spdlog::set_level(spdlog::level::off);
    open();
  }

  void open(const std::filesystem::path& key_file = {}) {
    close();
    auto opened = Environment::open(folder.path(), {.key_file = key_file});
    ASSERT_TRUE(opened) << opened.error().message;
    environment = std::move(*opened);
    tx.emplace(*environment);
    checked = check_format(*tx);
  }
  void close() {
    tx.reset();
    environment.reset();
  }
  void commit() {
    const Status done = tx->commit();
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<std::string> leaks() const { return leaks_in_folder(folder.path(), kValue); }

  Folder folder;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> tx;
  Status checked;
};

Instance instance_with(const std::string& value) {
  Instance instance{
      .id = {{1, 2, 3}}, .ns = NamespaceNumber(1), .revision = {WorkflowNumber(1), 1}};
  instance.status = InstanceStatus::kWaiting;
  instance.phase = Phase::kWaiting;
  instance.input = Json{{"in", value}};
  instance.data = Json{{"data", value}};
  instance.slots = {Json(value), std::nullopt};
  instance.error = Error{"some.code", value};
  instance.listeners = {{0, {"t", {{"subject", Predicate::Kind::kEquals, value}}}}};
  return instance;
}

TEST_F(SealedRows, HideAllDataOfASealedInstance) {
  Instance instance = instance_with(kValue);
  instance.sealed = true;
  instance.last_history = 1;
  write_instance(*tx, instance, {.input = true, .data = true, .slots = true});
  write_history(*tx, 1,
                {.ns = instance.ns,
                 .instance = instance.id,
                 .records = {{.kind = HistoryKind::kLog,
                              .detail = Json{{"value", kValue}},
                              .data = LazyJson(Json(kValue))}},
                 .sealed = true});
  write_delayed(*tx, 1,
                {.ns = instance.ns, .instance = instance.id, .event = kValue, .sealed = true});
  write_outbox(*tx, 1, {instance.id, {.subject = "s", .data = kValue}, true});
  write_variable(*tx, {owner_of(instance, VariableScope::kNamespace), "v"},
                 {"text/plain", kValue, true});
  write_secret(*tx, instance.ns, "s", kValue);
  commit();
  EXPECT_THAT(leaks(), IsEmpty());

  open();
  ASSERT_TRUE(checked) << checked.error().message;
  const auto live = read_live(*tx, instance.ns, instance.id);
  ASSERT_TRUE(live) << live.error().message;
  EXPECT_TRUE((*live)->sealed);
  EXPECT_EQ((*live)->data.value(), instance.data.value());
  EXPECT_EQ((*live)->slots, instance.slots);
  EXPECT_EQ((*live)->error, instance.error);
  EXPECT_EQ((*live)->listeners, instance.listeners);
  EXPECT_EQ((*read_instance(*tx, instance.ns, instance.id))->input.value(), instance.input.value());
  size_t heads = 0;
  EXPECT_TRUE(each_live(*tx, [&](const Instance& head) { heads += head.sealed ? 1 : 0; }));
  EXPECT_EQ(heads, 1U);
  EXPECT_EQ(read_history(*tx, instance)->front().detail.value()["value"], kValue);
  EXPECT_EQ((*read_delayed(*tx, 1))->event, kValue);
  EXPECT_TRUE((*read_delayed(*tx, 1))->sealed);
  EXPECT_EQ((*read_outbox(*tx, 1))->message.data, kValue);
  EXPECT_TRUE((*read_outbox(*tx, 1))->sealed);
  const VariableName name{owner_of(instance, VariableScope::kNamespace), "v"};
  EXPECT_EQ(*read_variable(*tx, name), (Variable{"text/plain", kValue, true}));
  EXPECT_EQ(*read_secret(*tx, instance.ns, "s"), kValue);
  EXPECT_EQ(*read_secret(*tx, NamespaceNumber(2), "s"), std::nullopt);

  instance.status = InstanceStatus::kFailed;
  instance.phase = Phase::kEnded;
  instance.ended_at = instance.started_at;
  write_instance(*tx, instance, {});
  commit();
  const auto ended = read_instance(*tx, instance.ns, instance.id);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ((*ended)->input.value(), instance.input.value())
      << "the rows moved to the table of ended instances";
  EXPECT_EQ((*ended)->data.value(), instance.data.value());
  EXPECT_TRUE((*ended)->sealed);
  EXPECT_THAT(leaks(), IsEmpty());
}

TEST_F(SealedRows, KeepWhetherTheDataIsMaskedOrHidden) {
  for (const Sealing::Level level : {Sealing::kMasked, Sealing::kHidden, Sealing::kNone}) {
    Instance instance = instance_with(kValue);
    instance.sealed = level;
    write_instance(*tx, instance, {.input = true, .data = true, .slots = true});
    const VariableName name{owner_of(instance, VariableScope::kNamespace), "v"};
    write_variable(*tx, name, {.bytes = kValue, .sealed = level});
    commit();
    const auto live = read_live(*tx, instance.ns, instance.id);
    ASSERT_TRUE(live) << live.error().message;
    EXPECT_EQ((*live)->sealed.level(), level);
    EXPECT_EQ((*read_variable(*tx, name))->sealed.level(), level);
    EXPECT_EQ(leaks().empty(), level != Sealing::kNone);
  }
}

TEST_F(SealedRows, AreNotWrittenForAnInstanceThatIsNotSealed) {
  Instance instance = instance_with(kValue);
  write_instance(*tx, instance, {.input = true, .data = true, .slots = true});
  commit();
  EXPECT_THAT(leaks(), Not(IsEmpty())) << "without seals the search finds the value";
  EXPECT_FALSE((*read_live(*tx, NamespaceNumber(1), {{1, 2, 3}}))->sealed);
}

TEST_F(SealedRows, CannotBeOpenedIfTheyAreCopiedToAnotherKeyOfTheTable) {
  write_secret(*tx, NamespaceNumber(1), "a", kValue);
  const std::string row(*tx->get(Table::kSecrets, std::string("\0\0\0\1a", 5)));
  tx->put(Table::kSecrets, std::string("\0\0\0\1b", 5), row);
  EXPECT_EQ(read_secret(*tx, NamespaceNumber(1), "b").error().code, kDamagedRow);
}

TEST_F(SealedRows, AreOpenedOnlyWithTheSecretKeyOfTheirStore) {
  ASSERT_TRUE(checked);
  const std::filesystem::path own = folder.path() / "secret-key";
  ASSERT_TRUE(std::filesystem::exists(own));
  const std::string other = folder.path() / "other-key";
  std::ofstream(other) << std::string(64, 'b');
  open(other);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "store.key");
  EXPECT_THAT(checked.error().message, testing::HasSubstr(other));

  const std::string moved = folder.path() / "moved-key";
  std::filesystem::rename(own, moved);
  open();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "store.key");
  EXPECT_THAT(checked.error().message, testing::HasSubstr("is missing"));
  EXPECT_FALSE(std::filesystem::exists(own)) << "no other key file is created";

  open(moved);
  EXPECT_TRUE(checked) << checked.error().message;
  close();
  const auto missing = Environment::open(folder.path(), {.key_file = folder.path() / "none"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "store.key");
}

TEST_F(SealedRows, CanBeAddedToAStoreOfAnOlderFormat) {
  for (const char format : {1, 2}) {
    tx->erase(Table::kMeta, "seal");
    tx->put(Table::kMeta, "format", std::string(7, '\0') + format);
    Instance instance = instance_with("plain");
    write_instance(*tx, instance, {.input = true, .data = true, .slots = true});
    commit();
    std::filesystem::remove(folder.path() / "secret-key");
    open();
    ASSERT_TRUE(checked) << checked.error().message;
    open();
    ASSERT_TRUE(checked) << "with the key file that was created";
    EXPECT_EQ((*read_live(*tx, instance.ns, instance.id))->data.value(), instance.data.value());
  }
}

}  // namespace
}  // namespace millrace
