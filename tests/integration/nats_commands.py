"""The commands `stream add` and `pub` of the NATS command line, as far as docs/first-source.md uses them."""
import json
import os
import socket
import sys
from urllib.parse import urlparse


def connect():
    url = urlparse(os.environ["NATS_URL"])
    channel = socket.create_connection((url.hostname, url.port), 30).makefile("rwb")
    channel.readline()
    login = {"verbose": False, "user": os.environ.get("NATS_USER"), "pass": os.environ.get("NATS_PASSWORD")}
    channel.write(b"CONNECT %s\r\n" % json.dumps({k: v for k, v in login.items() if v is not None}).encode())
    return channel


def publish(channel, subject, data, reply=""):
    channel.write(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\nPING\r\n")
    channel.flush()


def answer(channel):
    """The data of the next message, which is JSON."""
    while line := channel.readline():
        word = line.split()[0]
        if word == b"MSG":
            return json.loads(channel.read(int(line.split()[-1])))
        if word == b"-ERR":
            sys.exit(line.decode())
    sys.exit("the connection was closed")


def add_stream(name, options):
    config = {"name": name, "storage": "file", "retention": "limits", "max_msgs": -1, "max_bytes": -1, "max_age": 0}
    while options:
        option = options.pop(0)
        if option == "--subjects":
            config["subjects"] = options.pop(0).split(",")
        elif option == "--config":
            with open(options.pop(0), encoding="utf-8") as file:
                config = json.load(file)
        elif option != "--defaults":
            sys.exit(f"unknown option {option}")
    channel = connect()
    channel.write(b"SUB _TEST.1 1\r\n")
    publish(channel, f"$JS.API.STREAM.CREATE.{name}", json.dumps(config).encode(), "_TEST.1")
    made = answer(channel)
    if "error" in made:
        sys.exit(made["error"]["description"])


def main(arguments):
    if arguments[:2] == ["stream", "add"]:
        add_stream(arguments[2], arguments[3:])
    elif arguments[:1] == ["pub"] and len(arguments) == 3:
        channel = connect()
        publish(channel, arguments[1], arguments[2].encode())
        while not (line := channel.readline()).startswith(b"PONG"):
            if line.startswith(b"-ERR") or not line:
                sys.exit(line.decode())
    else:
        sys.exit(f"unknown command {arguments}")


main(sys.argv[1:])
