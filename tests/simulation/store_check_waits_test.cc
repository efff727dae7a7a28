// The store check finds damage under its code. What living instances wait for.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

using std::chrono::hours;

const Plant kWaitPlants[] = {
    {"a waiting eventAnd without its slots",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("both"), Part::kSlots)); }},
    {"a listener of an entry that its state does not have",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners[0].entry = 7; });
     }},
    {"two listeners with each other's entry",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) {
         std::swap(head.listeners[0].entry, head.listeners[1].entry);
       });
     }},
    {"an eventXor that listens for one event less",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners.pop_back(); });
     }},
    {"an eventXor that listens for one event twice",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners.push_back(head.listeners.front()); });
     }},
    {"a listener that compares no attribute",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks", [](Instance& head) { head.listeners[0].filter.predicates.clear(); });
     }},
    {"a listener that compares an attribute with another text",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners[0].filter.predicates[0].text = "2"; });
     }},
    {"a listener with a pattern that is not a regular expression",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "picks",
                 [](Instance& head) { head.listeners[1].filter.predicates[0].text = "("; });
     }},
    {"no timer of the state's timeout",
     {"instance.timers"},
     [](Transaction& tx) { edit_head(tx, "waits", [](Instance& head) { head.timers.clear(); }); }},
    {"a state timeout that is over before it began",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.timers[0].deadline = from_millis(-1); });
     }},
    {"no timer of the interrupt",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kInterrupt); }},
    {"no timer of the kill",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kKill); }},
    {"no timer of the run",
     {"instance.timers"},
     [](Transaction& tx) { drop_timer(tx, "timed", TimerKind::kRun); }},
    {"no timer of the execution",
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
    {"a delay that is over at once",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.timers[0].deadline = head.started_at; });
     }},
    {"a delay that is over in the year 5138",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "naps",
                 [](Instance& head) { head.timers[0].deadline = from_millis(99'999'999'999'999); });
     }},
    {"a retry at another time than the history tells",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "again", [](Instance& head) { head.timers[0].deadline += hours(1); });
     }},
    {"a wait for the next run without its flag",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "again", [](Instance& head) { head.awaits_run = false; });
     }},
    {"data that is found where no state is left",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("naps"), Part::kFoundData), "{}"); }},
    {"an instance without its data",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("shifts"), Part::kData)); }},
    {"an instance with other data than it entered its state with",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("shifts"), Part::kData), "{}"); }},
    {"a part that is not sealed, of an instance that is",
     {"instance.seal"},
     [](Transaction& tx) {
       const std::string head = key_of(id_of("naps"), Part::kHead);
       const std::string row = rows::key_of(last_history(tx, "naps"));
       rows::put(tx, Table::kHistory, row, std::string(*tx.get(Table::kHistory, row)), true);
       rows::put(tx, Table::kLive, head, std::string(*tx.get(Table::kLive, head)), true);
     }},
};

TEST(StoreCheckWaits, FindsEachDamageUnderItsCode) { expect_each_found(kWaitPlants); }

}  // namespace

std::span<const Plant> wait_plants() { return kWaitPlants; }

}  // namespace millrace
