//! The JSON of statuses, events and lists, field by field.
//!
//! `src/operator/testdata/` is made by `LIFTMESH_GOLDEN=write cargo test --lib as_in_the_golden_file`.
//! Between them the files have every field with a value, and every kind of everything. A difference
//! here is a change for programs that read them: it belongs into `docs/API.md`.

use std::path::PathBuf;

use elevator_fleet::car::{HangCause, HangEvidence};
use elevator_fleet::json::Seconds;
use elevator_fleet::node::HangStatus;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::journal::{Account, AuditEvent, AuditRecord};
use crate::latch::{Hang, Latch};
use crate::presses::{PressFate, PressStatus, Presses};

/// 2027-01-15T08:00:00.250Z.
const NOW: Duration = Duration::from_millis(1_800_000_000_250);

fn compare(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operator/testdata").join(file);
    if std::env::var_os("LIFTMESH_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let pinned = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, pinned, "{file}");
}

/// Each example on a line. What reads a line writes the same again.
fn lines<T: Serialize + DeserializeOwned>(examples: &[T]) -> String {
    let line = |example| {
        let line = serde_json::to_string(example).unwrap();
        let read: T = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        line + "\n"
    };
    examples.iter().map(line).collect()
}

fn slave(master: &str) -> NodeState {
    NodeState::Slave { master: node(master) }
}

/// One for each phase and for each reason not to be in service.
fn cars() -> Vec<CarView> {
    let phases = [
        CarPhase::Idle,
        CarPhase::Moving { direction: Direction::Down, stop_at: floor(0), next_stop: floor(2) },
        CarPhase::Homing,
        CarPhase::Opening,
        CarPhase::Open,
        CarPhase::Closing,
    ];
    let reasons = [
        Unavailable::NoPanel,
        Unavailable::Homing,
        Unavailable::Stopped,
        Unavailable::DoorBlocked,
        Unavailable::Independent,
        Unavailable::FireRecall,
        Unavailable::OutOfService,
        Unavailable::Hung,
        Unavailable::DriveFault,
        Unavailable::Overdue,
    ];
    let phases = phases.map(|phase| CarView {
        phase,
        direction: Some(Direction::Down),
        locked_out: [floor(0), floor(2)].into_iter().collect(),
        ..car_view()
    });
    let reasons = reasons.map(|why| CarView {
        availability: Availability::Unavailable(why),
        floor: None,
        direction: None,
        load: None,
        ..car_view()
    });
    let modes = Mode::ALL.map(|mode| CarView { mode, ..car_view() });
    phases.into_iter().chain(reasons).chain(modes).collect()
}

/// A node with a car, whose peers have a car in each phase, and every state and role.
#[expect(clippy::too_many_lines, reason = "one value for each field")]
pub(super) fn cabin() -> Status {
    let orders = vec![
        OrderStatus {
            call: hall(3, Direction::Down),
            waited: Duration::from_millis(61_500),
            car: Some(node("B")),
            promised: true,
            holders: 3,
            held_by: Vec::new(),
            durable_at: Vec::new(),
        },
        OrderStatus {
            call: hall(0, Direction::Up),
            waited: Duration::from_micros(1_234_567),
            car: None,
            promised: false,
            holders: 1,
            held_by: Vec::new(),
            durable_at: Vec::new(),
        },
        OrderStatus {
            call: car_call("A", 2),
            waited: Duration::ZERO,
            car: Some(node("A")),
            promised: true,
            holders: 2,
            held_by: Vec::new(),
            durable_at: Vec::new(),
        },
    ];
    let node_states = [NodeState::Seeking, slave("A"), NodeState::Master];
    let mut peers: Vec<PeerStatus> = cars()
        .into_iter()
        .zip(1_u8..)
        .zip(node_states.iter().cycle())
        .map(|((car, number), node_state)| PeerStatus {
            node: node(&format!("peer-{number}")),
            role: Role::Cabin,
            address: Ipv4Addr::new(127, 0, 1, number),
            node_state: node_state.clone(),
            silent: Duration::from_millis(12),
            round_trip: (number % 2 == 0).then(|| Duration::from_micros(u64::from(number) * 700)),
            loss: (number % 2 == 0).then(|| f64::from(number) / 400.0),
            synced: number % 2 == 0,
            in_step: number % 3 == 0,
            car: Some(car),
        })
        .collect();
    for (role, number) in [(Role::ControlUnit, 101), (Role::Indicator, 102)] {
        peers.push(PeerStatus {
            node: node(&format!("peer-{number}")),
            role,
            address: Ipv4Addr::new(127, 0, 1, number),
            node_state: slave("A"),
            silent: Duration::from_millis(250),
            round_trip: None,
            loss: None,
            synced: true,
            in_step: true,
            car: None,
        });
    }
    let causes = [LossCause::Silent, LossCause::Hung];
    let lost = causes.into_iter().zip(1_u8..).map(|(cause, number)| LostStatus {
        node: node(&format!("lost-{number}")),
        role: Role::Cabin,
        address: Ipv4Addr::new(127, 0, 2, number),
        silent: Duration::from_secs(75),
        cause,
    });
    let hang_status = |(car, evidence)| HangStatus { car, evidence };
    let kinds = [
        ConflictKind::Name,
        ConflictKind::Address,
        ConflictKind::Floors,
        ConflictKind::Election,
        ConflictKind::Version,
        ConflictKind::Garbage,
        ConflictKind::Fleet,
    ];
    let conflicts = kinds.map(|kind| ConflictStatus {
        kind,
        what: "what it is, in words".to_owned(),
        since: Duration::from_secs(20),
        last: Duration::from_millis(30),
    });
    let buttons = [
        Button::Hall(floor(1), Direction::Up),
        Button::Hall(floor(3), Direction::Down),
        Button::Car(floor(2)),
    ];
    let usual = status(orders);
    Status {
        peers,
        lost: lost.collect(),
        hangs: ["lost-2", "N"].map(node).into_iter().zip(hangs()).map(hang_status).collect(),
        conflicts: conflicts.into(),
        car: usual.car.clone().map(|car| CarStatus {
            at: Some(floor(1)),
            stuck: buttons.into(),
            lamps: buttons.into(),
            ..car
        }),
        ..usual
    }
}

/// The same node in other states of panel, key and door.
fn other_cars() -> Vec<Status> {
    let keys = [
        (KeySwitch::Normal, DoorState::Closed, false),
        (KeySwitch::Independent, DoorState::Opening, true),
        (KeySwitch::FireRecall, DoorState::Open, false),
        (KeySwitch::OutOfService, DoorState::Closing, true),
    ];
    let usual = status(Vec::new());
    let statuses = keys.map(|(key, door, set)| Status {
        car: usual.car.clone().map(|car| CarStatus {
            connection: Err("no such device".to_owned()),
            key,
            door,
            stopped: set,
            obstructed: !set,
            stuck: [].into(),
            lamps: [].into(),
            ..car
        }),
        ..usual.clone()
    });
    statuses.into()
}

/// A node without a car, of which there is as little to say as can be.
fn bare() -> Status {
    let usual = status(Vec::new());
    Status {
        role: Role::ControlUnit,
        election: Protocol::TokenRing,
        election_state: Vec::new(),
        node_state: NodeState::Seeking,
        refused: RefusedStatus::default(),
        dispatch: DispatchStatus::default(),
        durable: false,
        disk_failed: true,
        peers: Vec::new(),
        lost: Vec::new(),
        hangs: Vec::new(),
        conflicts: Vec::new(),
        settings: Vec::new(),
        settings_held: false,
        access: AccessStatus::default(),
        schedule: None,
        car: None,
        climate: ClimateStatus {
            own: Reading::default(),
            average: None,
            brightness: None,
            display: String::new(),
            age: None,
            units: Vec::new(),
        },
        ..usual
    }
}

/// With what the process adds to what the brain knows.
fn whole(mut status: Status) -> Status {
    status.log_lines_lost = 8;
    status.mqtt_refused = vec!["robot/answers".to_owned()];
    status.fleet_keys = elevator_fleet::node::FleetKeysStatus {
        sent: Some(143),
        accepted: vec![143, 12],
        accepts_anybody: false,
        missing: None,
    };
    status.mesh = [("received".to_owned(), 90), ("sent".to_owned(), 100)].into();
    if let Some(car) = &mut status.car {
        car.panel = "serial:///dev/ttyUSB0".to_owned();
        car.line = LineCounters { frames: 700, damaged: 3, lost: 4, unknown: 5 };
    }
    status
}

#[test]
fn statuses_are_as_in_the_golden_file() {
    let protocols = Protocol::ALL.map(|election| Status { election, ..bare() });
    let roles = Role::ALL.map(|role| Status { role, node_state: slave("B"), ..bare() });
    let mut statuses: Vec<_> = [cabin(), bare()].into();
    statuses.extend(other_cars());
    statuses.extend(protocols);
    statuses.extend(roles);
    let statuses: Vec<_> = statuses.into_iter().map(whole).collect();
    lines(&statuses);
    let text = serde_json::to_string_pretty(&statuses).unwrap();
    compare("status.json", &(text + "\n"));
}

fn hangs() -> [HangEvidence; 3] {
    let evidence = HangEvidence {
        cause: HangCause::NoProgress,
        floor: Some(floor(5)),
        direction: Direction::Up,
        expected: Duration::from_secs(10),
        actual: Duration::from_millis(10_040),
        last_sensor: Some(floor(2)),
    };
    [
        evidence,
        HangEvidence {
            cause: HangCause::OffTarget(4),
            direction: Direction::Down,
            last_sensor: None,
            ..evidence
        },
        HangEvidence { cause: HangCause::NotStopped, floor: None, ..evidence },
    ]
}

fn reports() -> Vec<Report> {
    let call = || hall(3, Direction::Up);
    let node_states = [
        (NodeState::Seeking, slave("B")),
        (slave("B"), NodeState::Master),
        (NodeState::Master, NodeState::Seeking),
    ];
    let node_states = node_states.map(|(from, to)| Report::NodeState { from, to, term: Term(3) });
    let served = |here, car| Report::Served {
        call: call(),
        waited: Duration::from_millis(9_377),
        here,
        car,
    };
    let mut reports: Vec<_> = node_states.into();
    reports.extend([
        Report::PeerDiscovered { node: node("B"), address: Ipv4Addr::new(127, 0, 0, 2) },
        Report::PeerLost { node: node("B") },
        Report::Synced { node: node("B") },
        Report::Repair { node: node("B") },
        Report::Placed { call: call(), origin: node("A"), press: None },
        Report::Placed { call: car_call("B", 2), origin: node("B"), press: None },
        Report::Promised { call: call() },
        served(true, Some(node("A"))),
        served(false, None),
        Report::Dropped { call: call() },
        Report::Assigned { call: call(), car: node("B"), here: true },
        Report::TakenOver { call: call() },
    ]);
    let doors = [DoorState::Closed, DoorState::Opening, DoorState::Open, DoorState::Closing];
    reports.extend(doors.map(|door| Report::Door { door }));
    reports.extend([
        Report::Floor { floor: floor(2) },
        Report::Availability(None),
        Report::Availability(Some(Reason::Other(Unavailable::DriveFault))),
        Report::Panel(Ok(())),
        Report::Panel(Err("no such device".to_owned())),
        Report::PressRefused { text: "a press of car 9".to_owned() },
        Report::FloorUnreachable { floor: floor(1) },
        Report::DriveRefused,
        Report::OffTarget { stop_at: floor(3), at: Some(floor(1)) },
        Report::OffTarget { stop_at: floor(3), at: None },
        Report::Conflict("another node is named A".to_owned()),
    ]);
    reports.extend(hangs().map(Report::Hung));
    reports.push(Report::Setting {
        setting: Setting::Mode(NodeId::new("B").unwrap(), Mode::OutOfService),
        operator: Words::new("kovac").unwrap(),
        reason: elevator_fleet::settings::Why::of("new carpet"),
    });
    reports.push(Report::DiskFailed);
    reports
}

#[test]
fn events_are_as_in_the_golden_file() {
    let events: Vec<_> =
        reports().iter().map(|report| Event::new(report, SystemTime::UNIX_EPOCH + NOW)).collect();
    let text = lines(&events);
    for name in Report::NAMES {
        assert!(text.contains(&format!("\"event\":\"{name}\"")), "{name}");
    }
    compare("events.jsonl", &text);
}

/// A latch of each kind.
fn latches() -> Vec<Latch> {
    let hang = |evidence| Hang::new(node("A"), evidence, SystemTime::UNIX_EPOCH + NOW);
    let mut latches: Vec<_> = hangs().iter().map(|evidence| Latch::Hang(hang(evidence))).collect();
    for latch in &mut latches {
        if let Latch::Hang(hang) = latch {
            hang.program = "0.1.0".to_owned();
        }
    }
    latches.extend([
        Latch::JournalLost,
        Latch::Unreadable { reason: "it has format 9".to_owned() },
        Latch::Removed { recorded: "the car of node A hung".to_owned() },
    ]);
    latches
}

fn audit_records() -> Vec<AuditRecord> {
    let account = || Account {
        uid: 1000,
        login_uid: Some(1001),
        sudo_user: Some("kovac".to_owned()),
        terminal: Some("/dev/pts/3".to_owned()),
        token: None,
    };
    let Latch::Hang(hang) = latches().remove(0) else {
        unreachable!("the first is a hang");
    };
    let cleared = |cleared| AuditEvent::ClearHang {
        operator: "kovac".to_owned(),
        reason: "brake replaced".to_owned(),
        account: Some(account()),
        cleared,
    };
    let mut events = vec![
        AuditEvent::LatchFound { latch: Latch::JournalLost },
        AuditEvent::FleetKeys { sent: Some(143), accepted: vec![143, 12], accepts_anybody: false },
        AuditEvent::Setting {
            operator: "kovac".to_owned(),
            reason: Some("new carpet".to_owned()),
            account: Some(Account::default()),
            entered_at: node("A"),
            key: "mode/B".to_owned(),
            value: "out-of-service".to_owned(),
        },
        AuditEvent::Release { account: Account::default(), floor: floor(3), seconds: 10 },
        AuditEvent::Unrecorded { account: "token robot".to_owned(), commands: 47 },
        serde_json::from_str(r#"{"kind":"of-a-later-version","field":7}"#).unwrap(),
    ];
    events.extend(latches().into_iter().map(cleared));
    let of = |event| AuditRecord {
        program: "0.1.0".to_owned(),
        ..AuditRecord::now(node("A"), event, SystemTime::UNIX_EPOCH + NOW)
    };
    std::iter::once(AuditRecord::hang(&hang)).chain(events.into_iter().map(of)).collect()
}

/// Everything that can become of a press.
fn fates() -> [PressFate; 8] {
    let waited = Seconds(Duration::from_millis(9_377));
    [
        PressFate::Open { promised: false },
        PressFate::Open { promised: true },
        PressFate::Served { car: Some(node("B")), waited },
        PressFate::Served { car: None, waited },
        PressFate::Dropped,
        PressFate::Absorbed,
        PressFate::Command,
        PressFate::Refused { reason: "why, in words".to_owned() },
    ]
}

/// A press 10 s ago, and again 2 s ago where it is open.
fn press(call: &Call, fate: PressFate) -> PressStatus {
    let [at, last] = ["2027-01-15T07:59:50.250Z", "2027-01-15T07:59:58.250Z"].map(str::to_owned);
    let (times, last) =
        if matches!(fate, PressFate::Open { .. }) { (3, Some(last)) } else { (1, None) };
    PressStatus { at, call: call.into(), times, last, fate }
}

#[test]
fn audit_records_are_as_in_the_golden_file() {
    compare("audit.jsonl", &lines(&audit_records()));
}

#[test]
fn presses_are_as_in_the_golden_file() {
    let presses = fates().map(|fate| press(&hall(3, Direction::Up), fate)).into();
    compare("presses.jsonl", &lines(&[Presses { presses, forgotten: 12 }]));
}

#[test]
fn latched_nodes_are_as_in_the_golden_file() {
    let views: Vec<_> = latches()
        .into_iter()
        .map(|latch| LatchedNode {
            running: false,
            node: matches!(latch, Latch::Hang(_)).then(|| node("A")),
            data_dir: PathBuf::from("/var/lib/liftmesh"),
            remedy: crate::latch::remedy(Path::new("/var/lib/liftmesh")),
            latch,
        })
        .collect();
    compare("latched.jsonl", &lines(&views));
}
