//! What a campaign prints and writes.

use std::io::Write;
use std::thread::available_parallelism;
use std::time::Duration;

use elevator_fleet::election::Preset;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::elections::WriteError;
use liftmesh_lab::recording::Subject;
use liftmesh_lab::{Campaign, Summary, Verdict, Violation};
use serde::Serialize;

use crate::cli::lab::titled;

const MOST_NAMED: usize = 10;

#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) summary: Summary,
    pub(super) took: Duration,
}

#[derive(Serialize)]
struct Figures<'a> {
    version: &'static str,
    /// How long faults happened with each seed.
    faulty_seconds: f64,
    cores: usize,
    protocols: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    passed: u64,
    wall_seconds: f64,
    speed: f64,
}

impl Measured {
    /// Seconds in the worlds for each second and core.
    fn speed(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a machine has few cores")]
        let cores = cores() as f64;
        self.summary.tally.simulated.as_secs_f64() / self.took.as_secs_f64() / cores
    }
}

fn cores() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What was wrong with a seed, and how to see it again.
pub(super) fn page(
    protocol: Protocol,
    preset: Preset,
    duration: Duration,
    Verdict { seed, violations, .. }: &Verdict,
) -> String {
    let preset_flag = match preset {
        Preset::Fleet => "",
        Preset::Source => " --preset source",
    };
    let duration_flag = if duration == Campaign::USUAL_DURATION {
        String::new()
    } else {
        let duration = humantime::format_duration(duration).to_string().replace(' ', "");
        format!(" --duration {duration}")
    };
    let subject = Subject::Campaign { seed: *seed, protocol, preset, duration };
    let again = format!(
        "replay it with liftmesh lab campaign --seeds {seed} --election {protocol}\
         {preset_flag}{duration_flag}\n\
         draw it with {subject} --svg {seed}.svg"
    );
    format!("seed {seed} of {protocol} fails:\n{}{again}\n", lines(violations))
}

pub(super) fn lines(violations: &[Violation]) -> String {
    let lines: Vec<String> =
        violations.iter().map(|violation| format!("  {violation}\n")).collect();
    lines.concat()
}

pub(super) fn table_of(measured: &[Measured]) -> String {
    let mut text = titled(measured.iter().map(row));
    text.push_str(
        "\nhours: simulated; changes: of the master; speed: simulated time / wall time / cores\n",
    );
    for Measured { summary: Summary { protocol, tally, void, .. }, .. } in measured {
        let faults: Vec<String> =
            tally.faults.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        let mut lines = vec![format!("faults under {protocol}: {}\n", faults.join(", "))];
        let void = void.iter().take(MOST_NAMED);
        lines.extend(void.map(|(seed, why)| format!("seed {seed} of {protocol} is void: {why}\n")));
        text.push_str(&lines.concat());
    }
    text
}

fn row(measured: &Measured) -> [(&'static str, String); 11] {
    let Measured { summary, .. } = measured;
    let tally = &summary.tally;
    [
        ("protocol", summary.protocol.to_string()),
        ("seeds", summary.seeds.to_string()),
        ("passed", summary.passed().to_string()),
        ("void", summary.void.len().to_string()),
        ("failed", summary.failed.len().to_string()),
        ("hours", format!("{:.1}", tally.simulated.as_secs_f64() / 3600.0)),
        ("orders", tally.placed.to_string()),
        ("services", tally.served.to_string()),
        ("changes", tally.changes_of_master.to_string()),
        ("speed", format!("{:.0}", measured.speed())),
        ("hash", format!("{:016x}", summary.hash())),
    ]
}

pub(super) fn write_json(
    file: &mut dyn Write,
    duration: Duration,
    measured: &[Measured],
) -> Result<(), WriteError> {
    let figures = Figures {
        version: env!("CARGO_PKG_VERSION"),
        faulty_seconds: duration.as_secs_f64(),
        cores: cores(),
        protocols: measured
            .iter()
            .map(|measured| Row {
                summary: &measured.summary,
                passed: measured.summary.passed(),
                wall_seconds: measured.took.as_secs_f64(),
                speed: measured.speed(),
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *file, &figures)?;
    writeln!(file)?;
    Ok(())
}
