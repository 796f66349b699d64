//! Messages and events as a script wants them: nearly right, or not at all.

use core::net::Ipv4Addr;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use elevator_driver::{
    Button, Climate, Direction, DoorState, DriveFeedback, Floor, FloorCount, KeySwitch, PanelEvent,
    PanelInputs, Trip,
};
use elevator_fleet::dispatch::CarPlan;
use elevator_fleet::election::Message;
use elevator_fleet::model::{
    Availability, Call, CarPhase, CarView, Dot, HallCall, Mac, Mode, NodeId, Role, Term,
    Unavailable,
};
use elevator_fleet::node::Node;
use elevator_fleet::settings::{Recall, Register, Setting, Version, Words};
use elevator_fleet::store::{Record, RecordState, Service};
use elevator_fleet::wire::{
    Ack, Beacon, Delta, Echo, Frame, Hello, NodeState, Nonce, Piggybacked, PlanEntry, Protocol,
    StateTransfer, StoreDigest,
};

use crate::wire::{fleet, node as name};

/// The node itself.
pub(super) const SELF: &str = "B";
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
pub(super) const NONCE: Nonce = Nonce(2);

/// The incarnation before this one, with presses on the disk.
const BEFORE: Nonce = Nonce(5);

/// The peers, and the last byte of the address of each.
const PEERS: [(&str, u8); 3] = [("A", 1), ("C", 3), ("D", 4)];

/// What is drawn, and what peers would know.
pub(super) struct Draw {
    floors: FloorCount,
    protocol: Protocol,
    /// The sequence of the latest beacon of each peer.
    sequences: [u64; PEERS.len()],
    /// The sequence of the node's latest beacon.
    own: u64,
}

impl Draw {
    pub(super) fn new(floors: FloorCount, protocol: Protocol) -> Self {
        Self { floors, protocol, sequences: [0; PEERS.len()], own: 0 }
    }

    /// The node has sent the beacon of this sequence.
    pub(super) fn hear_own(&mut self, sequence: u64) {
        self.own = self.own.max(sequence);
    }

    /// A hello of one of the peers, as it should be or with something wrong.
    pub(super) fn hello(&self, script: &mut Unstructured<'_>) -> Result<Hello> {
        let index = script.choose_index(PEERS.len())?;
        self.hello_of(index, script)
    }

    fn hello_of(&self, index: usize, script: &mut Unstructured<'_>) -> Result<Hello> {
        let (node, byte) = PEERS[index];
        let address = Ipv4Addr::new(127, 0, 0, byte);
        let mut hello = Hello {
            fleet: fleet(),
            node: name(node),
            address,
            nonce: Nonce(u64::from(byte)),
            floors: self.floors,
            protocol: self.protocol,
            mac: Mac::of(address),
            role: Role::Cabin,
        };
        match script.int_in_range(0..=40_u8)? {
            0 => hello.node = peer(script)?,
            1 => hello.address = any_address(script)?,
            2 => hello.nonce = Nonce(script.arbitrary()?),
            3 => hello.floors = FloorCount::new(script.int_in_range(2..=254)?).expect("a count"),
            4 => hello.protocol = *script.choose(&Protocol::ALL)?,
            5 => hello.mac = Mac::of(any_address(script)?),
            6 => hello.role = *script.choose(&[Role::Cabin, Role::ControlUnit, Role::Indicator])?,
            7 => hello.nonce = NONCE,
            _ => {}
        }
        Ok(hello)
    }

    pub(super) fn beacon(
        &mut self,
        script: &mut Unstructured<'_>,
        own: &Node,
    ) -> Result<(Ipv4Addr, Beacon)> {
        let index = script.choose_index(PEERS.len())?;
        let hello = self.hello_of(index, script)?;
        let sequence = match script.int_in_range(0..=15_u8)? {
            0 => script.arbitrary()?,
            1 => self.sequences[index],
            2 => self.sequences[index].saturating_sub(1),
            _ => self.sequences[index].saturating_add(1),
        };
        if sequence < u64::MAX / 2 {
            self.sequences[index] = sequence;
        }
        let heard = match script.int_in_range(0..=9_u8)? {
            0 => script.arbitrary()?,
            _ => self.own,
        };
        let from = if script.ratio(1_u8, 40)? { any_address(script)? } else { hello.address };
        let digest = if script.arbitrary()? { own.digest() } else { script.arbitrary()? };
        let message = if script.ratio(1_u8, 3)? { message(script)? } else { None };
        let piggybacked = match message {
            Some(message) => Some(Piggybacked {
                to: if script.arbitrary()? { Some(peer(script)?) } else { None },
                message,
            }),
            None => None,
        };
        let beacon = Beacon {
            hello,
            link_port: 46_000,
            sequence,
            period: *script.choose(&[25, 0, 100, 1000, u16::MAX])?,
            node_state: match script.int_in_range(0..=3_u8)? {
                0 => NodeState::Seeking,
                1 => NodeState::Slave { master: peer(script)? },
                2 => NodeState::Slave { master: name(SELF) },
                _ => NodeState::Master,
            },
            term: term(script, own)?,
            led: term(script, own)?,
            estimate: if script.arbitrary()? { 0 } else { script.arbitrary()? },
            digest,
            power: if script.arbitrary()? { 0 } else { script.arbitrary()? },
            durable: script.arbitrary()?,
            probe: script.ratio(1_u8, 8)?,
            echoes: vec![Echo { nonce: NONCE, sequence: heard }],
            delta: self.delta(script, own)?,
            piggybacked,
        };
        Ok((from, beacon))
    }

    pub(super) fn frame(&self, script: &mut Unstructured<'_>, own: &Node) -> Result<Frame> {
        Ok(match script.int_in_range(0..=9_u8)? {
            0 => Frame::Hello(self.hello(script)?),
            1 => Frame::Probe,
            2 => Frame::Alive,
            3 => Frame::Next,
            4 => Frame::Synced,
            5 => Frame::Digest(StoreDigest {
                term: term(script, own)?,
                digest: if script.arbitrary()? { own.digest() } else { script.arbitrary()? },
                durable: script.arbitrary()?,
            }),
            6 | 7 => Frame::State(StateTransfer {
                term: term(script, own)?,
                settings: self.some(script, |_, script| register(script))?,
                records: self.some(script, |draw, script| draw.record(script, Some(own)))?,
                durable: script.arbitrary()?,
                more: script.arbitrary()?,
            }),
            8 => Frame::CarPlan(CarPlan {
                direction: self.maybe(script, |_, script| direction(script))?,
                park: self.maybe(script, Self::floor)?,
            }),
            _ => Frame::Delta(self.delta(script, own)?),
        })
    }

    fn delta(&self, script: &mut Unstructured<'_>, own: &Node) -> Result<Delta> {
        Ok(Delta {
            car: self.maybe(script, Self::car)?,
            settings: self.some(script, |_, script| register(script))?,
            records: self.some(script, |draw, script| draw.record(script, Some(own)))?,
            acks: self.some(script, |_, script| {
                if script.ratio(1_u8, 4)? {
                    let key = register(script)?.setting.key();
                    return Ok(Ack::Setting { key, hash: script.arbitrary()? });
                }
                let dot = dot(script, Some(own))?;
                let (served, durable) = (script.arbitrary()?, script.arbitrary()?);
                Ok(Ack::Press { dot, served, durable, recall: script.int_in_range(0..=2)? })
            })?,
            plan: self.some(script, |draw, script| {
                let version = script.int_in_range(0..=9)?;
                Ok(PlanEntry { version, call: draw.hall(script)?, car: peer(script)? })
            })?,
        })
    }

    /// A record; of the restored ones, there is no node yet.
    pub(super) fn record(
        &self,
        script: &mut Unstructured<'_>,
        own: Option<&Node>,
    ) -> Result<Record> {
        let dot = match own {
            Some(_) => dot(script, own)?,
            None => Dot { incarnation: BEFORE, sequence: script.int_in_range(1..=4)? },
        };
        let origin = match own {
            Some(_) => peer(script)?,
            None => name(SELF),
        };
        let waited = time(script)?;
        let state = match script.int_in_range(0..=3_u8)? {
            0 | 1 if own.is_some() => RecordState::Served(Service { waited, car: peer(script)? }),
            _ => RecordState::Open { waited, recall: script.int_in_range(0..=2)? },
        };
        let absorbed = self.some(script, |_, script| stray(script))?;
        Ok(Record { dot, origin, call: self.call(script)?, state, absorbed })
    }

    /// A call; now and then one that the building does not have.
    pub(super) fn call(&self, script: &mut Unstructured<'_>) -> Result<Call> {
        Ok(match script.int_in_range(0..=3_u8)? {
            0 => Call::Car { car: name(SELF), floor: self.floor(script)? },
            1 => Call::Car { car: peer(script)?, floor: self.floor(script)? },
            _ => Call::Hall(self.hall(script)?),
        })
    }

    fn hall(&self, script: &mut Unstructured<'_>) -> Result<HallCall> {
        let (floor, direction) = (self.floor(script)?, direction(script)?);
        if script.ratio(1_u8, 4)?
            && let Some(trip) = HallCall::to(floor, self.floor(script)?)
        {
            return Ok(trip);
        }
        Ok(HallCall::new(floor, direction))
    }

    pub(super) fn floor(&self, script: &mut Unstructured<'_>) -> Result<Floor> {
        let index = script.int_in_range(0..=self.floors.get())?;
        let index = if index == self.floors.get() { script.int_in_range(0..=253)? } else { index };
        Ok(Floor::try_from(index).expect("a floor"))
    }

    fn inside(&self, script: &mut Unstructured<'_>) -> Result<Floor> {
        let index = script.int_in_range(0..=self.floors.get() - 1)?;
        Ok(self.floors.floor(index).expect("a floor"))
    }

    fn car(&self, script: &mut Unstructured<'_>) -> Result<CarView> {
        let phase = match script.int_in_range(0..=6_u8)? {
            0 => CarPhase::Homing,
            1 => CarPhase::Opening,
            2 => CarPhase::Open,
            3 => CarPhase::Closing,
            4 => CarPhase::Moving {
                direction: direction(script)?,
                stop_at: self.floor(script)?,
                next_stop: self.floor(script)?,
            },
            _ => CarPhase::Idle,
        };
        Ok(CarView {
            availability: match script.int_in_range(0..=5_u8)? {
                0 => Availability::Unavailable(Unavailable::Hung),
                1 => Availability::Unavailable(Unavailable::NoPanel),
                _ => Availability::InService,
            },
            floor: self.maybe(script, Self::floor)?,
            phase,
            elapsed: time(script)?,
            direction: self.maybe(script, |_, script| direction(script))?,
            load: script.arbitrary()?,
            locked_out: self.some(script, Self::floor)?.into_iter().collect(),
            mode: *script.choose(&Mode::ALL)?,
        })
    }

    /// What a back end reports: only of what the shaft has.
    pub(super) fn panel_event(&self, script: &mut Unstructured<'_>) -> Result<PanelEvent> {
        Ok(match script.int_in_range(0..=11_u8)? {
            0 => PanelEvent::Disconnected("unplugged".to_owned()),
            1 => PanelEvent::Connected,
            2 => PanelEvent::Refused("a press of something".to_owned()),
            3..=5 => {
                let button = self.button(script)?;
                if self.floors.has_button(button) {
                    PanelEvent::Pressed(button)
                } else {
                    PanelEvent::Refused(button.to_string())
                }
            }
            6 => match Trip::new(self.inside(script)?, self.inside(script)?) {
                Some(trip) => PanelEvent::Requested(trip),
                None => PanelEvent::Refused("no trip".to_owned()),
            },
            _ => PanelEvent::Inputs(self.inputs(script)?),
        })
    }

    fn button(&self, script: &mut Unstructured<'_>) -> Result<Button> {
        let floor = self.inside(script)?;
        Ok(match script.int_in_range(0..=2_u8)? {
            0 => Button::Car(floor),
            _ => Button::Hall(floor, direction(script)?),
        })
    }

    pub(super) fn inputs(&self, script: &mut Unstructured<'_>) -> Result<PanelInputs> {
        let stuck = self.some(script, Self::button)?;
        Ok(PanelInputs {
            floor: if script.ratio(3_u8, 4)? { Some(self.inside(script)?) } else { None },
            next_stop: self.maybe(script, Self::inside)?,
            drive: match script.int_in_range(0..=2_u8)? {
                0 => DriveFeedback::Driven(direction(script)?),
                _ => DriveFeedback::Stopped,
            },
            door: *script.choose(&[
                DoorState::Closed,
                DoorState::Closed,
                DoorState::Opening,
                DoorState::Open,
                DoorState::Closing,
            ])?,
            stop: script.ratio(1_u8, 10)?,
            obstruction: script.ratio(1_u8, 10)?,
            load: script.arbitrary()?,
            key: *script.choose(&[
                KeySwitch::Normal,
                KeySwitch::Normal,
                KeySwitch::Normal,
                KeySwitch::Independent,
                KeySwitch::FireRecall,
                KeySwitch::OutOfService,
                KeySwitch::Attendant,
                KeySwitch::RecallAll,
            ])?,
            climate: Climate {
                temperature: script.arbitrary::<Option<i8>>()?.filter(|at| *at != i8::MIN),
                illuminance: script.arbitrary()?,
            },
            stuck: stuck.into_iter().filter(|button| self.floors.has_button(*button)).collect(),
        })
    }

    fn maybe<T>(
        &self,
        script: &mut Unstructured<'_>,
        one: impl Fn(&Self, &mut Unstructured<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        if script.arbitrary()? { Ok(Some(one(self, script)?)) } else { Ok(None) }
    }

    /// None or a few.
    fn some<T>(
        &self,
        script: &mut Unstructured<'_>,
        one: impl Fn(&Self, &mut Unstructured<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = script.int_in_range(0..=5_u8)?.saturating_sub(2);
        (0..count).map(|_| one(self, script)).collect()
    }
}

/// What operators command.
fn register(script: &mut Unstructured<'_>) -> Result<Register> {
    let setting = match script.int_in_range(0..=3_u8)? {
        0 => {
            let number = script.int_in_range(0..=3)?;
            let recall = Recall { number, is_over: script.arbitrary()? };
            Setting::FireRecall(Nonce(script.int_in_range(0..=2)?), recall)
        }
        1 => Setting::Firefighter(peer(script)?, script.arbitrary()?),
        _ => Setting::Mode(peer(script)?, *script.choose(&Mode::ALL)?),
    };
    let counter =
        if script.ratio(1_u8, 20)? { script.arbitrary()? } else { script.int_in_range(0..=9)? };
    Ok(Register {
        setting,
        version: Version { counter, incarnation: Nonce(script.int_in_range(0..=4)?) },
        operator: Words::new("kovac").expect("a name"),
    })
}

/// A peer; now and then the node itself, or nobody that is known.
pub(super) fn peer(script: &mut Unstructured<'_>) -> Result<NodeId> {
    Ok(name(match script.int_in_range(0..=8_u8)? {
        0 => SELF,
        1 => "nobody",
        other => PEERS[usize::from(other) % PEERS.len()].0,
    }))
}

pub(super) fn any_address(script: &mut Unstructured<'_>) -> Result<Ipv4Addr> {
    Ok(Ipv4Addr::new(127, 0, 0, script.int_in_range(0..=5)?))
}

fn term(script: &mut Unstructured<'_>, own: &Node) -> Result<Term> {
    Ok(match script.int_in_range(0..=7_u8)? {
        0 => Term(script.arbitrary()?),
        1 => own.term().next(),
        2 => Term(0),
        _ => own.term(),
    })
}

/// A message of any protocol: any bytes that are one.
fn message(script: &mut Unstructured<'_>) -> Result<Option<Message>> {
    let length = script.int_in_range(1..=48)?;
    let bytes = script.bytes(length.min(script.len()))?;
    Ok(postcard::take_from_bytes(bytes).ok().map(|(message, _)| message))
}

fn dot(script: &mut Unstructured<'_>, own: Option<&Node>) -> Result<Dot> {
    let known: Vec<Dot> = own.map_or_else(Vec::new, |own| {
        own.orders().orders().map(|order| order.dot).take(32).collect()
    });
    if !known.is_empty() && script.ratio(2_u8, 3)? {
        return Ok(*script.choose(&known)?);
    }
    stray(script)
}

/// A press that there may be.
fn stray(script: &mut Unstructured<'_>) -> Result<Dot> {
    Ok(match script.int_in_range(0..=7_u8)? {
        0 => Dot { incarnation: Nonce(script.arbitrary()?), sequence: script.arbitrary()? },
        1 => Dot { incarnation: NONCE, sequence: script.int_in_range(0..=9)? },
        2 => Dot { incarnation: BEFORE, sequence: script.int_in_range(0..=9)? },
        _ => Dot {
            incarnation: Nonce(u64::from(PEERS[script.choose_index(PEERS.len())?].1)),
            sequence: script.int_in_range(1..=40)?,
        },
    })
}

fn direction(script: &mut Unstructured<'_>) -> Result<Direction> {
    Ok(*script.choose(&[Direction::Up, Direction::Down])?)
}

/// A time that makes sense; now and then any.
fn time(script: &mut Unstructured<'_>) -> Result<Duration> {
    Ok(match script.int_in_range(0..=31_u8)? {
        0 => script.arbitrary()?,
        1 => Duration::MAX,
        _ => Duration::from_millis(script.int_in_range(0..=100_000)?),
    })
}
