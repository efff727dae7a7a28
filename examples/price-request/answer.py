#!/usr/bin/env python3
# Answers each price.asked event with a price.answered event, on a plain socket. answer.py host:port
import json, secrets, socket, sys

PRICES = {"tea": 450, "bread": 320}

nats = socket.create_connection(sys.argv[1].split(":"))
lines = nats.makefile("rb")

def answer(request):
    event = {
        "specversion": "1.0",
        "id": secrets.token_hex(12),
        "source": "answer.py",
        "type": "price.answered",
        "correlationid": request["correlationid"],  # the id of the instance that waits
        "datacontenttype": "application/json",
        "data": {"price": PRICES.get(request["data"]["article"], 100)},
    }
    body = json.dumps(event).encode()
    subject = "millrace.events.default.price.answered"
    nats.sendall(f"PUB {subject} {len(body)}\r\n".encode() + body + b"\r\n")

# The workers of the queue group `prices` share the requests.
nats.sendall(b'CONNECT {"verbose":false,"headers":true}\r\n'
             b"SUB millrace.events.default.price.asked prices 1\r\nPING\r\n")
while True:
    words = (lines.readline() or sys.exit("the server is gone")).decode().split()
    if words[0] == "PONG": print("answers the events price.asked", file=sys.stderr)  # it has subscribed
    if words[0] == "PING": nats.sendall(b"PONG\r\n")
    if words[0] not in ("MSG", "HMSG"): continue
    message = lines.read(int(words[-1]) + 2)[:-2]
    before = int(words[-2]) if words[0] == "HMSG" else 0  # the bytes of the headers
    answer(json.loads(message[before:]))
