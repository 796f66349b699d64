//! Hangs of real cars on pseudo-terminals, and what must not be taken for one.

use std::net::TcpListener;
use std::process::{Command, Output};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use elevator_driver::{Button, Direction, DoorState};
use elevator_fleet::node::{LossCause, Report};
use liftmesh::client::{Client, Notice};
use liftmesh::operator::Event;
use liftmesh_harness::building::{Building, FLIGHT_LIMIT, Line, PATIENCE};
use rustix::process::Signal;

/// The flight limit of the building's nodes, and something on top.
const BEYOND_THE_LIMIT: Duration = FLIGHT_LIMIT.saturating_add(Duration::from_millis(1500));

/// H4: from the hang itself, which is no later than the others notice.
const REDISTRIBUTED_WITHIN: Duration = Duration::from_secs(1);

fn liftmesh(building: &Building, name: &str, words: &[&str]) -> Output {
    building.operator(name, words).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn clear(building: &Building, name: &str) -> String {
    let words = ["clear-hang", "--operator", "kovac", "--reason", "brake replaced"];
    let output = liftmesh(building, name, &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The audit log: kind, operator, reason.
fn audit(building: &Building, name: &str) -> Vec<serde_json::Value> {
    let output = liftmesh(building, name, &["audit", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    let records = lines.lines().map(serde_json::from_str);
    records.collect::<Result<_, _>>().expect("JSON")
}

fn is_latched(building: &Building, name: &str) -> bool {
    building.data_dir(name).join("hang.toml").exists()
}

/// Starts a node that is to be refused; what it says.
fn refused(building: &Building, name: &str) -> String {
    let output = building.command(name).output().expect("it runs");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    text(&output.stderr)
}

fn send(building: &Building, name: &str, command: &str) {
    building.panel(name).send(command).expect("taken");
}

fn is_open_at(building: &Building, name: &str, floor: u8) -> bool {
    let car = building.car(name);
    let open = car.door == DoorState::Open || car.door_lamp;
    open && car.floor == Some(building.floor(floor))
}

fn wait_until_it_moves(building: &Building, name: &str) {
    building.wait("the car moves", |building| building.car(name).speed.abs() > 1.0);
}

/// Sends a car to the far end of its shaft and catches it in mid-flight.
fn fly(building: &Building, name: &str, button: Button) {
    building.press(name, button);
    wait_until_it_moves(building, name);
}

/// Events of a node as they come, with when they came.
fn events(building: &Building, name: &str) -> mpsc::Receiver<Event> {
    let client = Client::connect(&building.data_dir(name)).expect("a running node");
    let mut watch = client.watch().expect("events");
    let (sender, receiver) = mpsc::sync_channel(10_000);
    std::thread::spawn(move || {
        while let Ok(notice) = watch.next() {
            let Notice::Event(event) = notice else {
                continue;
            };
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

fn time(text: &str) -> SystemTime {
    humantime::parse_rfc3339(text).expect("a time")
}

/// H2, H3: the audit log has the hang, so that a latch does not vanish unnoticed.
#[test]
fn a_latch_that_is_deleted_by_hand_is_missed_at_the_next_start() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    fly(&building, "A", building.car_call(19));
    send(&building, "A", "fault motor stuck");
    assert_eq!(building.exit("A").code(), Some(3));
    send(&building, "A", "fault motor ok");
    let latch = building.data_dir("A").join("hang.toml");
    for _ in 0..2 {
        std::fs::remove_file(&latch).expect("the latch");
        for _ in 0..2 {
            let said = refused(&building, "A");
            for part in ["node A hung at 20", "removed by hand", "clear-hang --operator"] {
                assert!(said.contains(part), "{said}");
            }
            assert!(is_latched(&building, "A"), "it is put back");
        }
    }
    // Before any start has missed it, too.
    std::fs::remove_file(&latch).expect("the latch");
    let words = ["clear-hang", "--operator", "kovac", "--reason", "brake replaced"];
    let mut command = building.operator("A", &words);
    let output = command.env("SUDO_USER", "novak").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.starts_with("cleared: the car of node A hung at 20"), "{said}");
    assert!(said.contains("\naudit log: record 2\n"), "{said}");
    let records = audit(&building, "A");
    let kinds: Vec<_> = records.iter().map(|record| record["kind"].clone()).collect();
    assert_eq!(kinds, ["hang", "clear-hang"]);
    let account = &records[1]["account"];
    assert_eq!(account["sudo_user"], "novak");
    assert_eq!(account["uid"], rustix::process::getuid().as_raw());
    let shown = text(&liftmesh(&building, "A", &["audit"]).stdout);
    assert!(shown.contains("sudo by novak"), "{shown}");
    building.start("A");
    building.wait_in_service(&["A"]);
}

/// How long this car's next flight takes; its button has been pressed.
fn flight(building: &Building, name: &str) -> Duration {
    let is_driven = |building: &Building| building.car(name).driven.is_some();
    building.wait("the car starts", is_driven);
    building.wait("the car stops", |building| !is_driven(building))
}

/// F9, H4, O7: the group notices long before the stuck car counts as hung.
#[test]
fn another_car_starts_soon_after_a_motor_died() {
    let mut building = Building::with_cars(8, Line::Serial, &["A", "B"]);
    fly(&building, "B", building.car_call(7));
    building.wait_dark(&["B"], building.car_call(7));
    // Until A knows how long the flight takes.
    let mut usual = Duration::ZERO;
    for floor in [1, 0, 1, 0, 1, 0, 1, 0, 1, 0] {
        building.press("A", building.car_call(floor));
        usual = flight(&building, "A");
        building.wait("the door is closed again", |building| {
            let car = building.car("A");
            car.lamps.is_empty() && car.door == DoorState::Closed
        });
    }
    let hall = building.hall(1, Direction::Up);
    building.press("A", hall);
    building.wait("A starts", |building| building.car("A").driven.is_some());
    send(&building, "A", "fault motor stuck");
    let noticed = building.wait("B starts", |building| building.car("B").driven.is_some());
    println!(
        "the other car starts {noticed:?} after the motor died; a flight takes {usual:?}, the ratio \
         is {:.2}",
        noticed.as_secs_f64() / usual.as_secs_f64()
    );
    assert!(!is_latched(&building, "A"));
    building.wait_dark(&["B"], hall);
    assert_eq!(building.exit("A").code(), Some(3));
    building.assert_safe();
}

/// F9, H1–H4: from the hang in mid-flight to the return to service.
#[test]
fn a_car_that_hangs_in_mid_flight_stays_out_until_an_operator_clears_it() {
    let mut building = Building::with_cars(20, Line::Serial, &["A", "B"]);
    fly(&building, "B", building.car_call(19));
    building.wait("B is far away", |building| is_open_at(building, "B", 19));
    // B goes the other way: the hall call is the hung car's to serve, whichever node assigns it.
    building.press("B", building.car_call(0));
    fly(&building, "A", building.car_call(12));
    let (car_call, hall) = (building.car_call(14), building.hall(13, Direction::Up));
    building.press("A", car_call);
    building.press("A", hall);
    building.wait_lit(&["A"], car_call);
    building.wait_lit(&["A", "B"], hall);
    let seen_by_b = events(&building, "B");
    send(&building, "A", "fault motor stuck");
    assert_eq!(building.exit("A").code(), Some(3));
    assert_eq!(building.car("A").driven, None, "the motor still runs");
    assert!(is_latched(&building, "A"));
    let status = liftmesh(&building, "A", &["status"]);
    assert_eq!(status.status.code(), Some(4), "{}", text(&status.stderr));
    assert!(text(&status.stdout).starts_with("Node A: not running, latched\n"));
    building.wait("B shows why A is lost", |building| {
        let lost = building.status("B").map(|status| status.lost);
        lost.is_some_and(
            |lost| matches!(&lost[..], [a] if a.node == "A" && a.cause == LossCause::Hung),
        )
    });

    // H4: the last beacon says that the car hangs, and then the link ends.
    let (lost, assigned) = redistribution(&seen_by_b);
    let hung = time(audit(&building, "A")[0]["at"].as_str().expect("a time"));
    let after = |at: SystemTime| at.duration_since(hung).unwrap_or_default();
    println!(
        "H4: after the hang, reassigned in {:?}, link lost in {:?}",
        after(assigned),
        after(lost)
    );
    assert!(after(assigned) < REDISTRIBUTED_WITHIN);
    building.wait_dark(&["B"], hall);

    // F9: it does not start again, however it is tried.
    let said = refused(&building, "A");
    for part in ["node A hung at 20", "on its way up to floor", "without a new floor sensor"] {
        assert!(said.contains(part), "{said}");
    }
    let command = format!(
        "liftmesh clear-hang --operator NAME --reason TEXT --data-dir {}",
        building.data_dir("A").display()
    );
    assert!(said.contains(&command), "{said}");
    building.start("A");
    assert_eq!(building.exit("A").code(), Some(4));
    assert!(is_latched(&building, "A"));

    // H3
    for wrong in [
        &["clear-hang", "--reason", "x"][..],
        &["clear-hang", "--operator", "x"],
        &["clear-hang", "--operator", " ", "--reason", "x"],
        &["clear-hang", "--operator", "x", "--reason", ""],
    ] {
        let code = liftmesh(&building, "A", wrong).status.code();
        assert_eq!(code, Some(2), "{wrong:?}");
    }
    assert!(is_latched(&building, "A"));
    assert!(clear(&building, "A").starts_with("cleared: the car of node A hung at"));
    assert_eq!(clear(&building, "A"), "nothing to clear\n");
    let before = audit(&building, "A");
    send(&building, "A", "fault motor ok");
    building.start("A");
    building.wait("A has brought its passengers", |building| {
        is_open_at(building, "A", 12) || is_open_at(building, "A", 14)
    });
    building.wait_dark(&["A"], car_call);
    building.wait_dark(&["A"], building.car_call(12));

    // The running node tells the same.
    assert_eq!(clear(&building, "A"), "nothing to clear: the node is running\n");
    let records = audit(&building, "A");
    assert_eq!(records, before);
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(records[0]["kind"], "hang");
    assert_eq!(records[1]["kind"], "clear-hang");
    assert_eq!(records[1]["operator"], "kovac");
    assert_eq!(records[1]["reason"], "brake replaced");
    assert_eq!(records[1]["cleared"]["at"], records[0]["at"]);
    let page = text(&liftmesh(&building, "A", &["audit", "--limit", "1"]).stdout);
    let [_, record] = page.lines().collect::<Vec<_>>()[..] else {
        panic!("{page}");
    };
    assert!(record.contains("kovac"), "{page}");
    building.assert_safe();
}

/// When B lost A, and when A's hall call was given to B.
fn redistribution(seen: &mpsc::Receiver<Event>) -> (SystemTime, SystemTime) {
    let start = Instant::now();
    let (mut lost, mut assigned) = (None, None);
    while lost.is_none() || assigned.is_none() {
        let left = PATIENCE.saturating_sub(start.elapsed());
        let event = seen.recv_timeout(left).expect("it is redistributed");
        match event.report {
            Report::PeerLost { node } if node == "A" => lost = Some(time(&event.at)),
            Report::Assigned { car, .. } if car == "B" => assigned = Some(time(&event.at)),
            _ => {}
        }
    }
    (lost.expect("lost"), assigned.expect("assigned"))
}

/// F9: a latched node does not as much as call its panel.
#[test]
fn a_refused_start_leaves_the_panel_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let panel = TcpListener::bind("127.0.0.1:0").expect("a port");
    panel.set_nonblocking(true).expect("set");
    std::fs::write(directory.path().join("hang.toml"), "damaged").expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .env("LIFTMESH_CONFIG", "")
        .args(["run", "--car", "A", "--floors", "4", "--address", "127.0.0.1"])
        .args(["--broadcast", "127.255.255.255:46100", "--panel"])
        .arg(format!("tcp://{}", panel.local_addr().expect("bound")))
        .arg("--data-dir")
        .arg(directory.path())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let called = panel.accept();
    assert!(called.is_err(), "{called:?}");
    assert!(!directory.path().join("journal.redb").exists());
}

/// H2: the latch is on disk before the process ends, and kill −9 does not take it away.
#[test]
fn a_latch_outlives_a_kill_and_a_lost_journal() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    fly(&building, "A", building.car_call(19));
    send(&building, "A", "fault motor stuck");
    building.wait("it is latched", |building| is_latched(building, "A"));
    building.kill("A");
    refused(&building, "A");
    std::fs::remove_file(building.data_dir("A").join("journal.redb")).expect("removed");
    refused(&building, "A");
    clear(&building, "A");
    let kinds: Vec<_> = audit(&building, "A").iter().map(|record| record["kind"].clone()).collect();
    assert_eq!(kinds, ["latch-found", "hang", "clear-hang"], "the journal is lost, too");
    send(&building, "A", "fault motor ok");
    building.start("A");
    let button = building.car_call(3);
    building.wait("A runs", |building| building.status("A").is_some());
    building.press("A", button);
    building.wait("A serves", |building| is_open_at(building, "A", 3));
}

/// P5: a node that has run before asks for an operator when its journal is gone or damaged; one
/// whose directory is gone altogether is a new node.
#[test]
fn a_commissioned_node_without_its_journal_asks_for_an_operator() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    let journal = building.data_dir("A").join("journal.redb");
    std::fs::write(&journal, vec![7; 10_000]).expect("damaged");
    for _ in 0..2 {
        let said = refused(&building, "A");
        assert!(said.contains("its journal is gone or damaged"), "{said}");
    }
    assert!(building.data_dir("A").join("journal.damaged-1").exists());
    assert!(clear(&building, "A").starts_with("cleared: this node has run before"));
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    assert!(building.stop("A").success());
    building.wipe("A");
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
}

#[test]
fn only_one_process_at_a_time_uses_a_journal() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    let second = building.command("A").output().expect("it runs");
    assert_eq!(second.status.code(), Some(2));
    let said = text(&second.stderr);
    assert!(said.contains("another node is running with this data directory"), "{said}");
    assert!(building.stop("A").success());
    let node = liftmesh::journal::Journal::open(
        &building.data_dir("A"),
        &elevator_fleet::model::NodeId::new("A").expect("a name"),
    )
    .expect("a journal");
    let output = liftmesh(&building, "A", &["audit"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("is in use by another process"), "{said}");
    drop(node);
    assert_eq!(audit(&building, "A"), Vec::<serde_json::Value>::new());
}

/// H1: whatever happens to a healthy car in mid-flight, it is back in service by itself and brings
/// its passenger.
fn is_no_hang(building: &mut Building, what: &str, mishap: impl Fn(&Building)) {
    let button = building.car_call(19);
    fly(building, "A", button);
    mishap(building);
    building.wait(&format!("the passenger is there in spite of {what}"), |building| {
        assert!(!is_latched(building, "A"), "latched by {what}");
        is_open_at(building, "A", 19)
    });
    building.wait_dark(&["A"], button);
    assert!(building.stop("A").success(), "after {what}");
    building.assert_safe();
}

fn outlast_the_limit(building: &Building) {
    building.stays("there is no latch", BEYOND_THE_LIMIT, |building| !is_latched(building, "A"));
}

/// H1, S2
#[test]
fn a_controller_that_was_suspended_in_mid_flight_does_not_hang() {
    suspend(Line::Serial);
}

/// H1, S2
#[test]
fn a_controller_that_was_suspended_in_mid_flight_does_not_hang_over_tcp() {
    suspend(Line::Tcp);
}

fn suspend(line: Line) {
    let mut building = Building::with_cars(20, line, &["A"]);
    is_no_hang(&mut building, "a suspension", |building| {
        building.signal("A", Signal::STOP);
        building.wait("the panel stops the motor", |building| building.car("A").driven.is_none());
        outlast_the_limit(building);
        building.signal("A", Signal::CONT);
    });
}

/// H1: suspensions too short for the panel's watchdog, again and again.
#[test]
fn a_controller_that_stutters_in_mid_flight_does_not_hang() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    is_no_hang(&mut building, "stuttering", |building| {
        for _ in 0..8 {
            building.signal("A", Signal::STOP);
            std::thread::sleep(Duration::from_millis(400));
            building.signal("A", Signal::CONT);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

/// H1
#[test]
fn a_line_that_is_unplugged_in_mid_flight_is_no_hang() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    is_no_hang(&mut building, "an unplugged line", |building| {
        send(building, "A", "fault line unplugged");
        outlast_the_limit(building);
        send(building, "A", "fault line ok");
    });
}

/// H1: the press goes with the panel's memory, the order does not.
#[test]
fn a_panel_that_restarts_in_mid_flight_is_no_hang() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    is_no_hang(&mut building, "a panel's restart", |building| {
        send(building, "A", "fault panel restart");
    });
}

/// H1
#[test]
fn a_stop_switch_in_mid_flight_is_no_hang() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    is_no_hang(&mut building, "the stop switch", |building| {
        send(building, "A", "stop on");
        building.wait("the motor stands", |building| building.car("A").driven.is_none());
        outlast_the_limit(building);
        send(building, "A", "stop off");
    });
}

/// A door that is blocked for too long takes its car out of the group; it comes back by itself.
#[test]
fn a_blocked_door_is_no_hang_and_its_car_comes_back() {
    let mut building = Building::new(8, Line::Serial);
    building.install("A", 1);
    building.start_with("A", |command| {
        command.args(["--nudge-after", "2500ms", "--blocked-after", "4s"]);
    });
    let in_service = |building: &Building| {
        let car = building.status("A").and_then(|status| status.car);
        car.is_some_and(|car| car.view.is_in_service())
    };
    building.wait("A is in service", in_service);
    building.press("A", building.hall(0, Direction::Up));
    building.wait("the door is open", |building| is_open_at(building, "A", 0));
    send(&building, "A", "obstruct on");
    building.wait("A is out of the group", |building| !in_service(building));
    building.stays("no latch", Duration::from_secs(1), |building| !is_latched(building, "A"));
    send(&building, "A", "obstruct off");
    building.wait("A is back", in_service);
    building.press("A", building.car_call(5));
    building.wait("A serves", |building| is_open_at(building, "A", 5));
    assert!(building.stop("A").success());
}
