"""A robot of Open-RMF on Eclipse Cyclone DDS: what its fleet adapter publishes while it takes a lift
(`rmf_fleet_adapter`, `RobotContext::_check_lift_state`). `--help` says how to ride by hand."""
import argparse
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import int32, sequence, uint8, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

END_SESSION, AGV_MODE, HUMAN_MODE = 0, 1, 2
DOOR_CLOSED, DOOR_MOVING, DOOR_OPEN = 0, 1, 2


@dataclass
class Time_(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@dataclass
class LiftState_(IdlStruct, typename="rmf_lift_msgs::msg::dds_::LiftState_"):
    lift_time: Time_
    lift_name: str
    available_floors: sequence[str]
    current_floor: str
    destination_floor: str
    door_state: uint8
    motion_state: uint8
    available_modes: sequence[uint8]
    current_mode: uint8
    session_id: str


@dataclass
class LiftRequest_(IdlStruct, typename="rmf_lift_msgs::msg::dds_::LiftRequest_"):
    lift_name: str
    request_time: Time_
    session_id: str
    request_type: uint8
    destination_floor: str
    door_state: uint8


# As `rmf_fleet_adapter` has them.
CDR = Policy.DataRepresentation(use_cdrv0_representation=True)
STATES = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(10), CDR)
REQUESTS = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(100),
               Policy.Durability.TransientLocal, CDR)


class Site:
    """The lifts as robots see them, and the robots."""

    def __init__(self, topic="lift_requests", domain=0):
        participant = DomainParticipant(domain)
        self.reader = DataReader(participant, Topic(participant, "rt/lift_states", LiftState_), qos=STATES)
        self.writer = DataWriter(participant, Topic(participant, f"rt/{topic}", LiftRequest_), qos=REQUESTS)
        self.lifts, self.robots, self.heard = {}, [], []

    def turn(self):
        """Takes the states that have arrived; robots answer each of their lift."""
        for state in self.reader.take(100):
            self.lifts[state.lift_name] = state
            self.heard.append((time.monotonic(), state))
            for robot in self.robots:
                robot.answer(state)
        time.sleep(0.02)

    def wait(self, what, condition, seconds=60):
        """Until the condition holds."""
        began = time.monotonic()
        while not (found := condition()):
            if time.monotonic() > began + seconds:
                raise SystemExit(f"after {seconds} s still not: {what}\n{self.lifts}")
            self.turn()
        print(f"{time.monotonic() - began:5.1f} s  {what}", flush=True)
        return found

    def request(self, lift, session, floor="", kind=AGV_MODE, door=DOOR_OPEN):
        self.writer.write(LiftRequest_(lift, Time_(int(time.time()), 0), session, kind, floor, door))


class Robot:
    def __init__(self, site, name, lift):
        self.site, self.name, self.lift, self.floor = site, name, lift, None
        site.robots.append(self)

    def go(self, floor):
        self.floor = floor
        self.site.request(self.lift, self.name, floor)

    def end(self):
        self.floor = None

    def answer(self, state):
        if state.lift_name != self.lift:
            return
        if self.floor is not None:
            self.site.request(self.lift, self.name, self.floor)
        elif state.session_id == self.name:
            self.site.request(self.lift, self.name, state.current_floor, END_SESSION)

    def die(self):
        self.site.robots.remove(self)

    def has_lift(self):
        return self.lift in self.site.lifts and self.site.lifts[self.lift].session_id == self.name

    def has_arrived(self):
        """What lets a robot drive into a lift, and out of it."""
        state = self.site.lifts.get(self.lift)
        return self.has_lift() and state.current_floor == self.floor and state.door_state == DOOR_OPEN


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Takes a robot from one floor to another.")
    parser.add_argument("--lift", required=True)
    parser.add_argument("--from", required=True, dest="start")
    parser.add_argument("--to", required=True)
    parser.add_argument("--name", default="example/robot")
    parser.add_argument("--topic", default="lift_requests")
    parser.add_argument("--domain", type=int, default=0)
    args = parser.parse_args()
    site = Site(args.topic, args.domain)
    robot = Robot(site, args.name, args.lift)
    site.wait(f"lift {args.lift} is published", lambda: args.lift in site.lifts)
    for floor in (args.start, args.to):
        robot.go(floor)
        site.wait(f"lift {args.lift} holds its door open at {floor}", robot.has_arrived, 120)
    robot.end()
    site.wait("the session has ended", lambda: not robot.has_lift())
