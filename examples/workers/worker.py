#!/usr/bin/env python3
# A worker on a plain socket: it converts words to capitals. worker.py host:port subject
import json, re, secrets, select, socket, sys

server, subject = sys.argv[1:]
consumer = subject.removeprefix("millrace.tasks.").replace(".", "+")
nats = socket.create_connection(server.split(":"))
lines = nats.makefile("rb", buffering=0)
inbox = "_INBOX." + secrets.token_hex(12)  # no other process may use this inbox

def work(task):
    if not task.get("word"): raise LookupError("word.missing", "the input has no word")
    return {"word": task["word"].upper()}

def publish(to, body="", headers="", reply=""):
    head = f"NATS/1.0\r\n{headers}\r\n"
    sizes = f"{len(head)} {len(head + body)}"
    nats.sendall(f"HPUB {to} {reply} {sizes}\r\n{head}{body}\r\n".encode())

def ask():  # for one task; if there is none the server answers 408 after four seconds
    publish(f"$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS.{consumer}",
            '{"batch":1,"expires":4000000000}', reply=inbox)

nats.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nSUB %s 1\r\n' % inbox.encode())
ask()
while True:
    while not select.select([nats], [], [], 5)[0]: ask()  # millrace has sent no task yet
    words = (lines.readline() or sys.exit("the server is gone")).decode().split()
    if words[0] == "PING": nats.sendall(b"PONG\r\n")
    if words[0] != "HMSG": continue
    head, body = nats.recv(int(words[-1]) + 2, socket.MSG_WAITALL).decode().split("\r\n\r\n", 1)
    if len(words) == 6:  # a task; without a reply subject there was no task
        publish(words[3], "+WPI")  # the task has started; repeat this every few seconds as a heartbeat
        answer = re.search("Millrace-Reply: ([^\r]*)", head)[1]
        try: publish(answer, json.dumps(work(json.loads(body))))
        except LookupError as e:
            publish(answer, "", "Direktiv-ErrorCode: {}\r\nDirektiv-ErrorMessage: {}\r\n".format(*e.args))
        publish(words[3], "+ACK")
    ask()
