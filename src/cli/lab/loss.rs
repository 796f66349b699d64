//! `liftmesh lab loss`: a bad network for programs that know nothing of it.

mod relay;

use std::io;
use std::net::SocketAddr;
use std::process;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use liftmesh_harness::lan::{is_left_behind, lack, run_tool};

use self::relay::Relay;
use super::LabError;
use crate::cli::{CommandError, output};
use crate::screen;

pub(super) const EXAMPLES: &str = "\
With --ports, as root: packets of TCP and UDP from or to these ports are dropped when this machine
receives them. With --relay, as anybody: what is sent to FROM arrives at TO, and the answers come
back; both ways it is lost and delayed. All is undone when the command ends; what a killed one left
behind, the next one removes.

Examples:
  sudo liftmesh lab loss --ports 15000,16000 --percent 25
  sudo liftmesh lab loss --ports 15000 --percent 100 --for 10s
  liftmesh lab loss --relay 15001=127.0.0.1:15000 --percent 10 --delay 50ms";

const PREFIX: &str = "liftmesh_loss_";

#[derive(Debug, Clone, Args)]
pub(crate) struct LossArgs {
    /// Drop packets from and to these ports (needs root)
    #[arg(
        long,
        value_name = "PORT,…",
        value_delimiter = ',',
        required_unless_present = "relay",
        conflicts_with = "relay"
    )]
    ports: Vec<u16>,
    /// Pass on what comes to FROM, a port or IP:PORT, to TO, an IP:PORT; may be repeated
    #[arg(long, value_name = "FROM=TO", value_parser = relay::parse)]
    relay: Vec<Relay>,
    /// The share of packets that get lost, 0 to 100 per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 25,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: u8,
    /// How long each packet is held up, with --relay only
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    delay: Duration,
    /// End after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    lasts: Option<Duration>,
}

#[derive(Debug, thiserror::Error)]
pub enum LossError {
    #[error("--delay needs --relay: the packet filter can only drop")]
    Delay,
    #[error("--ports {0}; without it, use --relay FROM=TO")]
    Lack(String),
    #[error("can't listen at {address}: choose another FROM")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the packets can't be disturbed")]
    System(#[from] io::Error),
}

impl LossArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let told = self.disturb().map_err(LabError::from)?;
        Ok(output::print(&told)?)
    }

    /// Disturbs until it is over; returns what it did.
    fn disturb(&self) -> Result<String, LossError> {
        let ending = screen::ending()?;
        let lack = lack(&["nft"]);
        if lack.is_none() && self.relay.is_empty() {
            sweep()?;
        }
        let until = self.lasts.map(|lasts| Instant::now() + lasts);
        let is_over =
            || ending.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until);
        if !self.relay.is_empty() {
            return relay::run(&self.relay, self.percent, self.delay, is_over);
        }
        if !self.delay.is_zero() {
            return Err(LossError::Delay);
        }
        if let Some(lack) = lack {
            return Err(LossError::Lack(lack));
        }
        let table = Table::new(&self.ports, self.percent)?;
        say(&format!(
            "{} % of the packets from and to the ports {:?} are dropped (nftables, table {})\n",
            self.percent, self.ports, table.0
        ));
        while !is_over() {
            thread::sleep(Duration::from_millis(50));
        }
        let [all, lost] = [table.count("came")?, table.count("lost")?];
        Ok(format!("undone: {lost} of {all} packets were dropped\n"))
    }
}

/// A closed output is no reason to end.
fn say(text: &str) {
    output::print(text).unwrap_or_default();
}

/// Removes the tables of commands that were killed.
fn sweep() -> io::Result<()> {
    let text = run_tool("nft list tables", "")?;
    let names = text.lines().filter_map(|line| line.strip_prefix("table inet "));
    for table in names.filter(|name| is_left_behind(name, PREFIX)) {
        run_tool(&format!("nft delete table inet {table}"), "")?;
        say(&format!("removed table {table}, which a killed command left behind\n"));
    }
    Ok(())
}

/// Rules of the packet filter that end with this.
struct Table(String);

impl Table {
    fn new(ports: &[u16], percent: u8) -> io::Result<Self> {
        let name = format!("{PREFIX}{}", process::id());
        let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
        let ports = ports.join(", ");
        // `mod 100` can't be compared with 100.
        let some = match percent {
            100 => String::new(),
            percent => format!("numgen random mod 100 < {percent}"),
        };
        // A packet between two of the ports counts once: `goto` does not come back.
        let rules = format!(
            "table inet {name} {{\ncounter came {{}}\ncounter lost {{}}\n\
             chain lose {{ counter name came; {some} counter name lost drop; }}\n\
             chain input {{ type filter hook input priority -10;\n\
             meta l4proto {{ tcp, udp }} th dport {{ {ports} }} goto lose;\n\
             meta l4proto {{ tcp, udp }} th sport {{ {ports} }} goto lose; }}\n}}\n"
        );
        run_tool("nft -f -", &rules)?;
        Ok(Self(name))
    }

    fn count(&self, counter: &str) -> io::Result<u64> {
        let text = run_tool(&format!("nft list counter inet {} {counter}", self.0), "")?;
        let count = text.split_once("packets ").and_then(|(_, rest)| rest.split(' ').next());
        Ok(count.and_then(|count| count.parse().ok()).unwrap_or_default())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Err(error) = run_tool(&format!("nft delete table inet {}", self.0), "") {
            output::complain(&error);
        }
    }
}
