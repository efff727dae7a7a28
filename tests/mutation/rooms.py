"""Which test programs check which room, and which mutants are equivalent to the room's code."""
import re
import subprocess

# By room: its test programs; after a colon, the tests of the program that count, as --gtest_filter takes them.
STORE_CHECKS = "core_test:StoreCheck*:DamagedRow*:DamagedInstance*:StoreFolder*:StoreFull*:ReadFaults*:OlderFormats*:*BytesWorld*"
SUITES = {
    "base": ["base_test", "cloudevents_test", "expressions_test"],
    "os": ["os_test"],
    "cloudevents": ["cloudevents_test"],
    "expressions": ["expressions_test", "jq_pool_test:FastLane*"],
    "expressions/workers": ["jq_pool_test"],
    "matchers": ["matchers_test"],
    "policies": ["policies_test", "states_test", "tables_test", "loader_test", "language_test"],
    "language": ["language_test", "loader_test"],
    "model": ["model_test", "states_test", "tables_test", "engine_test"],
    "states": ["states_test", "tables_test", "loader_test", "engine_test"],
    "orchestrator/definition": ["loader_test"],
    "orchestrator/mapping": ["mapping_test"],
    "orchestrator/signatures": ["signatures_test"],
    "orchestrator/made_scenario": ["made_scenario_test", "service_test:InstanceScenarios*"],
    "orchestrator/engine": ["engine_test", "states_test", "tables_test", "core_test"],
    "orchestrator/timers": ["timers_test"],
    "orchestrator/store/disk": ["store_test", STORE_CHECKS],
    "orchestrator/store": ["store_test", STORE_CHECKS],
    "orchestrator/store/rows": ["store_test", "check_test", STORE_CHECKS],
    "orchestrator/archive": ["archive_test"],
    "orchestrator/size": ["size_test"],
    "orchestrator/memory": ["memory_test", "core_test"],
    "orchestrator/outgoing": ["outgoing_test", "core_test"],
    "orchestrator/batch": ["batch_test", "commands_test", "core_test"],
    "orchestrator/check": ["check_test", "core_test:StoreCheck*"],
    "orchestrator/backup": ["backup_test", "core_test:RestoredStore*"],
    "orchestrator/loop": ["loop_test", "core_test"],
    "orchestrator/service": ["service_test"],
    "cluster": ["node_role_test", "node_role_schedules_test"],
    "broker/log": ["log_test", "log_schedules_test", "log_restore_schedules_test"],
    "broker": ["broker_values_test", "broker_test"],
    "http": ["http_test"],
    "functions": ["function_files_test", "file_calls_test", "containers_test", "http_functions_test"],
    "scenarios": ["scenarios_test"],
    "gateway": ["gateway_test"],
    "cli": ["cli_test"],
}


class Unknown(Exception):
    """The name of a room is wrong."""


def room_named(name):
    """The room with this name: a folder, or the end of one: `engine`, `store/rows`, `store-rows`."""
    wanted = name.strip("/").replace("-", "/")
    if wanted in SUITES:
        return wanted
    rooms = [room for room in SUITES if room.endswith("/" + wanted)]
    if len(rooms) == 1:
        return rooms[0]
    raise Unknown(f'"{name}" is not a room; use one of: {", ".join(SUITES)}')


def tracked_files(root):
    """The paths of the files of the repository, from its root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    return [path for path in listed.split("\0") if path and (root / path).is_file()]


def sources_of(room, files):
    """The sources of a room, without those of other rooms below its folder."""
    others = [other + "/" for other in SUITES if other.startswith(room + "/")]
    return sorted(
        path
        for path in files
        if path.startswith(room + "/") and path.endswith((".cc", ".h")) and not path.startswith(tuple(others))
    )


class Equivalent:
    """An entry of equivalent.txt: a mutant that no test can kill, and why."""

    def __init__(self, file, before, after, why):
        self.file, self.before, self.after, self.why = file, before, after, why

    def is_of(self, place):
        return (self.file, self.before, self.after) == (place.file, place.before, place.after)


ENTRY = re.compile(r"(\S+)\n  before: (.+)\n  after: (.+)\n  why: (.+)\n?")


def read_equivalents(text):
    """The entries of equivalent.txt. Raises ValueError if a block of lines is not an entry."""
    entries = []
    for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        block = block.strip("\n")
        if not block:
            continue
        found = ENTRY.fullmatch(block)
        if not found:
            raise ValueError(f"equivalent.txt: expected a file and lines with before, after and why, found:\n{block}")
        entries.append(Equivalent(*found.groups()))
    return entries
