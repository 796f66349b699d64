//! Hangs of real cars on pseudo-terminals, and what must not be taken for one.

use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use elevator_driver::Direction;
use elevator_fleet::node::LossCause;
use liftmesh_harness::building::{Building, FLIGHT_LIMIT, Line};
use rustix::process::Signal;

use super::command_line::{self, NODE};

/// The flight limit of the building's nodes, and something on top.
const BEYOND_THE_LIMIT: Duration = FLIGHT_LIMIT.saturating_add(Duration::from_millis(1500));

/// H4: from the hang itself, which is no later than the others notice.
const REDISTRIBUTED_WITHIN: Duration = Duration::from_secs(1);

fn audit(building: &Building, name: &str) -> Vec<serde_json::Value> {
    let lines = building.done(name, &["audit", "--json"]);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Starts a node that is to be refused; what it says.
fn refused(building: &Building, name: &str) -> String {
    let (exit, said) = building.refused_start(name);
    assert_eq!(exit, Some(4), "{said}");
    assert!(building.is_latched(name));
    said
}

/// H2, H3: the latch is on disk before the process ends, so that kill −9 does not take it away; the
/// audit log has the hang, so that a latch does not vanish unnoticed.
#[test]
fn a_latch_that_is_deleted_by_hand_is_missed_at_the_next_start() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    building.fly("A", 19);
    building.tell("A", "fault motor stuck");
    building.wait("it is latched", |building| building.is_latched("A"));
    building.kill("A");
    refused(&building, "A");
    let latch = building.data_dir("A").join("hang.toml");
    std::fs::remove_file(&latch).expect("the latch");
    for _ in 0..2 {
        let said = refused(&building, "A");
        for part in ["node A hung at 20", "removed by hand", "clear-hang --operator"] {
            assert!(said.contains(part), "{said}");
        }
    }
    // Before any start has missed it, too.
    std::fs::remove_file(&latch).expect("the latch");
    let words = ["clear-hang", "--operator", "kovac", "--reason", "brake replaced"];
    let cleared = building.operator("A", &words).env("SUDO_USER", "novak").output();
    let said = String::from_utf8(cleared.expect("it runs").stdout).expect("text");
    assert!(said.starts_with("cleared: the car of node A hung at 20"), "{said}");
    assert!(said.contains("\naudit log: record 2\n"), "{said}");
    let records = audit(&building, "A");
    let kinds: Vec<_> = records.iter().map(|record| record["kind"].clone()).collect();
    assert_eq!(kinds, ["hang", "clear-hang"]);
    let account = &records[1]["account"];
    assert_eq!(account["sudo_user"], "novak");
    assert_eq!(account["uid"], rustix::process::getuid().as_raw());
    building.tell("A", "fault motor ok");
    building.start("A");
    building.wait_in_service(&["A"]);
}

/// F9, H1–H4: from the hang in mid-flight to the return to service.
#[test]
fn a_car_that_hangs_in_mid_flight_stays_out_until_an_operator_clears_it() {
    let mut building = Building::with_cars(20, Line::Serial, &["A", "B"]);
    building.fly("B", 19);
    building.wait_open_at("B", 19);
    // B goes the other way: the hall call is the hung car's to serve, whichever node assigns it.
    building.press("B", building.car_call(0));
    building.fly("A", 12);
    let (car_call, hall) = (building.car_call(14), building.hall(13, Direction::Up));
    building.press("A", car_call);
    building.press("A", hall);
    building.wait_lit(&["A"], car_call);
    building.wait_lit(&["A", "B"], hall);
    let has_call = |building: &Building, name: &str| {
        let orders = building.status("B").map(|status| status.orders).unwrap_or_default();
        orders.iter().any(|it| {
            it.call.button() == Some(hall) && it.car.as_ref().is_some_and(|car| *car == name)
        })
    };
    building.wait("A has the hall call", |building| has_call(building, "A"));
    building.tell("A", "fault motor stuck");
    building.wait("B has A's hall call", |building| has_call(building, "B"));
    let assigned = SystemTime::now();
    assert_eq!(building.exit("A").code(), Some(3));
    assert_eq!(building.car("A").driven, None, "the motor still runs");
    assert!(building.is_latched("A"));
    building.wait("B shows why A is lost", |building| {
        let lost = building.status("B").map(|status| status.lost);
        lost.is_some_and(
            |lost| matches!(&lost[..], [a] if a.node == "A" && a.cause == LossCause::Hung),
        )
    });

    // H4
    let hung = audit(&building, "A")[0]["at"].as_str().map(humantime::parse_rfc3339);
    let hung = hung.expect("text").expect("a time");
    let after = assigned.duration_since(hung).unwrap_or_default();
    println!("H4: reassigned {after:?} after the hang");
    assert!(after < REDISTRIBUTED_WITHIN);
    building.wait_dark(&["B"], hall);

    // F9: it does not start again, and reads as latched.
    let remedy = format!(
        "liftmesh clear-hang --operator NAME --reason TEXT --data-dir {}",
        building.data_dir("A").display()
    );
    let status = |words: &[&str]| {
        let output = building.operator("A", words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    for said in
        [status(&["status"]), refused(&building, "A"), status(&["order", "hall", "1", "up"])]
    {
        for part in ["on its way up to floor", "without a new floor sensor", &remedy] {
            assert!(said.contains(part), "{said}");
        }
    }
    let view = status(&["status", "--json"]);
    let view: serde_json::Value = serde_json::from_str(&view).expect("JSON");
    assert_eq!((&view["running"], &view["latch"]["cause"]), (&false.into(), &"hang".into()));
    assert_eq!(view["remedy"], remedy.as_str());
    // H3
    for wrong in [
        &["clear-hang", "--reason", "x"][..],
        &["clear-hang", "--operator", "x"],
        &["clear-hang", "--operator", " ", "--reason", "x"],
        &["clear-hang", "--operator", "x", "--reason", ""],
    ] {
        assert_eq!(building.refusal("A", wrong).0, Some(2), "{wrong:?}");
    }
    assert!(building.is_latched("A"));
    assert!(building.clear_hang("A").starts_with("cleared: the car of node A hung at"));
    assert_eq!(building.clear_hang("A"), "nothing to clear\n");
    building.tell("A", "fault motor ok");
    building.start("A");
    building.wait_dark(&["A"], car_call);
    building.wait_dark(&["A"], building.car_call(12));
    assert_eq!(building.clear_hang("A"), "nothing to clear: the node is running\n");
    let records = audit(&building, "A");
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(records[1]["operator"], "kovac");
    assert_eq!(records[1]["cleared"]["at"], records[0]["at"]);
    building.assert_safe();
}

/// F9: a latched node does not as much as call its panel.
#[test]
fn a_refused_start_leaves_the_panel_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let panel = TcpListener::bind("127.0.0.1:0").expect("a port");
    panel.set_nonblocking(true).expect("set");
    std::fs::write(directory.path().join("hang.toml"), "damaged").expect("written");
    let url = format!("tcp://{}", panel.local_addr().expect("bound"));
    let mut command = command_line::liftmesh(&["run"]);
    command.args(NODE.split(' ')).args(["--panel", &url, "--data-dir"]).arg(directory.path());
    assert_eq!(command.output().expect("it runs").status.code(), Some(4));
    let called = panel.accept();
    assert!(called.is_err(), "{called:?}");
    assert!(!directory.path().join("journal.redb").exists());
}

/// H1: whatever happens to a healthy car in mid-flight, it is back in service by itself and brings
/// its passenger.
fn is_no_hang(building: &Building, what: &str, to: u8, mishap: impl Fn(&Building)) {
    let button = building.fly("A", to);
    mishap(building);
    building.wait(&format!("the passenger is there in spite of {what}"), |building| {
        assert!(!building.is_latched("A"), "latched by {what}");
        building.is_open_at("A", to)
    });
    building.wait_dark(&["A"], button);
}

fn outlast_the_limit(building: &Building) {
    building.wait("the motor stands", |building| building.car("A").driven.is_none());
    building.stays("there is no latch", BEYOND_THE_LIMIT, |building| !building.is_latched("A"));
}

/// H1, S2: for long, or again and again too briefly for the panel's watchdog.
#[test]
fn a_controller_that_is_suspended_in_mid_flight_is_no_hang() {
    let building = Building::with_cars(20, Line::Serial, &["A"]);
    is_no_hang(&building, "a suspension", 19, |building| {
        building.signal("A", Signal::STOP);
        outlast_the_limit(building);
        building.signal("A", Signal::CONT);
    });
    is_no_hang(&building, "stuttering", 0, |building| {
        for _ in 0..8 {
            building.signal("A", Signal::STOP);
            std::thread::sleep(Duration::from_millis(400));
            building.signal("A", Signal::CONT);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    building.assert_safe();
}

/// H1, S2.
#[test]
fn a_line_that_is_unplugged_in_mid_flight_is_no_hang_and_neither_is_the_stop_switch() {
    let building = Building::with_cars(20, Line::Serial, &["A"]);
    is_no_hang(&building, "an unplugged line", 19, |building| {
        building.tell("A", "fault line unplugged");
        outlast_the_limit(building);
        building.tell("A", "fault line ok");
    });
    is_no_hang(&building, "the stop switch", 0, |building| {
        building.tell("A", "stop on");
        outlast_the_limit(building);
        building.tell("A", "stop off");
    });
    building.assert_safe();
}
