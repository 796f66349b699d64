pub(super) mod fleet;

use std::fmt;
use std::time::{Duration, SystemTime};

use clap::Args;
use elevator_driver::{Building, KeySwitch, LineCounters};
use elevator_fleet::dispatch::{Kinematics, ProgramHealth};
use elevator_fleet::model::{CarView, Counters, Mode, NodeId};
use elevator_fleet::node::{
    CarStatus, ConflictStatus, FleetKeysStatus, HangStatus, LostStatus, OrderStatus,
    ScheduleStatus, SettingStatus, Status,
};
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};
use serde::Serialize;

use super::{CommandError, Next, ReadArgs, output};
use crate::latch::Evidence;
use crate::screen::seconds;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh status --data-dir /var/lib/liftmesh
  liftmesh status --fleet --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token
  liftmesh status --data-dir /tmp/A --json | jq '.orders[] | select(.waited > 60)'

Exits with 0 if the node is running, 4 if it does not run because a hang has not been cleared, and 5
if it does not run for another reason.";

#[derive(Debug, Clone, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) node: ReadArgs,
    /// Show the whole fleet as this node sees it: all nodes, cars and open orders
    #[arg(long)]
    pub(crate) fleet: bool,
    /// Print JSON on one line: times in seconds, floors from 0
    #[arg(long)]
    pub(crate) json: bool,
}

impl StatusArgs {
    pub(super) fn execute(&self) -> Result<Next, CommandError> {
        let node = match self.node.connect() {
            Err(CommandError::Latched(latched)) if self.json => {
                output::print(&output::json_line(&*latched))?;
                return Ok(Next::Latched);
            }
            node => node?,
        };
        let text = if self.fleet {
            let state = node.fleet()?;
            if self.json { output::json_line(&state) } else { fleet::page(&state) }
        } else {
            let status = node.status()?;
            if self.json { output::json_line(&status) } else { page(&status) }
        };
        output::print(&text)?;
        Ok(Next::Done)
    }
}

/// The status as a page of text.
pub(super) fn page(status: &Status) -> String {
    let car = match &status.car {
        Some(car) => car_lines(&status.node, car, &status.building),
        None => format!("\nNo car: {}\n", status.role),
    };
    let access = &status.access;
    let access = if access.locked.is_empty() && access.released.is_empty() && access.refused == 0 {
        String::new()
    } else {
        format!("\nAccess:\n{}", super::floors::page(access))
    };
    let settings = status.settings.iter().map(|SettingStatus { setting, operator }| {
        [setting.subject(), setting.to_string(), operator.to_string()]
    });
    let state = State::new(status, &Flights::new(Kinematics::default()), SystemTime::now());
    [
        head(status),
        car,
        climate(status),
        section("Settings", ["WHAT", "SET TO", "BY"], settings),
        access,
        fleet::tables(&state),
    ]
    .concat()
}

/// A table with a title; nothing without rows.
fn section<const COLUMNS: usize>(
    title: &str,
    heading: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> String {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    format!("\n{title}\n{}", output::table(heading, rows))
}

/// The counters of the network that are no reasons to drop what is received.
const TRAFFIC: [&str; 5] = ["sent", "send_failed", "send_queue_full", "received", "inbox_full"];

fn head(status: &Status) -> String {
    let Status { node, node_state, term, fleet, election, address, .. } = status;
    let mut lines = vec![
        format!("Node {node}: {node_state}, term {term}, up {}", uptime(status.uptime)),
        format!(
            "  fleet {fleet}, {election}, address {address}, {} floors",
            status.building.floors().get()
        ),
    ];
    // Of a node that has lost the election, `lost` would sound alarming.
    let details = status.election_state.iter();
    let details = list(details.filter(|it| !(it.name == "state" && it.value == "lost")));
    if !details.is_empty() {
        lines.push(format!("  {election}: {details}"));
    }
    let disk = match (status.disk_failed, status.durable) {
        (true, _) => "the disk has failed",
        (false, true) => "all on disk",
        (false, false) => "not all on disk yet",
    };
    lines.push(format!("  store {:016x}, {disk}", status.digest));
    lines.extend(status.schedule.as_ref().map(|schedule| schedule_line(schedule, node_state)));
    lines.extend(status.dispatcher.as_ref().map(program_line));
    lines.extend(key_lines(&status.fleet_keys));
    let dropped = status.mesh.iter().filter(|(name, _)| !TRAFFIC.contains(&name.as_str()));
    let dropped = list(dropped.map(|(name, count)| format!("{name} {count}")));
    if !dropped.is_empty() {
        lines.push(format!("  dropped from the network: {dropped}"));
    }
    let refused = [
        (status.refused.impossible, "impossible orders"),
        (status.refused.no_room, "over the limit"),
    ];
    let refused = refused.into_iter().filter(|(count, _)| *count > 0);
    let refused = list(refused.map(|(count, word)| format!("{count} {word}")));
    if !refused.is_empty() {
        lines.push(format!("  refused records of peers: {refused}"));
    }
    if status.log_lines_lost > 0 {
        let lost = status.log_lines_lost;
        lines.push(format!("  log: {lost} lines lost, standard error could not be written"));
    }
    lines.join("\n") + "\n"
}

/// Which entry of the schedule holds. The master's counts.
fn schedule_line(schedule: &ScheduleStatus, node_state: &NodeState) -> String {
    let entry = schedule.entry.as_deref().unwrap_or("no entry applies");
    let time = schedule.local_time.as_deref().unwrap_or("unknown");
    let whose = match node_state {
        NodeState::Slave { master } => format!("; the master {master}'s applies"),
        NodeState::Master | NodeState::Seeking => String::new(),
    };
    format!("  schedule: {entry} (local time {time}{whose})")
}

fn program_line(program: &ProgramHealth) -> String {
    let ProgramHealth { command, plans, fallbacks, is_failing, fault, .. } = program;
    let state = match fault {
        Some(fault) if *is_failing => format!("fails ({fault}), the planner does its work"),
        Some(_) | None => "works".to_owned(),
    };
    format!("  dispatch: {command} {state}; {plans} plans, {fallbacks} by the planner")
}

fn key_lines(keys: &FleetKeysStatus) -> Vec<String> {
    let others = keys.accepted.iter().filter(|id| Some(**id) != keys.sent).map(u8::to_string);
    let others = others.chain(keys.accepts_anybody.then(|| "messages without a key".to_owned()));
    let used = match (keys.sent, keys.accepted.is_empty(), keys.accepts_anybody, &keys.missing) {
        (_, true, false, Some(reason)) => return vec![format!("  serving alone: {reason}")],
        (_, true, true, _) => "messages are sent and accepted without a fleet key".to_owned(),
        (_, true, false, None) => {
            "no fleet key: any account on this machine can command the cars".to_owned()
        }
        (Some(id), false, ..) => format!("fleet key {id}"),
        (None, false, ..) => "messages are sent without a fleet key".to_owned(),
    };
    let others = if keys.accepted.is_empty() { String::new() } else { list(others) };
    let others = if others.is_empty() { others } else { format!("; also accepted: {others}") };
    let missing = keys.missing.as_ref().map(|reason| format!("  a fleet key is missing: {reason}"));
    missing.into_iter().chain([format!("  {used}{others}")]).collect()
}

fn car_lines(name: &NodeId, car: &CarStatus, building: &Building) -> String {
    let panel = match &car.connection {
        Ok(()) => sensors(car),
        Err(why) => format!("panel not connected: {why}"),
    };
    let LineCounters { frames, damaged, lost, unknown } = car.line;
    let mut line = format!("{frames} frames, {damaged} damaged, {lost} lost");
    if unknown > 0 {
        line = format!("{line}, {unknown} unknown");
    }
    let mut lines = vec![
        format!("\nCar {name}: {}", group_car(&car.view)),
        format!("  {panel}"),
        format!("  line {line}"),
    ];
    let unserved: Vec<_> = building.unserved(name.as_str()).collect();
    let locked_out = list(car.view.locked_out.iter().filter(|floor| !unserved.contains(floor)));
    if !locked_out.is_empty() {
        lines.push(format!("  locked out for now, sensor silent: {locked_out}"));
    }
    if !car.stuck.is_empty() {
        lines.push(format!("  stuck buttons: {}", list(&car.stuck)));
    }
    let Counters { since, trips, starts, door_cycles, running, metres, .. } = &car.counters;
    let (since, hours) = (since.as_deref().unwrap_or("a time not known"), running / 3_600);
    let doors = format!("{door_cycles} door cycles, {hours} h running, {metres} m");
    lines.push(format!("  since {since}: {trips} trips, {starts} starts, {doors}"));
    if !car.maintenance_due.is_empty() {
        lines.push(format!("  maintenance is due: {}", list(&car.maintenance_due)));
    }
    let lamps = if car.lamps.is_empty() { "none".to_owned() } else { list(&car.lamps) };
    lines.push(format!("  lit lamps: {lamps}\n"));
    lines.join("\n")
}

fn sensors(car: &CarStatus) -> String {
    let at = match car.at {
        Some(floor) => format!("sensor at floor {floor}"),
        None => "between floors".to_owned(),
    };
    let said = [
        Some(format!("panel connected, {at}, door {}", car.door)),
        car.obstructed.then(|| "door obstructed".to_owned()),
        car.stopped.then(|| "stop switch pulled".to_owned()),
        (car.key != KeySwitch::Normal).then(|| format!("key switch: {}", car.key)),
    ];
    list(said.into_iter().flatten())
}

fn climate(status: &Status) -> String {
    let climate = &status.climate;
    let from = match &status.node_state {
        NodeState::Slave { master } => format!("by {master} "),
        NodeState::Seeking | NodeState::Master => String::new(),
    };
    let average = match (climate.age, climate.brightness) {
        (Some(age), Some(brightness)) => format!(
            "{}, backlight {brightness} of 255, sent {from}{} ago",
            degrees(climate.average),
            seconds(age)
        ),
        _ => "no master has sent one lately".to_owned(),
    };
    let text = format!(
        "\nClimate: the display shows {:?}\n  own sensors: {}, illuminance {}\n  fleet's average: \
         {average}\n",
        climate.display,
        degrees(climate.own.temperature),
        known(climate.own.illuminance)
    );
    if climate.units.is_empty() {
        return text;
    }
    let rows = climate.units.iter().map(|unit| {
        let reading = &unit.reading;
        let (temperature, light) = (degrees(reading.temperature), known(reading.illuminance));
        [unit.unit.clone(), temperature, light, seconds(unit.age)]
    });
    text + &output::table(["UNIT", "TEMPERATURE", "LIGHT", "AGE"], rows)
}

fn degrees(temperature: Option<impl fmt::Display>) -> String {
    known(temperature.map(|value| format!("{value} °C")))
}

fn known<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

pub(super) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn lost(lost: &[LostStatus]) -> String {
    let rows = lost.iter().map(|LostStatus { node, address, silent, cause, .. }| {
        let heard = format!("{} ago", uptime(*silent));
        [node.to_string(), address.to_string(), heard, word(cause)]
    });
    section("Lost peers", ["NODE", "ADDRESS", "LAST HEARD", "CAUSE"], rows)
}

fn hangs(hangs: &[HangStatus]) -> String {
    let rows = hangs.iter();
    let rows = rows.map(|it| [it.car.to_string(), Evidence::from(&it.evidence).to_string()]);
    section("Cars that hung", ["CAR", "EVIDENCE"], rows)
}

fn conflicts(conflicts: &[ConflictStatus]) -> String {
    let rows = conflicts.iter().map(|ConflictStatus { kind, what, since, last }| {
        let (since, last) = (uptime(*since).to_string(), format!("{} ago", uptime(*last)));
        [word(kind), what.clone(), since, last]
    });
    section("Conflicts", ["CONFLICT", "WHAT", "FOR", "LAST SEEN"], rows)
}

/// The word for a variant that JSON has too.
pub(super) fn word(variant: &impl Serialize) -> String {
    output::json_line(variant).trim().trim_matches('"').to_owned()
}

fn orders<'a>(orders: impl IntoIterator<Item = &'a OrderStatus>) -> String {
    let rows = orders.into_iter().map(|order| {
        [
            order.call.to_string(),
            seconds(order.waited),
            order.car.as_ref().map_or("-", NodeId::as_str).to_owned(),
            choose(order.promised, "yes", "not yet"),
            order.holders.to_string(),
        ]
    });
    let text = section("Open orders", ["ORDER", "AGE", "CAR", "PROMISED", "HOLDERS"], rows);
    if text.is_empty() { "\nNo open order\n".to_owned() } else { text }
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
    let load = car.load.map(|load| format!(", load {load} %")).unwrap_or_default();
    let mode = match car.mode {
        Mode::InService => String::new(),
        mode => format!(", mode {mode}"),
    };
    format!("{floor}, {} for {}{load}, {service}{mode}", car.phase, seconds(car.elapsed))
}

fn choose(condition: bool, yes: &str, no: &str) -> String {
    if condition { yes } else { no }.to_owned()
}

/// Rounded to seconds.
fn uptime(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}
