//! Makes a failing campaign small, and replays scripts.

use std::path::Path;
use std::time::{Duration, Instant};

use liftmesh_lab::{Campaign, Script, Shrunk, Size};

use super::lines;
use crate::cli::lab::{LabError, files};
use crate::cli::{CommandError, output};

const MOST_RUNS: usize = 300;

/// And at most this long.
const LONGEST: Duration = Duration::from_mins(2);

/// Shrinks a campaign that fails, writes the script to this file, and prints what is left.
pub(super) fn shrink(campaign: &Campaign, path: &Path) -> Result<(), CommandError> {
    let outcome = campaign.run().map_err(LabError::from)?;
    let first = outcome.violations.iter().min_by_key(|violation| violation.at);
    let Some(id) = first.map(|violation| violation.id) else {
        return Ok(());
    };
    let template = "shrinking {bar:40} {pos} of at most {len} runs: {msg}";
    let bar = files::progress(MOST_RUNS as u64, template);
    let began = Instant::now();
    let shrunk = outcome.script.shrink(id, MOST_RUNS, |progress| {
        bar.set_position(progress.runs as u64);
        bar.set_message(size(progress.size));
        began.elapsed() < LONGEST
    });
    bar.finish_and_clear();
    let Some(shrunk) = shrunk.map_err(LabError::from)? else {
        let page = format!("the script of seed {} does not violate {id}\n", campaign.world.seed);
        return Ok(output::print(&page)?);
    };
    files::write_file(path, |file| Ok(serde_json::to_writer_pretty(file, &shrunk.script)?))?;
    Ok(output::print(&page(id, &shrunk, path))?)
}

fn page(id: &str, shrunk: &Shrunk, path: &Path) -> String {
    let Shrunk { violations, before, after, runs, .. } = shrunk;
    let (before, after) = (size(*before), size(*after));
    let (path, drawing) = (path.display(), path.with_extension("svg"));
    format!(
        "shrunk from {before} to {after} in {runs} runs, {id} still violated:\n{}\
         replay it with liftmesh lab campaign --script {path}\n\
         draw it with liftmesh lab trace --script {path} --svg {}\n",
        lines(violations),
        drawing.display()
    )
}

fn size(Size { steps, nodes, time }: Size) -> String {
    format!("{steps} steps, {nodes} nodes, {:.1} s", time.as_secs_f64())
}

pub(super) fn replay(path: &Path) -> Result<(), CommandError> {
    let script: Script = files::read_script(path)?;
    let outcome = script.run().map_err(LabError::from)?;
    let hash = outcome.hash();
    let heading = format!("{}: hash {hash:016x}\n", size(script.size()));
    output::print(&format!("{heading}{}", lines(&outcome.violations)))?;
    if outcome.violations.is_empty() {
        return Ok(output::print("no invariant is violated\n")?);
    }
    Err(LabError::ScriptFails.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_runs_again_from_its_file_and_nothing_else_does() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("script.json");
        let missing = replay(&path).expect_err("no file").to_string();
        assert!(missing.ends_with("can't be read"), "{missing}");
        std::fs::write(&path, "{}").expect("a file");
        let empty = replay(&path).expect_err("no script").to_string();
        assert!(empty.ends_with("is not a script"), "{empty}");
        let script = Campaign::by_seed(1).lasting(Duration::from_secs(1)).run();
        let script = script.expect("a world").script;
        files::write_file(&path, |file| Ok(serde_json::to_writer(file, &script)?)).expect("a file");
        assert_eq!(files::read_script(&path).expect("a script"), script);
    }
}
