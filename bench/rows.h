// The benchmarks. Each function measures one subject and prints the lines for it in the table of
// results (harness.h, row()).
#pragma once

namespace millrace {

void matching();     ///< the listeners that an event matches
void unmatched();    ///< events that match nothing
void engine_path();  ///< the engine thread's time for one instance from start to end
void lifecycles();   ///< start, wait, wake, end, through a broker
void beside();       ///< lifecycles on this millrace and on another one, in turns
void store();        ///< commits, compared with LMDB alone
void timer_wheel();  ///< a million timers in memory
void expressions();  ///< the fast lane, libjq, a jq worker
void timers();       ///< durable timers, timeouts, lifespans
void waiting();      ///< many waiting instances
void workers();      ///< round trips to a jq worker
void tasks();        ///< tasks that workers run
void isolation();    ///< lifecycles beside workflows whose jq programs never end
void queues();       ///< starts that wait for a slot
void crowd();        ///< one event that wakes 100 000 instances
void cluster_log();  ///< the mode `cluster` (modes.h) without arguments

}  // namespace millrace
