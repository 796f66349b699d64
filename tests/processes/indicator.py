"""An indicator: a device that is no node, written from the table of packets alone (V9).

It listens for broadcasts of the leader, answers each control packet with a temperature and an
illuminance, and prints what it hears, one line a packet:

    listening
    control ADDRESS
    show TEXT NUMBER SECONDS BRIGHTNESS
"""

import argparse
import select
import socket
import struct

CONTROL, ANSWER, INFORMATION = 1, 2, 3

parser = argparse.ArgumentParser(description="An indicator for the packets of ballot.")
parser.add_argument("--address", required=True, help="its own IPv4 address")
parser.add_argument("--broadcast", required=True, help="where the leader sends to")
parser.add_argument("--port", type=int, default=46101)
parser.add_argument("--temperature", type=int, required=True, help="in degrees Celsius")
parser.add_argument("--illuminance", type=int, required=True, help="0 to 255")
options = parser.parse_args()

own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind((options.address, options.port))
shared = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
shared.bind((options.broadcast, options.port))
print("listening", flush=True)

while True:
    ready, _, _ = select.select([own, shared], [], [])
    for sock in ready:
        packet, leader = sock.recvfrom(64)
        if packet == bytes([CONTROL]):
            answer = struct.pack("!BbB", ANSWER, options.temperature, options.illuminance)
            own.sendto(answer, leader)
            print("control", leader[0], flush=True)
        elif len(packet) == 12 and packet[0] == INFORMATION:
            _, text, number, seconds, brightness = struct.unpack("!B5sbIB", packet)
            text = text.split(b"\0")[0].decode("ascii")
            print("show", text, number, seconds, brightness, flush=True)
