//! A lift adapter for Open-RMF: robots get sessions in the cars of a Liftmesh fleet. It speaks DDS
//! itself, so no ROS installation is needed. docs/OPEN-RMF.md describes it.

mod fleet;
mod messages;
mod names;
mod robots;
mod ros;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, thread};

use clap::Parser;

use self::fleet::{Fleet, FleetError};
use self::messages::LiftState;
use self::names::Names;
use self::robots::Robots;
use self::ros::{Ros, RosError};

/// How often the fleet is asked. A token may ask 20 times a second, so sessions have room.
const PERIOD: Duration = Duration::from_millis(200);

/// How often a lift is published that does not change.
const REPEAT: Duration = Duration::from_secs(1);

/// Gives the robots of Open-RMF sessions in the cars of a Liftmesh fleet.
///
/// Publishes each car as a lift on `lift_states`, and obeys the requests on `lift_requests`.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Examples:
  liftmesh-open-rmf --token-file robots.token http://127.0.0.1:7080
  liftmesh-open-rmf --token-file robots.token --ca-file fleet.crt \\
      https://192.168.1.11:7080 https://192.168.1.12:7080
  liftmesh-open-rmf --topic lift_requests --topic adapter_lift_requests …   # no lift supervisor

Make the token with `liftmesh token create --name open-rmf --scope call`."
)]
struct Args {
    /// Addresses of nodes of one fleet; if one does not answer, the next one is asked
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<String>,
    /// The file with the token; its scope is `call` [default: the token in `LIFTMESH_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The certificates that vouch for the nodes, as PEM [default: the public authorities]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The DDS domain of the robots
    #[arg(long, value_name = "N", env = "ROS_DOMAIN_ID", default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(..=232))]
    domain: u16,
    /// Where requests come from; repeat it for several topics
    #[arg(long = "topic", value_name = "NAME", default_value = "lift_requests")]
    topics: Vec<String>,
    /// After how many seconds without a request a robot's session ends, 5 to 60
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u16).range(5..=60))]
    silence: u16,
}

#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("a token is missing: give --token-file FILE, or set LIFTMESH_TOKEN")]
    NoToken,
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Ros(#[from] RosError),
}

fn main() -> ExitCode {
    let usual = env_logger::Env::default().default_filter_or("error,liftmesh_open_rmf=info");
    env_logger::Builder::from_env(usual).format_target(false).init();
    match start(Args::parse()) {
        Ok(adapter) => adapter.run(),
        Err(error) => {
            log::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn start(args: Args) -> Result<Adapter, StartError> {
    let token = match args.token_file {
        Some(path) => {
            fs::read_to_string(&path).map_err(|source| FleetError::File { path, source })?
        }
        None => env::var("LIFTMESH_TOKEN").map_err(|_unset| StartError::NoToken)?,
    };
    let token = token.trim();
    // The adapter ends the session of a silent robot; if it is dead too, the car does.
    let hold = 2 * args.silence;
    let silence = Duration::from_secs(args.silence.into());
    let fleet = Fleet::new(args.nodes, token, args.ca_file.as_deref(), hold)?;
    let ros = Ros::join(args.domain, &args.topics)?;
    log::info!("in DDS domain {}, taking requests from {}", args.domain, args.topics.join(", "));
    let robots = Robots::new(Names::new(token), silence, Instant::now());
    Ok(Adapter { fleet, ros, robots, published: BTreeMap::new() })
}

struct Adapter {
    fleet: Fleet,
    ros: Ros,
    robots: Robots,
    published: BTreeMap<String, (LiftState, Instant)>,
}

impl Adapter {
    fn run(mut self) -> ! {
        loop {
            let began = Instant::now();
            self.turn();
            thread::sleep(PERIOD.saturating_sub(began.elapsed()));
        }
    }

    fn turn(&mut self) {
        // An old state could make a robot drive into a closed door, so there is none without a node.
        let cars = self.fleet.cars();
        let (now, clock) = (Instant::now(), SystemTime::now());
        let requests = self.ros.requests();
        let cars = match cars {
            Ok(cars) => cars,
            // Robots repeat their requests once they see their lifts again.
            Err(error) => {
                if matches!(error, FleetError::Refused { .. }) {
                    self.robots.log(format!("the fleet does not show its cars: {error}"), now);
                }
                return self.robots.handle_cars(Vec::new(), now, clock);
            }
        };
        self.robots.handle_cars(cars, now, clock);
        for request in requests {
            self.robots.handle_request(request, now, clock);
        }
        self.robots.handle_silence(now);
        while let Some((robot, action)) = self.robots.poll_action(now, clock) {
            let answer = self.fleet.perform(&action);
            self.robots.handle_answer(robot, action, answer, now);
        }
        // Nodes that don't answer may have taken seconds.
        if now.elapsed() < REPEAT {
            self.publish(now);
        }
    }

    fn publish(&mut self, now: Instant) {
        for state in self.robots.states() {
            let last = self.published.get(&state.lift_name);
            let is_due = last.is_none_or(|(known, at)| {
                now.duration_since(*at) >= REPEAT
                    || *known != LiftState { lift_time: known.lift_time, ..state.clone() }
            });
            if is_due {
                self.ros.publish(&state);
                self.published.insert(state.lift_name.clone(), (state, now));
            }
        }
    }
}
