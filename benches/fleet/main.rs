//! Measures a fleet of real processes on this machine: how soon others take over, how soon lamps
//! are lit, how soon a restarted node is back, and what a node costs while nothing happens and
//! while every call is lit.
//!
//! ```text
//! cargo bench --bench fleet                      # few rounds of everything
//! cargo bench --bench fleet -- --rounds 20 --only takeover --json figures.json
//! ```
//!
//! Everything but plans and assignments is seen from outside: at the simulated panels, from
//! the moment before the press or the signal. Looking costs up to a millisecond, which is in the
//! figures.

#![expect(clippy::expect_used, reason = "a measurement ends where what it needs is missing")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod busy;
mod clients;
mod idle;
mod lamps;
mod plan;
mod restart;
mod samples;
mod site;
mod takeover;

use std::path::PathBuf;

use clap::Parser;
use samples::Figure;

/// What is measured in this many rounds.
type Measure = fn(usize) -> Vec<Figure>;

const SUBJECTS: [(&str, Measure); 7] = [
    // A car's node is killed, or suspended, on its way: another car starts.
    ("takeover", takeover::measure),
    // A button is pressed: its lamps are lit.
    ("lamps", lamps::measure),
    // A process starts: its car's lamps are restored.
    ("restart", restart::measure),
    // A wide bank with every hall call lit, on one processor: a lamp is lit.
    ("busy", busy::measure),
    // 200 clients follow the event stream of a node of a busy bank.
    ("clients", clients::measure),
    // Nothing happens: processor and memory.
    ("idle", |_| idle::measure()),
    // The planner, in process: all hall calls of a bank, one of them or all of them new.
    ("plan", plan::measure),
];

/// Measures a fleet of real processes.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often each event is provoked
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Measure this alone; may be given more than once
    #[arg(long, value_parser = SUBJECTS.map(|(subject, _)| subject))]
    only: Vec<String>,
    /// Write the figures to this file too
    #[arg(long)]
    json: Option<PathBuf>,
    /// Given by Cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let rounds = arguments.rounds.max(1);
    let mut figures: Vec<Figure> = Vec::new();
    samples::print_heading();
    for (subject, measure) in SUBJECTS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == subject) {
            continue;
        }
        let measured = measure(rounds);
        for figure in &measured {
            figure.print();
        }
        figures.extend(measured);
    }
    if let Some(path) = arguments.json {
        let text = serde_json::to_string_pretty(&figures).expect("figures have a JSON form");
        std::fs::write(&path, format!("{text}\n")).expect("a file to write");
    }
}
