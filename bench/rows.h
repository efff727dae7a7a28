// The benchmarks: each measures one thing and prints its rows of the table (harness.h, row).
#pragma once

namespace millrace {

void matching();     ///< which listeners an event concerns
void unmatched();    ///< events that nobody waits for
void engine_path();  ///< what a lifecycle costs the engine's thread
void lifecycles();   ///< start, wait, wake, end, through a broker
void beside();       ///< the same on two millraces in turns
void store();        ///< commits beside LMDB alone
void timer_wheel();  ///< a million timers in memory
void expressions();  ///< the fast lane, libjq, a worker
void timers();       ///< durable timers, timeouts, lifespans
void waiting();      ///< many instances that wait
void workers();      ///< round trips to a jq worker
void tasks();        ///< actions that workers do
void isolation();    ///< lifecycles beside workflows whose jq never ends
void crowd();        ///< one event that wakes 100 000

}  // namespace millrace
