// The store check reports damage to the index of the instances.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

CountPlace place_of_both(const View& view) {
  return indexed(*read_live_head(view, kDefault, id_of("both")).value()).place;
}

const Plant kIndexPlants[] = {
    {"an instance that is not under its status",
     {"index.status"},
     [](Transaction& tx) {
       tx.erase(Table::kByStatus, by_status_key(place_of_both(tx), id_of("both")));
     },
     true},
    {"an instance under a status that it does not have",
     {"index.status"},
     [](Transaction& tx) {
       CountPlace place = place_of_both(tx);
       place.status = InstanceStatus::kCancelled;
       tx.put(Table::kByStatus, by_status_key(place, id_of("both")), "");
     },
     true},
    {"a count that is one too high",
     {"index.count"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kCounts);
       tx.put(Table::kCounts, key, encode_count(*decode_count(value) + 1));
     },
     true},
    {"a missing count",
     {"index.count"},
     [](Transaction& tx) { tx.erase(Table::kCounts, first(tx, Table::kCounts).first); },
     true},
    {"a count of a place that has no instance",
     {"index.count"},
     [](Transaction& tx) {
       CountPlace place = place_of_both(tx);
       place.state = 77;
       tx.put(Table::kCounts, count_key(place), encode_count(0));
     },
     true},
    {"the size of a namespace that has no instance",
     {"index.usage"},
     [](Transaction& tx) {
       write_namespace(tx, "empty",
                       {.number = NamespaceNumber(3), .created_at = *read_engine_time(tx)});
       write_counter(tx, Counter::kNamespace, 3);
       tx.put(Table::kUsage, rows::ns_prefix(NamespaceNumber(3)), encode(Usage()));
     },
     true},
    {"a namespace with too few bytes",
     {"index.usage"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kUsage);
       Usage usage = *decode_usage(value);
       --usage.row_bytes;
       tx.put(Table::kUsage, key, encode(usage));
     },
     true},
    {"a namespace with too many bytes of counted rows",
     {"index.usage"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kUsage);
       Usage usage = *decode_usage(value);
       ++usage.counted_bytes;
       tx.put(Table::kUsage, key, encode(usage));
     },
     true},
    {"a variable that is missing",
     {"index.usage"},
     [](Transaction& tx) { tx.erase(Table::kVariables, first(tx, Table::kVariables).first); },
     true},
    {"a head with the size of another row",
     {"instance.bytes"},
     [](Transaction& tx) {
       edit_head(tx, "both", [](Instance& head) {
         std::swap(head.part_bytes[static_cast<size_t>(Part::kInput)],
                   head.part_bytes[static_cast<size_t>(Part::kSlots)]);
       });
     },
     true},
};

TEST(StoreCheck, FindsDamageToTheIndex) { expect_each_found(kIndexPlants); }

}  // namespace

std::span<const Plant> index_plants() { return kIndexPlants; }

}  // namespace millrace
