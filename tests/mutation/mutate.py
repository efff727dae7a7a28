#!/usr/bin/env python3
"""Plants changes (mutants) in the sources of a room and shows which of them no test of the room sees.

    ./dev mutate matchers 40 --seed 7

README.md beside this file describes the changes. All mutants are in one build of a copy of the tree, and an environment
variable switches one of them on, so that the tests run once for each mutant without another build.
"""
import argparse
import concurrent.futures
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import places
import rooms

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutate"
MUTANT_HEADER = "tests/mutation/mutant.h"
MOST_ROUNDS = 6  # builds, each without the mutants that the compiler refused in the one before
LEAST_LIMIT = 30.0  # seconds
TIMES_NORMAL = 10  # a mutant may take this many times as long as the tests without a mutant
MOST_MEMORY = 6 << 30  # bytes that a test program may allocate
MOST_FILE = 4 << 30  # bytes of a file that a test program may write


class Failed(Exception):
    """The run cannot continue; the message says why."""


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def draw(candidates, count, chosen, generator):
    """Chooses up to `count` more places at random: first a kind of change, then a place of this kind. No two places
    overlap. Takes the places that it looked at out of `candidates`, which has lists by kind."""
    drawn = []
    while len(drawn) < count and any(candidates.values()):
        kinds = sorted(kind for kind, places_left in candidates.items() if places_left)
        of_kind = candidates[kinds[generator.randrange(len(kinds))]]
        place = of_kind.pop(generator.randrange(len(of_kind)))
        if not any(place.overlaps(other) for other in chosen + drawn):
            drawn.append(place)
    return drawn


class Tree:
    """The copy of the tree that is built, and its build folder."""

    def __init__(self, files):
        self.folder, self.build = WORK / "tree", WORK / "build"
        self.files = files

    def update(self, texts):
        """Makes the copy equal to the tree, except for `texts`: contents by path. A file whose content does not change
        keeps its time; a changed file gets the current time, which is later than that of its object file."""
        wanted = set(self.files) | set(texts)
        for path in self.folder.rglob("*"):
            if path.is_file() and str(path.relative_to(self.folder)) not in wanted:
                path.unlink()
        for path in sorted(wanted):
            target = self.folder / path
            content = texts[path].encode() if path in texts else (ROOT / path).read_bytes()
            if target.is_file() and target.read_bytes() == content:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if path not in texts or path in self.files:
                shutil.copymode(ROOT / path, target)

    def compile(self, programs):
        """Builds the programs. Returns the output of the compiler if it refused a source; None: all are built."""
        if not (self.build / "build.ninja").is_file():
            # A mutant may leave a variable unused, so that warnings must be no errors.
            options = ["-DMILLRACE_WERROR=OFF", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"]
            configured = subprocess.run(
                ["cmake", "--preset", "dev", "-B", str(self.build), *options],
                cwd=self.folder, capture_output=True, text=True)  # fmt: skip
            if configured.returncode != 0:
                raise Failed(f"cmake cannot configure {self.folder}:\n{configured.stdout}{configured.stderr}")
        built = subprocess.run(
            ["cmake", "--build", str(self.build), "--target", *programs, "--", "-k", "0"],
            cwd=self.folder, capture_output=True, text=True, errors="replace")  # fmt: skip
        (WORK / "build.log").write_text(built.stdout + built.stderr)
        return None if built.returncode == 0 else built.stdout + built.stderr

    def program(self, name):
        found = [path for path in (self.build / "tests").rglob(name) if path.is_file() and os.access(path, os.X_OK)]
        if len(found) != 1:
            raise Failed(f"{self.build}/tests has {len(found)} programs {name}, expected one")
        return found[0]


MESSAGE = re.compile(r"^(?:In file included from |\s+from )?([^\s:][^:\n]*):(\d+):(?:\d+:)?(.*)$", re.MULTILINE)


def refused(output, chosen, folder):
    """The places, in `chosen`, whose lines the compiler refused. If an error is in no line of a place, the nearest place
    above it in the same file counts."""
    places_at = {}
    for place in chosen:
        places_at.setdefault(place.file, {}).setdefault(place.line, []).append(place)
    found = []
    notes = []
    for path, line, rest in MESSAGE.findall(output):
        try:
            file = str(Path(os.path.normpath(os.path.join(folder, path))).relative_to(folder))
        except ValueError:
            continue
        lines = places_at.get(file, {})
        above = [one for one in lines if one <= int(line)]
        if " error:" in f" {rest}" and above:
            found += lines[max(above)]
        elif int(line) in lines:
            notes += lines[int(line)]
    return found or notes


class Suite:
    """A test program, with the tests of it that count."""

    def __init__(self, spec, tree):
        self.name, _, self.filter = spec.partition(":")
        self.program = tree.program(self.name)
        self.folder = tree.folder
        self.normal = 0.0  # seconds without a mutant
        self.limit = None  # seconds

    def run(self, mutant):
        """Runs the tests with a mutant; 0 switches none on. Returns how they failed; None: they passed."""
        scratch = WORK / "scratch" / str(mutant)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        environment = {**os.environ, "MILLRACE_MUTANT": str(mutant), "TMPDIR": str(scratch)}
        command = [str(self.program), "--gtest_brief=1", "--gtest_fail_fast"]
        if self.filter:
            command.append(f"--gtest_filter={self.filter}")
        with open(self.log(mutant), "wb") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
            try:
                code = process.wait(self.limit)
                how = None if code == 0 else f"ended by signal {-code}" if code < 0 else "failed"
            except subprocess.TimeoutExpired:
                how = f"took longer than {self.limit:.0f} s"
            finally:
                end_group(process)
        shutil.rmtree(scratch, ignore_errors=True)
        return how

    def log(self, mutant):
        return WORK / "logs" / f"{mutant}-{self.name}.txt"

    def measure(self):
        """Runs the tests without a mutant, and derives the time limit."""
        begin = time.monotonic()
        how = self.run(0)
        if how is not None:
            raise Failed(f"{self.name} {how} without a mutant; its output is in {self.log(0)}")
        self.normal = time.monotonic() - begin
        self.limit = max(LEAST_LIMIT, TIMES_NORMAL * self.normal)
        say(f"{self.name} takes {self.normal:.1f} s")


def limit_resources():
    """Bounds what a test program may use that a mutant made endless. The programs inherit the bounds."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE, MOST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_group(process):
    """Kills what is left of the processes of a test program."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def planted(room, count, seed, tree):
    """Builds the room's tests with `count` mutants. Returns the places of these mutants by number."""
    candidates = {}
    texts = {path: (ROOT / path).read_text() for path in rooms.sources_of(room, tree.files)}
    for path, text in texts.items():
        for place in places.places_of(path, text):
            candidates.setdefault(place.kind, []).append(place)
    say(f"{sum(map(len, candidates.values()))} places in {len(texts)} sources of {room}, seed {seed}")
    generator = random.Random(seed)
    # A third of the swapped arguments and of the removed errors does not compile: more places than needed save a round.
    numbered = dict(enumerate(draw(candidates, count + count // 2, [], generator), start=1))
    programs = sorted({spec.partition(":")[0] for spec in rooms.SUITES[room]})
    for round_number in range(1, MOST_ROUNDS + 1):
        say(f"building {', '.join(programs)} with {len(numbered)} mutants (round {round_number})")
        by_file = {}
        for number, place in numbered.items():
            by_file.setdefault(place.file, []).append((number, place))
        rewritten = {path: places.rewritten(texts[path], mutants) for path, mutants in by_file.items()}
        tree.update({**rewritten, MUTANT_HEADER: places.HEADER})
        output = tree.compile(programs)
        # The last rounds add no other places, so that one of them builds.
        draws_more = round_number <= MOST_ROUNDS - 3 and any(candidates.values())
        if output is None and (len(numbered) >= count or not draws_more):
            return dict(sorted(numbered.items())[:count])
        if output is not None:
            wrong = refused(output, list(numbered.values()), tree.folder)
            if not wrong:
                raise Failed(f"the compiler refuses a source without a mutant; its output is in {WORK}/build.log")
            numbered = {number: place for number, place in numbered.items() if place not in wrong}
            say(f"{len(numbered)} mutants are left, without those that the compiler refuses")
        if draws_more:
            more = draw(candidates, count - len(numbered), list(numbered.values()), generator)
            numbered.update(enumerate(more, start=max(numbered, default=0) + 1))
    raise Failed(f"{MOST_ROUNDS} builds were not enough; the output of the last one is in {WORK}/build.log")


def suites_of(room, tree):
    """The suites of a room, the quickest first, with their time limits."""
    limit_resources()
    suites = [Suite(spec, tree) for spec in rooms.SUITES[room]]
    for suite in suites:
        suite.measure()
    return sorted(suites, key=lambda suite: suite.normal)


def killed_by(number, suites):
    """How the tests noticed a mutant; None: they did not."""
    for suite in suites:
        how = suite.run(number)
        if how is not None:
            return f"{suite.name} {how}"
    return None


def shortened(text, most=150):
    return text if len(text) <= most else text[: most - 1] + "…"


def judge(room, numbered, suites, jobs):
    """Runs the tests with each mutant and prints the results."""
    equivalents = rooms.read_equivalents((ROOT / "tests/mutation/equivalent.txt").read_text())
    survivors, equal, killed = [], [], 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {}
        for number, place in numbered.items():
            if any(entry.is_of(place) for entry in equivalents):
                equal.append(place)
            else:
                runs[pool.submit(killed_by, number, suites)] = (number, place)
        for run in concurrent.futures.as_completed(runs):
            number, place = runs[run]
            how = run.result()
            killed += how is not None
            if how is None:
                survivors.append(place)
            say(f"{number}: {place.kind}: {shortened(str(place))}: {how or 'SURVIVED'}")
    counted = killed + len(survivors)
    print(f"room {room}: {len(numbered)} mutants, {len(equal)} of them equivalent")
    print(f"killed {killed} of {counted} ({100 * killed / max(counted, 1):.0f} %)")
    for place in sorted(survivors, key=lambda one: (one.file, one.line)):
        print(f"\n{place.file}:{place.line} ({place.kind})\n  before: {place.before}\n  after: {place.after}")


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.splitlines()[0])
    parser.add_argument("room", help="the folder of the room, or the end of its path: matchers, engine, store-rows")
    parser.add_argument("count", nargs="?", type=int, default=40, help="how many mutants (40)")
    parser.add_argument("--seed", type=int, default=None, help="draws the same mutants again")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants are tested at the same time (2)")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1_000_000)
    try:
        room = rooms.room_named(arguments.room)
        (WORK / "logs").mkdir(parents=True, exist_ok=True)
        tree = Tree(rooms.tracked_files(ROOT))
        print(f"seed {seed}", flush=True)
        numbered = planted(room, arguments.count, seed, tree)
        judge(room, numbered, suites_of(room, tree), arguments.jobs)
    except (Failed, rooms.Unknown, places.Unreadable) as error:
        print(f"./dev mutate: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
