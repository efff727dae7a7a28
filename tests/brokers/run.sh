#!/usr/bin/env bash
# Runs the tests that need a broker on several versions of nats-server, and prints a table of how many
# tests passed and failed. The output of the tests is in build/brokers/logs. `./dev brokers` calls it.
#   run.sh SERVER… [-- SUITE…]     SERVER: the path of a nats-server; SUITE: a name below. The value
#                                  of the name is a test program and a filter of its tests
# Exits with 1 if a test failed.
set -euo pipefail
cd "$(dirname "$0")/../.."

declare -A programs=(
  [broker]="unit/broker/broker_test *"
  [log]="unit/broker/jetstream_log_test *"
  [workers]="unit/broker/worker_examples_test *"
  [integration]="integration/integration_test -Load.*"
  [load]="integration/integration_test Load.*"
  [crashes]="integration/crash_test *"
  [crash-points]="integration/crash_points_test *"
)
suites=()
servers=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  servers+=("$1")
  shift
done
[ $# -eq 0 ] || shift
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(broker log workers integration load crashes crash-points)
for suite in "${suites[@]}"; do
  [ -n "${programs[$suite]:-}" ] || {
    echo "run.sh: \"$suite\" is not a suite; write one of: ${!programs[*]}" >&2
    exit 2
  }
done

logs=$PWD/build/brokers/logs
mkdir -p "$logs"
failed=0
rows=()
for server in "${servers[@]}"; do
  version=$("$server" --version | sed 's/.*v//')
  printf -v row '%-10s' "$version"
  for suite in "${suites[@]}"; do
    printf '== nats-server %s: %s\n' "$version" "$suite" >&2
    log=$logs/$version-$suite
    rm -f "$log.json"
    read -r program filter <<<"${programs[$suite]}"
    MILLRACE_NATS_SERVER=$server "build/dev/tests/$program" --gtest_filter="$filter" \
      --gtest_output="json:$log.json" >"$log.log" 2>&1 || failed=1
    # A program that crashed has written no results.
    cell=$(python3 - "$log.json" <<'TEXT'
import json, sys
try:
    with open(sys.argv[1]) as file:
        result = json.load(file)
except (OSError, ValueError):
    print("died")
else:
    tests = [test for suite in result["testsuites"] for test in suite["testsuite"]]
    run = [test for test in tests if test["status"] == "RUN"]
    skipped = sum(test["result"] == "SKIPPED" for test in run)
    bad = sum("failures" in test for test in run)
    print(f"{len(run) - bad - skipped} passed, {bad} failed" + (f", {skipped} skipped" if skipped else ""))
TEXT
)
    printf -v row '%s  %-32s' "$row" "$cell"
  done
  rows+=("$row")
done
printf '%-10s' SERVER
printf '  %-32s' "${suites[@]}"
printf '\n'
printf '%s\n' "${rows[@]}"
[ "$failed" -eq 0 ] || echo "the output of the tests is in build/brokers/logs" >&2
exit "$failed"
