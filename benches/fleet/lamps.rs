//! A button is pressed: its lamp is lit there, and everywhere. No lamp is lit before two nodes hold
//! the order and one of them has it on disk.

use std::time::{Duration, Instant};

use elevator_fleet::model::{NodeId, Term};
use elevator_fleet::node::{Change, Lsn};
use liftmesh::journal::{Journal, JournalWriter};
use liftmesh_harness::building::{Building, Line};

use crate::samples::Figure;
use crate::site::{CARS, Panels, Which, halls, stop};

const FLOORS: u8 = 12;

/// A press is quick to provoke, so each round presses this many buttons.
const PRESSES: usize = 7;

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let mut figures = Vec::new();
    for line in [Line::Tcp, Line::Serial] {
        let building = Building::with_cars(FLOORS, line, &CARS);
        // Nobody serves, so every lamp stays lit.
        stop(&building, &CARS, "on");
        let name = match line {
            Line::Tcp => "TCP polling",
            Line::Serial => "serial",
        };
        let commits = commits(&building, rounds * PRESSES);
        let (own, all) = presses(&building, rounds);
        let commit = Figure::of_times(format!("one disk commit ({name})"), &commits);
        let limit = match line {
            Line::Tcp => 15.0,
            Line::Serial => commit.median + 5.0,
        };
        figures.extend([
            commit,
            Figure::of_times(format!("press -> own lamp, promised ({name})"), &own)
                .median_at_most(limit),
            Figure::of_times(format!("press -> all lamps ({name})"), &all),
        ]);
    }
    figures
}

/// Presses at one car after the other; hands back how long its own lamp took, and the last of all.
fn presses(building: &Building, rounds: usize) -> (Vec<Duration>, Vec<Duration>) {
    let buttons = halls(building, FLOORS);
    let (mut own, mut all) = (Vec::new(), Vec::new());
    for (round, button) in buttons.iter().copied().cycle().enumerate() {
        if round == rounds * PRESSES {
            break;
        }
        if round > 0 && round % buttons.len() == 0 {
            stop(building, &CARS, "off");
            for button in &buttons {
                building.wait_dark(&CARS, *button);
            }
            stop(building, &CARS, "on");
        }
        let at = CARS[round % CARS.len()];
        let others: Vec<&str> = CARS.into_iter().filter(|name| *name != at).collect();
        let mut here = Panels::of(building, &[at]);
        let mut elsewhere = Panels::of(building, &others);
        let mut panel = building.panel(at);
        // Presses shall not fall in step with polls.
        std::thread::sleep(Duration::from_micros(40_300 + 1_700 * (round as u64 % 11)));
        let began = Instant::now();
        panel.press(button).expect("a press");
        let lit = here.until(Which::All, |car| car.lamps.contains(&button));
        own.push(lit - began);
        let lit = elsewhere.until(Which::All, |car| car.lamps.contains(&button));
        all.push(lit - began);
    }
    (own, all)
}

/// How long the journal takes for one small batch, on the nodes' disk.
fn commits(building: &Building, count: usize) -> Vec<Duration> {
    let node = NodeId::new("spare").expect("a name");
    let (journal, _) = Journal::open(&building.data_dir("spare"), &node).expect("a journal");
    let mut writer = JournalWriter::start(journal, None).expect("a thread");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().expect("a runtime");
    let times = (1..=count as u64)
        .map(|number| {
            let began = Instant::now();
            let change = Change::Term(Term(number));
            writer.submit(Lsn(number), vec![change]).expect("room");
            while runtime.block_on(writer.progress()).durable < Lsn(number) {}
            began.elapsed()
        })
        .collect();
    runtime.block_on(writer.finish());
    times
}
