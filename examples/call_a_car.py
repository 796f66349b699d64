#!/usr/bin/env python3
"""Calls a car by the HTTP API of a node and waits until it has come. Needs nothing but Python.

    export LIFTMESH_TOKEN=…        # made by `liftmesh token create --scope call --name NAME`
    python3 call_a_car.py http://127.0.0.1:7080 3 down
    python3 call_a_car.py http://127.0.0.1:7080 0 --to 3
"""
import argparse, json, os, sys, time, uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def place(node, token, call):
    """Places a call. The same request is sent again where the answer does not arrive: its id makes
    sure that the call is placed once."""
    body = json.dumps({"call": call, "request_id": str(uuid.uuid4())}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for attempt in range(5):
        try:
            with urlopen(Request(f"{node}/api/v1/calls", body, headers), timeout=10) as answer:
                return json.load(answer)
        except HTTPError as error:
            problem = json.load(error)
            if error.code not in (429, 503):
                sys.exit(f"refused: {problem['detail']} ({problem['code']})")
        except OSError:
            pass
        time.sleep(2**attempt / 4)
    sys.exit("the node does not answer")


def messages(stream):
    """The messages of an event stream: kind and data."""
    kind = None
    for line in stream:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


parser = argparse.ArgumentParser()
parser.add_argument("node")
parser.add_argument("floor", type=int)
parser.add_argument("direction", nargs="?", choices=["up", "down"], default="up")
parser.add_argument("--to", type=int, help="the floor where the passenger wants to go")
args = parser.parse_args()
call = {"kind": "hall", "floor": args.floor, "direction": args.direction}
if args.to is not None:
    call = {"kind": "destination", "from": args.floor, "to": args.to}
# The stream is opened first, so that the service of the call can't be missed.
with urlopen(f"{args.node}/api/v1/events", timeout=300) as stream:
    placed = place(args.node, os.environ["LIFTMESH_TOKEN"], call)
    print(placed["id"], placed["state"], flush=True)
    for kind, data in messages(stream if placed["state"] != "absorbed" else ()):
        if kind == "event" and data["event"] == "served" and data["call"] == call:
            print(f"served by {data['car']} after {data['waited']:.1f} s")
            break
