#!/usr/bin/env python3
"""Says where the time of a run goes, by stage, from what `perf script` prints.

    perf record -e cpu-clock -F 1999 -g -a -- sleep 5
    perf script | bench/stages.py RATE > stages.md

RATE is how many lifecycles a second there were. A sample belongs to its thread, and there to the
first stage of whose functions one is on its stack.
"""
import sys
from collections import Counter

from flame import read_stacks

# What is asked for in a thread's stacks, in this order: the inner before the outer.
STAGES = {
    "engine": [
        ("journal: sync and write", ["fdatasync", "__libc_pwrite"]),
        ("journal: encoding, hashing", ["Journal::append"]),
        ("rows into memory", ["Overlay::commit"]),
        ("instances and history written", ["Instances::write"]),
        ("events published: encoding, outbox row", ["Draft::publish"]),
        ("expressions", ["Visit::evaluate"]),
        ("listeners and timers kept in step", ["Waiting::update"]),
        ("matching", ["Waiting::match"]),
        ("the event's data read", ["EncodedEvent::event", "captured"]),
        ("duplicates", ["Dedupe::add", "Dedupe::seen"]),
        ("instances read", ["Instances::touch"]),
        ("states stepped", ["step"]),
        ("messages handed over", ["Processor::act"]),
    ],
}
REST = {
    "engine": "what is left: allocation, switches, the batch itself",
    "reader": "messages taken, attributes read, events handed in",
    "sender": "messages handed to the client library, acknowledgements read",
    "checkpoint": "the journal's rows into LMDB",
    "gateway": "HTTP",
    "manager": "jq workers",
}
# Threads of the client library are named as the one that made them.
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
    # All processors together are 100 %; how many there are does not show in the samples.
    processors = 2
    print("| thread | what | of all time | us a lifecycle |")
    print("| --- | --- | ---: | ---: |")
    for (where, what), samples in sorted(found.items(), key=lambda item: (item[0][0], -item[1])):
        share = samples / total
        print(f"| {where} | {what} | {share:.1%} | {share * processors * 1e6 / rate:.1f} |")


if __name__ == "__main__":
    main()
