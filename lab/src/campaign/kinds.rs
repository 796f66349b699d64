//! What may go wrong in a campaign, one row a kind.

use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::model::Mode;
use elevator_fleet::node::Node;
use elevator_fleet::settings::Settings;
use fastrand::Rng;

use crate::{Boundary, Bursts, Fault, Forgery, LevellingFault, MotorFault, World};

/// A kind of fault. What a fault does, [`World::inflict`] says.
pub(crate) struct Kind {
    /// As [`Fault::kind`] says.
    pub(crate) name: &'static str,
    /// How strong it is, with units.
    pub(crate) range: &'static str,
    /// What puts it right in a calm.
    pub(crate) heals: &'static str,
    /// A fleet of two can't bear it, nor any that is not whole: of every order some disk has to know.
    pub(crate) takes_a_disk: bool,
    /// It breaks one car, and nothing else, until it heals.
    pub(crate) breaks_a_car: bool,
    /// Such faults, one after the other; none if that makes no sense at the moment.
    pub(crate) draw: fn(&mut Draw) -> Vec<Fault>,
}

/// What chance has drawn, and what it still may.
pub(crate) struct Draw<'a> {
    pub(crate) random: &'a mut Rng,
    pub(crate) world: &'a World,
    /// Two different nodes.
    pub(crate) node: usize,
    pub(crate) other: usize,
    /// In per cent of the most.
    pub(crate) strength: u64,
    /// The sessions of twelve robots, each with one after the other.
    pub(crate) sessions: &'a mut Vec<u64>,
}

impl Draw<'_> {
    /// A number from 1 to this share of the most.
    fn up_to(&mut self, most: u64) -> u64 {
        self.random.u64(1..=(most * self.strength / 100).max(1))
    }

    fn percent(&mut self, most: u64) -> u8 {
        u8::try_from(self.up_to(most)).unwrap_or(100)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.usize(0..choices.len())]
    }

    fn floor(&mut self) -> Floor {
        let top = self.world.floors().top().index();
        Floor::try_from(self.random.u8(0..=top)).unwrap_or(Floor::BOTTOM)
    }

    fn any_node(&mut self) -> usize {
        self.random.usize(0..self.world.size())
    }

    fn shuffled(&mut self) -> Vec<usize> {
        let mut nodes: Vec<usize> = (0..self.world.size()).collect();
        self.random.shuffle(&mut nodes);
        nodes
    }

    /// Two groups that are not empty.
    fn halves(&mut self) -> (Vec<usize>, Vec<usize>) {
        let mut nodes = self.shuffled();
        let right = nodes.split_off(self.random.usize(1..nodes.len()));
        (nodes, right)
    }

    /// This, if the process of the node runs.
    fn awake(&self, fault: Fault) -> Vec<Fault> {
        if self.world.is_awake(self.node) { vec![fault] } else { Vec::new() }
    }

    fn crash(&mut self, at: Boundary) -> Vec<Fault> {
        let after = self.percent(6) - 1;
        self.awake(Fault::Crash { node: self.node, at, after })
    }

    /// What one operator has commanded for all, as the node knows.
    fn settings(&self) -> Option<&Settings> {
        self.world.node(self.node).map(Node::settings)
    }

    /// What is in force is usually ended.
    fn ends(&mut self) -> bool {
        self.random.u8(0..4) > 0
    }

    /// 1 to 20 datagrams, each by one node at another.
    fn datagrams(&mut self, make: impl Fn(&mut Self, usize, usize, usize) -> Fault) -> Vec<Fault> {
        let number = usize::try_from(self.up_to(20)).unwrap_or(1);
        let datagrams = (0..number).map(|nth| {
            let pair = self.shuffled();
            make(self, nth, pair[0], pair[1])
        });
        datagrams.collect()
    }
}

const fn kind(
    name: &'static str,
    range: &'static str,
    heals: &'static str,
    draw: fn(&mut Draw) -> Vec<Fault>,
) -> Kind {
    let (takes_a_disk, breaks_a_car) = (false, false);
    Kind { name, range, heals, takes_a_disk, breaks_a_car, draw }
}

impl Kind {
    const fn taking_a_disk(mut self) -> Self {
        self.takes_a_disk = true;
        self
    }

    const fn breaking_a_car(mut self) -> Self {
        self.breaks_a_car = true;
        self
    }
}

/// A line of Markdown for each kind: its name, how strong it is, what heals it, and which invariants it
/// may violate.
pub fn fault_table() -> impl Iterator<Item = String> {
    KINDS.iter().map(|kind| {
        let Kind { name, range, heals, .. } = kind;
        format!("| `{name}` | {range} | {heals} | {} |", Fault::invalidated_by(name).join(", "))
    })
}

/// Every kind.
pub(crate) static KINDS: &[Kind] = &[
    kind("loss", "1 to 30 % of the packets", "no loss", |it| vec![Fault::Loss(it.percent(30))]),
    kind(
        "loss in bursts",
        "1 to 30 % of the packets, in bursts of 10 to 200 ms with 50 to 100 %",
        "no loss",
        |it| {
            let length = Duration::from_millis(it.random.u64(10..=200));
            let bursts = Bursts { length, loss: it.random.u8(50..=100) };
            vec![Fault::LossBursts { percent: it.percent(30), bursts }]
        },
    ),
    kind("duplication", "1 to 50 % of the datagrams arrive twice", "as usual", |it| {
        vec![Fault::Duplication(it.percent(50))]
    }),
    kind(
        "reordering",
        "1 to 30 % of the datagrams are held back for 1 to 50 ms",
        "in order",
        |it| vec![Fault::Reordering(it.percent(30))],
    ),
    kind(
        "corruption",
        "1 to 30 % of the datagrams have bits flipped, are cut short, lengthened or replaced",
        "no damage",
        |it| vec![Fault::Corruption(it.percent(30))],
    ),
    kind("delay", "up to 100 ms, different for each packet", "as usual", |it| {
        let most = it.up_to(100_000);
        vec![Fault::Delay { least: it.random.u64(0..=most), most }]
    }),
    kind(
        "damaged frame",
        "one frame of a link can't be read, which ends the link",
        "by itself",
        |it| vec![Fault::DamageFrame { from: it.node, to: it.other }],
    ),
    kind("one-way cut", "from one node to another", "whole", |it| {
        vec![Fault::CutOneWay { from: it.node, to: it.other }]
    }),
    kind("cut", "of two nodes", "whole", |it| vec![Fault::Cut(it.node, it.other)]),
    kind("refused links", "of two nodes", "links can be made", |it| {
        vec![Fault::RefuseLinks(it.node, it.other)]
    }),
    kind(
        "clog",
        "all that two nodes send waits for 1 ms to 5 s, 2,000 packets in each direction",
        "all arrives",
        |it| vec![Fault::Clog { one: it.node, other: it.other, millis: it.up_to(5_000) }],
    ),
    kind("partition", "two groups", "whole", |it| {
        let (left, right) = it.halves();
        vec![Fault::Partition(vec![left, right])]
    }),
    kind("one-way partition", "from one of two groups to the other", "whole", |it| {
        let (from, to) = it.halves();
        vec![Fault::OneWayPartition { from, to }]
    }),
    kind("ring partition", "each node reaches two others", "whole", |it| {
        vec![Fault::Ring(it.shuffled())]
    }),
    kind("bridge partition", "two groups reach each other through one node", "whole", |it| {
        let (left, right) = it.halves();
        vec![Fault::Bridge { left, right, through: it.node }]
    }),
    kind("network cut", "of one node from all others", "whole", |it| {
        vec![Fault::NetworkCut(it.node, true)]
    }),
    kind(
        "recreated interface",
        "a node reaches nobody for 1 ms to 3 s, then its links end",
        "the interface is there",
        |it| vec![Fault::RecreateInterface { node: it.node, millis: it.up_to(3_000) }],
    ),
    // The lower addresses of the fleet are among them: its node may rank higher than before, or lower.
    kind(
        "new address",
        "the same, then the node restarts at 127.0.0.1 to 127.0.0.20 if nobody is there",
        "it keeps the address",
        |it| {
            let address = Ipv4Addr::new(127, 0, 0, it.random.u8(1..=20));
            vec![Fault::NewAddress { node: it.node, address, millis: it.up_to(3_000) }]
        },
    ),
    // Recordings in their order are a run of one node's beacons now and then. What processes said
    // that have ended meanwhile is the most tempting.
    kind(
        "replay",
        "1 to 20 datagrams of the latest 128 recordings and 128 older ones",
        "by itself",
        |it| {
            let (first, in_order) = (it.random.usize(0..256), it.random.bool());
            let ended = if it.random.bool() { it.world.outdated_recordings() } else { Vec::new() };
            it.datagrams(|it, nth, _, to| {
                let recording = if in_order { first + nth } else { it.random.usize(0..256) };
                let chosen = ended.get(recording % ended.len().max(1));
                Fault::Replay { recording: chosen.copied().unwrap_or(recording), to }
            })
        },
    ),
    kind("forgery", "1 to 20 datagrams without the key, if the fleet has one", "by itself", |it| {
        it.datagrams(|it, _, of, to| Fault::Forge { forgery: it.one_of(&Forgery::ALL), of, to })
    }),
    kind("other version", "1 to 20 datagrams of the next wire version", "by itself", |it| {
        it.datagrams(|_, _, from, to| Fault::OtherVersion { from, to })
    }),
    kind("mains cut", "all machines go dark", "they start", |_| vec![Fault::MainsCut]),
    kind("clock rate", "±0.1 to ±20 %", "right", |it| {
        let wrong = u32::try_from(it.up_to(200)).unwrap_or(0);
        let rate = if it.random.bool() { 1_000 + wrong } else { 1_000 - wrong };
        vec![Fault::ClockRate { node: it.node, rate }]
    }),
    kind("wall clock", "±1 to ±40 years", "right", |it| {
        let years = i8::try_from(it.up_to(40)).unwrap_or(1);
        let years = if it.random.bool() { years } else { -years };
        vec![Fault::WallClock { node: it.node, years }]
    }),
    kind("slow disk", "a transaction takes up to 2 s", "as fast as usual", |it| {
        vec![Fault::SlowDisk { node: it.node, millis: it.up_to(2_000) }]
    }),
    kind("duplicate address", "of two nodes", "each has its own", |it| {
        vec![Fault::SharedAddress { node: it.node, with: Some(it.other) }]
    }),
    kind("kill", "of one process", "it starts", |it| it.awake(Fault::Kill(it.node))),
    kind("power cut", "of one machine", "it starts", |it| it.awake(Fault::PowerCut(it.node))),
    kind(
        "crash at a write",
        "before a batch goes to the disk; 0 to 5 are passed before",
        "it starts",
        |it| it.crash(Boundary::Write),
    ),
    kind(
        "crash at a commit",
        "before a node learns that a batch is durable; likewise",
        "it starts",
        |it| it.crash(Boundary::Durable),
    ),
    kind("crash at a datagram", "before one is sent; likewise", "it starts", |it| {
        it.crash(Boundary::Datagram)
    }),
    kind("crash at a frame", "after one is sent; likewise", "it starts", |it| {
        it.crash(Boundary::Frame)
    }),
    kind("crash before a frame", "before one is sent; likewise", "it starts", |it| {
        it.crash(Boundary::Unsent)
    }),
    // There are few dials, and none between nodes that have their links: then it dials.
    kind(
        "crash at a dial",
        "before a node dials, whose interface is recreated",
        "it starts",
        |it| {
            let node = it.node;
            let mut faults = it.awake(Fault::Crash { node, at: Boundary::Dial, after: 0 });
            faults.extend(it.awake(Fault::RecreateInterface { node, millis: 300 }));
            faults
        },
    ),
    kind(
        "crash at a lamp",
        "before the panel is shown anything; 0 to 5 are passed before",
        "it starts",
        |it| it.crash(Boundary::Panel),
    ),
    kind(
        "torn write",
        "a power cut that loses the transaction under way, or the next one",
        "it starts",
        |it| it.awake(Fault::TearWrite(it.node)),
    ),
    kind("suspension", "of one process", "it continues", |it| it.awake(Fault::Suspend(it.node))),
    kind("pause", "of one process, for 10 ms to 10 s", "it continues", |it| {
        let millis = 10 + it.up_to(9_990);
        it.awake(Fault::Pause { node: it.node, millis })
    }),
    kind("lost disk", "a process is killed, and starts with an empty disk", "by itself", |it| {
        vec![Fault::Kill(it.node), Fault::Replace(it.node)]
    })
    .taking_a_disk(),
    kind("failed disk", "accepts nothing more", "replaced by an empty one", |it| {
        vec![Fault::DiskFail(it.node)]
    })
    .taking_a_disk(),
    kind("full disk", "accepts nothing more", "has room, and the process restarts", |it| {
        vec![Fault::DiskFull(it.node, true)]
    })
    .taking_a_disk(),
    kind("crowd", "every button of a panel, and 1 to 40 destinations", "served", |it| {
        vec![Fault::Crowd(it.node)]
    }),
    kind("service mode", "any mode of any car, at any node", "in service", |it| {
        let mode = it.one_of(&Mode::ALL);
        it.awake(Fault::Mode { at: it.node, car: it.other, mode })
    }),
    kind("priority call", "of a car or any, or its end, at any node", "ended", |it| {
        let car = Some(it.other).filter(|_| it.random.bool());
        let floor = Some(it.floor()).filter(|_| it.ends());
        it.awake(Fault::Priority { at: it.node, car, floor })
    }),
    kind(
        "session",
        "of one of twelve robots: opened, sent to a floor, ended, up to three in a row",
        "ended",
        |it| {
            let robot = it.random.usize(0..it.sessions.len());
            let session = it.sessions[robot];
            let car = Some(it.any_node()).filter(|_| it.random.bool());
            let mut floor = Some(it.floor()).filter(|_| it.ends());
            let mut faults = Vec::new();
            for _ in 0..it.random.u8(1..=3) {
                // A robot without an answer asks at another node.
                faults.push(Fault::Session { at: it.any_node(), session, car, floor });
                floor = floor.filter(|_| it.random.u8(0..3) > 0);
            }
            if floor.is_none() {
                it.sessions[robot] = it.sessions.iter().max().copied().unwrap_or(0) + 1;
            }
            faults
        },
    ),
    kind("fire recall", "of all cars, or its end, at any node", "ended", |it| {
        let is_on = it.settings().is_some_and(Settings::is_fire_recalled);
        let start = !(is_on && it.ends());
        it.awake(Fault::FireRecall { at: it.node, start })
    }),
    kind("emergency power", "with a serving car or none, or its end, at any node", "ended", |it| {
        let is_on = it.settings().is_some_and(|it| it.emergency_power().is_some());
        let serving = Some(it.other).filter(|_| it.random.bool());
        let on = !(is_on && it.ends());
        it.awake(Fault::EmergencyPower { at: it.node, on, serving })
    }),
    kind("locked floor", "or its end, at any node", "unlocked", |it| {
        let is_locked = |floor: &Floor| it.settings().is_some_and(|it| it.is_locked(*floor));
        let locked = it.world.floors().floors().find(is_locked).filter(|_| it.ends());
        let floor = locked.unwrap_or_else(|| it.floor());
        it.awake(Fault::FloorLock { at: it.node, floor, locked: locked.is_none() })
    }),
    kind(
        "line noise",
        "16 frames are damaged, and the line is gone for 1 ms to 3 s",
        "by itself",
        |it| vec![Fault::LineNoise { node: it.node, millis: it.up_to(3_000) }],
    ),
    kind("silent climate sensor", "of one car", "it measures", |it| {
        vec![Fault::SilentClimate(it.node, true)]
    })
    .breaking_a_car(),
    kind("motor", "stuck, trips, dead or reversed", "repaired, and the hang cleared", |it| {
        let faults = [MotorFault::Stuck, MotorFault::Trips, MotorFault::Dead, MotorFault::Reversed];
        vec![Fault::Motor(it.node, Some(it.one_of(&faults)))]
    })
    .breaking_a_car(),
    kind("levelling", "off, or overshooting", "repaired", |it| {
        let fault = it.one_of(&[LevellingFault::Off, LevellingFault::Overshoots]);
        vec![Fault::Levelling(it.node, Some(fault))]
    })
    .breaking_a_car(),
    kind("speed", "80, 90, 110 or 120 %", "100 %", |it| {
        vec![Fault::Speed(it.node, it.one_of(&[80, 90, 110, 120]))]
    })
    .breaking_a_car(),
    kind("dead sensor", "of one floor", "repaired", |it| {
        vec![Fault::DeadSensor(it.node, Some(it.floor()))]
    })
    .breaking_a_car(),
    kind("wrong sensor", "of one floor, which reports another", "repaired", |it| {
        let wrong = Some((it.floor(), it.floor())).filter(|(at, reports)| at != reports);
        vec![Fault::WrongSensor(it.node, wrong)]
    }),
    kind("all sensors dead", "of one car", "repaired", |it| {
        vec![Fault::AllSensorsDead(it.node, true)]
    })
    .breaking_a_car(),
    kind("jammed door", "where it is", "freed", |it| vec![Fault::DoorJammed(it.node, true)])
        .breaking_a_car(),
    kind("obstruction", "of a door", "gone", |it| vec![Fault::Obstruct(it.node, true)])
        .breaking_a_car(),
    kind("stop switch", "of one car", "pushed", |it| vec![Fault::StopSwitch(it.node, true)])
        .breaking_a_car(),
    kind("load", "80 or 110 % of the rated load", "0 %", |it| {
        vec![Fault::Load(it.node, Some(it.one_of(&[80, 110])))]
    })
    .breaking_a_car(),
    kind("key switch", "independent, fire recall or out of service", "normal", |it| {
        let keys = [KeySwitch::Independent, KeySwitch::FireRecall, KeySwitch::OutOfService];
        vec![Fault::Key(it.node, it.one_of(&keys))]
    })
    .breaking_a_car(),
    kind("line cut", "between a node and its panel", "plugged", |it| {
        vec![Fault::LineCut(it.node, true)]
    })
    .breaking_a_car(),
];
