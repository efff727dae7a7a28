#!/usr/bin/env bash
# Runs a cluster for a person to try: three nats-servers and two millraces, on free ports of the
# loopback interface and in a temporary folder. It prints how to look at the cluster and how to kill
# its active. A program that ends is started again after 2 seconds, as systemd does with
# Restart=always. At Ctrl-C, TERM or HUP it stops all programs and removes the folder.
# `./dev cluster` calls it.
set -euo pipefail

millrace=$(realpath "${1:?which millrace?}")
nats=$(realpath "${2:?which nats-server?}")

# The programs 0 to 2 are the nats-servers, 3 and 4 the millraces. All are background jobs of this
# shell; they are stopped by their process ids.
names=(nats1 nats2 nats3 node1 node2)
ids=("" "" "" "" "")
start_at=("" "" "" "" "") # when a program that has ended is started again, in seconds
ports=()
route_ports=() # by which the nats-servers connect
folder=
stopping=
patience=60 # seconds: until the cluster is healthy, and until a program has ended

url() { echo "http://127.0.0.1:${ports[$1]}"; }

is_running() { [ -n "${ids[$1]}" ] && kill -0 "${ids[$1]}" 2>/dev/null; }

stop() { # PROGRAM…; asks them to end, and kills those that do not end in time
  local one end=$((SECONDS + patience))
  for one; do ! is_running "$one" || kill -TERM "${ids[$one]}" 2>/dev/null || true; done
  for one; do
    while is_running "$one" && [ "$SECONDS" -lt "$end" ]; do sleep 0.1; done
    ! is_running "$one" || kill -KILL "${ids[$one]}" 2>/dev/null || true
    [ -z "${ids[$one]}" ] || wait "${ids[$one]}" 2>/dev/null || true
  done
}

clean() {
  trap '' INT TERM HUP
  stop 3 4 # first, because an active that ends writes to its log
  stop 0 1 2
  [ -z "$folder" ] || rm -rf "$folder"
}
trap clean EXIT
trap 'stopping=1' INT TERM HUP

give_up() { # WHY
  [ -z "$folder" ] || tail -n 5 "$folder"/*.log >&2 || true
  printf 'tests/cluster/play.sh: %s\n' "$1" >&2
  exit 1
}

# Sets `port` to a free port below the range of ports that the kernel assigns.
next_port=$((20000 + RANDOM % 10000))
find_port() {
  while (exec 3<>"/dev/tcp/127.0.0.1/$next_port") 2>/dev/null; do next_port=$((next_port + 1)); done
  port=$next_port
  next_port=$((next_port + 1))
}

start() { # PROGRAM FLAG…
  # Each in a session of its own: a Ctrl-C must not end the nats-servers before the millraces.
  local name=${names[$1]}
  if [ "$1" -lt 3 ]; then
    setsid "$nats" --config "$folder/$name.conf" >>"$folder/$name.log" 2>&1 &
  else
    setsid "$millrace" serve --cluster play --secret-key-file "$folder/key" --stream-replicas 3 \
      --data "$folder/$name" --listen "127.0.0.1:${ports[$1]}" --nats "$nats_urls" "${@:2}" \
      >>"$folder/$name.log" 2>&1 &
  fi
  ids[$1]=$!
}

configure_nats() { # PROGRAM
  cat >"$folder/${names[$1]}.conf" <<TEXT
server_name: ${names[$1]}
listen: "127.0.0.1:${ports[$1]}"
jetstream { store_dir: "$folder/${names[$1]}" }
cluster { name: play, listen: "127.0.0.1:${route_ports[$1]}", routes: [$routes] }
TEXT
}

answers() { curl -fs --max-time 2 -o "$folder/answer" "$(url "$1")$2"; } # PROGRAM PATH
status() { "$millrace" --url "$(url 3)" -o table cluster status 2>/dev/null; }
is_healthy() { [[ $(status) == *": healthy: "* ]]; }

# Waits until a command succeeds. Meanwhile no program may end.
await() { # WHAT COMMAND…
  local one end=$((SECONDS + patience))
  until "${@:2}"; do
    [ -z "$stopping" ] || exit 0
    for one in 0 1 2 3 4; do
      [ -z "${ids[$one]}" ] || is_running "$one" || give_up "${names[$one]} has ended; its log is above"
    done
    [ "$SECONDS" -lt "$end" ] || give_up "$1 after $patience s; the logs are above"
    sleep 0.2
  done
}

folder=$(mktemp -d "${TMPDIR:-/tmp}/millrace-cluster.XXXXXX")
(umask 077 && openssl rand -hex 32 >"$folder/key")
for one in 0 1 2 3 4; do find_port && ports[one]=$port; done
for one in 0 1 2; do find_port && route_ports[one]=$port; done
routes=$(printf '"nats-route://127.0.0.1:%s", ' "${route_ports[@]}")
routes=${routes%, }
nats_urls=$(printf 'nats://127.0.0.1:%s,' "${ports[@]:0:3}")
nats_urls=${nats_urls%,}

for one in 0 1 2; do configure_nats "$one" && start "$one"; done
start 3 --found
await "the first node is not ready" answers 3 /readyz
start 4
await "the cluster is not healthy" is_healthy

cat <<TEXT
$(status)

In another shell:
  export PATH="$(dirname "$millrace"):\$PATH" MILLRACE_URL=$(url 4)
  millrace cluster status            any node answers: $(url 3) $(url 4)

Send the three events of each of 100 orders; an event that is sent again under its id counts once:
  millrace workflow apply $PWD/examples/order-fan-in/
  for order in \$(seq 100); do for what in placed paid packed; do
    until millrace event send --type order.\$what --source payments.play --id \$what-\$order \\
      --attr orderid=\$order --data '{"shelf": "B4"}' >/dev/null; do sleep 0.2; done
  done; done
Meanwhile, kill the active:
  kill -9 ${ids[3]}
After the loop, each of these prints 100: nothing is lost, and nothing was counted twice:
  millrace instance list --workflow order-ready --status complete -o name | wc -l
  millrace instance list --workflow order-pickup --status complete -o name | wc -l

One nats-server at a time may be killed, too: ${ids[*]:0:3}
The logs are $folder/*.log. Ctrl-C ends all of it.

TEXT

# Starts again what has ended, and says which node is the active. Where the shell itself would say
# that a program was killed is not the terminal.
exec 2>>"$folder/play.log"
active=3
while [ -z "$stopping" ]; do
  for one in 0 1 2 3 4; do
    if is_running "$one"; then
      if [ "$one" -ge 3 ] && [ "$one" != "$active" ] && answers "$one" /activez; then
        active=$one
        echo "${names[$one]} is the active now; to kill it: kill -9 ${ids[$one]}"
      fi
    elif [ -z "${start_at[$one]}" ]; then
      code=0
      wait "${ids[$one]}" 2>/dev/null || code=$?
      echo "${names[$one]} has ended with code $code, and starts again in 2 s"
      start_at[one]=$((SECONDS + 2))
    elif [ "$SECONDS" -ge "${start_at[$one]}" ]; then
      start "$one"
      start_at[one]=
      echo "${names[$one]} is process ${ids[$one]} now"
    fi
  done
  sleep 0.3 &
  wait $! || true
done
