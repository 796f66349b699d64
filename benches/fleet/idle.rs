//! Nothing happens: what a node costs.

use std::time::{Duration, Instant};

use liftmesh_harness::building::{Building, Line};

use crate::samples::{Decisive, Figure, Target};
use crate::site::{CARS, rest};

/// For how long the nodes are watched.
const WATCH: Duration = Duration::from_secs(20);

/// In these parts of a second Linux tells the processor time of a process.
const TICKS: f64 = 100.0;

/// A bank as large as they usually are.
const BANK: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

pub(crate) fn measure() -> Vec<Figure> {
    let fleets = [
        (Line::Serial, &CARS[..], "serial"),
        (Line::Tcp, &CARS[..], "TCP polling"),
        (Line::Tcp, &BANK[..], "8 nodes, TCP polling"),
    ];
    let each = fleets.map(|(line, names, what)| fleet(line, names, what));
    each.into_iter().flatten().collect()
}

fn fleet(line: Line, names: &'static [&'static str], what: &str) -> [Figure; 3] {
    let building = Building::with_cars(4, line, names);
    let ground: Vec<(&str, u8)> = names.iter().map(|name| (*name, 0)).collect();
    rest(&building, &ground);
    let (began, before) = (Instant::now(), used(&building, names));
    std::thread::sleep(WATCH);
    let (took, after) = (began.elapsed().as_secs_f64(), used(&building, names));
    let per_second = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let each = before.iter().zip(&after);
        each.map(|(before, after)| (of(after) - of(before)) / took).collect()
    };
    let shares = per_second(|(ticks, _)| ticks / TICKS * 100.0);
    let resident = names.iter().map(|name| resident(&building, name)).collect();
    [
        Figure::new(
            &format!("idle node, share of one core ({what})"),
            "%",
            shares,
            Some(Target::at_most(Decisive::Median, 1.0)),
        ),
        Figure::new(
            &format!("idle node, wake-ups a second ({what})"),
            "1/s",
            per_second(|(_, wake_ups)| *wake_ups),
            None,
        ),
        Figure::new(
            &format!("idle node, resident memory ({what})"),
            "MiB",
            resident,
            Some(Target::at_most(Decisive::Median, 20.0)),
        ),
    ]
}

/// The processor time that each node has used, in clock ticks, and how often its threads have
/// woken.
fn used(building: &Building, names: &[&str]) -> Vec<(f64, f64)> {
    let wake_ups = names.iter().map(|name| wake_ups(building, name));
    ticks(building, names).into_iter().zip(wake_ups).collect()
}

fn wake_ups(building: &Building, name: &str) -> f64 {
    let tasks = format!("/proc/{}/task", building.process_id(name));
    let tasks = std::fs::read_dir(tasks).expect("a running process");
    let each = tasks.map(|task| {
        let status = task.expect("a thread").path().join("status");
        let text = std::fs::read_to_string(status).expect("a running thread");
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let count = line.expect("a count").trim();
        count.parse::<f64>().expect("a number")
    });
    each.sum()
}

/// The processor time that each node has used, in clock ticks.
pub(crate) fn ticks(building: &Building, names: &[&str]) -> Vec<f64> {
    names
        .iter()
        .map(|name| {
            let text = proc_file(building, name, "stat");
            // The name of the program may have spaces; it ends with the last parenthesis.
            let (_, rest) = text.rsplit_once(')').expect("a process");
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let number = |field: usize| fields[field].parse::<f64>().expect("a number");
            number(11) + number(12)
        })
        .collect()
}

fn resident(building: &Building, name: &str) -> f64 {
    let text = proc_file(building, name, "status");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: f64 = kibibytes.expect("a size").parse().expect("a number");
    kibibytes / 1024.0
}

fn proc_file(building: &Building, name: &str, file: &str) -> String {
    let path = format!("/proc/{}/{file}", building.process_id(name));
    std::fs::read_to_string(path).expect("a running process")
}
