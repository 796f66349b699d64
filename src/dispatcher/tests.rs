use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::model::{
    Availability, CarPhase, CarView, FloorSet, HallCall, Mode, NodeId, Shut,
};
use tempfile::TempDir;

use super::*;

/// Longer than any program here takes for anything but what it is to take too long for.
const PATIENCE: Duration = Duration::from_secs(20);

/// What begins every program here.
const GREETS: &str = "read hello; echo '{\"version\":1}'\n";

/// Answers each request, by its number, with these cars.
fn answers(cars: &str) -> String {
    format!(
        "while read line; do n=${{line#*:}}; echo '{{\"plan\":'${{n%%,*}}',\"cars\":{cars}}}'; done\n"
    )
}

fn answering(cars: &str) -> String {
    GREETS.to_owned() + &answers(cars)
}

/// A program that this script is, with a directory to write to.
fn program(script: &str, place: Place) -> (Program, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("program");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("its own");
    let command = format!("exec:{} {}", path.display(), directory.path().display());
    let command = command.parse().expect("a command");
    let building = Building::uniform(FloorCount::new(4).expect("a count"), 3_000);
    let program = Program::start(command, place, &building, Kinematics::default(), (13.0, 80));
    (program, directory)
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

fn car(name: &str, at: u8, locked_out: &[u8]) -> CarSituation {
    let view = CarView {
        availability: Availability::InService,
        floor: Some(floor(at)),
        phase: CarPhase::Idle,
        elapsed: Duration::ZERO,
        direction: None,
        load: None,
        locked_out: locked_out.iter().map(|index| floor(*index)).collect::<FloorSet>(),
        mode: Mode::default(),
        shut: Shut::default(),
    };
    CarSituation { car: NodeId::new(name).expect("a name"), view, car_calls: [].into() }
}

fn demand() -> HallDemand {
    let call = HallCall::new(floor(2), Direction::Up);
    let waited = Duration::from_secs(3);
    HallDemand { call, waited, assigned: None, wanted: FloorSet::default() }
}

/// Car A stands three floors away, B next to the call; C can't stop there.
fn cars() -> [CarSituation; 3] {
    [car("A", 0, &[]), car("B", 2, &[]), car("C", 2, &[2])]
}

/// Who gets the call.
fn chosen(program: &mut Program) -> Option<String> {
    let assignments = program.assign(&cars(), &[demand()]);
    assignments.into_values().next().map(|car| car.to_string())
}

fn until(program: &mut Program, what: &str, is_so: impl Fn(&ProgramHealth) -> bool) {
    let begun = Instant::now();
    while !is_so(&program.health) {
        assert!(begun.elapsed() < PATIENCE, "{what}: {:?}", program.health);
        chosen(program);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_assigns_the_calls() {
    let (mut program, _directory) =
        program(&answering(r#"{"hall-2-up":"A","x":null}"#), Place::Lab);
    assert_eq!(chosen(&mut program), Some("B".to_owned()), "it names a call that is none");
    let (mut program, _directory) = self::program(&answering(r#"{"hall-2-up":"A"}"#), Place::Lab);
    assert_eq!(chosen(&mut program), Some("A".to_owned()), "the planner would take B");
    let health = program.health().expect("a program").clone();
    assert_eq!((health.plans, health.fallbacks, health.is_failing), (1, 0, false), "{health:?}");
}

/// O7: the planner replaces a plan that can't be used.
#[test]
fn the_planner_stands_in_for_what_is_wrong() {
    for (answer, fault) in [
        (answering(r#"{"hall-2-up":"C"}"#), "it gives hall-2-up to \"C\", which is not among"),
        (answering(r#"{"hall-2-up":"Z"}"#), "it gives hall-2-up to \"Z\", which is not among"),
        (answering(r#"{"hall-9-up":"A"}"#), "it names the call \"hall-9-up\""),
        (answering("["), "is not what it should answer"),
        ("echo loading; read hello; read end".to_owned(), "it has ended: \"loading\" is not what"),
        ("read hello; echo '{\"version\":2}'; read line".to_owned(), "speaks version 2"),
        (
            GREETS.to_owned() + "read line; echo '{\"plan\":9,\"cars\":{}}'; read end",
            "it answered plan 9",
        ),
        ("exit 3".to_owned(), "exit status: 3"),
        (
            "read hello; head -c 1100000 /dev/zero | tr '\\0' a; read end".to_owned(),
            "is longer than",
        ),
    ] {
        let (mut program, _directory) = program(&answer, Place::Lab);
        assert_eq!(chosen(&mut program), Some("B".to_owned()), "{fault}");
        let health = program.health;
        let said = health.fault.unwrap_or_default();
        assert!(said.contains(fault), "{fault}: {said}");
        assert_eq!((health.plans, health.fallbacks, health.is_failing), (0, 1, true), "{fault}");
    }
    let (mut missing, _directory) = program("", Place::Lab);
    missing.conversation = None;
    missing.command = "exec:/no/such/program".parse().expect("a command");
    assert_eq!(chosen(&mut missing), Some("B".to_owned()));
    let said = missing.health.fault.unwrap_or_default();
    assert!(said.starts_with("it can't be started: "), "{said}");
}

/// A plan without a car is one: what is left open is counted.
#[test]
fn a_call_may_be_left_open() {
    for nobody in ["{}", r#"{"hall-2-up":null}"#, r#"{"hall-2-up":"none"}"#] {
        let (mut program, _directory) = program(&answering(nobody), Place::Lab);
        assert_eq!(chosen(&mut program), None, "{nobody}");
        assert_eq!(program.health.left_open, demand().waited, "{nobody}");
        assert!(!program.health.is_failing, "{nobody}");
    }
}

/// The planner does not wait for a program that is late, and drops the late answer.
#[test]
fn a_late_program_delays_no_plan() {
    let late = GREETS.to_owned()
        + "read line; sleep 0.3; echo '{\"plan\":0,\"cars\":{}}'\n"
        + &answers(r#"{"hall-2-up":"A"}"#);
    let (mut program, _directory) = program(&late, Place::Fleet(Duration::from_millis(20)));
    let begun = Instant::now();
    assert_eq!(chosen(&mut program), Some("B".to_owned()));
    assert!(begun.elapsed() < PATIENCE / 10);
    until(&mut program, "it is late", |health| {
        health.fault.as_ref().is_some_and(|fault| fault == "it did not answer within 20ms")
    });
    until(&mut program, "it works again", |health| health.plans > 0 && !health.is_failing);
    assert_eq!(chosen(&mut program), Some("A".to_owned()));
}

#[test]
fn a_program_that_has_ended_is_started_again() {
    let once = "[ -e $1/was ] || { touch $1/was; exit 1; }\n";
    let script = once.to_owned() + &answering(r#"{"hall-2-up":"A"}"#);
    let (mut program, _directory) = program(&script, Place::Fleet(Duration::from_millis(20)));
    let begun = Instant::now();
    until(&mut program, "it ends", |health| health.fault.is_some());
    until(&mut program, "it works", |health| health.plans > 0);
    assert!(begun.elapsed() >= RESTART, "it is not started at once");
}

#[test]
fn a_program_beside_a_node_has_an_empty_environment() {
    let script = "wc -c < /proc/$$/environ > $1/environment\n".to_owned() + &answering("{}");
    let (mut program, directory) = program(&script, Place::Fleet(PATIENCE / 2));
    chosen(&mut program);
    let size = fs::read_to_string(directory.path().join("environment")).expect("it was written");
    assert_eq!(size.trim(), "0");
}
