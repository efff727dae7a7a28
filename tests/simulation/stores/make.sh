#!/bin/bash
# Makes a dump of a store with the program millrace of any release: see README.md.
# Usage: make.sh MILLRACE NAME     writes NAME.rows and NAME.key
# Needs nats-server, curl and mdb_dump (Debian: lmdb-utils).
set -euo pipefail
program=$1
name=$2
work=$(mktemp -d)
mkdir "$work/streams"
nats-server -a 127.0.0.1 -p 14222 -js -sd "$work/streams" > "$work/nats.log" 2>&1 &
nats=$!
"$program" serve --data "$work/data" --listen 127.0.0.1:18080 --nats nats://127.0.0.1:14222 \
  > "$work/millrace.log" 2>&1 &
millrace=$!
trap 'kill $nats $millrace 2> /dev/null; rm -rf "$work"' EXIT

url=http://127.0.0.1:18080
until curl -sf $url/readyz > /dev/null; do sleep 0.1; done
run() { "$program" --url $url "$@" > /dev/null; }
workflow() { cat > "$work/one.yaml"; run workflow apply "$work/one.yaml"; }
publish() {  # TYPE ID [KEY]
  curl -sf $url/v1/ns/default/events -H 'content-type: application/cloudevents+json' \
    -d "{\"specversion\": \"1.0\", \"id\": \"$2\", \"source\": \"/dump\", \"type\": \"$1\",
         \"key\": \"${3:-none}\", \"data\": {\"key\": \"${3:-none}\"}}" > /dev/null
}

# Nothing listens on port 9: each delivery and each call fails, and is tried again later.
echo -n 4711 | run secret set card
echo -n open-sesame | run secret set token
run namespace create default --settings '{
  "lifecycle": true,
  "services": {"down": {"url": "http://127.0.0.1:9/"}},
  "webhooks": [{"url": "http://127.0.0.1:9/failures", "types": ["millrace.instance.failed"],
                "secret": "token", "retries": {"maximumAttempts": 20, "initialInterval": "5h"}}]}'

workflow <<'YAML'
id: waits
start: {type: event, event: {type: begin}}
states:
- id: wait
  type: consumeEvent
  event: {type: go, context: {key: jq(.begin.key)}}
  timeout: PT10H
YAML
workflow <<'YAML'
id: child
states:
- {id: wait, type: consumeEvent, event: {type: finish}}
YAML
workflow <<'YAML'
id: parent
functions: [{id: f, type: subflow, workflow: child}]
states:
- {id: call, type: action, action: {function: f}}
YAML
workflow <<'YAML'
id: order
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- id: pay
  type: action
  action: {function: charge, secrets: [card], input: {card: jq(.secrets.card)}}
YAML
workflow <<'YAML'
id: flaky
functions: [{id: ask, type: knative-namespace, service: down}]
states:
- id: ask
  type: action
  action: {function: ask, retries: {maximumAttempts: 5, initialInterval: 1h}}
YAML
workflow <<'YAML'
id: later
states:
- {id: now, type: generateEvent, event: {type: noted, source: s}, transition: later}
- {id: later, type: generateEvent, event: {type: noted.later, source: s}, delay: PT5H}
YAML
workflow <<'YAML'
id: pairs
start: {type: eventsAnd, correlate: [key], lifespan: P1D, events: [{type: left}, {type: right}]}
states:
- {id: a, type: noop}
YAML
workflow <<'YAML'
id: both
states:
- {id: wait, type: eventAnd, events: [{type: one}, {type: two}]}
YAML
workflow <<'YAML'
id: hourly
start: {type: scheduled, cron: '0 * * * *'}
states:
- {id: a, type: noop}
YAML
workflow <<'YAML'
id: keeps
states:
- id: keep
  type: setter
  variables:
  - {key: own, scope: instance, value: 1}
  - {key: ours, scope: workflow, value: 2}
  - {key: all, scope: namespace, value: 3}
YAML
workflow <<'YAML'
id: fails
states:
- {id: stop, type: error, error: sold.out, message: nothing is left}
YAML
workflow <<'YAML'
id: again
retries: {max_attempts: 3, delay: PT20H, codes: ['*']}
states:
- {id: e, type: error, error: my.err, message: bad}
YAML
workflow <<'YAML'
id: naps
states:
- {id: nap, type: delay, duration: PT3H}
YAML

for key in a b; do publish begin "begin-$key" $key; done
publish go go-a a
publish left left-1 k
run run parent
run run order --input '{"n": 1}' --id 'first order'
for id in flaky later both keeps fails again naps; do run run $id; done
publish one one-1
sleep 5  # until all instances wait or have ended, and the first attempts have failed
kill $millrace
wait $millrace || true

# The row of the tree `journal` belongs to the journal files, which have no commit after a stop.
mdb_dump -a "$work/data" | awk '
  /^database=/ { tree = substr($0, 10); rows = 0 }
  /^DATA=END/ { if (rows == 0 || tree == "journal") print tree }
  /^ / {
    text = substr($0, 2)
    if (!has_key) { key = text; has_key = 1; next }
    has_key = 0
    ++rows
    if (tree != "journal") print tree, key, text == "" ? "-" : text
  }' > "$name.rows"
cp "$work/data/secret-key" "$name.key"
