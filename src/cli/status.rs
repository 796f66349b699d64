//! `liftmesh status`.

pub(super) mod fleet;

use std::fmt::{self, Write};
use std::thread;
use std::time::Duration;

use clap::Args;
use elevator_driver::{KeySwitch, LineCounters};
use elevator_fleet::model::{CarView, Mode, NodeId, Role};
use elevator_fleet::node::{
    CarStatus, ConflictKind, ConflictStatus, FleetKeysStatus, FleetStatus, HangStatus, LossCause,
    LostStatus, OrderStatus, ScheduleStatus, SettingStatus, Status,
};
use elevator_fleet::wire::NodeState;
use serde::Serialize;

use super::table::table;
use super::{CommandError, Next, ReadArgs, RemoteArgs, output};
use crate::latch::Evidence;
use crate::operator::LatchedNode;

/// The period of `--watch`.
const PERIOD: Duration = Duration::from_secs(1);

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh status --data-dir /var/lib/liftmesh
  liftmesh status --config /etc/liftmesh/node.toml --watch
  liftmesh status --config /etc/liftmesh/node.toml --fleet
  liftmesh status --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token
  liftmesh status --data-dir /tmp/A --json | jq '.orders[] | select(.waited > 60)'

Exits with 0 if the node is running, 4 if it does not run because a hang has not been cleared, and 5
if it does not run for another reason.";

/// The arguments of `liftmesh status`.
#[derive(Debug, Clone, Args)]
pub(crate) struct StatusArgs {
    /// Which node
    #[command(flatten)]
    pub(crate) node: ReadArgs,
    /// Or one at another computer
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Show the whole fleet as this node sees it: all nodes, cars and open orders
    #[arg(long)]
    pub(crate) fleet: bool,
    /// Print JSON on one line: times in seconds, floors from 0
    #[arg(long)]
    pub(crate) json: bool,
    /// Refresh every second until the node stops
    #[arg(long)]
    pub(crate) watch: bool,
}

impl StatusArgs {
    pub(super) fn execute(&self) -> Result<Next, CommandError> {
        let node = match self.remote.connect_to_read(&self.node) {
            Err(CommandError::Latched(latched)) => {
                output::print(&if self.json {
                    format!("{}\n", json(&*latched))
                } else {
                    latched_page(&latched)
                })?;
                return Ok(Next::Latched);
            }
            node => node?,
        };
        loop {
            let text = self.text(&node.status()?);
            if self.watch && !self.json {
                output::redraw(&text)?;
            } else {
                output::print(&text)?;
            }
            if !self.watch {
                return Ok(Next::Done);
            }
            thread::sleep(PERIOD);
        }
    }

    /// What is printed of this status.
    fn text(&self, status: &Status) -> String {
        match (self.fleet, self.json) {
            (false, false) => page(status),
            (false, true) => json(status) + "\n",
            (true, false) => fleet::page(&FleetStatus::from(status)),
            (true, true) => json(&FleetStatus::from(status)) + "\n",
        }
    }
}

/// A view contains nothing that JSON can't represent.
fn json(view: &impl Serialize) -> String {
    serde_json::to_string(view).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Why a node does not run, and how to fix that.
fn latched_page(view: &LatchedNode) -> String {
    let node = view.node.as_ref();
    let node = node.map_or("of this data directory", NodeId::as_str);
    let LatchedNode { latch, remedy, .. } = view;
    format!(
        "Node {node}: not running, latched\n  {latch}\n\nIt does not start until an operator has \
         inspected the car. Once the car is fit to run:\n  {remedy}\n"
    )
}

/// The status as a page of text.
pub(super) fn page(status: &Status) -> String {
    let mut page = String::new();
    write_page(&mut page, status).unwrap_or_else(|error| unreachable!("{error}"));
    page
}

fn write_page(page: &mut String, status: &Status) -> fmt::Result {
    writeln!(
        page,
        "Node {}: {}, term {}, up {}",
        status.node,
        status.node_state,
        status.term,
        uptime(status.uptime)
    )?;
    writeln!(
        page,
        "  fleet {}, {}, address {}, {} floors",
        status.fleet,
        status.election,
        status.address,
        status.floors.get()
    )?;
    // It is enough to show the master of a node that has lost the election; `lost` would sound
    // alarming.
    let said = |name: &str, value: &str| name == "state" && value == "lost";
    let details: Vec<_> =
        status.election_state.iter().filter(|detail| !said(&detail.name, &detail.value)).collect();
    if !details.is_empty() {
        writeln!(page, "  {}: {}", status.election, list(&details))?;
    }
    let disk = match (status.disk_failed, status.durable) {
        (true, _) => "the disk has failed",
        (false, true) => "all on disk",
        (false, false) => "not all on disk yet",
    };
    writeln!(page, "  store {:016x}, {disk}", status.digest)?;
    write_schedule(page, status)?;
    write_keys(page, &status.fleet_keys)?;
    let dropped = [
        "foreign",
        "oversized",
        "version",
        "key",
        "unauthenticated",
        "forged",
        "unproven",
        "replayed",
        "damaged",
        "malformed",
        "address",
        "refused",
    ];
    let dropped =
        dropped.into_iter().filter_map(|name| Some(format!("{name} {}", status.mesh.get(name)?)));
    let dropped: Vec<String> = dropped.collect();
    if !dropped.is_empty() {
        writeln!(page, "  dropped from the network: {}", dropped.join(", "))?;
    }
    let refused = [
        (status.refused.impossible, "impossible orders"),
        (status.refused.no_room, "over the limit"),
    ];
    write_counts(page, "refused records of peers", refused)?;
    if status.log_lines_lost > 0 {
        let lost = status.log_lines_lost;
        writeln!(page, "  log: {lost} lines lost, standard error could not be written")?;
    }
    match &status.car {
        Some(car) => write_car(page, &status.node, car)?,
        None => writeln!(page, "\nNo car: {}", status.role)?,
    }
    write_climate(page, status)?;
    write_conflicts(page, &status.conflicts)?;
    write_peers(page, status)?;
    write_lost(page, &status.lost)?;
    write_hangs(page, &status.hangs)?;
    write_settings(page, status)?;
    write_access(page, status)?;
    write_orders(page, &status.orders)
}

/// Which entry of the schedule holds. The master's counts.
fn write_schedule(page: &mut String, status: &Status) -> fmt::Result {
    let Some(ScheduleStatus { local_time, entry }) = &status.schedule else {
        return Ok(());
    };
    let entry = entry.as_deref().unwrap_or("no entry applies");
    let time = local_time.as_deref().unwrap_or("unknown");
    let whose = match &status.node_state {
        NodeState::Slave { master } => format!("; the master {master}'s applies"),
        NodeState::Master | NodeState::Seeking => String::new(),
    };
    writeln!(page, "  schedule: {entry} (local time {time}{whose})")
}

fn write_access(page: &mut String, status: &Status) -> fmt::Result {
    let access = &status.access;
    if access.locked.is_empty() && access.released.is_empty() && access.refused == 0 {
        return Ok(());
    }
    write!(page, "\nAccess:\n{}", super::floors::page(access))
}

fn write_keys(page: &mut String, keys: &FleetKeysStatus) -> fmt::Result {
    if let Some(reason) = &keys.missing {
        if keys.accepted.is_empty() && !keys.accepts_anybody {
            return writeln!(page, "  serving alone: {reason}");
        }
        writeln!(page, "  a fleet key is missing: {reason}")?;
    }
    if keys.accepted.is_empty() {
        return if keys.accepts_anybody {
            writeln!(page, "  messages are sent and accepted without a fleet key")
        } else {
            // Elsewhere it would be missing.
            writeln!(page, "  no fleet key: any account on this machine can command the cars")
        };
    }
    let others = keys.accepted.iter().filter(|id| Some(**id) != keys.sent).map(u8::to_string);
    let none = keys.accepts_anybody.then(|| "messages without a key".to_owned());
    let others: Vec<String> = others.chain(none).collect();
    match keys.sent {
        Some(id) => write!(page, "  fleet key {id}")?,
        None => write!(page, "  messages are sent without a fleet key")?,
    }
    if !others.is_empty() {
        write!(page, "; also accepted: {}", others.join(", "))?;
    }
    writeln!(page)
}

/// Writes the counters that are not zero, with these words.
fn write_counts<const N: usize>(
    page: &mut String,
    what: &str,
    counts: [(u64, &str); N],
) -> fmt::Result {
    let counted = counts.into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    if counted.is_empty() {
        return Ok(());
    }
    writeln!(page, "  {what}: {}", counted.join(", "))
}

fn write_car(page: &mut String, name: &NodeId, car: &CarStatus) -> fmt::Result {
    writeln!(page, "\nCar {name}: {}", group_car(&car.view))?;
    match &car.connection {
        Ok(()) => write_sensors(page, car)?,
        Err(why) => write!(page, "  panel not connected: {why}")?,
    }
    writeln!(page, "\n  line {}", line(car.line))?;
    let floors = list(car.view.locked_out.iter());
    if !floors.is_empty() {
        writeln!(page, "  locked out for now, sensor silent: {floors}")?;
    }
    if !car.stuck.is_empty() {
        writeln!(page, "  stuck buttons: {}", list(&car.stuck))?;
    }
    let lamps = if car.lamps.is_empty() { "none".to_owned() } else { list(&car.lamps) };
    writeln!(page, "  lit lamps: {lamps}")
}

fn write_sensors(page: &mut String, car: &CarStatus) -> fmt::Result {
    let at = match car.at {
        Some(floor) => format!("sensor at floor {floor}"),
        None => "between floors".to_owned(),
    };
    write!(page, "  panel connected, {at}, door {}", car.door)?;
    for (set, text) in
        [(car.obstructed, ", door obstructed"), (car.stopped, ", stop switch pulled")]
    {
        if set {
            page.push_str(text);
        }
    }
    if car.key != KeySwitch::Normal {
        write!(page, ", key switch: {}", car.key)?;
    }
    Ok(())
}

fn write_climate(page: &mut String, status: &Status) -> fmt::Result {
    let climate = &status.climate;
    writeln!(page, "\nClimate: the display shows {:?}", climate.display)?;
    writeln!(page, "  own sensors: {}", own_sensors(status))?;
    let from = match &status.node_state {
        NodeState::Slave { master } => format!("by {master} "),
        NodeState::Seeking | NodeState::Master => String::new(),
    };
    match (climate.age, climate.brightness) {
        (Some(age), Some(brightness)) => writeln!(
            page,
            "  fleet's average: {}, backlight {brightness} of 255, sent {from}{:.1} s ago",
            degrees(climate.average),
            age.as_secs_f64()
        )?,
        _ => writeln!(page, "  fleet's average: no master has sent one lately")?,
    }
    if climate.units.is_empty() {
        return Ok(());
    }
    let rows = climate.units.iter().map(|unit| {
        [
            unit.unit.clone(),
            degrees(unit.reading.temperature),
            known(unit.reading.illuminance),
            format!("{:.1} s", unit.age.as_secs_f64()),
        ]
    });
    page.push_str(&table(["UNIT", "TEMPERATURE", "LIGHT", "AGE"], rows));
    Ok(())
}

/// The readings of the node's own sensors, or why there are none.
fn own_sensors(status: &Status) -> String {
    let own = &status.climate.own;
    if own.temperature.is_none() && own.illuminance.is_none() {
        return match &status.car {
            None => "unknown: no panel has sent a reading lately",
            Some(car) if car.panel.starts_with("tcp:") => "none: elevator servers have none",
            Some(car) if car.connection.is_err() => "unknown while the panel is not connected",
            Some(_) => "unknown: the panel has sent no reading lately",
        }
        .to_owned();
    }
    format!("{}, illuminance {}", degrees(own.temperature), known(own.illuminance))
}

fn degrees(temperature: Option<impl fmt::Display>) -> String {
    temperature.map_or_else(|| known::<u8>(None), |value| format!("{value} °C"))
}

fn known<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn write_peers(page: &mut String, status: &Status) -> fmt::Result {
    if status.peers.is_empty() {
        return writeln!(page, "\nNo other node is heard");
    }
    let rows = status.peers.iter().map(|peer| {
        [
            peer.node.to_string(),
            peer.address.to_string(),
            peer.node_state.to_string(),
            choose(peer.synced, "synced", "none"),
            choose(peer.in_step, "in step", "differs"),
            format!("{} ms", peer.silent.as_millis()),
            match &peer.car {
                Some(car) => group_car(car),
                None if peer.role == Role::Cabin => "-".to_owned(),
                None => peer.role.to_string(),
            },
        ]
    });
    let heading = ["NODE", "ADDRESS", "STATE", "LINK", "STORE", "SILENT", "CAR"];
    write!(page, "\nPeers\n{}", table(heading, rows))
}

fn write_lost(page: &mut String, lost: &[LostStatus]) -> fmt::Result {
    if lost.is_empty() {
        return Ok(());
    }
    let rows = lost.iter().map(|lost| {
        [
            lost.node.to_string(),
            lost.address.to_string(),
            format!("{} ago", uptime(lost.silent)),
            cause(lost.cause).to_owned(),
        ]
    });
    let heading = ["NODE", "ADDRESS", "LAST HEARD", "CAUSE"];
    write!(page, "\nLost peers\n{}", table(heading, rows))
}

fn write_hangs(page: &mut String, hangs: &[HangStatus]) -> fmt::Result {
    if hangs.is_empty() {
        return Ok(());
    }
    let rows = hangs.iter().map(|hang| {
        let evidence = Evidence::from(&hang.evidence);
        [hang.car.to_string(), evidence.to_string()]
    });
    write!(page, "\nCars that hung\n{}", table(["CAR", "EVIDENCE"], rows))
}

fn write_conflicts(page: &mut String, conflicts: &[ConflictStatus]) -> fmt::Result {
    if conflicts.is_empty() {
        return Ok(());
    }
    let rows = conflicts.iter().map(|conflict| {
        [
            kind(conflict.kind).to_owned(),
            conflict.what.clone(),
            uptime(conflict.since).to_string(),
            format!("{} ago", uptime(conflict.last)),
        ]
    });
    let heading = ["CONFLICT", "WHAT", "FOR", "LAST SEEN"];
    write!(page, "\nConflicts\n{}", table(heading, rows))
}

fn write_settings(page: &mut String, status: &Status) -> fmt::Result {
    if status.settings.is_empty() {
        return Ok(());
    }
    let rows = status.settings.iter().map(|SettingStatus { setting, operator }| {
        [setting.subject(), setting.to_string(), operator.to_string()]
    });
    write!(page, "\nSettings\n{}", table(["WHAT", "SET TO", "BY"], rows))
}

fn write_orders(page: &mut String, orders: &[OrderStatus]) -> fmt::Result {
    if orders.is_empty() {
        return writeln!(page, "\nNo open order");
    }
    let rows = orders.iter().map(|order| {
        [
            order.call.to_string(),
            format!("{:.1} s", order.waited.as_secs_f64()),
            order.car.as_ref().map_or("-", NodeId::as_str).to_owned(),
            choose(order.promised, "yes", "not yet"),
            order.holders.to_string(),
        ]
    });
    let heading = ["ORDER", "AGE", "CAR", "PROMISED", "HOLDERS"];
    write!(page, "\nOpen orders\n{}", table(heading, rows))
}

fn group_car(car: &CarView) -> String {
    let floor = match car.floor {
        Some(floor) => format!("floor {floor}"),
        None => "floor unknown".to_owned(),
    };
    let service = match car.reason() {
        None => "in service".to_owned(),
        Some(why) => format!("not in service: {why}"),
    };
    let load = match car.load {
        Some(load) => format!(", load {load} %"),
        None => String::new(),
    };
    let mode = match car.mode {
        Mode::InService => String::new(),
        mode => format!(", mode {mode}"),
    };
    format!("{floor}, {} for {:.1} s{load}, {service}{mode}", car.phase, car.elapsed.as_secs_f64())
}

fn choose(condition: bool, yes: &str, no: &str) -> String {
    if condition { yes } else { no }.to_owned()
}

/// The counters of the line to the panel.
fn line(counters: LineCounters) -> String {
    let LineCounters { frames, damaged, lost, unknown } = counters;
    let unknown = match unknown {
        0 => String::new(),
        unknown => format!(", {unknown} unknown"),
    };
    format!("{frames} frames, {damaged} damaged, {lost} lost{unknown}")
}

fn cause(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Silent => "fell silent",
        LossCause::Hung => "its car hung",
    }
}

fn kind(kind: ConflictKind) -> &'static str {
    match kind {
        ConflictKind::Name => "name",
        ConflictKind::Address => "address",
        ConflictKind::Floors => "floors",
        ConflictKind::Election => "election",
        ConflictKind::Version => "version",
        ConflictKind::Key => "key",
        ConflictKind::Garbage => "garbage",
        ConflictKind::Fleet => "fleet",
    }
}

/// Rounded to seconds.
fn uptime(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}
