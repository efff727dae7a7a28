// The store check reports damage to the listeners and timers of live instances.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

using std::chrono::hours;

const Plant kWaitPlants[] = {
    {"an eventAnd state without its slots",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("both"), Part::kSlots)); }},
    {"a listener of an unknown entry",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners[0].entry = 7; });
     }},
    {"two listeners with swapped entries",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) {
         std::swap(head.listeners[0].entry, head.listeners[1].entry);
       });
     }},
    {"an eventXor state with a missing listener",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners.pop_back(); });
     }},
    {"an eventXor state with a duplicate listener",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners.push_back(head.listeners.front()); });
     }},
    {"a listener without its attributes",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners[0].filter.predicates.clear(); });
     }},
    {"a listener with another text of an attribute",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners[0].filter.predicates[0].text = "2"; });
     }},
    {"a listener with an invalid regular expression",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners[1].filter.predicates[0].text = "("; });
     }},
    {"a missing timer of the state timeout",
     {"instance.timers"},
     [](Transaction& tx) { edit_head(tx, "waits", [](Instance& head) { head.timers.clear(); }); }},
    {"a state timeout before its start",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.timers[0].deadline = from_millis(-1); });
     }},
    {"a missing timer of the interrupt",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kInterrupt); }},
    {"a missing timer of the kill",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kKill); }},
    {"a missing timer of the run",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kRun); }},
    {"a missing timer of the execution",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kExecution); }},
    {"a timer of the kill in the year 5138",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "timed", [](Instance& head) {
         for (Timer& timer : head.timers) {
           if (timer.kind == TimerKind::kKill) timer.deadline = from_millis(99'999'999'999'999);
         }
       });
     }},
    {"a timer that the definition does not have",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) {
         head.timers.push_back({TimerKind::kKill, head.started_at + hours(1)});
       });
     }},
    {"a delay that ends at once",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.timers[0].deadline = head.started_at; });
     }},
    {"a delay that ends in the year 5138",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps",
                 [](Instance& head) { head.timers[0].deadline = from_millis(99'999'999'999'999); });
     }},
    {"a retry at another time than in the history",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "again", [](Instance& head) { head.timers[0].deadline += hours(1); });
     }},
    {"a wait for the next run without its flag",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "again", [](Instance& head) { head.awaits_run = false; });
     }},
    {"data of a left state in an instance that left none",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("naps"), Part::kFoundData), "{}"); }},
    {"an instance without its data",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("shifts"), Part::kData)); }},
    {"an instance with other data than at the entry of its state",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("shifts"), Part::kData), "{}"); }},
    {"an unsealed part of a sealed instance",
     {"instance.seal"},
     [](Transaction& tx) {
       const std::string head = key_of(id_of("naps"), Part::kHead);
       const std::string row = rows::key_of(last_history(tx, "naps"));
       rows::put(tx, Table::kHistory, row, std::string(*tx.get(Table::kHistory, row)), true);
       rows::put(tx, Table::kLive, head, std::string(*tx.get(Table::kLive, head)), true);
     }},
};

TEST(StoreCheck, FindsDamageToWaits) { expect_each_found(kWaitPlants); }

}  // namespace

std::span<const Plant> wait_plants() { return kWaitPlants; }

}  // namespace millrace
