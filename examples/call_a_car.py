#!/usr/bin/env python3
"""Calls a car by the HTTP API of a node and waits until it has been served.

    LIFTMESH_TOKEN=… python3 call_a_car.py http://127.0.0.1:7080 3 down
    LIFTMESH_TOKEN=… python3 call_a_car.py http://127.0.0.1:7080 0 --to 3

Needs nothing but Python. The token is made by `liftmesh token create --scope call`.
"""
import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid


def place(node, token, call):
    """Places a call. After a break of the connection the same request is sent again: its id makes
    sure that the call is placed once."""
    body = json.dumps({"call": call, "request_id": str(uuid.uuid4())}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for attempt in range(5):
        request = urllib.request.Request(f"{node}/api/v1/calls", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            if error.code != 503 and error.code != 429:
                sys.exit(f"refused: {problem['detail']} ({problem['code']})")
        except OSError:
            pass
        time.sleep(2**attempt / 4)
    sys.exit("the node does not answer")


def messages(stream):
    """The messages of an event stream: kind and data."""
    kind = None
    for line in stream:
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def main():
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
    with urllib.request.urlopen(f"{args.node}/api/v1/events", timeout=300) as stream:
        placed = place(args.node, os.environ["LIFTMESH_TOKEN"], call)
        print(placed["id"], placed["state"], flush=True)
        for kind, data in messages(stream):
            if placed["state"] == "absorbed":
                return
            if kind == "event" and data["event"] == "served" and data["call"] == call:
                print(f"served by {data['car']} after {data['waited']:.1f} s")
                return


if __name__ == "__main__":
    main()
