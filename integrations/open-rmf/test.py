"""The adapter between a fleet of real nodes and robots on Cyclone DDS. `./test` runs it."""
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

INTERFACE = '<Interfaces><NetworkInterface name="lo" multicast="true"/></Interfaces>'
os.environ["CYCLONEDDS_URI"] = (
    f"<CycloneDDS><Domain><General>{INTERFACE}<AllowMulticast>true</AllowMulticast></General>"
    "</Domain></CycloneDDS>")

from robot import AGV_MODE, DOOR_CLOSED, END_SESSION, HUMAN_MODE, Robot, Site  # noqa: E402

LIFTMESH, ADAPTER = os.environ["LIFTMESH"], os.environ["ADAPTER"]
SILENCE = 5
NODES = {"A": "127.64.0.1", "B": "127.64.0.2"}
URLS = {"A": "http://127.64.0.1:7080", "B": "https://127.64.0.2:7080"}


class Fleet:
    """Two nodes, their simulated cars, and the adapter."""

    def __init__(self, directory):
        self.directory, self.running = Path(directory), {}
        self.certificate, self.key = self.directory / "node.crt", self.directory / "node.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-keyout", self.key, "-out", self.certificate, "-subj", "/CN=node B", "-days", "2",
             "-addext", "subjectAltName=IP:127.64.0.2", "-addext", "basicConstraints=critical,CA:FALSE"],
            check=True, capture_output=True)
        self.key.chmod(0o600)
        for name in NODES:
            panel = self.directory / f"panel-{name}"
            # A fast car, so that the test takes less time, on a machine that may be busy.
            self.start(f"car {name}", LIFTMESH, "simulate", "--serial-link", panel,
                       "--control", f"{panel}.control", "--speed", "4", "--acceleration", "3",
                       "--jerk", "6", "--door-opening", "300ms", "--door-closing", "300ms",
                       "--watchdog", "3s")
            self.start_node(name)

    def start(self, what, *command, **environment):
        log = open(self.directory / f"{what.replace(' ', '-')}.log", "ab")
        self.running[what] = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=os.environ | environment)

    def start_node(self, name):
        tls = ["--http-certificate", self.certificate, "--http-key", self.key] if name == "B" else []
        self.start(f"node {name}", LIFTMESH, "run", "--car", name, "--address", NODES[name],
                   "--broadcast", "127.255.255.255:46100", "--floors", "4",
                   "--panel", f"serial://{self.directory}/panel-{name}",
                   "--data-dir", self.directory / f"node-{name}",
                   "--http-address", f"{NODES[name]}:7080",
                   "--dispatch-strategy", "collective", "--door-dwell", "1s",
                   "--panel-line-silence-limit", "3s", *tls)

    def start_adapter(self):
        self.start("adapter", ADAPTER, *URLS.values(), "--ca-file", self.certificate,
                   "--silence", SILENCE, "--topic", "lift_requests",
                   "--topic", "adapter_lift_requests", LIFTMESH_TOKEN=self.token)

    def make_token(self):
        self.token = subprocess.run(
            [LIFTMESH, "token", "create", "--name", "open-rmf", "--scope", "call", "--data-dir",
             self.directory / "node-A"], check=True, capture_output=True, text=True).stdout.strip()

    def kill(self, what):
        self.running[what].send_signal(signal.SIGKILL)
        self.running.pop(what).wait()

    def ask(self, node, path):
        try:
            headers = {"Authorization": f"Bearer {self.token}"}
            request = Request(f"{URLS[node]}/api/v1/{path}", headers=headers)
            tls = ssl.create_default_context(cafile=self.certificate) if node == "B" else None
            with urlopen(request, timeout=2, context=tls) as answer:
                return json.load(answer)
        except OSError:
            return None

    def session(self, node, car):
        """The session that a car has, by the word of a node."""
        cars = self.ask(node, "cars") or []
        return next((it["session"] for it in cars if it["car"] == car), None)

    def log(self, what):
        return (self.directory / f"{what}.log").read_text()


def states_are_published(fleet, site):
    site.wait("both lifts are published", lambda: NODES.keys() <= site.lifts.keys())
    lift = site.wait("lift B is in service", lambda: site.lifts["B"].current_mode == 1 and site.lifts["B"])
    assert list(lift.available_floors) == ["0", "1", "2", "3"], lift
    assert list(lift.available_modes) == [1, 2, 3, 4, 5] and lift.session_id == "", lift
    assert abs(lift.lift_time.sec - time.time()) < 60, lift
    site.heard.clear()
    site.wait("an idle lift is published once a second",
              lambda: sum(state.lift_name == "B" for _, state in site.heard) >= 3)
    times = [at for at, state in site.heard if state.lift_name == "B"]
    assert 1 < times[2] - times[0] < 20, times


def a_robot_rides_through_the_death_of_a_node(fleet, site):
    robot = Robot(site, "fleet/one", "B")
    robot.go("2")
    site.wait("lift B is open at 2 for the robot", robot.has_arrived)
    assert site.lifts["B"].current_mode == 2, site.lifts["B"]
    robot.go("0")
    site.wait("the lift moves", lambda: site.lifts["B"].motion_state == 2)
    fleet.kill("node A")
    site.wait("it arrives, though the node that the adapter asked is dead", robot.has_arrived)
    assert "http://127.64.0.1:7080 does not answer" in fleet.log("adapter"), fleet.log("adapter")
    robot.end()
    site.wait("the session has ended", lambda: not robot.has_lift() and fleet.session("B", "B") is None)
    fleet.start_node("A")
    site.wait("node A is back", lambda: fleet.ask("A", "fleet"))
    robot.die()


def robots_take_turns(fleet, site):
    one, two = Robot(site, "fleet/one", "B"), Robot(site, "fleet/two", "B")
    one.go("1")
    two.go("2")
    site.wait("one of two robots gets the lift", lambda: one.has_arrived() or two.has_arrived())
    first, second = (one, two) if one.has_lift() else (two, one)
    site.heard.clear()
    site.wait("the other one waits", lambda: len(site.heard) > 3)
    assert {state.session_id for _, state in site.heard if state.lift_name == "B"} == {first.name}
    first.end()
    site.wait("then it gets the lift", second.has_arrived)
    second.end()
    site.wait("and ends", lambda: not second.has_lift())
    one.die()
    two.die()


def a_killed_adapter_resumes(fleet, site):
    robot = Robot(site, "fleet/three", "A")
    robot.go("1")
    site.wait("lift A is open at 1", robot.has_arrived)
    session = fleet.session("A", "A")
    fleet.kill("adapter")
    robot.go("2")
    fleet.start_adapter()
    site.lifts.clear()
    site.wait("after kill -9 of the adapter, the robot goes on", robot.has_arrived)
    assert session and fleet.session("A", "A") == session, (session, fleet.session("A", "A"))
    fleet.kill("adapter")
    robot.end()
    fleet.start_adapter()
    site.lifts.clear()
    site.wait("after another one, it ends the session",
              lambda: "A" in site.lifts and not robot.has_lift() and fleet.session("A", "A") is None)
    robot.die()


def what_is_not_served_changes_nothing(fleet, site):
    for lift, session, floor, kind in [
            ("Z", "fleet/six", "0", AGV_MODE), ("A", "fleet/six", "9", AGV_MODE),
            ("A", "", "0", AGV_MODE), ("A", "fleet/six", "0", HUMAN_MODE),
            ("A", "fleet/six", "0", END_SESSION)]:
        site.request(lift, session, floor, kind)
    expected = ["lift Z is not one of this fleet", "fleet/six requests floor 9",
                "a request for lift A has no session_id", "fleet/six requests mode 2"]
    site.wait("it is logged", lambda: all(it in fleet.log("adapter") for it in expected))
    assert "fleet/six requests lift" not in fleet.log("adapter")


def sessions_end_with_their_robots(fleet, site):
    dead, alive = Robot(site, "fleet/four", "A"), Robot(site, "fleet/five", "B")
    dead.go("2")
    alive.go("2")
    site.wait("two lifts are open for two robots", lambda: dead.has_arrived() and alive.has_arrived())
    site.heard.clear()
    dead.die()
    died = time.monotonic()
    # Somebody else's end, and a closed door, which AGV mode does not have.
    site.request("B", dead.name, "2", END_SESSION)
    site.request("B", alive.name, "2", AGV_MODE, DOOR_CLOSED)
    site.wait("the session of the silent robot ends", lambda: fleet.session("B", "A") is None)
    assert time.monotonic() - died > SILENCE / 2
    assert "fleet/four has requested nothing" in fleet.log("adapter")
    site.wait("the other's door stays open for longer than without requests",
              lambda: site.heard[-1][0] - site.heard[0][0] > 2 * SILENCE)
    assert {state.session_id for _, state in site.heard if state.lift_name == "B"} == {alive.name}
    assert alive.has_arrived(), site.lifts["B"]
    alive.die()
    fleet.kill("adapter")
    site.wait("without its robot and the adapter, it closes", lambda: fleet.session("B", "B") is None)


with tempfile.TemporaryDirectory(prefix="open-rmf-") as directory:
    fleet = Fleet(directory)
    try:
        site = Site()
        site.wait("node A runs", lambda: (fleet.directory / "node-A/node.sock").exists())
        fleet.make_token()
        site.wait("both nodes answer", lambda: all(fleet.ask(node, "fleet") for node in NODES))
        fleet.start_adapter()
        began = time.monotonic()
        for part in [states_are_published, a_robot_rides_through_the_death_of_a_node, robots_take_turns,
                     a_killed_adapter_resumes, what_is_not_served_changes_nothing,
                     sessions_end_with_their_robots]:
            print(part.__name__.replace("_", " "), flush=True)
            part(fleet, site)
        print(f"passed in {time.monotonic() - began:.0f} s")
    except BaseException:
        for log in Path(directory).glob("*.log"):
            print(log.name, log.read_text()[-3000:], sep="\n", file=sys.stderr)
        raise
    finally:
        for what in list(fleet.running):
            fleet.kill(what)
