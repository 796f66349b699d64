//! `liftmesh lab gym`: another program assigns the hall calls.

use std::io::{self, BufRead};

use clap::Args;
use elevator_simulator::building::Building;
use liftmesh_lab::traffic::Gym;
use serde_json::json;

use super::LabError;
use super::traffic::building;
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
First it prints one line: the building, and the numbers of cars and floors. Then it reads one JSON
object per line and answers each with one: what was asked for, or {\"error\": …}. It ends with its
input. docs/GYM.md describes the fields, and the Python package that speaks this.

Examples:
  printf '%s\\n' '{\"reset\": {\"seed\": 7, \"pattern\": \"lunch\", \"rate\": 12}}' '{\"step\": 2}' |
    liftmesh lab gym --building A12
  echo '{\"reset\": {\"strategy\": \"planner\"}}' | liftmesh lab gym --building tower.toml";

#[derive(Debug, Clone, Args)]
pub(crate) struct GymArgs {
    /// The building: A12, B16, crites-barto, car-park, express, or a TOML file
    #[arg(long, value_name = "NAME|PATH", default_value = Building::SUITE[0])]
    building: String,
}

impl GymArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let mut gym = Gym::new(building(&self.building)?);
        output::print(&output::json_line(&gym.shape()))?;
        for line in io::stdin().lock().lines() {
            let answer = match gym.handle(&line.map_err(LabError::Input)?) {
                Ok(moment) => output::json_line(&moment),
                Err(error) => output::json_line(&json!({ "error": error.to_string() })),
            };
            output::print(&answer)?;
        }
        Ok(())
    }
}
