//! Measures a fleet of real processes on this machine: how soon others take over, how soon lamps
//! are lit, how soon a restarted node is back, and what a node costs while nothing happens and
//! while every call is lit.
//!
//! ```text
//! cargo bench --bench fleet                      # few rounds of everything
//! cargo bench --bench fleet -- --rounds 20 --only takeover --json figures.json
//! ```
//!
//! Everything but virtual time and assignments is seen from outside: at the simulated panels, from
//! the moment before the press or the signal. Looking costs up to a millisecond, which is in the
//! figures.

#![expect(clippy::expect_used, reason = "a measurement ends where what it needs is missing")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod assign;
mod busy;
mod clients;
mod idle;
mod lamps;
mod plan;
mod restart;
mod samples;
mod site;
mod takeover;
mod virtual_time;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use samples::Figure;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// A car's node is killed, or suspended, on its way: another car starts.
    Takeover,
    /// A button is pressed: its lamps are lit.
    Lamps,
    /// A process starts: its car's lamps are restored.
    Restart,
    /// A wide bank with every hall call lit, on one processor: a lamp is lit.
    Busy,
    /// 200 clients follow the event stream of a node of a busy bank: what they cost, and how much later
    /// a lamp is lit.
    Clients,
    /// Nothing happens: processor and memory.
    Idle,
    /// Virtual against real time.
    Virtual,
    /// `liftmesh assign`, in process: all hall calls of three banks.
    Assign,
    /// The planner, in process: all hall calls of a bank, one of them or all of them new.
    Plan,
}

/// Measures a fleet of real processes.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often each event is provoked
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Measure this alone; may be given more than once
    #[arg(long)]
    only: Vec<Subject>,
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
    for subject in Subject::value_variants() {
        if !arguments.only.is_empty() && !arguments.only.contains(subject) {
            continue;
        }
        let measured = match subject {
            Subject::Takeover => takeover::measure(rounds),
            Subject::Lamps => lamps::measure(rounds),
            Subject::Restart => restart::measure(rounds),
            Subject::Busy => busy::measure(rounds),
            Subject::Clients => clients::measure(rounds),
            Subject::Idle => idle::measure(),
            Subject::Virtual => virtual_time::measure(rounds),
            Subject::Assign => assign::measure(rounds),
            Subject::Plan => plan::measure(rounds),
        };
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
