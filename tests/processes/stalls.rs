//! What may not delay the stop of a motor: the loop, any thread but the panel's, the log.

use std::fs::File;
use std::io::{PipeReader, Write, pipe};
use std::os::fd::OwnedFd;
use std::time::Duration;

use liftmesh_harness::building::{Building, FLIGHT_LIMIT, Line, Stopped};
use rustix::fs::OFlags;

/// A motor has to stop within 0.5 s of the cause; what is asserted leaves room for a machine that
/// is busy with other tests.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

fn is_driven(building: &Building, name: &str) -> bool {
    building.car(name).driven.is_some()
}

/// S2, H1: the loop stands still, and its panel line does not.
#[test]
fn a_loop_that_stands_still_has_its_motor_stopped() {
    for line in [Line::Serial, Line::Tcp] {
        println!("{line:?}: the motor stood after {:?}", loop_stands_still(line));
    }
}

/// How long the motor ran on, where this machine lets threads be stopped.
fn loop_stands_still(line: Line) -> Option<Duration> {
    let mut building = Building::with_cars(20, line, &["A"]);
    building.fly("A", 19);
    let stopped = Stopped::new(&building.threads("A")[0])?;
    // The motor is off once the car slows down; the brake needs its time.
    let mut fastest = 0.0_f64;
    let stood = building.wait_within(STOPPED_WITHIN, "the car slows down", |building| {
        let speed = building.car("A").speed.abs();
        fastest = fastest.max(speed);
        speed < fastest - 0.1
    });
    building.wait_within(STOPPED_WITHIN, "the motor stands", |building| !is_driven(building, "A"));
    assert_eq!(building.car("A").watchdog_stops, 0, "the line stopped it");
    building.stays(
        "the motor stands while the loop does",
        FLIGHT_LIMIT + Duration::from_secs(1),
        |building| !is_driven(building, "A"),
    );
    drop(stopped);
    building.wait("the passenger is there", |building| {
        assert!(!building.is_latched("A"), "latched");
        building.is_open_at("A", 19)
    });
    assert!(building.stop("A").success());
    building.assert_safe();
    Some(stood)
}

/// F9, H2: whichever thread stands still, a motor that is driven in vain is stopped and latched.
#[test]
fn a_thread_that_stands_still_hides_no_hang() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    let threads = building.threads("A");
    let others = threads[1..].iter().filter(|thread| !thread.name.starts_with("panel-"));
    let names: Vec<String> = others.map(|thread| thread.name.clone()).collect();
    assert!(!names.is_empty(), "{threads:?}");
    for name in names {
        let thread = building.threads("A");
        let thread = thread.iter().find(|thread| thread.name == name);
        let Some(stopped) = Stopped::new(thread.expect("a thread of that name")) else {
            return;
        };
        building.tell("A", "fault motor stuck");
        building.press("A", building.car_call(19));
        building.wait("the motor is driven", |building| is_driven(building, "A"));
        building.wait("it is latched", |building| building.is_latched("A"));
        assert!(!is_driven(&building, "A"), "{name}: the motor still runs");
        drop(stopped);
        assert_eq!(building.exit("A").code(), Some(3), "{name}");
        building.clear_hang("A");
        building.tell("A", "fault motor ok");
        building.start("A");
        building.wait_in_service(&["A"]);
    }
    building.assert_safe();
}

/// A pipe that is full, and whose other end nobody reads.
fn full_pipe() -> (PipeReader, OwnedFd) {
    let (reader, mut writer) = pipe().expect("a pipe");
    rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).expect("set");
    while writer.write(&[b'x'; 4096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    rustix::fs::fcntl_setfl(&writer, OFlags::empty()).expect("set");
    (reader, writer.into())
}

/// F9, H2: the reader of the log has stopped, or is gone, or the disk is full; then the status says
/// how much of the log is lost.
#[test]
fn a_log_that_nobody_reads_hides_no_hang() {
    let (_reader, stopped) = full_pipe();
    let (gone, no_reader) = pipe().expect("a pipe");
    drop(gone);
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    for (what, log) in
        [("nobody reads", stopped), ("reader gone", no_reader.into()), ("disk full", full.into())]
    {
        println!("{what}: stopped after {:?}", hangs_and_latches(log, what == "disk full"));
    }
}

/// How long the motor ran on after the node had found the hang.
fn hangs_and_latches(log: OwnedFd, loses_lines: bool) -> Duration {
    let mut building = Building::new(20, Line::Serial);
    building.install("A", 1);
    building.start_logging_to("A", log);
    building.wait_in_service(&["A"]);
    if loses_lines {
        assert!(building.status("A").expect("a running node").log_lines_lost > 0);
        let page = building.done("A", &["status"]);
        assert!(page.contains(" lines lost"), "{page}");
    }
    building.tell("A", "fault motor stuck");
    building.press("A", building.car_call(19));
    building.wait("the motor is driven", |building| is_driven(building, "A"));
    let driven = building.wait("the motor stands", |building| !is_driven(building, "A"));
    assert_eq!(building.car("A").watchdog_stops, 0, "the node stopped it");
    building.wait("it is latched", |building| building.is_latched("A"));
    let late = driven.saturating_sub(driven_at_the_hang(&building, "A"));
    assert!(late < STOPPED_WITHIN, "{late:?} too late");
    assert_eq!(building.exit("A").code(), Some(3));
    building.assert_safe();
    late
}

/// For how long the motor had been driven when the node found the hang, as its latch says.
fn driven_at_the_hang(building: &Building, name: &str) -> Duration {
    let latch = std::fs::read_to_string(building.data_dir(name).join("hang.toml"));
    let latch: toml::Table = latch.expect("a latch").parse().expect("TOML");
    let seconds = latch["evidence"]["actual_s"].as_float();
    Duration::from_secs_f64(seconds.expect("a time"))
}
