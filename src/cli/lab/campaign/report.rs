//! What a campaign prints and writes.

use std::thread::available_parallelism;
use std::time::Duration;

use elevator_fleet::election::Preset;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::recording::Subject;
use liftmesh_lab::{Summary, Verdict, Violation};

use crate::cli::table::table;

const MOST_NAMED: usize = 10;

const HEADING: [&str; 11] = [
    "protocol", "seeds", "passed", "void", "failed", "hours", "orders", "services", "changes",
    "speed", "hash",
];

#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) summary: Summary,
    pub(super) took: Duration,
}

impl Measured {
    /// Seconds in the worlds for each second and core.
    fn speed(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a machine has few cores")]
        let cores = available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        self.summary.tally.simulated.as_secs_f64() / self.took.as_secs_f64() / cores
    }
}

/// What was wrong with a seed, and how to see it again.
pub(super) fn page(
    protocol: Protocol,
    preset: Preset,
    duration: Duration,
    Verdict { seed, violations, .. }: &Verdict,
) -> String {
    let draw = Subject::Campaign { seed: *seed, protocol, preset, duration }.to_string();
    let replay = draw.replace("lab trace --campaign", "lab campaign --seeds");
    format!(
        "seed {seed} of {protocol} fails:\n{}replay it with {replay}\ndraw it with {draw} --svg \
         {seed}.svg\n",
        lines(violations)
    )
}

pub(super) fn lines(violations: &[Violation]) -> String {
    let lines = violations.iter().map(|violation| format!("  {violation}\n"));
    lines.collect::<Vec<_>>().concat()
}

pub(super) fn table_of(measured: &[Measured]) -> String {
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
