//! A stranger without the fleet key on the segment of a bank of three cars: nothing that it sends
//! changes anything, a master that dies meanwhile is replaced as soon as ever, and a node that comes
//! back joins.

mod connections;
mod outsider;
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use elevator_driver::Direction;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::FleetName;
use elevator_fleet::node::{ConflictKind, RefusedStatus, Status};
use elevator_fleet::wire::{Hello, Protocol};
use liftmesh_harness::building::{Building, Line, Machine};
use liftmesh_harness::free_port;

use self::connections::{Opening, Says};
use self::outsider::{Done, Outsider, Proof, Segment, Shot};
use self::watch::{Seen, Watch};

const THREE: [&str; 3] = ["A", "B", "C"];

/// The floors at which buttons are pressed, in turn: where a car still stands with its door open, a
/// press makes no order.
const FLOORS: [[u8; 3]; 2] = [[5, 3, 6], [7, 1, 4]];

/// The bank, and who attacks it.
struct Bank {
    election: Protocol,
    building: Building,
    key: String,
    segment: Segment,
    watch: Watch,
    /// The addresses by name.
    nodes: Vec<(&'static str, Ipv4Addr)>,
    rounds: usize,
    /// Orders that were pressed.
    pressed: usize,
    opened: Instant,
    /// How often each node was started.
    starts: BTreeMap<&'static str, usize>,
}

fn fleet_name() -> FleetName {
    FleetName::new("liftmesh").expect("a name")
}

/// How long the next master may take to be known to all, under attack or not: ten times what is
/// seen.
const FAILOVER: Duration = Duration::from_secs(3);

/// How long a node may take, from its start, to be a member with a car in service again.
const RETURN: Duration = Duration::from_secs(20);

/// How many connections it opens.
const CONNECTIONS: usize = 10_000;

/// How many it opens where the other elections have shown the rest.
const FEWER_CONNECTIONS: usize = 1_000;

/// A term that a fleet does not reach in a test: the forged ones are far beyond. Where the mastership
/// rotates, each rotation has its term.
const MOST_TERM: u64 = 1_000;
const MOST_TERM_OF_ROTATIONS: u64 = 1_000_000;

/// How long all connections may take.
const ATTACK: Duration = Duration::from_mins(3);

/// The lines in a minute about each kind of datagram, about each peer, and about all strangers.
const LINES: usize = 20;

impl Bank {
    /// Cars at the addresses 2 to 4, the attacker at 1.
    fn open(election: Protocol) -> Self {
        let mut building = Building::new(8, Line::Serial);
        building.elect_by(election);
        let key = building.make_key("fleet.key");
        building.use_keys(&key);
        let numbers = THREE.into_iter().zip(2..);
        let nodes: Vec<_> =
            numbers.clone().map(|(name, number)| (name, building.endpoint(number).0)).collect();
        let (own, beacons) = building.endpoint(1);
        let packets = (election == Protocol::Ballot).then(|| {
            let addresses: Vec<Ipv4Addr> = nodes.iter().map(|(_, address)| *address).collect();
            let (port, _held) = free_port(&addresses).expect("a free port");
            SocketAddrV4::new(*beacons.ip(), port)
        });
        let victims = nodes.iter().map(|(_, address)| *address).collect();
        let segment = Segment { own, victims, beacons, packets, link_port: 0 };
        for (name, number) in numbers {
            building.install(name, number);
        }
        let mut bank = Self {
            election,
            building,
            key,
            segment,
            watch: Watch::new(),
            nodes,
            rounds: 0,
            pressed: 0,
            opened: Instant::now(),
            starts: BTreeMap::new(),
        };
        for name in THREE {
            bank.start(name);
        }
        bank.building.wait_for_master("A");
        bank.building.wait_in_service(&THREE);
        let master = bank.address("A");
        bank.segment.link_port = outsider::overheard(&bank.segment, master).link_port;
        bank.building.open_books();
        bank
    }

    fn start(&mut self, name: &'static str) {
        *self.starts.entry(name).or_default() += 1;
        let port = self.segment.packets.map(|packets| packets.port().to_string());
        self.building.start_with(name, |command| {
            command.args(port.iter().flat_map(|port| ["--ballot-port", port]));
        });
        self.watch.follow(&self.building, name);
    }

    fn address(&self, name: &str) -> Ipv4Addr {
        let mut nodes = self.nodes.iter();
        nodes.find_map(|(node, address)| (*node == name).then_some(*address)).expect("a node")
    }

    fn status(&self, name: &str) -> Status {
        self.building.status(name).expect("a status")
    }

    /// Presses hall and car buttons at these panels and waits until all are served.
    fn serves(&mut self, panels: &[&str]) {
        let building = &self.building;
        let floors = FLOORS[self.rounds % FLOORS.len()];
        let halls = floors.map(|floor| building.hall(floor, Direction::Down));
        for (panel, (floor, hall)) in panels.iter().zip(floors.iter().zip(halls)) {
            building.press(panel, hall);
            building.press(panel, building.car_call(*floor));
        }
        let pressed = || panels.iter().zip(floors.iter().zip(halls));
        for (_, (_, hall)) in pressed() {
            building.wait_lit(panels, hall);
        }
        for (panel, (floor, hall)) in pressed() {
            building.wait_dark(panels, hall);
            building.wait_dark(&[panel], building.car_call(*floor));
        }
        self.rounds += 1;
        self.pressed += 2 * panels.len();
    }

    /// The master changes although all is well.
    fn rotates(&self) -> bool {
        ElectionSettings::of(self.election).profile().rotates
    }

    /// Kills the master; returns how long it took the others to follow the next one.
    fn fails_over(&mut self, master: &'static str) -> Duration {
        let rest: Vec<&str> = THREE.into_iter().filter(|name| *name != master).collect();
        self.building.kill(master);
        let time = self.building.wait_for_master_of(&rest, rest[0]);
        self.serves(&rest);
        time
    }

    /// Starts the node again; returns how long it took to be a member in service.
    fn comes_back(&mut self, name: &'static str) -> Duration {
        let started = Instant::now();
        self.start(name);
        self.building.wait_for_master_of(&THREE, "A");
        self.building.wait_in_service(&THREE);
        started.elapsed()
    }

    /// What the node, which does not run, has said to the others when it dialled them.
    fn openings(&self, hello: &Hello) -> Vec<Opening> {
        let others = self.nodes.iter().copied();
        let others: Vec<_> = others.filter(|(name, _)| hello.node != *name).collect();
        connections::recorded_openings(&self.segment, hello, &self.key, &others)
    }

    /// What was told since the last time; nothing of it may be an alarm, or an order that nobody
    /// has pressed.
    fn told(&self) -> Vec<Seen> {
        let seen = self.watch.take();
        let halls: Vec<u64> = FLOORS.iter().flatten().map(|floor| u64::from(*floor)).collect();
        for told in &seen {
            let alarms = ["conflict", "disk_failed", "taken_over"];
            assert!(!alarms.contains(&told.kind()), "{told:?}");
            if ["placed", "served", "promised", "assigned"].contains(&told.kind()) {
                let call = &told.event["call"];
                let is_pressed = call["floor"].as_u64().is_some_and(|floor| halls.contains(&floor))
                    && (call["kind"] == "car" || call["direction"] == "down");
                assert!(is_pressed, "nobody has pressed it: {told:?}");
            }
        }
        seen
    }

    /// Nobody has noticed anything since the last time.
    fn is_calm(&self) {
        let unrest = ["node_state", "peer_lost", "peer_discovered", "synced", "repair"];
        for told in self.told() {
            let is_rotation = self.rotates() && told.kind() == "node_state";
            assert!(is_rotation || !unrest.contains(&told.kind()), "{told:?}");
        }
    }

    /// The changes of state of each node since the last time.
    fn changes(&self) -> BTreeMap<String, Vec<String>> {
        let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for told in self.told() {
            if told.kind() == "node_state" {
                let (from, to) = (&told.event["from"], &told.event["to"]);
                changes.entry(told.node).or_default().push(format!("{from} to {to}"));
            }
        }
        changes
    }

    /// The terms, unless each rotation has one.
    fn terms(&self) -> Vec<u64> {
        let names = THREE.iter().filter(|_| !self.rotates());
        names.map(|name| self.status(name).term.0).collect()
    }

    /// Everything that the attack has sent is counted, and has left no trace.
    fn is_untouched(&self, name: &str) -> Status {
        let status = self.status(name);
        let mut kinds = status.conflicts.iter().map(|conflict| conflict.kind);
        assert!(kinds.all(|kind| kind == ConflictKind::Key), "{name}: {:?}", status.conflicts);
        assert_eq!(status.refused, RefusedStatus::default(), "{name}");
        assert!(status.orders.is_empty(), "{name}: {:?}", status.orders);
        let most = if self.rotates() { MOST_TERM_OF_ROTATIONS } else { MOST_TERM };
        assert!(status.term.0 < most, "{name}: {:?}", status.term);
        for reason in Self::REASONS {
            let count = status.mesh.get(reason).copied().unwrap_or_default();
            assert!(count >= 10, "{name} has not dropped any as {reason}: {:?}", status.mesh);
        }
        status
    }

    /// As what the datagrams and connections of the attack are counted.
    const REASONS: [&'static str; 7] =
        ["unauthenticated", "key", "forged", "address", "oversized", "replayed", "refused"];

    /// The number of lines in a node's log about strangers, which has a bound.
    fn lines_about_strangers(&self, name: &str) -> usize {
        let log = fs::read_to_string(self.building.path(name).join("node.log")).expect("a log");
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for line in log.lines().filter(|line| line.contains(" WARN ")) {
            let words = || line.split_whitespace();
            let from = words().find(|word| word.starts_with("from="));
            let Some(from) = from.filter(|_| line.contains("refused")) else {
                // The text without its numbers and addresses.
                let text =
                    words().skip(1).filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
                *kinds.entry(text.collect::<Vec<_>>().join(" ")).or_default() += 1;
                continue;
            };
            *kinds.entry(from.to_owned()).or_default() += 1;
        }
        // Each process counts anew, and begins a minute with a line.
        let minutes = usize::try_from(self.opened.elapsed().as_secs() / 60).expect("a number");
        let most = LINES * (minutes + self.starts[name]);
        for (kind, lines) in &kinds {
            // Until a peer's beacon has proven its address, the peer is a stranger as well.
            let most = if kind.starts_with("from=") { 2 * most } else { most };
            assert!(*lines <= most, "{name}: {lines} lines of at most {most}: {kind}");
        }
        kinds.values().sum()
    }
}

/// All kinds of datagrams and connections were sent.
fn was_complete(done: &Done, segment: &Segment, connections: usize) {
    let proofs = [Proof::Nothing, Proof::OtherKey, Proof::RandomTag, Proof::OldTag];
    let mut shots = vec![Shot::Latest, Shot::Rerun, Shot::Yesterday, Shot::Elsewhere];
    shots.extend([Shot::Truncated, Shot::Oversized]);
    shots.extend(proofs.map(Shot::Announcement));
    shots.extend(proofs.map(Shot::Forgery));
    if segment.packets.is_some() {
        shots.extend(proofs.map(Shot::Packet));
        shots.push(Shot::PacketAgain);
    }
    for shot in shots {
        assert!(done.shots.get(&shot).is_some_and(|count| *count > 50), "{shot:?}: {done:?}");
    }
    let connected = &done.connected;
    assert_eq!(connected.total(), connections, "{connected:?}");
    // A repeated opening of an address that counts gets as far as an answer, and no further.
    let answered: Vec<Says> = connected.answered.keys().copied().collect();
    assert_eq!(answered, [Says::Opening], "{connected:?}");
}

fn a_stranger_changes_nothing(election: Protocol, connections: usize) {
    let started = Instant::now();
    let mut bank = Bank::open(election);
    let mut outsider = Outsider::listen(&bank.segment);
    bank.serves(&THREE);
    let first = bank.building.wait_for_one_master();
    let hello = outsider::overheard(&bank.segment, bank.address(first)).hello;
    bank.told();

    assert!(bank.rotates() || bank.building.wait_for_one_master() == first);
    let quiet_failover = bank.fails_over(first);
    let quiet_changes = bank.changes();
    let openings = bank.openings(&hello);
    let quiet_return = bank.comes_back(first);
    bank.serves(&THREE);
    bank.told();
    let terms = bank.terms();

    outsider.attack(hello, openings, connections);
    let begun = Instant::now();
    bank.serves(&THREE);
    bank.serves(&THREE);
    bank.is_calm();
    assert_eq!(bank.terms(), terms);

    let master = bank.building.wait_for_one_master();
    let failover = bank.fails_over(master);
    let changes = bank.changes();
    let count =
        |changes: &BTreeMap<String, Vec<String>>| -> usize { changes.values().map(Vec::len).sum() };
    println!("{election}: changes without {quiet_changes:?}, and under attack {changes:?}");
    let is_calm = count(&changes) <= count(&quiet_changes) + 2;
    assert!(is_calm || bank.rotates(), "more changes under attack");
    let returned = bank.comes_back(master);
    bank.serves(&THREE);
    bank.told();
    let terms = bank.terms();
    bank.building.wait_within(ATTACK, "all connections were opened", |_| outsider.has_connected());
    bank.serves(&THREE);
    bank.is_calm();
    assert_eq!(bank.terms(), terms);

    let done = outsider.stop();
    println!("{election}: attack for {:.1?}: {done:?}", begun.elapsed());
    bank.building.wait_all_dark();
    for name in THREE {
        let status = bank.is_untouched(name);
        let lines = bank.lines_about_strangers(name);
        println!("{election}: {name}: {lines} lines, {:?}", status.mesh);
    }
    was_complete(&done, &bank.segment, connections);
    let report = bank.building.close_books();
    // What a car serves before a node that was started counts as settled is not in the books.
    assert!(report.tally.placed as usize <= bank.pressed, "{} pressed, {report:?}", bank.pressed);
    bank.building.assert_safe();
    println!(
        "{election}: next master after {quiet_failover:.0?} without and {failover:.0?} under \
         attack; back after {quiet_return:.1?} and {returned:.1?}; {:.0?} in all",
        started.elapsed()
    );
    assert!(failover < FAILOVER, "{failover:?}");
    assert!(returned < RETURN, "{returned:?}");
}

/// E1, F4, O1, O4: announcements, replays, forgeries and 10,000 connections.
#[test]
fn a_stranger_without_the_fleet_key_changes_nothing() {
    let _machine = Machine::shared();
    a_stranger_changes_nothing(Protocol::LowestIp, CONNECTIONS);
}

/// V1 to V3: the same, and packets that call for votes.
#[test]
fn a_stranger_without_the_fleet_key_calls_no_vote() {
    let _machine = Machine::shared();
    a_stranger_changes_nothing(Protocol::Ballot, CONNECTIONS);
}

/// The same under the other elections, with fewer connections each, at the same time.
#[test]
fn a_stranger_without_the_fleet_key_has_no_part_in_any_election() {
    let _machine = Machine::shared();
    std::thread::scope(|scope| {
        for election in [Protocol::Bully, Protocol::Senior, Protocol::TokenRing] {
            scope.spawn(move || a_stranger_changes_nothing(election, FEWER_CONNECTIONS));
        }
    });
}
