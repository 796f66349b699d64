//! Every key of the configuration: its meaning, range and default, once.
//!
//! The flags of the command line, the reader of the files and of the environment, and the
//! commented example file are all made from [`KEYS`].

use super::kind::Kind;

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, after that of its table and a dot where it is in one.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it: a value, or in words.
    pub default: KeyDefault,
    /// Its meaning, and its relation to other keys.
    pub about: &'static str,
}

/// What holds for a key that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyDefault {
    /// It has to be given; this is an example.
    Required(&'static str),
    /// It may be left out; what that means in words, and an example.
    Absent(&'static str, &'static str),
    /// This value.
    Value(&'static str),
}

impl Key {
    /// The key of this path.
    #[must_use]
    pub fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// The table it is in, if any, and its name there.
    #[must_use]
    pub fn split(&self) -> (Option<&'static str>, &'static str) {
        self.path
            .split_once('.')
            .map_or((None, self.path), |(table, name)| (Some(table), name))
    }

    /// The flag, without its dashes: the key's own name, behind that of its table in
    /// `[log]`, `[panel_line]`, `[climate]` and those of the election protocols, whose keys would
    /// say too little alone.
    #[must_use]
    pub fn flag(&self) -> String {
        let (table, name) = self.split();
        match table {
            Some(
                table @ ("bully" | "senior" | "ballot" | "token_ring" | "climate" | "panel_line"
                | "log"),
            ) => format!("{table}-{name}").replace('_', "-"),
            _ => name.replace('_', "-"),
        }
    }

    /// The variable of the environment.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("LIFTMESH__{}", self.path.replace('.', "__").to_uppercase())
    }

    const fn new(path: &'static str, kind: Kind, default: KeyDefault, about: &'static str) -> Self {
        Self {
            path,
            kind,
            default,
            about,
        }
    }
}

/// The tables, in the order of [`KEYS`], and what each is about.
pub const TABLES: &[(&str, &str)] = &[
    ("door", "The door of this node's car."),
    (
        "motion",
        "How the cars move, the same on every node, and how long this node's car may take.",
    ),
    ("service", "The service modes of this node's car."),
    (
        "mesh",
        "The times of the mesh. They suit a LAN with some loss and jitter; alike on every node.",
    ),
    (
        "climate",
        "What the climate sensors measure and the indicators show; alike on every node.",
    ),
    ("bully", "Ranks and times of the protocol `bully`."),
    (
        "senior",
        "Times of the protocol `senior`, alike on every node.",
    ),
    (
        "ballot",
        "Rules and times of the protocol `ballot`, alike on every node, and its packets.",
    ),
    (
        "token_ring",
        "Times of the protocol `token-ring`, alike on every node.",
    ),
    ("panel_line", "The line to the panel."),
    ("log", "The log, on standard error."),
];

use KeyDefault::{Absent, Required, Value};

/// Every key, those of one table together, in the order of the example file.
pub const KEYS: &[Key] = &[
    Key::new(
        "fleet",
        Kind::Name,
        Value("liftmesh"),
        "The fleet's name, the same on every node; nodes of other fleets on the same LAN are not \
         heard.",
    ),
    Key::new(
        "role",
        Kind::Role,
        Value("cabin"),
        "What the node is there for: to drive the car of its cabin, or, with no car, to lead by \
         right as `control-unit` (under `senior` and `ballot`; one a fleet), or to show what the \
         fleet tells it as `indicator`, a display in a lobby.",
    ),
    Key::new(
        "car",
        Kind::Name,
        Required("A"),
        "The name of this node and of its car, different on every node. It must stay the same: \
         orders are kept under it. For the role `cabin`.",
    ),
    Key::new(
        "unit",
        Kind::Name,
        Absent("none, as the role is `cabin`", "lobby"),
        "The name of a node without a car, in place of `car`: different on every node, always the \
         same.",
    ),
    Key::new(
        "address",
        Kind::Address,
        Required("192.168.1.11"),
        "This node's own IPv4 address on the fleet's LAN. Under `lowest-ip` the lowest becomes \
         master.",
    ),
    Key::new(
        "mac",
        Kind::Mac,
        Absent(
            "that of the interface with `address`; 02:00 and `address` on loopback",
            "02:00:c0:a8:01:0b",
        ),
        "The MAC address of this node's interface, which ranks it under `senior` and `token-ring`.",
    ),
    Key::new(
        "broadcast",
        Kind::Broadcast,
        Required("192.168.1.255:46100"),
        "Where beacons go: the directed broadcast address of that LAN and a UDP port, the same on \
         every node. Never 255.255.255.255. On one machine: 127.255.255.255.",
    ),
    Key::new(
        "link_port",
        Kind::Port,
        Absent("broadcast's port", "46100"),
        "The TCP port on which this node listens for links.",
    ),
    Key::new(
        "panel",
        Kind::Panel,
        Required("serial:///dev/ttyUSB0?baud=115200"),
        "Where the panel is: a serial line, or an elevator server on TCP. A node without a car may \
         do without.",
    ),
    Key::new(
        "floors",
        Kind::Floors,
        Required("4"),
        "The number of floors of the shaft, the same on every node.",
    ),
    Key::new(
        "data_dir",
        Kind::Path,
        Required("/var/lib/liftmesh"),
        "The directory of the journal and of the operator's socket; one a node, on a disk that \
         survives a power cut.",
    ),
    Key::new(
        "fleet_key_file",
        Kind::Path,
        Absent("none", "/etc/liftmesh/fleet.key"),
        "The file that holds the fleet's key; it has to be readable. The key takes effect with \
         authentication.",
    ),
    Key::new(
        "election",
        Kind::Election,
        Value("lowest-ip"),
        "How the coordinator is elected, the same on every node.",
    ),
    Key::new(
        "mesh_detection",
        Kind::Switch,
        Value("true"),
        "Whether a coordinator that the mesh has lost counts as lost at once; otherwise only the \
         protocol's own signs count, which are slower. Without effect under `lowest-ip`.",
    ),
    Key::new(
        "http",
        Kind::Socket,
        Absent("no web panel", "127.0.0.1:8080"),
        "Where the web panel and the API listen. Without effect in a build that has neither.",
    ),
    Key::new(
        "door.dwell",
        Kind::time(1_000, 30_000),
        Value("3 s"),
        "How long the door stays open, from fully open or from the last reason to keep it open.",
    ),
    Key::new(
        "door.nudge_after",
        Kind::time(2_000, 300_000),
        Value("20 s"),
        "How long presses and obstructions may keep the door open altogether before it nudges. \
         Longer than two times `dwell`.",
    ),
    Key::new(
        "door.blocked_after",
        Kind::time(3_000, 600_000),
        Value("30 s"),
        "How long an obstruction or an overload may hold the door before the car leaves the group. \
         Longer than `nudge_after`, so that nudging gets its chance.",
    ),
    Key::new(
        "door.travel_limit",
        Kind::time(1_000, 120_000),
        Value("10 s"),
        "How long the door may take for one way before the car leaves the group. Longer than \
         `door_opening` and `door_closing`; two or three times what a sound door takes.",
    ),
    Key::new(
        "motion.floor_height",
        Kind::number(1.0, 50.0, "m"),
        Value("3.0"),
        "From one floor to the next; the tallest, where they differ.",
    ),
    Key::new(
        "motion.rated_speed",
        Kind::number(0.1, 20.0, "m/s"),
        Value("1.6"),
        "The highest speed.",
    ),
    Key::new(
        "motion.acceleration",
        Kind::number(0.1, 3.0, "m/s²"),
        Value("1.0"),
        "The highest acceleration and deceleration.",
    ),
    Key::new(
        "motion.jerk",
        Kind::number(0.1, 10.0, "m/s³"),
        Value("1.6"),
        "The highest rate at which the acceleration changes.",
    ),
    Key::new(
        "motion.door_opening",
        Kind::time(100, 60_000),
        Value("1500 ms"),
        "How long the door takes from closed to fully open.",
    ),
    Key::new(
        "motion.door_closing",
        Kind::time(100, 60_000),
        Value("1500 ms"),
        "How long the door takes from fully open to closed.",
    ),
    Key::new(
        "motion.transfer",
        Kind::time(100, 30_000),
        Value("1 s"),
        "How long one passenger takes to board or to get off.",
    ),
    Key::new(
        "motion.flight_margin",
        Kind::time(100, 60_000),
        Value("4 s"),
        "What is added to the time from rest to rest over one floor, as the numbers above make it, \
         to give the time within which a driven car must reach the next floor; past it the car \
         counts as hung.",
    ),
    Key::new(
        "motion.flight_limit",
        Kind::time(500, 300_000),
        Absent("from `flight_margin`", "10 s"),
        "The time within which a driven car must reach the next floor, in place of the one that \
         `flight_margin` makes. Longer than the time from rest to rest over one floor.",
    ),
    Key::new(
        "motion.homing_limit",
        Kind::time(1_000, 600_000),
        Value("60 s"),
        "How long a car that started between two floors may creep until it finds one; past it the \
         car counts as hung. The tallest floor at creeping speed plus a margin.",
    ),
    Key::new(
        "motion.drive_start_limit",
        Kind::time(500, 60_000),
        Value("5 s"),
        "How long the drive may take to report that it runs before the car leaves the group for \
         `drive_retry`.",
    ),
    Key::new(
        "motion.drive_retry",
        Kind::time(1_000, 600_000),
        Value("10 s"),
        "How long a car whose drive did not start waits before it tries again.",
    ),
    Key::new(
        "motion.settle",
        Kind::time(50, 10_000),
        Value("500 ms"),
        "How long the car has to be seen at rest after a stop that was not planned, before it moves \
         or opens. Longer than the panel line's round trip.",
    ),
    Key::new(
        "motion.unreachable_retry",
        Kind::time(1_000, 3_600_000),
        Value("60 s"),
        "How long a floor at which the car could not be located is left out.",
    ),
    Key::new(
        "motion.home_direction",
        Kind::Direction,
        Value("down"),
        "Where to look for a floor after a start between two.",
    ),
    Key::new(
        "service.recall_floor",
        Kind::Floor,
        Value("0"),
        "Where the car goes on fire recall, counted from 0 at the bottom. Below `floors`.",
    ),
    Key::new(
        "service.bypass_load",
        Kind::Percent,
        Value("80"),
        "From this load on, in per cent of the rated load, a car with cab calls passes hall calls \
         by. Below `overload`.",
    ),
    Key::new(
        "service.overload",
        Kind::Percent,
        Value("100"),
        "From this load on, in per cent of the rated load, the door stays open and the car does not \
         leave.",
    ),
    Key::new(
        "mesh.beacon_period",
        Kind::time(5, 5_000),
        Value("25 ms"),
        "Between two beacons. At most a quarter of `dead_after`.",
    ),
    Key::new(
        "mesh.beacon_gap",
        Kind::time(1, 5_000),
        Value("4 ms"),
        "Between two beacons that are sent because of news. At most `beacon_period`.",
    ),
    Key::new(
        "mesh.probe_after",
        Kind::time(5, 30_000),
        Value("45 ms"),
        "A peer that was silent for so long is probed. Between `beacon_period` and `dead_after`.",
    ),
    Key::new(
        "mesh.probe_period",
        Kind::time(1, 5_000),
        Value("10 ms"),
        "Between two probes. Below `dead_after`.",
    ),
    Key::new(
        "mesh.dead_after",
        Kind::time(50, 60_000),
        Value("200 ms"),
        "A peer of which nothing arrived for so long counts as dead.",
    ),
    Key::new(
        "mesh.repair_after",
        Kind::time(10, 60_000),
        Value("250 ms"),
        "A difference between two stores that stands for so long is repaired. Longer than \
         `beacon_period`.",
    ),
    Key::new(
        "mesh.redial_after",
        Kind::time(1, 60_000),
        Value("50 ms"),
        "After a failed dial the next one waits for this, doubled at each failure up to 32 times, \
         with jitter.",
    ),
    Key::new(
        "climate.poll_period",
        Kind::time(100, 600_000),
        Value("1 s"),
        "How often the coordinator asks every unit for what its sensors read, where its protocol \
         does not by itself.",
    ),
    Key::new(
        "climate.gather_time",
        Kind::time(1, 10_000),
        Value("20 ms"),
        "How long the coordinator waits for the answers before it tells the indicators what to \
         show. Below `poll_period`.",
    ),
    Key::new(
        "climate.reading_limit",
        Kind::time(200, 3_600_000),
        Value("5 s"),
        "A reading of this age is unknown. At least twice `poll_period`.",
    ),
    Key::new(
        "climate.display_limit",
        Kind::time(200, 3_600_000),
        Value("5 s"),
        "An average of this age is unknown to an indicator. At least twice `poll_period`.",
    ),
    Key::new(
        "climate.brightness_least",
        Kind::Whole(1, 255),
        Value("30"),
        "The indicators' backlight in the dark. At most `brightness_most`.",
    ),
    Key::new(
        "climate.brightness_most",
        Kind::Whole(1, 255),
        Value("255"),
        "The indicators' backlight in full light, and while no illuminance is known.",
    ),
    Key::new(
        "climate.brightness_smoothing",
        Kind::time(0, 600_000),
        Value("3 s"),
        "In about this time the backlight comes half of the way to what suits the light.",
    ),
    Key::new(
        "climate.display_utc_offset",
        Kind::Whole(-840, 840),
        Value("0"),
        "What the indicators' time of day is ahead of UTC, in minutes.",
    ),
    Key::new(
        "bully.estimate",
        Kind::Estimate,
        Value("health"),
        "How fit this node is to lead: the highest leads, of two equal ones the higher name. \
         `health` reckons with its disk, its panel and its car, from 1 to 100. 0 bars the node. \
         Numbers on every node, or `health` on every node.",
    ),
    Key::new(
        "bully.hysteresis",
        Kind::Whole(1, 10_000),
        Value("25"),
        "By how much an estimate must exceed the coordinator's before its node stands for election.",
    ),
    Key::new(
        "bully.answer_wait",
        Kind::time(20, 60_000),
        Value("200 ms"),
        "How long a candidate waits for an answer. At most `coordinator_wait`.",
    ),
    Key::new(
        "bully.ask_again",
        Kind::time(5, 60_000),
        Value("50 ms"),
        "How often a candidate asks while nobody answers. At most `answer_wait`.",
    ),
    Key::new(
        "bully.coordinator_wait",
        Kind::time(20, 120_000),
        Value("400 ms"),
        "How long a candidate that was answered waits for a coordinator before it begins again.",
    ),
    Key::new(
        "bully.silence",
        Kind::time(50, 600_000),
        Value("400 ms"),
        "Without `mesh_detection`: a coordinator of which no beacon came for so long is silent.",
    ),
    Key::new(
        "senior.preset",
        Kind::Preset,
        Value("fleet"),
        "What holds for the other keys of this table where they are not given: `fleet`, hundreds of \
         milliseconds; `source`, 5 min; `emulator`, 30 s. The last two leave `mesh_detection` out.",
    ),
    Key::new(
        "senior.master_loss",
        Kind::time(50, 3_600_000),
        Absent("the preset's: 500 ms, 5 min or 30 s", "500 ms"),
        "An executor that has had no sign of its master for so long looks for another one. At least \
         twice `request_period`.",
    ),
    Key::new(
        "senior.answer_wait",
        Kind::time(10, 600_000),
        Absent("the preset's: 100 ms, 5 s or 1 s", "100 ms"),
        "How long an attempt waits for a master's answer.",
    ),
    Key::new(
        "senior.attempts",
        Kind::Whole(1, 100),
        Absent("the preset's: 4, 3 or 3", "4"),
        "How many attempts have to go unanswered before a unit may lead.",
    ),
    Key::new(
        "senior.request_period",
        Kind::time(5, 600_000),
        Absent("the preset's: 50 ms, 30 s or 3 s", "50 ms"),
        "Between two requests of a master.",
    ),
    Key::new(
        "ballot.control_period",
        Kind::time(10, 10_000),
        Value("100 ms"),
        "Between two control packets of the leader.",
    ),
    Key::new(
        "ballot.lost_after",
        Kind::time(20, 60_000),
        Value("200 ms"),
        "A leader of which no control packet came for so long is lost. At least two times \
         `control_period`, and longer than `round`.",
    ),
    Key::new(
        "ballot.round",
        Kind::time(10, 10_000),
        Value("100 ms"),
        "How long a round of votes lasts; at least twice the longest delay of the network.",
    ),
    Key::new(
        "ballot.patience",
        Kind::Whole(1, 1_000),
        Value("5"),
        "While a leader's beacons say that it leads, so many times `lost_after` may pass without a \
         control packet of it. Counts with `mesh_detection` alone.",
    ),
    Key::new(
        "ballot.port",
        Kind::Port,
        Value("46101"),
        "The UDP port of the packets, the same on every node and device. Another one than that of \
         `broadcast`.",
    ),
    Key::new(
        "ballot.multicast",
        Kind::Multicast,
        Absent("broadcast's address", "239.192.46.101"),
        "The multicast group of the packets, for a network that a broadcast does not cover.",
    ),
    Key::new(
        "ballot.interface",
        Kind::Interface,
        Absent("that of address", "eth0"),
        "The network interface to which the sockets of the packets are bound. It needs the right \
         CAP_NET_RAW where the system does not allow it to everybody.",
    ),
    Key::new(
        "token_ring.t",
        Kind::time(50, 600_000),
        Value("300 ms"),
        "T: a holder shows at least this often that it lives. Longer than `acknowledgement_wait`.",
    ),
    Key::new(
        "token_ring.grace",
        Kind::time(10, 600_000),
        Value("100 ms"),
        "How much longer than `t` no holder has to be heard before the token is recovered.",
    ),
    Key::new(
        "token_ring.hold",
        Kind::time(50, 3_600_000),
        Value("1 s"),
        "How long a holder keeps the token before it looks for the next node. Longer than \
         `search_wait`.",
    ),
    Key::new(
        "token_ring.k",
        Kind::Whole(0, 100),
        Value("50"),
        "The part of `t`, in per cent, that an exchange between two holders may take at least; the \
         rest is drawn by lot.",
    ),
    Key::new(
        "token_ring.search_wait",
        Kind::time(5, 60_000),
        Value("100 ms"),
        "How long a holder waits for answers to its search for the next node.",
    ),
    Key::new(
        "token_ring.search_tries",
        Kind::Whole(1, 100),
        Value("3"),
        "After so many searches without an answer a holder serves alone, and searches on each `t`.",
    ),
    Key::new(
        "token_ring.acknowledgement_wait",
        Kind::time(5, 60_000),
        Value("150 ms"),
        "How long a hand-over may take until it is acknowledged.",
    ),
    Key::new(
        "token_ring.claim_wait",
        Kind::time(5, 60_000),
        Value("100 ms"),
        "How long a claim to a lost token is open to objections.",
    ),
    Key::new(
        "token_ring.claim_wait_per_rank",
        Kind::time(5, 60_000),
        Value("50 ms"),
        "How much later than the node before it in the ring a node claims a lost token.",
    ),
    Key::new(
        "panel_line.poll_period",
        Kind::time(1, 1_000),
        Value("10 ms"),
        "TCP: how often the elevator server is polled. A press shorter than this may go unseen.",
    ),
    Key::new(
        "panel_line.reply_limit",
        Kind::time(10, 10_000),
        Value("250 ms"),
        "TCP: a server that leaves a poll unanswered for so long is disconnected. Longer than \
         `poll_period`.",
    ),
    Key::new(
        "panel_line.reload_configuration",
        Kind::Switch,
        Value("false"),
        "TCP: ask the server to read its configuration again on each connection. Some rebuild their \
         world at it.",
    ),
    Key::new(
        "panel_line.heartbeat",
        Kind::time(5, 5_000),
        Value("50 ms"),
        "Serial: how often unchanged outputs are told; well below the panel's watchdog.",
    ),
    Key::new(
        "panel_line.silence_limit",
        Kind::time(15, 30_000),
        Value("250 ms"),
        "Serial: a panel that is silent for so long is disconnected. At least three times \
         `heartbeat`.",
    ),
    Key::new(
        "panel_line.retry_limit",
        Kind::time(50, 60_000),
        Value("1 s"),
        "The longest delay between two attempts to open a lost line.",
    ),
    Key::new(
        "log.filter",
        Kind::Filter,
        Value("info"),
        "What is logged: a level (error, warn, info, debug, trace), or levels by module, such as \
         info,liftmesh::mesh=debug.",
    ),
    Key::new(
        "log.format",
        Kind::Format,
        Value("human"),
        "`human` has times and, on a terminal, colours; `journal` has neither, as the journal of \
         the system adds its own times.",
    ),
];
