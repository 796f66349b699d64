//! Writes the seeds of every target below a directory, for libFuzzer to begin with:
//! `cargo run -p liftmesh-fuzz --example write_seeds -- DIRECTORY`.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args().nth(1).ok_or_else(|| io::Error::other("which directory?"))?;
    for target in liftmesh_fuzz::TARGETS {
        let below = format!("{directory}/{}", target.name);
        fs::create_dir_all(&below)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(format!("{below}/seed-{number}"), seed)?;
        }
    }
    Ok(())
}
