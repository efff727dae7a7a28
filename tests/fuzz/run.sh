#!/usr/bin/env bash
# Runs fuzz targets that are built. `./dev fuzz` builds them and calls this script.
#   run.sh run TARGET…        runs each target for FUZZ_SECONDS, and prints what it executed
#   run.sh coverage TARGET…   the same, and prints which lines of the sources its inputs reach
#   run.sh minimize TARGET…   replaces the files of tests/fuzz/corpus/TARGET whose names are hashes by the
#                             fewest inputs that, with the other files, reach all code that is reached
# New inputs are written to build/fuzz/corpus/TARGET, finds to build/fuzz/finds/TARGET, and the output of
# libFuzzer to build/fuzz/logs/TARGET.log. Exits with 1 if a target has a find.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/fuzz/tests/fuzz
counted_programs=build/fuzz-coverage/tests/fuzz
# A single input may take 10 s and 2 GiB.
limits=(-timeout=10 -rss_limit_mb=2048)
export UBSAN_OPTIONS=print_stacktrace=1

# Makes the folders of a target.
prepare() { # target
  mkdir -p "build/fuzz/corpus/$1" "build/fuzz/finds/$1" build/fuzz/logs "tests/fuzz/corpus/$1"
}

# Prints the latest number with that name in the output of libFuzzer, or a dash.
number() { # log pattern
  local found
  found=$(grep -oE "$2 *[0-9]+" "$1" | tail -n 1 | grep -oE '[0-9]+$' || true)
  echo "${found:--}"
}

row() { printf '%-28s %12s %9s %7s %8s %8s  %s\n' "$@"; }

# Runs a target and prints a row. Fails if there is a find.
fuzz() { # target
  local target=$1 log=build/fuzz/logs/$1.log code=0 arguments=()
  prepare "$target"
  [ ! -f "tests/fuzz/dictionaries/$target.dict" ] || arguments+=("-dict=tests/fuzz/dictionaries/$target.dict")
  "$programs/fuzz_$target" "${limits[@]}" "${arguments[@]}" -max_total_time="$FUZZ_SECONDS" -print_final_stats=1 \
    -artifact_prefix="build/fuzz/finds/$target/" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
    >"$log" 2>&1 || code=$?
  row "$target" "$(number "$log" 'stat::number_of_executed_units:')" "$(number "$log" 'stat::average_exec_per_sec:')" \
    "$(number "$log" ' cov:')" "$(number "$log" ' ft:')" "$(number "$log" ' corp:')" \
    "$([ "$code" -eq 0 ] && echo none || sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
  [ "$code" -eq 0 ] && return
  grep -m 1 -E 'CHECK\(.*\) failed|ERROR: |runtime error:' "$log" | cut -c1-200 || tail -n 5 "$log"
  return 1
}

# Prints how many lines of the sources on the target's lines "// Covers: " its inputs reach.
print_coverage() { # target
  local target=$1 profile=build/fuzz-coverage/$1 covered=()
  read -ra covered <<<"$(sed -n 's|^// Covers: ||p' "tests/fuzz/${target}_target.cc" | tr '\n' ' ')"
  LLVM_PROFILE_FILE=$profile.profraw "$counted_programs/fuzz_$target" -runs=0 "build/fuzz/corpus/$target" \
    "tests/fuzz/corpus/$target" >"$profile.log" 2>&1 || { tail -n 5 "$profile.log"; return 1; }
  llvm-profdata merge -sparse "$profile.profraw" -o "$profile.profdata"
  llvm-cov report "$counted_programs/fuzz_$target" -instr-profile="$profile.profdata" -show-region-summary=false \
    -show-branch-summary=false "${covered[@]}" |
    awk '$5 ~ /^[0-9]+$/ { printf "  %-46s %6d of %6d lines  %s\n", $1, $5 - $6, $5, $7 }'
}

minimize() { # target
  local target=$1 corpus=tests/fuzz/corpus/$1 merged=build/fuzz/merged/$1 log=build/fuzz/logs/$1.merge.log file
  prepare "$target"
  rm -rf "$merged"
  mkdir -p "$merged"
  # Files with a name that says what they are stay. libFuzzer names the files that it adds by their hashes.
  for file in "$corpus"/*; do
    [[ ! -f $file || $(basename "$file") =~ ^[0-9a-f]{40}$ ]] || cp "$file" "$merged"
  done
  # Without counters, libFuzzer adds an input only if it reaches another branch, not if it takes one more often.
  "$programs/fuzz_$target" "${limits[@]}" -merge=1 -use_counters=0 "$merged" "$corpus" "build/fuzz/corpus/$target" \
    >"$log" 2>&1 || { tail -n 5 "$log"; return 1; }
  find "$corpus" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -delete
  find "$merged" -type f -size +0c -exec cp -n {} "$corpus" \;
  printf '%-28s %5d files, %s bytes\n' "$target" "$(find "$corpus" -type f | wc -l)" \
    "$(find "$corpus" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }')"
}

verb=$1
shift
failed=0
[ "$verb" = minimize ] || row TARGET EXECUTIONS PER-SECOND EDGES FEATURES INPUTS FIND
for target in "$@"; do
  if [ "$verb" = minimize ]; then
    minimize "$target" || failed=1
    continue
  fi
  fuzz "$target" || failed=1
  [ "$verb" != coverage ] || print_coverage "$target" || failed=1
done
[ "$failed" -eq 0 ] || echo "the finds are in build/fuzz/finds, the output of libFuzzer is in build/fuzz/logs" >&2
exit "$failed"
