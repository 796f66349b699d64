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

use crate::cli::table::table;

/// The most void seeds that are named.
const MOST_NAMED: usize = 10;

/// The figures of one protocol, and how long it took to get them.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) summary: Summary,
    pub(super) took: Duration,
}

/// The form of the JSON file.
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
    /// Seconds in the worlds for each second and core.
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

/// Each violation in a line.
pub(super) fn lines(violations: &[Violation]) -> String {
    let lines: Vec<String> =
        violations.iter().map(|violation| format!("  {violation}\n")).collect();
    lines.concat()
}

/// The figures of all protocols.
pub(super) fn table_of(measured: &[Measured]) -> String {
    const HEADING: [&str; 11] = [
        "protocol", "seeds", "passed", "void", "failed", "hours", "orders", "services", "changes",
        "speed", "hash",
    ];
    let mut text = table(HEADING, measured.iter().map(row));
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

fn row(measured: &Measured) -> [String; 11] {
    let Measured { summary, .. } = measured;
    let tally = &summary.tally;
    [
        summary.protocol.to_string(),
        summary.seeds.to_string(),
        summary.passed().to_string(),
        summary.void.len().to_string(),
        summary.failed.len().to_string(),
        format!("{:.1}", tally.simulated.as_secs_f64() / 3600.0),
        tally.placed.to_string(),
        tally.served.to_string(),
        tally.changes_of_master.to_string(),
        format!("{:.0}", measured.speed()),
        format!("{:016x}", summary.hash()),
    ]
}

/// Writes the figures.
pub(super) fn write_json(
    file: &mut dyn Write,
    duration: Duration,
    measured: &[Measured],
) -> Result<(), WriteError> {
    let row = |measured: &'_ Measured| -> (u64, f64, f64) {
        (measured.summary.passed(), measured.took.as_secs_f64(), measured.speed())
    };
    let protocols = measured
        .iter()
        .map(|measured| {
            let (passed, wall_seconds, speed) = row(measured);
            Row { summary: &measured.summary, passed, wall_seconds, speed }
        })
        .collect();
    let figures = Figures {
        version: env!("CARGO_PKG_VERSION"),
        faulty_seconds: duration.as_secs_f64(),
        cores: cores(),
        protocols,
    };
    serde_json::to_writer_pretty(&mut *file, &figures)?;
    writeln!(file)?;
    Ok(())
}
