#!/usr/bin/env bash
# Tests an image of millrace as it runs in production: not as root, with a read-only root file system,
# without capabilities, with a token. It prints a line for each check and exits with 1 if a check
# fails. `./dev image` calls it.
set -euo pipefail

image=${1:?which image?}
name=millrace-trial-$$ # of the container and its volume
folder=$(mktemp -d)
token=$(openssl rand -hex 32)
failures=0

clean() {
  podman rm --force --time 0 "$name" || true
  podman volume rm --force "$name" || true
  [ -z "${nats:-}" ] || kill "$nats" || true
  rm -rf "$folder"
} >/dev/null 2>&1
trap clean EXIT

check() { # WHAT COMMAND…
  if "${@:2}" >"$folder/said" 2>&1; then
    printf 'ok      %s\n' "$1"
  else
    printf 'FAILED  %s\n' "$1"
    sed 's/^/        /' "$folder/said"
    failures=$((failures + 1))
  fi
}

eventually() { # COMMAND…; repeats it until it succeeds, for up to 30 seconds
  local end=$((SECONDS + 30))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# A free port below the range of ports that the kernel assigns.
free_port() {
  local port=$((20000 + RANDOM % 12000))
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

# The parts of the NATS protocol that this script needs.

heard() { grep -q "$1" "$folder/heard"; }

listen() { # SUBJECT
  exec 5<>"/dev/tcp/127.0.0.1/$nats_port"
  cat <&5 >"$folder/heard" &
  printf 'CONNECT {"verbose":false}\r\nSUB %s 1\r\nPING\r\n' "$1" >&5
  eventually heard PONG
}

publish() { # SUBJECT BODY; the PONG confirms that the server has the message
  exec 6<>"/dev/tcp/127.0.0.1/$nats_port"
  printf 'CONNECT {"verbose":false}\r\nPUB %s %d\r\n%s\r\nPING\r\n' "$1" "${#2}" "$2" >&6
  grep -q -m1 PONG <&6
  exec 6>&-
}

# The container, and requests to it from outside.

# The script runs the health check itself: podman would need systemd to run it.
run() { # OPTION…
  podman run --name "$name" --network host --read-only --read-only-tmpfs=false --cap-drop all \
    --security-opt no-new-privileges --volume "$name:/data" --health-interval disable \
    --env MILLRACE_LISTEN="0.0.0.0:$http_port" --env MILLRACE_URL="http://127.0.0.1:$http_port" \
    --env MILLRACE_NATS="nats://127.0.0.1:$nats_port" "$@" "$image"
}

run_with_token() {
  run --detach --volume "$folder/token:/run/secrets/token:ro" \
    --env MILLRACE_TOKEN_FILE=/run/secrets/token
}

refuses_without_token() {
  local code=0
  run --rm >"$folder/refusal" 2>&1 || code=$?
  cat "$folder/refusal"
  [ "$code" -eq 1 ] && grep -q 'gateway.refused_address' "$folder/refusal"
}

ask() { # METHOD PATH [OPTION…]
  curl -sS --fail-with-body --max-time 20 -H "Authorization: Bearer $token" -X "$1" \
    "http://127.0.0.1:$http_port$2" "${@:3}"
}

ready() { curl -sf --max-time 5 -o "$folder/ready" "http://127.0.0.1:$http_port/readyz"; }

becomes_ready() {
  eventually ready && return
  podman logs "$name"
  return 1
}

refuses_strangers() {
  [ "$(curl -s -o "$folder/answer" -w '%{http_code}' "http://127.0.0.1:$http_port/v1/ns")" = 401 ]
}

confined() {
  [ "$(podman exec "$name" id -u)" = 10001 ] || return 1
  ! podman exec "$name" touch /somewhere || return 1
  podman exec "$name" cat /proc/1/status >"$folder/status"
  [ "$(grep -cE "^(CapEff|CapPrm|CapBnd):\s*0+\$" "$folder/status")" -eq 3 ] || return 1
  grep -qE '^NoNewPrivs:\s*1$' "$folder/status"
}

start_greeter() { # GUEST; starts an instance that waits, and prints its id
  ask POST /v1/ns/default/workflows/greeter/start -d "{\"guest\": \"$1\"}" |
    sed -n 's/.*"id":"\([^"]*\)".*/\1/p'
}

waits() { # ID
  ask GET "/v1/ns/default/instances/$1" | grep -q '"status":"waiting"'
}

event() { # GUEST
  printf '{"specversion":"1.0","id":"%s","source":"trial","type":"guest.came","guest":"%s"}' "$1" "$1"
}

by_http() { # GUEST
  ask POST /v1/ns/default/events -H 'Content-Type: application/cloudevents+json' -d "$(event "$1")"
}

by_nats() { publish millrace.events.default.guest.came "$(event "$1")"; }

greeted() { eventually heard "\"hello\":\"$1\""; }

stopped() {
  podman stop --time 20 "$name"
  podman logs "$name" 2>&1 | tee "$folder/log"
  [ "$(podman inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || return 1
  grep -q ' stopping$' "$folder/log" && ! grep -q 'were not sent and acknowledged' "$folder/log"
}

lists_workflows() { podman exec "$name" millrace workflow list -o name | grep -qx greeter; }

# The protections of the program, as in tests/integration/hardening_test.cc, after it was stripped.
hardened() {
  local part
  podman cp "$name:/usr/local/bin/millrace" "$folder/program"
  readelf --wide --file-header --program-headers --dynamic --dyn-syms "$folder/program" >"$folder/elf"
  for part in 'Type: +DYN' GNU_RELRO 'BIND_NOW|Flags:.* NOW' __stack_chk_fail '_chk@'; do
    grep -q -E "$part" "$folder/elf" || { echo "the program has no $part"; return 1; }
  done
}

shows_no_token() { ! grep -q "$token" "$folder/log"; }

nats_port=$(free_port)
nats-server --addr 127.0.0.1 --port "$nats_port" --jetstream --store_dir "$folder/nats" \
  >"$folder/nats.log" 2>&1 &
nats=$!
http_port=$(free_port)
printf '%s\n' "$token" >"$folder/token"
chown 10001 "$folder/token"
chmod 400 "$folder/token"

check "refuses to start without a token" refuses_without_token
check "starts" run_with_token
check "becomes ready" becomes_ready
[ "$failures" -eq 0 ] || exit 1
check "is not root, writes only to its volume, has no capability" confined
check "has a program that is protected against attacks on memory" hardened
check "passes its health check" podman healthcheck run "$name"
check "answers 401 without a token" refuses_strangers
# ascii_upcase needs a jq worker: the check fails if jq workers do not run.
check "accepts a workflow over HTTP" ask PUT /v1/ns/default/workflows/greeter --data-binary '
id: greeter
states:
  - id: wait
    type: consumeEvent
    event: {type: guest.came, context: {guest: jq(.guest)}}
    transition: greet
  - id: greet
    type: generateEvent
    event: {type: guest.greeted, source: greeter, data: "jq({hello: (.guest | ascii_upcase)})"}'
check "lists the workflow with its own command line" lists_workflows
listen millrace.events.default.guest.greeted
for guest in ann ben cleo; do waiting=$(start_greeter "$guest"); done
check "accepts an event over HTTP" by_http ann
check "accepts an event over NATS" by_nats ben
check "publishes the event of the first instance" greeted ANN
check "publishes the event of the second instance" greeted BEN
check "has an instance that waits" eventually waits "$waiting"
check "exits with 0 on SIGTERM, with an empty outbox" stopped
check "has not logged the token" shows_no_token
podman rm "$name" >"$folder/removed" 2>&1
check "starts again on the same volume" run_with_token
check "becomes ready again" becomes_ready
check "still has the instance that waits" eventually waits "$waiting"
check "accepts the event that wakes the instance" by_http cleo
check "publishes the event of the instance" greeted CLEO
check "exits with 0 on SIGTERM again" stopped

[ "$failures" -eq 0 ]
