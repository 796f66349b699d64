//! What holds of every message, and of every noise.

use core::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use proptest::prelude::*;

use super::{dot, floor, keyring, sealed};
use crate::climate::{DisplayData, Reading};
use crate::directives::{Directive, Key, Value, Version, Words};
use crate::dispatch::CarPlan;
use crate::election::Message;
use crate::election::testing::{any_message, any_name};
use crate::model::{
    Availability, Call, CarPhase, CarView, Dot, FleetName, HallCall, Mac, Mode, Role, Term,
    Unavailable,
};
use crate::orders::{Record, RecordState, Service};
use crate::wire::codec::*;
use crate::wire::keyring::FleetKey;
use crate::wire::{
    Ack, Delta, Echo, Hello, NodeState, Nonce, Piggybacked, PlanEntry, Protocol, StateTransfer,
    StoreDigest,
};

proptest! {
    #[test]
    fn a_beacon_survives_its_bytes(beacon in any_beacon()) {
        for (keys, check) in [(Keyring::default(), CHECK), (keyring(7, "tower"), TAG)] {
            let bytes = encode_beacon(&beacon, &keys).expect("it fits");
            prop_assert_eq!(bytes.len(), HEADER + size(&beacon) + check);
            prop_assert_eq!(decode_beacon(&bytes, &keys), Ok(beacon.clone()));
        }
    }

    #[test]
    fn a_frame_survives_its_bytes(frame in any_frame()) {
        let bytes = encode_frame(&frame).expect("it fits");
        prop_assert_eq!(decode_frame(&bytes), Ok(frame));
    }

    /// F5: any damage within 32 neighbouring bits is noticed with certainty.
    #[test]
    fn a_burst_of_flipped_bits_is_noticed(
        frame in any_frame(),
        place in any::<proptest::sample::Index>(),
        pattern in 1..=u32::MAX,
    ) {
        let mut bytes = encode_frame(&frame).expect("it fits");
        let at = place.index(bytes.len() - 3);
        for (byte, flips) in bytes[at..].iter_mut().zip(pattern.to_le_bytes()) {
            *byte ^= flips;
        }
        prop_assert!(decode_frame(&bytes).is_err());
    }

    /// F5: noise is no message, and upsets nobody.
    #[test]
    fn noise_is_no_message(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        behind_a_header in any::<bool>(),
        with_key in any::<bool>(),
    ) {
        let keys = if with_key { keyring(7, "tower") } else { Keyring::default() };
        let header = [b'L', b'M', VERSION, keys.sent().map_or(NO_KEY, FleetKey::id)];
        let start = if behind_a_header { &header[..] } else { &[] };
        let bytes = [start, &noise].concat();
        prop_assert!(decode_beacon(&bytes, &keys).is_err());
        prop_assert!(decode_frame(&bytes).is_err());
    }

    /// What has the right checksum and no sense is refused, or is a message after all.
    #[test]
    fn an_intact_body_of_noise_upsets_nobody(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = sealed(&noise);
        match decode_frame(&bytes) {
            Ok(frame) => prop_assert_eq!(decode_frame(&encode_frame(&frame).expect("it fits")), Ok(frame)),
            Err(wrong) => prop_assert!(matches!(wrong, WireError::Malformed(_))),
        }
    }
}

fn any_floor() -> impl Strategy<Value = Floor> {
    (0..=253_u8).prop_map(floor)
}

fn any_direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Up), Just(Direction::Down)]
}

fn any_hall() -> impl Strategy<Value = HallCall> {
    let plain = (any_floor(), any_direction());
    prop_oneof![
        plain.prop_map(|(floor, direction)| HallCall::new(floor, direction)),
        (any_floor(), any_floor()).prop_filter_map("no trip", |(from, to)| HallCall::to(from, to)),
    ]
}

fn any_dot() -> impl Strategy<Value = Dot> {
    (any::<u64>(), any::<u64>()).prop_map(|(journal, sequence)| dot(journal, sequence))
}

fn any_hello() -> impl Strategy<Value = Hello> {
    let names = ("[A-Za-z0-9._-]{1,16}", any_name());
    let protocol = proptest::sample::select(Protocol::ALL.to_vec());
    (names, any::<u32>(), any::<u64>(), 2..=254_u8, protocol).prop_map(
        |((fleet, node), address, nonce, floors, protocol)| Hello {
            fleet: FleetName::new(&fleet).expect("a name"),
            node,
            address: Ipv4Addr::from(address),
            nonce: Nonce(nonce),
            floors: FloorCount::new(floors).expect("a count"),
            protocol,
            mac: Mac::of(Ipv4Addr::from(address)),
            role: Role::Cabin,
        },
    )
}

fn any_phase() -> impl Strategy<Value = CarPhase> {
    prop_oneof![
        Just(CarPhase::Idle),
        (any_direction(), any_floor(), any_floor()).prop_map(|(direction, stop_at, next_stop)| {
            CarPhase::Moving { direction, stop_at, next_stop }
        }),
        Just(CarPhase::Homing),
        Just(CarPhase::Opening),
        Just(CarPhase::Open),
        Just(CarPhase::Closing),
    ]
}

fn any_availability() -> impl Strategy<Value = Availability> {
    prop_oneof![
        Just(Availability::InService),
        proptest::sample::select(vec![
            Unavailable::NoPanel,
            Unavailable::Homing,
            Unavailable::Stopped,
            Unavailable::DoorBlocked,
            Unavailable::Independent,
            Unavailable::FireRecall,
            Unavailable::OutOfService,
            Unavailable::Hung,
            Unavailable::DriveFault,
            Unavailable::Overdue,
        ])
        .prop_map(Availability::Unavailable),
    ]
}

fn any_car() -> impl Strategy<Value = CarView> {
    (
        any_availability(),
        proptest::option::of(any_floor()),
        any_phase(),
        any::<Duration>(),
        proptest::option::of(any_direction()),
        any::<Option<u8>>(),
        proptest::collection::vec(any_floor(), 0..4),
        proptest::sample::select(
            &[Mode::InService, Mode::Independent, Mode::OutOfService, Mode::FireRecall][..],
        ),
    )
        .prop_map(
            |(availability, floor, phase, elapsed, direction, load, locked_out, mode)| CarView {
                availability,
                floor,
                phase,
                elapsed,
                direction,
                load,
                locked_out: locked_out.into_iter().collect(),
                mode,
            },
        )
}

fn any_record() -> impl Strategy<Value = Record> {
    let call = prop_oneof![
        any_hall().prop_map(Call::Hall),
        (any_name(), any_floor()).prop_map(|(car, floor)| Call::Car { car, floor }),
    ];
    let state = prop_oneof![
        any::<Duration>().prop_map(|waited| RecordState::Open { waited }),
        proptest::option::of((any::<Duration>(), any_name()))
            .prop_map(|how| RecordState::Served(how.map(|(waited, car)| Service { waited, car }))),
    ];
    (any_dot(), any_name(), call, state).prop_map(|(dot, origin, call, state)| Record {
        dot,
        origin,
        call,
        state,
    })
}

fn any_delta() -> impl Strategy<Value = Delta> {
    let ack = (any_dot(), any::<bool>(), any::<bool>()).prop_map(|(dot, served, durable)| Ack {
        dot,
        served,
        durable,
    });
    let entry = (any::<u64>(), any_hall(), any_name()).prop_map(|(version, call, car)| PlanEntry {
        version,
        call,
        car,
    });
    (
        proptest::option::of(any_car()),
        proptest::collection::vec(any_record(), 0..6),
        proptest::collection::vec(ack, 0..6),
        proptest::collection::vec(entry, 0..6),
    )
        .prop_map(|(car, records, acks, plan)| Delta { car, records, acks, plan })
}

fn any_piggybacked() -> impl Strategy<Value = Piggybacked> {
    let reading = any::<(Option<i8>, Option<u8>)>().prop_map(|(temperature, illuminance)| {
        Message::SensorData(Reading { temperature, illuminance })
    });
    let display = any::<(Option<i16>, u32, u8)>().prop_map(|(temperature, time, brightness)| {
        Message::DisplayData(DisplayData { temperature, time, brightness })
    });
    let message = prop_oneof![Just(Message::SensorRequest), reading, display, any_message(),];
    (proptest::option::of(any_name()), message)
        .prop_map(|(to, message)| Piggybacked { to, message })
}

fn any_beacon() -> impl Strategy<Value = Beacon> {
    let node_state = prop_oneof![
        Just(NodeState::Seeking),
        any_name().prop_map(|master| NodeState::Slave { master }),
        Just(NodeState::Master),
    ];
    let echo =
        any::<(u64, u64)>().prop_map(|(nonce, sequence)| Echo { nonce: Nonce(nonce), sequence });
    let numbers = any::<(u16, u64, u16, u64, u64, u32, u64)>();
    let flags = any::<(bool, bool)>();
    let echoes = proptest::collection::vec(echo, 0..8);
    let directives = (any::<u64>(), proptest::collection::vec(any_directive(), 0..4));
    let told = (any_delta(), proptest::option::of(any_piggybacked()), directives);
    (any_hello(), numbers, node_state, flags, echoes, told).prop_map(
        |(
            hello,
            (link_port, sequence, period, term, digest, estimate, own),
            node_state,
            flags,
            echoes,
            told,
        )| {
            Beacon {
                hello,
                link_port,
                sequence,
                period,
                node_state,
                term: Term(term),
                led: Term(term / 2),
                estimate,
                digest,
                durable: flags.0,
                journal: crate::model::JournalId(own),
                probe: flags.1,
                echoes,
                delta: told.0,
                piggybacked: told.1,
                directive_digest: told.2.0,
                directives: told.2.1,
            }
        },
    )
}

fn any_directive() -> impl Strategy<Value = Directive> {
    let text = "[a-z/é]{1,30}";
    (any::<(u64, u64)>(), text, text, text).prop_map(|(version, key, value, operator)| Directive {
        key: Key::new(&key).expect("a key"),
        version: Version { counter: version.0, journal: crate::model::JournalId(version.1) },
        value: Value::new(&value).expect("a value"),
        operator: Words::new(&operator).expect("a name"),
    })
}

fn any_car_plan() -> impl Strategy<Value = CarPlan> {
    let direction = proptest::option::of(prop_oneof![Just(Direction::Up), Just(Direction::Down)]);
    let park = proptest::option::of((0..FloorCount::MAX).prop_map(floor));
    (direction, park).prop_map(|(direction, park)| CarPlan { direction, park })
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let records = proptest::collection::vec(any_record(), 0..20);
    prop_oneof![
        any_hello().prop_map(Frame::Hello),
        (any::<u64>(), records, any::<(bool, bool)>()).prop_map(
            |(term, records, (durable, more))| {
                Frame::State(StateTransfer { term: Term(term), records, durable, more })
            }
        ),
        any::<(u64, u64, bool)>().prop_map(|(term, digest, durable)| {
            Frame::Digest(StoreDigest { term: Term(term), digest, durable })
        }),
        Just(Frame::Next),
        Just(Frame::Synced),
        any_delta().prop_map(Frame::Delta),
        Just(Frame::Probe),
        Just(Frame::Alive),
        any_car_plan().prop_map(Frame::CarPlan),
        proptest::collection::vec(any_directive(), 0..20).prop_map(Frame::Directives),
    ]
}
