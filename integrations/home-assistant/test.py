"""The test of discovery.py: run ./test, which installs what it needs.

The nodes and Mosquitto are real, with the access control list of config/mosquitto. With HASS, so is
Home Assistant, and is asked over its REST API. Otherwise the test reads the documents in its place.
"""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import jinja2
import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

import discovery

ROOT = Path(__file__).resolve().parents[2]
LIFTMESH, HASS = os.environ["LIFTMESH"], os.environ.get("HASS")
BROKER, HASS_ADDRESS = "127.61.0.1", "127.61.0.2"
TOPIC, FLOORS = "liftmesh/north", ["G", "1", "2", "+3"]
USERS = ["liftmesh", "bms", "home-assistant", "home-assistant-discovery"]
PATIENCE = 60
# The age of a state that is old; far less than usual, to keep the test short.
MAX_AGE = 5


def wait(what, condition):
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < PATIENCE, f"waited in vain: {what}"
        time.sleep(0.1)
    print(f"{what} ({time.monotonic() - started:.1f} s)", flush=True)


def stays(what, condition, seconds):
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        assert condition(), what
        time.sleep(0.1)
    print(f"{what} (for {seconds} s)", flush=True)


def free_port(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as held:
        held.bind((address, 0))
        return held.getsockname()[1]


class Site:
    """A directory, and the processes that run there."""

    def __init__(self, place):
        self.place, self.running = place, {}
        self.port, self.beacons = free_port(BROKER), free_port(BROKER, socket.SOCK_DGRAM)
        (place / "building.toml").write_text("".join(
            f'[[floors]]\nlabel = "{label}"\nheight = {index * 3.0}\n'
            for index, label in enumerate(FLOORS)))
        (place / "password").write_text("open sesame\n")
        (place / "password").chmod(0o600)
        (place / "users").touch()
        for user in USERS:
            subprocess.run(["mosquitto_passwd", "-b", place / "users", user, "open sesame"],
                           check=True, capture_output=True)
        (place / "broker.conf").write_text(
            f"user root\nlistener {self.port} {BROKER}\npassword_file {place}/users\n"
            f"acl_file {ROOT}/config/mosquitto/liftmesh.acl\n"
            f"persistence true\npersistence_location {place}/\n")

    def start(self, name, *command):
        with open(self.place / f"{name}.log", "a") as log:
            self.running[name] = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self, name, how=signal.SIGTERM):
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait(PATIENCE)

    def start_broker(self):
        self.start("broker", "mosquitto", "-c", self.place / "broker.conf")

    def start_program(self, *options):
        self.start("program", sys.executable, discovery.__file__, "--topic", TOPIC,
                   "--broker", f"mqtt://{BROKER}:{self.port}", "--max-age", MAX_AGE,
                   "--username", "home-assistant-discovery",
                   "--password-file", self.place / "password", *options)

    def start_car(self, number):
        self.start(f"car-{number}", LIFTMESH, "simulate", "--quiet",
                   "--building", self.place / "building.toml",
                   "--serial-link", self.place / f"panel-{number}")

    def start_node(self, name, number):
        self.start(f"node-{name}", LIFTMESH, "run", "--car", name, "--fleet", "north",
                   "--address", f"127.61.1.{number}",
                   "--broadcast", f"127.255.255.255:{self.beacons}",
                   "--panel", f"serial://{self.place}/panel-{number}",
                   "--building", self.place / "building.toml",
                   "--data-dir", self.place / f"node-{name}",
                   "--mqtt-broker", f"mqtt://{BROKER}:{self.port}", "--mqtt-topic", TOPIC,
                   "--mqtt-username", "liftmesh", "--mqtt-password-file", self.place / "password")

    def print_logs(self):
        for log in sorted(self.place.glob("*.log")):
            print(f"== {log.name}", *log.read_text().splitlines()[-25:], sep="\n", file=sys.stderr)


class Client:
    """A client of the broker. It keeps the latest message of each topic, and when it came."""

    def __init__(self, user, port, *topics):
        self.latest = {}
        # The version that Home Assistant uses unless told otherwise.
        self.mqtt = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv311)
        self.mqtt.username_pw_set(user, "open sesame")
        self.mqtt.on_connect = lambda *_: self.mqtt.subscribe([(topic, 1) for topic in topics])
        self.mqtt.on_message = self.on_message
        self.mqtt.reconnect_delay_set(1, 1)
        self.mqtt.connect_async(BROKER, port)
        self.mqtt.loop_start()

    def on_message(self, _client, _data, message):
        self.latest[message.topic] = message.payload.decode(), time.time()

    def read(self, topic):
        return self.latest.get(topic, ("", 0))

    def publish(self, topic, payload):
        self.mqtt.publish(topic, payload, qos=1).wait_for_publish(PATIENCE)


class Documents:
    """What Home Assistant would show. It has no `latest`: that the fleet is there is enough."""

    def __init__(self, site):
        self.client = Client("home-assistant", site.port, "homeassistant/#", f"{TOPIC}/fleet",
                             f"{TOPIC}/cars/+", f"{TOPIC}/nodes/+")
        templates = jinja2.Environment(undefined=jinja2.StrictUndefined)
        templates.filters["to_json"] = json.dumps
        self.template = functools.cache(templates.from_string)

    def render(self, template, payload="", at=None):
        def as_timestamp(moment):
            is_text = isinstance(moment, str)
            return datetime.fromisoformat(moment).timestamp() if is_text else moment
        values = {"now": lambda: at or time.time(), "as_timestamp": as_timestamp}
        if payload:
            values["value_json"] = json.loads(payload)
        return self.template(template).render(values)

    def documents(self):
        said = [payload for topic, (payload, _) in list(self.client.latest.items())
                if topic.endswith("/config") and payload]
        found = [json.loads(payload) for payload in said]
        return {f"{it['device']['name']} {it['name']}": it for it in found}

    def states(self):
        return {name: self.state(document) for name, document in self.documents().items()}

    def state(self, document):
        fresh = document["availability"][0]
        if self.render(fresh["value_template"], *self.client.read(fresh["topic"])) != "online":
            return "unavailable"
        if "state_topic" not in document:
            return "unknown"
        said = self.client.read(document["state_topic"])
        if "json_attributes_template" in document:
            assert "reason" in json.loads(self.render(document["json_attributes_template"], *said))
        return self.render(document["value_template"], *said).lower()

    def press(self, name):
        document = self.documents()[name]
        assert document["qos"] == 1
        self.client.publish(document["command_topic"], self.render(document["command_template"]))


class HomeAssistant:
    """What a real Home Assistant shows. It is set up as its owner does it in the browser."""

    def __init__(self, site):
        self.site, self.token = site, None
        self.client = Client("home-assistant", site.port, "homeassistant/status")
        self.config, port = site.place / "hass", free_port(HASS_ADDRESS)
        self.url = f"http://{HASS_ADDRESS}:{port}"
        self.config.mkdir()
        (self.config / "configuration.yaml").write_text(
            f"http:\n  server_host: {HASS_ADDRESS}\n  server_port: {port}\n")
        self.start()
        owner = {"name": "Owner", "username": "owner", "password": "open sesame",
                 "client_id": self.url, "language": "en"}
        code = self.ask("api/onboarding/users", owner)["auth_code"]
        grant = {"grant_type": "authorization_code", "code": code, "client_id": self.url}
        self.token = self.ask("auth/token", urlencode(grant).encode())["access_token"]
        flow = self.ask("api/config/config_entries/flow", {"handler": "mqtt"})
        broker = {"broker": BROKER, "port": site.port, "username": "home-assistant",
                  "password": "open sesame"}
        made = self.ask(f"api/config/config_entries/flow/{flow['flow_id']}", broker)
        assert made["type"] == "create_entry", made

    def start(self):
        self.site.start("hass", HASS, "--config", self.config, "--skip-pip")
        wait("Home Assistant answers", self.is_up)

    def is_up(self):
        assert self.site.running["hass"].poll() is None, "Home Assistant has ended"
        try:
            return self.ask("api/onboarding")
        except OSError:
            return None

    def ask(self, path, body=None):
        is_form = isinstance(body, bytes)
        data = body if is_form or body is None else json.dumps(body).encode()
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        headers = {"Content-Type": kind}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        with urlopen(Request(f"{self.url}/{path}", data, headers), timeout=PATIENCE) as answer:
            return json.load(answer)

    def entities(self):
        ours = ("sensor.lift", "binary_sensor.lift", "button.lift")
        return {it["attributes"]["friendly_name"]: it for it in self.ask("api/states")
                if it["entity_id"].startswith(ours)}

    def states(self):
        return {name: entity["state"].lower() for name, entity in self.entities().items()}

    def press(self, name):
        self.ask("api/services/button/press", {"entity_id": self.entities()[name]["entity_id"]})


CALLS = {f"Lift Call {direction} at {floor}" for floor, direction in
         [("G", "up"), ("1", "up"), ("1", "down"), ("2", "up"), ("2", "down"), ("+3", "down")]}


def entities(*cars):
    return CALLS | {f"Lift {car} {name}" for _, _, name, *_ in discovery.CAR for car in cars}


def check_rules():
    """What this test's fleet does not have: two entrances, ids with marks, cars gone for long."""
    assert len({discovery.escaped(it) for it in ("a.b", "a-b", "a_b", "a-2eb", "ä", "+")}) == 6
    building = {"floors": [{"label": "G", "doors": ["front", "rear"]}, {"label": "1"}]}
    assert list(discovery.buttons(building)) == [
        ("G", "up", "front"), ("G", "up", "rear"), ("1", "down", None)]
    members = discovery.Members(forget_after=10)

    def node(name, number):
        return {"node": name, "role": "cabin", "address": f"10.0.0.{number}"}
    a, b, c = node("A", 1), node("B", 2), node("C", 2)
    for now, nodes, lost, hung, expected in [
        (0, [a, b], [], [], "AB"), (50, [a], [b], [], "AB"), (55, [a], [], [], "AB"),
        (70, [a], [], ["B"], "AB"), (79, [a], [], [], "AB"), (81, [a], [], [], "A"),
        (82, [a, b], [], [], "AB"), (83, [a, c], [b], [], "AC"), (84, [a, c], [b], [], "AC"),
    ]:
        found = members.update({"nodes": nodes, "lost": lost, "hung": hung}, now)
        assert sorted(found) == list(expected), (now, found)


def check(site):
    check_rules()
    site.start_broker()
    for number, name in (1, "A"), (2, "B"):
        site.start_car(number)
        site.start_node(name, number)
    site.start_program()
    shown = (HomeAssistant if HASS else Documents)(site)
    bms = Client("bms", site.port, f"{TOPIC}/#")

    def are(*cars):
        """Whether exactly the entities of these cars are there, and available."""
        states = shown.states()
        return set(states) == entities(*cars) and "unavailable" not in states.values()

    def has_door(floor, door):
        states = shown.states()
        return any(states[f"Lift {car} Floor"] == floor and states[f"Lift {car} Door"] == door
                   for car in "ABC" if f"Lift {car} Door" in states)

    def is_nothing():
        return set(shown.states().values()) == {"unavailable"}

    wait("the entities appear", lambda: are("A", "B"))
    allowed = {"Floor": FLOORS, "Direction": ["up", "down", "none"], "Mode": ["in-service"],
               "Door": ["closed", "opening", "open", "closing"], "Fault": ["off"],
               "Alarm": ["off"], "Hang": ["off"]}
    wait("they have the states of healthy cars", lambda: all(
        state in allowed[name[7:]] for name, state in shown.states().items() if name not in CALLS))

    # In vain, without the right.
    bms.publish(f"{TOPIC}/calls", '{"call":{"kind":"hall","floor":"+3","direction":"down"}}')
    for time_ in "first", "second":
        shown.press("Lift Call up at 2")
        wait(f"a car opens its door, the {time_} time", lambda: has_door("2", "open"))
        wait("it closes", lambda: not has_door("2", "open") and has_door("2", "closed"))
    assert bms.read(f"{TOPIC}/orders")[0] == "[]", bms.read(f"{TOPIC}/orders")

    site.end("node-B", signal.SIGKILL)
    wait("a lost car is not shown", lambda: shown.states()["Lift B Floor"] == "unavailable")
    assert set(shown.states()) == entities("A", "B")
    site.start_node("C", 2)
    wait("a renamed car has its new name only", lambda: are("A", "C"))

    site.end("program")
    site.start_program("--call-from", "none")
    wait("the buttons are removed", lambda: set(shown.states()) == entities("A", "C") - CALLS)
    site.end("program")
    site.start_program()
    wait("the buttons are back", lambda: are("A", "C"))

    # The broker keeps the state of a fleet that is no more.
    site.end("node-A", signal.SIGKILL)
    site.end("node-C", signal.SIGKILL)
    ended = time.monotonic()
    if HASS:
        wait("a fleet that has died is not shown", is_nothing)
    site.end("broker")
    wait("its state is old", lambda: time.monotonic() - ended > MAX_AGE)
    shown.client.latest.clear()
    site.start_broker()
    wait("the broker is back", lambda: shown.client.latest)
    if HASS:
        stays("nothing old is shown", is_nothing, 15)
        site.end("hass")
        shown.start()
        wait("the entities are known", lambda: set(shown.states()) == entities("A", "C"))
    stays("nothing old is shown", is_nothing, 5)
    site.start_node("A", 1)
    site.start_node("C", 2)
    wait("the fleet is shown again", lambda: are("A", "C"))
    if HASS:
        site.end("hass")
        shown.start()
        wait("Home Assistant shows it after a restart", lambda: are("A", "C"))
    shown.press("Lift Call down at 1")
    wait("a car comes", lambda: has_door("1", "open"))


if __name__ == "__main__":
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="liftmesh-hass-") as directory:
        place = Site(Path(directory))
        try:
            check(place)
        except BaseException:
            place.print_logs()
            raise
        finally:
            for process in place.running.values():
                process.kill()
                process.wait()
    print(f"took {time.monotonic() - began:.0f} s\n1 passed, 0 failed")
