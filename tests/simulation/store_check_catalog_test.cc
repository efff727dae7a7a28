// The store check finds damage under its code. The catalog: namespaces, workflows, revisions,
// schedules, groups.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

const Plant kCatalogPlants[] = {
    {"two namespaces of one number",
     {"number.twice"},
     [](Transaction& tx) { write_namespace(tx, "twin", {.number = kShop}); }},
    {"a namespace that was deleted alone: its workflows, instances and webhooks are left",
     {"namespace.missing"},
     [](Transaction& tx) { tx.erase(Table::kNamespaces, "shop"); }},
    {"a task of a deleted namespace",
     {"namespace.missing"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kNamespace, 3);
       write_task(tx, {.space = NamespaceNumber(3), .task = kNobody, .by = kNobody});
     }},
    {"an instance that has ended in a deleted namespace",
     {"namespace.missing", "workflow.missing"},
     [](Transaction& tx) {
       const InstanceId id = id_of("fails");
       const auto instance = read_instance(tx, kDefault, id).value();
       erase_with_history(tx, *instance);
       tx.erase(Table::kWorkflows, workflow_key("fails"));
       Instance moved = *instance;
       moved.space = NamespaceNumber(3);
       moved.history_count = 2;
       moved.idempotency_key.clear();
       moved.failed_data.reset();
       write_counter(tx, Counter::kNamespace, 3);
       const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
       write_counter(tx, Counter::kHistory, number);
       moved.last_history = number;
       write_history(
           tx, number,
           {.space = moved.space,
            .instance = id,
            .records = {{.time = moved.started_at, .kind = HistoryKind::kStarted},
                        {.time = moved.started_at, .kind = HistoryKind::kEnded, .state = "a"}}});
       write_instance(tx, moved, {.input = true, .data = true});
     }},
    {"no namespace `default`",
     {"namespace.missing"},
     [](Transaction& tx) { tx.erase(Table::kNamespaces, "default"); }},
    {"settings that cannot be read",
     {"namespace.settings"},
     [](Transaction& tx) {
       write_namespace(tx, "shop", {.number = kShop, .settings = R"({"paused": 7})"});
     }},
    {"a workflow without its row",
     {"workflow.missing"},
     [](Transaction& tx) { tx.erase(Table::kWorkflows, workflow_key("naps")); }},
    {"a definition that is gone",
     {"definition.missing"},
     [](Transaction& tx) { tx.erase(Table::kDefinitions, definition_key(tx, "child", 1)); }},
    {"a revision behind the newest",
     {"definition.unknown"},
     [](Transaction& tx) {
       tx.put(Table::kDefinitions, definition_key(tx, "naps", 2),
              std::string(*tx.get(Table::kDefinitions, definition_key(tx, "naps", 1))));
     }},
    {"a definition that does not load",
     {"definition.unloadable"},
     [](Transaction& tx) {
       write_definition(tx, {number_of(tx, "naps"), 1}, {.text = "nonsense"});
     }},
    {"a definition of another id",
     {"definition.unloadable"},
     [](Transaction& tx) {
       write_definition(tx, {number_of(tx, "fails"), 1},
                        {.text = "id: other\nstates:\n- {id: a, type: noop}\n"});
     }},
    {"a variable of an instance that does not exist",
     {"instance.missing"},
     [](Transaction& tx) {
       const VariableOwner owner{
           .scope = VariableScope::kInstance, .space = kDefault, .instance = kNobody};
       write_variable(tx, {owner, "v"}, {"text/plain", "x"});
     }},
    {
        "an instance without a head",
        {"instance.no_head"},
        [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("both"), Part::kHead)); },
    },
    {"a group that counts one event too many",
     {"group.counts"},
     [](Transaction& tx) {
       tx.put(Table::kGroups, first(tx, Table::kGroups, "\x01").first, encode_counts({2, 0}));
     }},
    {"a waiting event that its number does not find",
     {"group.event"},
     [](Transaction& tx) { tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x03").first); }},
    {"a waiting event that is gone",
     {"group.number", "group.counts"},
     [](Transaction& tx) { tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x02").first); }},
    {"a schedule without its row",
     {"schedule.missing"},
     [](Transaction& tx) { tx.erase(Table::kSchedules, first(tx, Table::kSchedules).first); }},
    {"a schedule of a workflow that has none",
     {"schedule.unknown"},
     [](Transaction& tx) {
       write_schedule(tx, number_of(tx, "naps"), {.from = read_engine_time(tx).value()});
     }},
    {"a waiting event that waits for ever",
     {"group.event"},
     [](Transaction& tx) {
       edit<GroupedRecord>(tx, Table::kGroups, first(tx, Table::kGroups, "\x02").first,
                           decode_grouped, encode,
                           [](GroupedRecord& record) { record.expires.reset(); });
     }},
};

TEST(StoreCheckCatalog, FindsEachDamageUnderItsCode) { expect_each_found(kCatalogPlants); }

}  // namespace

std::span<const Plant> catalog_plants() { return kCatalogPlants; }

}  // namespace millrace
