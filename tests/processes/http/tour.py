"""The tour of docs/API.md with a client that was generated from openapi.json.

    python3 tour.py begin  NODE TOKEN             reads everything, places calls, prints a receipt
    python3 tour.py finish NODE TOKEN RECEIPT     at another node: follows the call to its end
"""
import sys, time

from liftmesh_client import AuthenticatedClient
from liftmesh_client.api.audit import list_audit_records
from liftmesh_client.api.calls import get_call, place_call
from liftmesh_client.api.commands import give_command
from liftmesh_client.api.latch import get_latch
from liftmesh_client.api.sessions import end_session, get_session, open_session
from liftmesh_client.api.state import get_fleet, get_status, list_cars, list_orders
from liftmesh_client.api.statistics import get_statistics
from liftmesh_client.models import GiveCommand, OpenSession, PlaceCall, Problem

step, node, token = sys.argv[1:4]
client = AuthenticatedClient(base_url=f"{node}/api/v1", token=token)


def told(answer):
    assert answer is not None and not isinstance(answer, Problem), answer
    return answer


def wait(what, is_so):
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.1)


if step == "begin":
    fleet = told(get_fleet.sync(client=client))
    status = told(get_status.sync(client=client))
    assert status.node == fleet.node and status.term == fleet.term, (status, fleet)
    assert len(told(list_cars.sync(client=client))) == 3
    assert told(get_latch.sync(client=client)).running
    told(get_statistics.sync(client=client))
    command = {"command": {"kind": "mode", "car": "C", "mode": "independent"}, "operator": "tour"}
    told(give_command.sync(client=client, body=GiveCommand.from_dict(command)))
    records = told(list_audit_records.sync(client=client))
    assert any(record.additional_properties.get("key") == "mode/C" for record in records), records
    refused = place_call.sync(client=client, body=PlaceCall.from_dict({"call": {"kind": "hall", "floor": "3", "direction": "up"}}))
    assert isinstance(refused, Problem) and refused.code == "no_such_button", refused

    session = told(open_session.sync(client=client, body=OpenSession(floor="0", car="B", request_id="ride")))
    wait("the car is there", lambda: told(get_session.sync(session.id, client=client)).state == "open")
    assert told(end_session.sync(session.id, client=client)).reason == "done"

    wish = {"call": {"kind": "hall", "floor": "3", "direction": "down"}, "request_id": "errand"}
    placed = told(place_call.sync(client=client, body=PlaceCall.from_dict(wish)))
    assert told(place_call.sync(client=client, body=PlaceCall.from_dict(wish))).receipt == placed.receipt
    wait("it is promised", lambda: all(order.promised for order in told(list_orders.sync(client=client))))
    print(placed.receipt)
else:
    receipt = sys.argv[4]
    wait("it is served", lambda: told(get_call.sync(receipt, client=client)).state == "served")
