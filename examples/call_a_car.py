#!/usr/bin/env python3
"""Takes a robot from one floor to another: opens a session, so that a car comes and holds its door
open, asks for the next floor once the robot is in, and ends the session. Needs nothing but Python.

    export LIFTMESH_TOKEN=…        # made by `liftmesh token create --scope call --name NAME`
    python3 call_a_car.py --from 0 --to 3 http://127.0.0.1:7080
    python3 call_a_car.py --from 0 --to 3 --ca fleet.crt https://192.168.1.11:7080 https://192.168.1.12:7080

Any node takes any request; if one does not answer, the next one is asked.
"""
import argparse, json, os, ssl, sys, time, uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

parser = argparse.ArgumentParser()
parser.add_argument("nodes", nargs="+")
parser.add_argument("--from", required=True, dest="start")
parser.add_argument("--to", required=True)
parser.add_argument("--ca", help="a file with the certificate that vouches for the nodes")
args = parser.parse_args()
tls = ssl.create_default_context(cafile=args.ca)
headers = {"Authorization": f"Bearer {os.environ['LIFTMESH_TOKEN']}", "Content-Type": "application/json"}


def ask(method, path, body=None):
    """The answer of the first node that has one. All requests may be repeated: the `request_id` makes
    sure that one session is opened, and the others say what is to be."""
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(12):
        node = args.nodes[0]
        try:
            request = Request(f"{node}/api/v1/{path}", data, headers, method=method)
            with urlopen(request, timeout=5, context=tls if node.startswith("https") else None) as answer:
                return json.load(answer)
        except HTTPError as error:
            problem = json.load(error)
            if error.code not in (429, 503):
                sys.exit(f"refused: {problem['detail']} ({problem['code']})")
        except OSError as error:
            print(f"{node} does not answer: {error}", file=sys.stderr)
        args.nodes.append(args.nodes.pop(0))
        time.sleep(min(0.25 * 2 ** (attempt // len(args.nodes)), 4))
    sys.exit("no node answers")


def wait_until_open(session):
    """Waits until the car holds its door open where the session wants it."""
    print(session["state"], session["car"] or "", flush=True)
    while session["state"] != "open":
        if session["state"] == "ended":
            sys.exit(f"the session has ended: {session['reason']}")
        time.sleep(0.2)
        session = ask("GET", f"sessions/{session['id']}")
    print(f"open at {session['floor']}, car {session['car']}", flush=True)


session = ask("POST", "sessions", {"floor": args.start, "request_id": str(uuid.uuid4())})
try:
    wait_until_open(session)
    # Here the robot drives into the car, and then:
    wait_until_open(ask("PUT", f"sessions/{session['id']}", {"floor": args.to}))
    # Here it drives out.
finally:
    print("ended:", ask("DELETE", f"sessions/{session['id']}")["reason"])
