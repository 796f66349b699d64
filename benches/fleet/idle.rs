//! Nothing happens: what a node costs.

use std::time::{Duration, Instant};

use crate::building::{Building, Line};
use crate::samples::{Decisive, Figure, Target};
use crate::site::{CARS, rest};

/// For how long the nodes are watched.
const WATCH: Duration = Duration::from_secs(20);

/// In these parts of a second Linux tells the processor time of a process.
const TICKS: f64 = 100.0;

pub(crate) fn measure() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (line, name) in [(Line::Serial, "serial"), (Line::Tcp, "TCP polling")] {
        let building = Building::with_cars(4, line, &CARS);
        rest(&building, &CARS.map(|name| (name, 0)));
        let (began, before) = (Instant::now(), ticks(&building, &CARS));
        std::thread::sleep(WATCH);
        let (took, after) = (began.elapsed(), ticks(&building, &CARS));
        let shares = before
            .iter()
            .zip(&after)
            .map(|(before, after)| (after - before) / TICKS / took.as_secs_f64() * 100.0);
        figures.push(Figure::new(
            &format!("idle node, share of one core ({name})"),
            "%",
            shares.collect(),
            (line == Line::Serial).then(|| Target::at_most(Decisive::Median, 1.0)),
        ));
        figures.push(Figure::new(
            &format!("idle node, resident memory ({name})"),
            "MiB",
            CARS.iter().map(|name| resident(&building, name)).collect(),
            Some(Target::at_most(Decisive::Median, 20.0)),
        ));
    }
    figures
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
