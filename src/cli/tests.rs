use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory;
use elevator_driver::{Direction, Floor};
use elevator_fleet::model::{Availability, Call, Mode, NodeId, Reason, Unavailable};
use elevator_fleet::node::{FleetKeysStatus, Status};
use elevator_fleet::settings::{
    Asked, Request, RequestId, Session, SessionEnd, SessionState, Setting,
};

use super::order::{OrderCommand, Wait};
use super::output::OutputError;
use super::*;
use crate::client::{ClientError, Place};
use crate::journal::{Account, AuditEvent, AuditRecord};

fn parse(line: &str) -> Command {
    let words = line.split_whitespace();
    Cli::try_parse_from(words).unwrap().command
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

/// Each command and each experiment has its place in `docs/COMMANDS.md`, and nothing else has; so has
/// what goes to another computer.
#[test]
fn the_page_of_commands_has_every_command() {
    let page = include_str!("../../docs/COMMANDS.md");
    let command = Cli::command();
    let shown = || command.get_subcommands().filter(|it| !it.is_hide_set());
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `liftmesh "));
    let rows: BTreeMap<&str, &str> = rows.filter_map(|row| row.split_once('`')).collect();
    assert!(rows.keys().copied().eq(shown().map(clap::Command::get_name).collect::<BTreeSet<_>>()));
    for lab in shown().filter(|it| it.get_name() == "lab") {
        for experiment in lab.get_subcommands() {
            let name = format!("`lab {}`", experiment.get_name());
            assert!(rows["lab"].contains(&name), "{name}");
        }
    }
    let (_, remote) = page.split_once("## On another computer").expect("a section");
    let (remote, _) = remote.split_once("also work for a node").expect("a list");
    let remote: BTreeSet<&str> = remote.split('`').skip(1).step_by(2).collect();
    let takers = shown().filter(|it| takes_an_address(it)).map(clap::Command::get_name);
    assert_eq!(remote, takers.collect());
}

fn takes_an_address(command: &clap::Command) -> bool {
    let is_shown = |arg: &clap::Arg| arg.get_id() == "url" && !arg.is_hide_set();
    command.get_arguments().any(is_shown) || command.get_subcommands().any(takes_an_address)
}

#[test]
fn every_key_is_a_flag_of_run_and_of_check_config() {
    for command in ["run", "check-config"] {
        let keys = crate::config::KEYS.iter();
        let short = keys.clone().filter_map(|key| Some((key, key.short_flag()?)));
        for (key, flag) in keys.map(|key| (key, key.flag())).chain(short) {
            let line = format!("liftmesh {command} --{flag} x");
            let (Command::Run(RunArgs { config, .. }) | Command::CheckConfig { config, .. }) =
                parse(&line)
            else {
                panic!("{line}");
            };
            assert_eq!(config.settings.0[key.path], "x");
            assert_eq!(config.settings.0.len(), 1);
        }
    }
}

#[test]
fn an_order_is_told_by_its_button() {
    let Command::Order(hall) = parse("liftmesh order hall 3 up --data-dir d --wait served") else {
        panic!();
    };
    assert_eq!(
        hall.order,
        OrderCommand::Hall { floor: Floor::try_from(3).unwrap(), direction: Direction::Up }
    );
    assert_eq!(hall.wait, Some(Wait::Served));
    assert_eq!(hall.node.here.data_dir.as_deref(), Some("d"));
    let Command::Order(car_call) = parse("liftmesh order --data-dir d car A 5") else {
        panic!();
    };
    assert_eq!(Call::try_from(&car_call.order).unwrap().to_string(), "car A 5");
    for wrong in [
        "order hall 3",
        "order hall x up",
        "order hall 3 sideways",
        "order car 5",
        "order",
        "events --kind explosion",
    ] {
        let line = format!("liftmesh {wrong}");
        assert!(Cli::try_parse_from(line.split_whitespace()).is_err());
    }
}

#[test]
fn what_goes_wrong_has_its_exit_code() {
    let place = Place::Socket("node.sock".into());
    let refused = |code: &str| {
        let (place, code, detail) = (place.clone(), code.to_owned(), String::new());
        CommandError::from(ClientError::Refused { place, code, detail }).exit()
    };
    assert_eq!(refused("no_such_button"), Exit::Usage);
    assert_eq!(refused("no_answer"), Exit::NoNode);
    let closed = OutputError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    assert_eq!(CommandError::from(closed).exit(), Exit::Done);
}

const STATUS: &str = r#"{
        "node": "A", "role": "cabin", "fleet": "liftmesh", "address": "127.0.0.1",
        "mac": "02:00:7f:00:00:01", "election": "ballot",
        "election_state": [{"name": "round", "value": "2"}, {"name": "vote", "value": "77"}],
        "floors": 4, "uptime": 90.5, "node_state": {"kind": "slave", "master": "B"}, "term": 7,
        "digest": "0000000000000abc", "durable": true, "disk_failed": false,
        "refused": {"impossible": 2, "no_room": 30},
        "peers": [{
            "node": "B", "role": "control-unit", "address": "127.0.0.2", "node_state": {"kind": "master"},
            "silent": 0.012, "synced": true, "in_step": false, "car": null
        }],
        "lost": [
            {"node": "C", "role": "cabin", "address": "127.0.0.3", "silent": 75.4, "cause": "hung"},
            {"node": "D", "role": "cabin", "address": "127.0.0.4", "silent": 3.0, "cause": "silent"}
        ],
        "hangs": [{
            "car": "C", "floor": 3, "direction": "up", "actual": 10.012, "expected": 9.98,
            "last_sensor": 2
        }],
        "conflicts": [{
            "kind": "name", "what": "another node, at 127.0.0.9, is also named A",
            "since": 3600.0, "last": 0.02
        }],
        "orders": [{
            "call": {"kind": "hall", "floor": 3, "direction": "down"},
            "waited": 1.25, "car": "B", "promised": true, "holders": 2
        }],
        "car": {
            "in_service": false, "unavailable": "door blocked", "floor": 1,
            "phase": {"kind": "open"}, "elapsed": 31.0, "direction": "up", "load": null,
            "connected": true, "door": "open", "at": 1, "stopped": false, "obstructed": true,
            "key": "normal", "lamps": [{"kind": "car", "floor": 2}], "disconnected": null,
            "line": {"frames": 700, "damaged": 3, "lost": 4, "unknown": 0},
            "locked_out": [0, 3], "stuck": [{"kind": "hall", "floor": 1, "direction": "up"}]
        },
        "climate": {
            "temperature": 22, "illuminance": null, "average": 21.5, "brightness": 188,
            "age": 0.25, "display": "21.5 C 10:05",
            "units": [
                {"unit": "A", "temperature": 22, "illuminance": null, "age": 0.25},
                {"unit": "10.0.0.9", "temperature": 21, "illuminance": 128, "age": 1.0}
            ]
        }
}"#;

#[test]
fn the_page_shows_who_leads_what_is_open_and_where_the_car_is() {
    let status = serde_json::from_str(STATUS).unwrap();
    assert_eq!(
        status::page(&status),
        "\
Node A: slave of B, term 7, up 1m 30s
  fleet liftmesh, ballot, address 127.0.0.1, 4 floors
  ballot: round 2, vote 77
  store 0000000000000abc, all on disk
  no fleet key: any account on this machine can command the cars
  refused records of peers: 2 impossible orders, 30 over the limit

Car A: floor 1, door open for 31.0 s, not in service: door blocked
  panel connected, sensor at floor 1, door open, door obstructed
  line 700 frames, 3 damaged, 4 lost
  locked out for now, sensor silent: 0, 3
  stuck buttons: hall 1 up
  lit lamps: car 2

Climate: the display shows \"21.5 C 10:05\"
  own sensors: 22 °C, illuminance unknown
  fleet's average: 21.5 °C, backlight 188 of 255, sent by B 0.2 s ago
  UNIT      TEMPERATURE  LIGHT    AGE
  A         22 °C        unknown  0.2 s
  10.0.0.9  21 °C        128      1.0 s

Conflicts
  CONFLICT  WHAT                                         FOR  LAST SEEN
  name      another node, at 127.0.0.9, is also named A  1h   0s ago

Peers
  NODE  ADDRESS    STATE   LINK    STORE    SILENT  CAR
  B     127.0.0.2  master  synced  differs  12 ms   control-unit

Lost peers
  NODE  ADDRESS    LAST HEARD  CAUSE
  C     127.0.0.3  1m 15s ago  its car hung
  D     127.0.0.4  3s ago      fell silent

Cars that hung
  CAR  EVIDENCE
  C    on its way up to floor 3: driven for 10.0 s (10.0 s allowed) without a new floor sensor, the \
last was floor 2

Open orders
  ORDER        AGE    CAR  PROMISED  HOLDERS
  hall 3 down  1.2 s  B    yes       2
"
    );
}

/// What is commanded for all cars comes first, then what is wrong with the node that was asked; each
/// car's mode has its column, and what it says is not said again.
#[test]
fn the_page_of_the_fleet_shows_modes_and_what_is_commanded_for_all_cars() {
    let mut state = crate::operator::tests::busy_fleet();
    assert!(!status::fleet::page(&state).contains("failed"));
    state.fleet.fire_recall = true;
    state.fleet.emergency_power = true;
    state.fleet.turn = NodeId::new("B").ok();
    state.fleet.locked_floors = vec![Floor::BOTTOM];
    state.fleet.disk_failed = true;
    state.fleet.fleet_keys_missing = Some("/etc/liftmesh/fleet.key is not there".to_owned());
    state.cars[0].mode = Mode::Attendant;
    state.cars[0].unavailable = None;
    state.cars[1].mode = Mode::FireService;
    state.cars[1].unavailable = Some(Reason::Mode(Mode::FireService));
    let page = status::fleet::page(&state);
    let said = "\n  fire recall of all cars\n  emergency power, car B's turn\n  floor 0 is locked\n  \
                the disk of A has failed\n  a fleet key is missing: /etc/liftmesh/fleet.key is not \
                there\n\nNodes\n";
    assert!(page.contains(said), "{page}");
    let cell = |car: &str, column: &str| {
        let cars = page.split("\nCars\n").nth(1).unwrap_or_default();
        let mut lines = cars.lines();
        let at = lines.next().and_then(|heading| heading.find(column)).expect(column);
        let row = lines.find(|line| line.starts_with(&format!("  {car} "))).expect(car);
        row[at..].split("  ").next().unwrap_or_default().to_owned()
    };
    for (car, mode, service) in
        [("A", "attendant", "in service"), ("B", "fire-service", "not in service")]
    {
        assert_eq!([cell(car, "MODE"), cell(car, "SERVICE")], [mode, service]);
    }
}

/// Beacons call it *independent*; people have commanded something else.
#[test]
fn a_car_that_is_sent_somewhere_is_not_said_to_be_independent() {
    let mut status = crate::operator::tests::busy_status();
    for (mode, why, said) in [
        (Mode::Priority, Unavailable::Independent, "priority"),
        (Mode::EmergencyPower, Unavailable::OutOfService, "emergency power"),
        (Mode::FireService, Unavailable::FireRecall, "fire service"),
        (Mode::Independent, Unavailable::Independent, "independent"),
        (Mode::Priority, Unavailable::Homing, "homing"),
    ] {
        let car = &mut status.car.as_mut().unwrap().view;
        (car.mode, car.availability) = (mode, Availability::Unavailable(why));
        let car = *car;
        status.peers[0].car = Some(car);
        let page = status::page(&status);
        let line = format!("not in service: {said}, mode {mode}");
        assert_eq!(page.matches(&line).count(), 2, "{line}: {page}");
        let json = serde_json::to_value(&status).unwrap();
        for car in [&json["car"], &json["peers"][0]["car"]] {
            assert_eq!((&car["in_service"], &car["unavailable"]), (&false.into(), &said.into()));
        }
        let read: Status = serde_json::from_value(json).unwrap();
        assert_eq!(read.peers[0].car, Some(car));
    }
}

#[test]
fn a_session_is_told_in_words() {
    use SessionState::{Coming, Ended, Open, Queued};

    let node = |name: &str| NodeId::new(name).unwrap();
    let floor = |index: u8| Floor::try_from(index).unwrap();
    let told = |to: Option<u8>, car: Option<&str>, state: SessionState| {
        let mut status = crate::operator::tests::busy_status();
        let id = RequestId::parse("7d3d9ef7c0ffee00c0ffee00").unwrap();
        let (to, car) = (to.map(floor), car.map(node));
        let asked = Asked { floor: floor(3), to, seconds: 30, car };
        let session = Session { id, asked, floor: floor(3), to, seconds: 30, leg: 1, state };
        status.settings[0].setting = Setting::Request(Request::Session(session));
        status::page(&status)
    };
    let c = || node("C");
    for (page, expected) in [
        (told(None, None, Queued), "waits at floor 3 for a car"),
        (told(Some(5), Some("B"), Queued), "waits at floor 3 for car B to floor 5"),
        (told(None, None, Coming(c())), "car C is on its way to floor 3"),
        (told(Some(5), None, Coming(c())), "car C is on its way to floor 3, then to floor 5"),
        (told(None, None, Open(c())), "car C holds its door open at floor 3 for 30 s"),
        (
            told(Some(5), None, Open(c())),
            "car C holds its door open at floor 3 for 30 s, then goes to floor 5",
        ),
        (told(None, None, Ended(SessionEnd::CarLost)), "has ended: its car was lost"),
        (told(None, None, Ended(SessionEnd::Operator)), "has ended: by an operator"),
    ] {
        let line = format!("session/7d3d9ef7c0ffee00c0ffee00  {expected}  ");
        assert!(page.contains(&line), "{line}: {page}");
    }
}

#[test]
fn the_fleet_keys_are_shown_and_so_is_that_there_are_none() {
    let page = |sent, accepted: &[u8], accepts_anybody| {
        let mut status: Status = serde_json::from_str(STATUS).unwrap();
        status.fleet_keys =
            FleetKeysStatus { sent, accepted: accepted.to_vec(), accepts_anybody, missing: None };
        status::page(&status)
    };
    for (shown, expected) in [
        (page(Some(7), &[7], false), "\n  fleet key 7\n"),
        (page(Some(7), &[7], true), "\n  fleet key 7; also accepted: messages without a key\n"),
        (page(None, &[], true), "\n  messages are sent and accepted without a fleet key\n"),
        (page(None, &[], false), "\n  no fleet key: any account on this machine can command"),
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn an_audit_record_says_where_a_command_was_entered_and_what_keys_are_accepted() {
    let node = |name| NodeId::new(name).unwrap();
    let register = |account| AuditEvent::Setting {
        operator: "kovac".to_owned(),
        reason: None,
        account,
        entered_at: node("B"),
        key: "mode/C".to_owned(),
        value: "independent".to_owned(),
    };
    let account = Account { uid: 7, token: Some("phone".to_owned()), ..Account::default() };
    let unrecorded = AuditEvent::Unrecorded { account: account.name(), commands: 47 };
    let keys = |sent, accepted: &[u8], accepts_anybody| {
        let accepted = accepted.to_vec();
        AuditEvent::FleetKeys { sent, accepted, accepts_anybody }
    };
    for (event, expected) in [
        (register(None), "  setting  kovac     at node B  "),
        (register(Some(account)), "  setting  kovac     uid 7, token phone over HTTP  "),
        (unrecorded, "47 further commands of token phone in this hour were not recorded"),
        (keys(Some(7), &[7], false), "sends key 7, accepts 7\n"),
        (keys(Some(7), &[7, 9], false), "sends key 7, accepts 7, 9\n"),
        (keys(None, &[7], true), "sends none, accepts 7, anybody\n"),
        (keys(None, &[], true), "sends none, accepts anybody\n"),
        (keys(None, &[], false), "sends none, accepts anybody\n"),
    ] {
        let record = AuditRecord::now(node("A"), event, std::time::UNIX_EPOCH);
        let page = audit::page(&audit::merge(vec![vec![record]]));
        assert!(page.contains(expected), "{page}");
    }
}
