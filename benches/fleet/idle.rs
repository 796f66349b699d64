//! Nothing happens: what a node costs.

use std::path::Path;
use std::time::{Duration, Instant};

use liftmesh_harness::building::{Building, Line};

use crate::samples::Figure;
use crate::site::{BANK, CARS, rest};

/// For how long the nodes are watched.
const WATCH: Duration = Duration::from_secs(20);

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
    let shares = per_second(|(seconds, _)| seconds * 100.0);
    let resident = names.iter().map(|name| resident(&building, name)).collect();
    let wake_ups = per_second(|(_, wake_ups)| *wake_ups);
    let figure =
        |of, unit, samples| Figure::new(format!("idle node, {of} ({what})"), unit, samples);
    [
        figure("share of one core", "%", shares).median_at_most(1.0),
        figure("wake-ups a second", "1/s", wake_ups),
        figure("resident memory", "MiB", resident).median_at_most(20.0),
    ]
}

/// The processor time that each node has used, in seconds, and how often its threads have woken.
fn used(building: &Building, names: &[&str]) -> Vec<(f64, f64)> {
    let used = |name: &&str| (building.processor_time(name), wake_ups(building, name));
    names.iter().map(used).collect()
}

fn wake_ups(building: &Building, name: &str) -> f64 {
    let tasks = format!("/proc/{}/task", building.process_id(name));
    let tasks = std::fs::read_dir(tasks).expect("a running process");
    let each =
        tasks.map(|task| number(&task.expect("a thread").path(), "voluntary_ctxt_switches:"));
    each.sum()
}

fn resident(building: &Building, name: &str) -> f64 {
    let kibibytes = number(format!("/proc/{}", building.process_id(name)).as_ref(), "VmRSS:");
    kibibytes / 1024.0
}

/// A number in the status of a process or thread.
fn number(of: &Path, what: &str) -> f64 {
    let text = std::fs::read_to_string(of.join("status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(what)).expect("a line");
    let number = line.split_whitespace().next();
    number.and_then(|number| number.parse().ok()).expect("a number")
}
