//! What a lit lamp promises: its order outlives any one node, and the mains.

use std::collections::BTreeSet;

use elevator_driver::Button;
use elevator_fleet::model::Call;
use liftmesh_lab::{Fault, World, WorldSettings};
use proptest::prelude::*;

use crate::building::{Building, car_call, down, millis, secs, up};

/// What is lost.
#[derive(Debug, Clone, Copy)]
enum Loss {
    /// One node, with its disk.
    Node(usize),
    /// All power: only the disks are left.
    Mains,
}

/// How the fleet is when it happens.
#[derive(Debug, Clone)]
struct State {
    seed: u64,
    nodes: usize,
    loss: u8,
    divided: bool,
    /// Wait in microseconds, node, button.
    presses: Vec<(u64, usize, Button)>,
}

fn button() -> impl Strategy<Value = Button> {
    prop_oneof![(0..3_u8).prop_map(up), (1..4_u8).prop_map(down), (0..4_u8).prop_map(car_call),]
}

fn state() -> impl Strategy<Value = State> {
    let presses = prop::collection::vec((0..60_000_u64, 0..5_usize, button()), 1..24);
    let loss = prop_oneof![Just(0_u8), Just(5), Just(25), Just(50)];
    (any::<u64>(), 2..6_usize, loss, any::<bool>(), presses).prop_map(
        |(seed, nodes, loss, divided, presses)| State { seed, nodes, loss, divided, presses },
    )
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![(0..5_usize).prop_map(Loss::Node), Just(Loss::Mains)]
}

fn fleet_in(state: &State) -> Building {
    let mut settings = WorldSettings::new(state.nodes, state.seed);
    settings.codec = false;
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(2));
    building.inflict(Fault::Loss(state.loss));
    let middle = state.presses.len() / 2;
    for (index, (wait, node, button)) in state.presses.iter().enumerate() {
        // Who is alone has one disk to rely on, and is not asked to outlive its loss.
        if index == middle && state.divided && state.nodes >= 4 {
            let (left, right) = (vec![0, 1], (2..state.nodes).collect());
            building.inflict(Fault::Partition(vec![left, right]));
        }
        building.press(node % state.nodes, *button);
        building.run_for(std::time::Duration::from_micros(*wait));
    }
    building
}

/// The calls that some panel has lit.
fn lit(world: &World) -> BTreeSet<Call> {
    (0..world.size())
        .flat_map(|node| {
            let lamps: Vec<Button> = world.lamps(node).into_iter().collect();
            lamps.into_iter().map(move |button| Call::of_button(button, world.name(node)))
        })
        .collect()
}

fn is_open(world: &World, call: &Call) -> bool {
    world
        .running()
        .filter_map(|node| world.node(node))
        .any(|node| node.orders().of_call(call).next().is_some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// O1, P1, F12, F13
    #[test]
    fn no_lit_order_is_lost_with_any_one_node_or_with_all_power(state in state(), loss in loss()) {
        let mut building = fleet_in(&state);
        let promised = lit(&building);
        let before: Vec<usize> = promised.iter().map(|call| building.served(call)).collect();
        match loss {
            Loss::Node(node) => {
                building.inflict(Fault::PowerCut(node % state.nodes));
                building.inflict(Fault::Replace(node % state.nodes));
            }
            Loss::Mains => {
                for node in 0..state.nodes {
                    building.inflict(Fault::PowerCut(node));
                }
                for node in 0..state.nodes {
                    building.inflict(Fault::Restart(node));
                }
            }
        }
        for (call, before) in promised.iter().zip(&before) {
            // A lamp may outlive its order by as long as the delta with its service takes.
            let served = building.services().iter().any(|service| service.call == *call);
            prop_assert!(
                is_open(&building, call) || building.served(call) > *before || served,
                "{call} is lost: {loss:?}"
            );
        }
        building.run_for(millis(500));
        building.recovers();
    }
}

/// O1, P1, F12: the loss of a disk overtakes the acknowledgement that the order is on it.
#[test]
fn a_lit_order_outlives_its_first_disk_wherever_its_delta_has_got_to() {
    for wait in (4_000..20_000).step_by(500) {
        let state = State {
            seed: wait,
            nodes: 3,
            loss: 0,
            divided: false,
            presses: vec![(wait, 1, up(1))],
        };
        let mut building = fleet_in(&state);
        let call = building.call(up(1), 1);
        let promised = lit(&building).contains(&call);
        building.inflict(Fault::PowerCut(1));
        building.inflict(Fault::Replace(1));
        building.run_for(millis(50));
        assert!(!promised || is_open(&building, &call), "lost after {wait} µs");
        building.recovers();
    }
}
