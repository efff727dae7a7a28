#!/usr/bin/env python3
"""Prints how the time of a benchmark divides into stages, from the output of `perf script`.

    perf record -e cpu-clock -F 1999 -g -a -- sleep 5
    perf script | bench/stages.py RATE > stages.md

RATE is the number of lifecycles a second in that benchmark. A sample is counted for its thread and,
in a thread with stages, for the first stage that has a function on the stack of the sample.
"""
import sys
from collections import Counter

from flame import read_stacks

# The stages of a thread, with their functions. Inner functions stand before the functions that call
# them, because the first stage with a function on the stack counts.
STAGES = {
    "engine": [
        ("journal: sync and write", ["fdatasync", "__libc_pwrite"]),
        ("journal: encoding, hashing", ["Journal::append"]),
        ("rows into memory", ["Overlay::commit"]),
        ("instances and history written", ["Instances::write"]),
        ("events published: encoding, outbox row", ["BatchState::publish"]),
        ("expressions", ["Visit::evaluate"]),
        ("listeners and timers updated", ["WaitIndex::update"]),
        ("matching", ["WaitIndex::match"]),
        ("the event's data read", ["EncodedEvent::event", "captured"]),
        ("duplicates", ["Dedupe::add", "Dedupe::seen"]),
        ("instances read", ["Instances::load"]),
        ("states stepped", ["step"]),
        ("messages passed to the sender", ["perform"]),
    ],
}
REST = {
    "engine": "the rest: allocation, thread switches, the batch itself",
    "reader": "messages received, attributes read, events passed to the engine",
    "sender": "messages passed to the client library, acknowledgements read",
    "checkpoint": "rows of the journal written to LMDB",
    "gateway": "HTTP",
    "jq-pool": "jq workers",
}
# A thread of the client library has the name of the thread that created it.
OTHERS = {"millrace": "the client library's threads", "connection": "the client library's threads"}
PROCESSES = {"nats-server": "the broker", "bench": "the load", "swapper": "idle"}


def stage_of(thread, frames):
    if thread in REST:
        on_stack = set(frames)
        for name, functions in STAGES.get(thread, []):
            if any(function in on_stack for function in functions):
                return thread, name
        return thread, REST[thread]
    if thread in OTHERS:
        return OTHERS[thread], ""
    return PROCESSES.get(thread, "the machine"), ""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rate = float(sys.argv[1])
    found = Counter(stage_of(thread, frames) for thread, frames in read_stacks(sys.stdin))
    total = sum(found.values())
    # All processors together are 100 %. The samples do not show how many there are.
    processors = 2
    print("| thread | what | of all time | us a lifecycle |")
    print("| --- | --- | ---: | ---: |")
    for (where, what), samples in sorted(found.items(), key=lambda item: (item[0][0], -item[1])):
        share = samples / total
        print(f"| {where} | {what} | {share:.1%} | {share * processors * 1e6 / rate:.1f} |")


if __name__ == "__main__":
    main()
