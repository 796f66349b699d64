//! `liftmesh lab mqtt`: many buildings at one MQTT broker.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::LabError;
use crate::cli::{CommandError, output};
use crate::mqtt::{Access, Broker, Campus, Prefix, run_campus};

pub(super) const EXAMPLES: &str = "Examples:
  mosquitto -p 1883 &
  liftmesh lab mqtt --broker mqtt://127.0.0.1
  liftmesh lab mqtt --broker mqtt://127.0.0.1 --buildings 200 --duration 30s

The fleets are simulated in virtual time, paced to real time; the connections with the broker are
real, one a building, and publish as the master of a fleet does. One more client hears everything.
What is retained is removed at the end.";

/// The arguments of `liftmesh lab mqtt`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MqttArgs {
    /// The broker: mqtt://HOST:PORT or mqtts://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = broker)]
    broker: Broker,
    /// How many buildings
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    buildings: u16,
    /// How many cars each has
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=32))]
    cars: u16,
    /// How long it runs
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    duration: Duration,
    /// What every topic begins with
    #[arg(long, value_name = "TOPIC", default_value = "liftmesh-lab", value_parser = prefix)]
    topic: Prefix,
    /// The name by which the broker knows the clients
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// The file with the password
    #[arg(long, value_name = "PATH", requires = "username")]
    password_file: Option<PathBuf>,
    /// The certificates that sign the broker's, for mqtts
    #[arg(long, value_name = "PATH")]
    ca_file: Option<PathBuf>,
    /// The seed of the passengers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

fn broker(text: &str) -> Result<Broker, String> {
    text.parse().map_err(|_error| "expected mqtt://HOST:PORT or mqtts://HOST:PORT".to_owned())
}

fn prefix(text: &str) -> Result<Prefix, String> {
    Prefix::new(text).ok_or_else(|| "levels with slashes between, without + and #".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let range = Duration::from_secs(1)..=Duration::from_mins(10);
    let time = humantime::parse_duration(text).ok().filter(|time| range.contains(time));
    time.ok_or_else(|| "a time with its unit, from 1s to 10m".to_owned())
}

impl MqttArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let campus = Campus {
            access: Access {
                encryption: self.broker.encryption,
                username: self.username.clone(),
                password_file: self.password_file.clone(),
                ca_file: self.ca_file.clone(),
            },
            broker: self.broker.clone(),
            prefix: self.topic.clone(),
            buildings: self.buildings.into(),
            cars: self.cars.into(),
            duration: self.duration,
            seed: self.seed,
            period: Duration::from_millis(500),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(LabError::Threads)?;
        let figures = runtime.block_on(run_campus(&campus)).map_err(LabError::Campus)?;
        let (published, received) = (figures.published, figures.received);
        #[expect(clippy::cast_precision_loss, reason = "so many are never sent")]
        let rate = published as f64 / self.duration.as_secs_f64();
        let cars = self.buildings * self.cars;
        let millis =
            |percent| figures.delay(percent).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
        output::print(&format!(
            "{} buildings with {cars} cars, {}: {published} messages published, {received} received of \
             {} buildings, {rate:.0} a second\n\
             delay from the look at the state until the client has it: P50 {:.1} ms, P99 {:.1} ms, most \
             {:.1} ms\n",
            self.buildings,
            humantime::format_duration(self.duration),
            figures.heard,
            millis(50),
            millis(99),
            millis(100),
        ))?;
        if figures.heard < usize::from(self.buildings) || received < published {
            return Err(LabError::Unheard { published, received }.into());
        }
        Ok(())
    }
}
