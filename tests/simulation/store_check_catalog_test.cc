// The store check reports damage to the catalog: namespaces, workflows, revisions, schedules,
// groups.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/value_piece_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

const Plant kCatalogPlants[] = {
    {"two namespaces with one number",
     {"number.twice"},
     [](Transaction& tx) { write_namespace(tx, "twin", {.number = kShop}); }},
    {"a missing row of a namespace that has workflows, instances and webhooks",
     {"namespace.missing"},
     [](Transaction& tx) { tx.erase(Table::kNamespaces, "shop"); }},
    {"groups from a revision that replaced none",
     {"row.value"},
     [](Transaction& tx) {
       edit<WorkflowRecord>(tx, Table::kWorkflows, workflow_key("naps"), decode_workflow, encode,
                            [](WorkflowRecord& record) { record.groups_from = 1; });
     }},
    {"a task of a deleted namespace",
     {"namespace.missing"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kNamespace, 3);
       write_task(tx, {.ns = NamespaceNumber(3), .task = kUnknownId, .by = kUnknownId});
     }},
    {"an ended instance of a deleted namespace",
     {"namespace.missing", "workflow.missing"},
     [](Transaction& tx) {
       const InstanceId id = id_of("fails");
       const auto instance = read_instance(tx, kDefault, id).value();
       std::vector<HistoryRecord> records = read_history(tx, *instance).value();
       erase_with_history(tx, *instance);
       tx.erase(Table::kWorkflows, workflow_key("fails"));
       Instance moved = *instance;
       moved.ns = NamespaceNumber(3);
       moved.idempotency_key.clear();
       moved.failed_data.reset();
       write_counter(tx, Counter::kNamespace, 3);
       const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
       write_counter(tx, Counter::kHistory, number);
       moved.last_history = number;
       write_history(tx, number, {.ns = moved.ns, .instance = id, .records = std::move(records)});
       write_instance(tx, moved, {.input = true, .data = true});
     }},
    {"a missing namespace `default`",
     {"namespace.missing"},
     [](Transaction& tx) { tx.erase(Table::kNamespaces, "default"); }},
    {"settings that cannot be read",
     {"namespace.settings"},
     [](Transaction& tx) {
       write_namespace(tx, "shop", {.number = kShop, .settings = R"({"paused": 7})"});
     }},
    {"a missing row of a workflow",
     {"workflow.missing"},
     [](Transaction& tx) { tx.erase(Table::kWorkflows, workflow_key("naps")); }},
    {"a missing definition",
     {"definition.missing"},
     [](Transaction& tx) { tx.erase(Table::kDefinitions, definition_key(tx, "child", 1)); }},
    {"a revision after the newest",
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
    {"a definition with another id",
     {"definition.unloadable"},
     [](Transaction& tx) {
       write_definition(tx, {number_of(tx, "fails"), 1},
                        {.text = "id: other\nstates:\n- {id: a, type: noop}\n"});
     }},
    {"a variable of an instance that does not exist",
     {"instance.missing"},
     [](Transaction& tx) {
       const VariableOwner owner{
           .scope = VariableScope::kInstance, .ns = kDefault, .instance = kUnknownId};
       write_variable(tx, {owner, "v"}, {"text/plain", "x"});
     }},
    {"a piece of a value that no variable has",
     {"variable.pieces"},
     [](Transaction& tx) {
       const VariableOwner owner{.scope = VariableScope::kNamespace, .ns = kDefault};
       write_value_piece(tx, {.value = {.name = {owner, "v"}, .number = 1}}, "x", false);
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
    {"a waiting event without its number",
     {"group.event"},
     [](Transaction& tx) { tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x03").first); }},
    {"a missing waiting event",
     {"group.number", "group.counts"},
     [](Transaction& tx) { tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x02").first); }},
    {"a missing row of a schedule",
     {"schedule.missing"},
     [](Transaction& tx) { tx.erase(Table::kSchedules, first(tx, Table::kSchedules).first); }},
    {"a schedule of a workflow without a schedule",
     {"schedule.unknown"},
     [](Transaction& tx) {
       write_schedule(tx, number_of(tx, "naps"), {.from = read_engine_time(tx).value()});
     }},
    {"an ended instance of a deleted workflow of another namespace",
     {"instance.key", "idempotency.instance"},
     [](Transaction& tx) {
       const WorkflowNumber fails = number_of(tx, "fails");
       tx.erase(Table::kWorkflows, workflow_key("fails"));
       write_retired(tx, fails, kShop);
     }},
    {"a revision that was created before the preceding one",
     {"row.value"},
     [](Transaction& tx) {
       edit<WorkflowRecord>(tx, Table::kWorkflows, workflow_key("naps"), decode_workflow, encode,
                            [](WorkflowRecord& record) { record.latest = 2; });
       write_definition(tx, {number_of(tx, "naps"), 2},
                        {.created_at = from_millis(1), .text = kNaps});
     }},
    {"a revision that was created after the start of its instances",
     {"row.value"},
     [](Transaction& tx) {
       const TimePoint later = move_time(tx);
       edit<DefinitionRecord>(tx, Table::kDefinitions, definition_key(tx, "naps", 1),
                              decode_definition, encode,
                              [=](DefinitionRecord& record) { record.created_at = later; });
     }},
    {"a namespace that was created after its workflows",
     {"row.value"},
     [](Transaction& tx) {
       const TimePoint later = move_time(tx);
       edit<NamespaceRecord>(tx, Table::kNamespaces, "shop", decode_namespace, encode,
                             [=](NamespaceRecord& record) { record.created_at = later; });
     }},
    {"a schedule whose latest tick is after the time from which it counts",
     {"row.value"},
     [](Transaction& tx) {
       edit<ScheduleRecord>(tx, Table::kSchedules, first(tx, Table::kSchedules).first,
                            decode_schedule, encode, [](ScheduleRecord& record) {
                              record.last = record.from;
                              record.from -= std::chrono::hours(1);
                            });
     }},
    {"a waiting event that expires in the next year",
     {"group.event"},
     [](Transaction& tx) {
       edit<GroupedRecord>(
           tx, Table::kGroups, first(tx, Table::kGroups, "\x02").first, decode_grouped, encode,
           [](GroupedRecord& record) { *record.expires += std::chrono::hours(9'000); });
     }},
    {"a waiting event without a lifespan",
     {"group.event"},
     [](Transaction& tx) {
       edit<GroupedRecord>(tx, Table::kGroups, first(tx, Table::kGroups, "\x02").first,
                           decode_grouped, encode,
                           [](GroupedRecord& record) { record.expires.reset(); });
     }},
};

TEST(StoreCheck, FindsDamageToTheCatalog) { expect_each_found(kCatalogPlants); }

}  // namespace

std::span<const Plant> catalog_plants() { return kCatalogPlants; }

}  // namespace millrace
