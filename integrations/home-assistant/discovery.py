#!/usr/bin/env python3
"""Makes Home Assistant show a fleet's cars, with a button for each hall button of the building.

It publishes discovery documents, which point Home Assistant at the topics of the nodes. States and
calls do not pass through it: when it stops, Home Assistant goes on.
"""

import argparse
import json
import logging
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

try:
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:
    sys.exit("paho-mqtt 2 is needed: pip install 'paho-mqtt>=2,<3'")

log = logging.getLogger("discovery")

EXAMPLES = """\
examples:
  %(prog)s --broker mqtt://127.0.0.1 --topic liftmesh/demo
  %(prog)s --broker mqtts://broker.example --topic liftmesh/north --name "North lift" \\
      --username home-assistant-discovery --password-file /etc/liftmesh/discovery-password
  %(prog)s --broker mqtt://127.0.0.1 --topic liftmesh/north --call-from G,1

docs/HOME-ASSISTANT.md describes the entities and the rights that are needed at the broker."""

# Each topic of the nodes is published every 5 s as a sign of life.
EXPIRE_AFTER = 15

# The entities of a car: component, key, name, topic of the state, what it shows, and the rest.
CAR = [
    ("sensor", "floor", "Floor", "cars/{car}", "value_json.floor or 'unknown'",
     {"icon": "mdi:elevator-passenger"}),
    ("sensor", "direction", "Direction", "cars/{car}", "value_json.direction or 'none'",
     {"icon": "mdi:swap-vertical", "device_class": "enum", "options": ["up", "down", "none"]}),
    ("sensor", "door", "Door", "cars/{car}", "value_json.door",
     {"icon": "mdi:door-sliding", "device_class": "enum",
      "options": ["closed", "opening", "open", "closing"]}),
    ("sensor", "mode", "Mode", "cars/{car}", "value_json.mode", {"icon": "mdi:tune"}),
    # It can't serve, though its mode would let it.
    ("binary_sensor", "fault", "Fault", "cars/{car}",
     "'ON' if value_json.mode in ['in-service', 'attendant'] and not value_json.in_service"
     " and value_json.unavailable != 'homing' else 'OFF'", {"device_class": "problem"}),
    ("binary_sensor", "alarm", "Alarm", "cars/{car}",
     "'OFF' if value_json.alarm == 'off' else 'ON'", {"device_class": "safety"}),
    # The node of a car that hung has ended, so only the fleet knows.
    ("binary_sensor", "hang", "Hang", "fleet",
     "'ON' if '{car}' in value_json.hung else 'OFF'", {"device_class": "problem"}),
]


def escaped(text):
    """A text as an id: different for each text, of letters, digits, `_` and `-` only."""
    return re.sub(rb"[^A-Za-z0-9_]", lambda it: b"-%02x" % it[0][0], text.encode()).decode()


def template(value):
    """A template that shows a value of a message, and nothing of an empty one."""
    return "{{ (" + value + ") if value_json is defined else none }}"


def buttons(building):
    """Each hall button: its floor, its direction, and its side at a floor with two entrances."""
    floors = building["floors"]
    for index, floor in enumerate(floors):
        sides = floor.get("doors", ["front"])
        for side in sides if len(sides) > 1 else [None]:
            if index < len(floors) - 1:
                yield floor["label"], "up", side
            if index > 0:
                yield floor["label"], "down", side


def documents(args, building, members):
    """The discovery documents, by topic, of a fleet with these members and their roles."""
    found, fleet_id = {}, escaped(args.topic)
    fleet_device = {"identifiers": [args.topic], "name": args.name, "manufacturer": "Liftmesh"}

    def add(component, key, document):
        document |= {"unique_id": f"{fleet_id}-{key}", "qos": 1, "origin": {"name": "Liftmesh"}}
        topic = f"{args.discovery_prefix}/{component}/{fleet_id}/{key}/config"
        found[topic] = json.dumps(document, sort_keys=True)

    def fresh(topic):
        """Available while the broker has a message there, unless it is an old one."""
        at = ("value_json.lift_state.lift_time.sec" if topic.startswith("cars/")
              else "as_timestamp(value_json.at)")
        young = f" and (as_timestamp(now()) - {at}) | abs < {args.max_age}" if args.max_age else ""
        is_there = "{{ 'online' if value_json is defined" + young + " else 'offline' }}"
        return {"topic": f"{args.topic}/{topic}", "value_template": is_there}

    for car in sorted(name for name, role in members.items() if role == "cabin"):
        device = {"identifiers": [f"{args.topic}/cars/{car}"], "name": f"{args.name} {car}",
                  "manufacturer": "Liftmesh", "via_device": args.topic}
        for component, key, name, topic, value, more in CAR:
            topic = topic.format(car=car)
            document = more | {
                "name": name, "device": device, "expire_after": EXPIRE_AFTER,
                "state_topic": f"{args.topic}/{topic}", "availability": [fresh(topic)],
                "value_template": template(value.replace("{car}", car))}
            if key == "fault":
                document["json_attributes_topic"] = f"{args.topic}/{topic}"
                reason = "{'reason': value_json.unavailable if value_json is defined else none}"
                document["json_attributes_template"] = "{{ " + reason + " | to_json }}"
            add(component, f"car-{escaped(car)}-{key}", document)

    # The latest word counts: a node that says `offline` is contradicted by the fleet that lives on.
    offline = "{{ 'offline' if value == 'offline' else '' }}"
    presence = [{"topic": f"{args.topic}/nodes/{node}", "value_template": offline}
                for node in sorted(members)]
    for floor, direction, side in buttons(building):
        if args.call_from is not None and floor not in args.call_from:
            continue
        call = {"kind": "hall", "floor": floor, "direction": direction}
        call |= {"side": side} if side else {}
        request = '"ha-{{ as_timestamp(now()) }}-{{ range(100000) | random }}"'
        key = f"call-{escaped(floor)}-{direction}" + (f"-{side}" if side else "")
        add("button", key, {
            "name": f"Call {direction} at {floor}" + (f", {side}" if side else ""),
            "icon": f"mdi:elevator-{direction}", "device": fleet_device,
            "availability": [fresh("fleet"), *presence], "availability_mode": "latest",
            "command_topic": f"{args.topic}/calls",
            "command_template": f'{{"call":{json.dumps(call)},"request_id":{request}}}'})
    return found


@dataclass
class Member:
    role: str
    address: str | None
    known_at: float


class Members:
    """The nodes that belong to the fleet, also while they are away."""

    def __init__(self, forget_after):
        self.forget_after = forget_after
        self.members = {}

    def remember(self, name, role, address, now):
        self.members[name] = Member(role, address, now)

    def update(self, fleet, now):
        """Takes in a state of the fleet; returns the roles of its members."""
        here = {node["node"]: node for node in fleet["nodes"]}
        taken = {node["address"] for node in here.values()}
        lost = {it["node"]: it for it in fleet["lost"] if it["address"] not in taken}
        for name, node in (lost | here).items():
            self.remember(name, node["role"], node["address"], now)
        for name in self.members.keys() & fleet["hung"]:
            self.members[name].known_at = now
        for name in self.members.keys() - here.keys():
            member = self.members[name]
            # The computer that had this name now has another one.
            is_renamed = member.address in taken
            if is_renamed or now - member.known_at > self.forget_after:
                log.info("%s %s: it is removed", name,
                         "has another name now" if is_renamed else "has left the fleet")
                del self.members[name]
        return {name: member.role for name, member in self.members.items()}


class Discovery:
    """Keeps the documents at the broker those of the fleet."""

    def __init__(self, args):
        self.args = args
        self.state = f"{args.topic}/fleet"
        self.documents = f"{args.discovery_prefix}/+/{escaped(args.topic)}/+/config"
        self.members = Members(args.forget_after)
        # What the broker retains.
        self.published = {}
        self.is_refused = False
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self.client.on_connect = self.on_connect
        self.client.on_connect_fail = lambda *_: log.warning("no connection to %s", args.broker)
        self.client.on_disconnect = self.on_disconnect
        self.client.on_subscribe = self.on_subscribe
        self.client.on_publish = self.on_publish
        self.client.on_message = self.on_message

    def run(self):
        args, broker = self.args, urlsplit(self.args.broker)
        if args.username:
            password = args.password_file and Path(args.password_file).read_text().rstrip("\n")
            self.client.username_pw_set(args.username, password)
        if broker.scheme == "mqtts":
            self.client.tls_set(ca_certs=args.ca_file)
        self.client.reconnect_delay_set(1, 30)
        port = broker.port or {"mqtt": 1883, "mqtts": 8883}[broker.scheme]
        self.client.connect_async(broker.hostname, port, keepalive=30)
        self.client.loop_forever(retry_first_connection=True)

    def on_connect(self, client, _data, _flags, reason, _properties):
        if reason.is_failure:
            log.error("the broker refuses the connection: %s", reason)
            return
        log.info("connected to %s", self.args.broker)
        # It may be another broker, or one that has forgotten them.
        self.published, self.is_refused = {}, False
        client.subscribe([(self.documents, 1), (self.state, 1)])

    def on_disconnect(self, _client, _data, _flags, reason, _properties):
        log.warning("the connection to %s ended: %s", self.args.broker, reason)

    def on_subscribe(self, _client, _data, _mid, reasons, _properties):
        for topic, reason in zip((self.documents, self.state), reasons):
            if reason.is_failure:
                log.error("the broker refuses to let this user read %s: %s", topic, reason)

    def on_publish(self, _client, _data, _mid, reason, _properties):
        if reason.is_failure and not self.is_refused:
            self.is_refused = True
            log.error("the broker refuses to let this user write %s: %s", self.documents, reason)

    def on_message(self, _client, _data, message):
        try:
            if message.topic != self.state:
                self.on_document(message.topic, message.payload.decode())
            # What is retained may be about a fleet that is no more.
            elif message.payload and not message.retain:
                self.show(json.loads(message.payload))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("%s has what this program does not understand: %r", message.topic, error)

    def on_document(self, topic, payload):
        """The broker has this document, perhaps from an earlier run."""
        self.published[topic] = payload
        state = json.loads(payload or "{}").get("state_topic", "")
        cars, _, car = state.rpartition("/")
        if cars == f"{self.args.topic}/cars" and car not in self.members.members:
            self.members.remember(car, "cabin", None, time.monotonic())

    def show(self, fleet):
        roles = self.members.update(fleet, time.monotonic())
        wanted = documents(self.args, fleet["building"], roles)
        before = {topic for topic, payload in self.published.items() if payload}
        for topic in before - wanted.keys():
            self.publish(topic, "")
        for topic, payload in wanted.items():
            if self.published.get(topic) != payload:
                self.publish(topic, payload)
        after = {topic for topic, payload in self.published.items() if payload}
        if before != after:
            log.info("%d entities, of which %d are new; %d are removed", len(after),
                     len(after - before), len(before - after))

    def publish(self, topic, payload):
        self.client.publish(topic, payload, qos=1, retain=True)
        self.published[topic] = payload


def broker(text):
    wrong = argparse.ArgumentTypeError("expected mqtt://HOST[:PORT], or mqtts:// for TLS")
    try:
        url = urlsplit(text)
        has_port = url.port != 0
    except ValueError:
        raise wrong from None
    is_bare = not url.username and not url.path.strip("/")
    if url.scheme not in ("mqtt", "mqtts") or not (url.hostname and has_port and is_bare):
        raise wrong
    return text


def topic(text):
    if not text or set(text) & set("+#") or "" in text.split("/"):
        raise argparse.ArgumentTypeError("expected a topic such as liftmesh/north")
    return text


def floors(text):
    return [] if text == "none" else text.split(",")


def seconds(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("expected a whole number of seconds")
    return int(text)


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", required=True, type=broker, metavar="URL",
                        help="the broker: mqtt://HOST:PORT, or mqtts:// for TLS")
    parser.add_argument("--topic", required=True, type=topic,
                        help="the fleet's topic: mqtt.topic of its nodes, or liftmesh/FLEET")
    parser.add_argument("--name", default="Lift",
                        help="what the devices are called: a car is NAME and its own name"
                        " (default: %(default)s)")
    parser.add_argument("--call-from", type=floors, metavar="FLOORS",
                        help="floors that get buttons, separated by commas, or none (default: all)")
    parser.add_argument("--max-age", type=seconds, default=60, metavar="SECONDS",
                        help="older states are not shown; 0 if the clocks of Home Assistant and"
                        " the nodes differ by more (default: %(default)s)")
    parser.add_argument("--forget-after", type=seconds, default=3600, metavar="SECONDS",
                        help="when to remove a car that the fleet neither hears nor lists as lost"
                        " (default: %(default)s)")
    parser.add_argument("--discovery-prefix", type=topic, default="homeassistant", metavar="TOPIC",
                        help="as set in Home Assistant (default: %(default)s)")
    parser.add_argument("--username", help="the user's name at the broker")
    parser.add_argument("--password-file", metavar="FILE", help="a file with the password")
    parser.add_argument("--ca-file", metavar="FILE",
                        help="whom to trust over TLS, as PEM (default: the system's authorities)")
    return parser.parse_args()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        Discovery(parse_args()).run()
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"discovery.py: {error}")
