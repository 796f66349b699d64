//! Writes the seeds of every target below a directory, for libFuzzer to begin with.
//!
//! ```text
//! cargo run -p liftmesh-fuzz --example write_seeds -- DIRECTORY
//! ```

use std::io;
use std::path::PathBuf;

use liftmesh_fuzz::TARGETS;

fn main() -> io::Result<()> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or_else(|| io::Error::other("which directory?"))?;
    for target in TARGETS {
        let below = directory.join(target.name);
        std::fs::create_dir_all(&below)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(below.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
