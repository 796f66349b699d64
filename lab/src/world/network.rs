//! Faults of the network, and of the machines' addresses in it.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::World;
use crate::agenda::TimedFault;
use crate::fault::Fault;
use crate::machine::Machine;
use crate::network::{Network, Weather};
use crate::settings::Twins;

/// How long the waits between dials may stay long after losses have ended. TCP does not notice the
/// end either: retransmissions may be under way for longer.
const AFTER_LOSS: Duration = Duration::from_secs(4);

impl World {
    pub(super) fn cut_network_of(&mut self, node: usize, cut: bool) {
        self.network.isolate(node, cut);
        if !cut {
            self.unstall();
        }
    }

    /// What was cut in these directions passes again.
    pub(super) fn uncut(&mut self, directions: impl IntoIterator<Item = (usize, usize)>) {
        for (from, to) in directions {
            self.network.uncut(from, to);
        }
        self.unstall();
    }

    /// A machine has no interface for this time, and then one with this address, if it is to have
    /// another.
    pub(super) fn delete_interface(
        &mut self,
        node: usize,
        next_address: Option<Ipv4Addr>,
        millis: u64,
    ) {
        self.network.isolate(node, true);
        self.machines[node].unconnected_since = Some(self.now);
        self.machines[node].next_address = next_address;
        self.ends_after(millis, TimedFault::NoInterface { node, began: self.now });
    }

    pub(super) fn recreate_interface(&mut self, node: usize) {
        self.machines[node].unconnected_since = None;
        self.disturbed();
        if !self.takes_new_address(node) {
            self.network.isolate(node, false);
            self.end_links(node);
        }
        self.unstall();
    }

    /// An interface that is made anew has another address, if it is to have one that is free; says
    /// whether it has. A process that runs is ended, and started anew under that address.
    fn takes_new_address(&mut self, node: usize) -> bool {
        let Some(address) = self.machines[node].next_address.take() else { return false };
        let has_it =
            |machine: &Machine| machine.address == address || machine.own_address == address;
        if self.twins.is_some() || self.machines.iter().any(has_it) {
            return false;
        }
        self.count_fault(&Fault::NewAddress { node, address, millis: 0 });
        // The others hear nothing of it: nobody has the old address any more.
        let runs = self.machines[node].process.is_some();
        self.end_process(node);
        self.network.isolate(node, false);
        self.machines[node].address = address;
        self.machines[node].own_address = address;
        self.apply_twins();
        if runs {
            self.start(node);
        }
        true
    }

    pub(super) fn part(&mut self, groups: &[Vec<usize>]) {
        self.cut_all_but(|one, other| {
            groups.iter().any(|group| group.contains(&one) && group.contains(&other))
        });
    }

    pub(super) fn connect_as_a_ring(&mut self, nodes: &[usize]) {
        let place = |node| nodes.iter().position(|other| *other == node);
        let next = |one, other| (one + 1) % nodes.len().max(1) == other;
        self.cut_all_but(|one, other| {
            let places = place(one).zip(place(other));
            places.is_some_and(|(one, other)| next(one, other) || next(other, one))
        });
    }

    pub(super) fn bridge(&mut self, left: &[usize], right: &[usize], through: usize) {
        self.cut_all_but(|one, other| {
            let both = |group: &[usize]| group.contains(&one) && group.contains(&other);
            one == through || other == through || both(left) || both(right)
        });
    }

    pub(super) fn clog(&mut self, one: usize, other: usize, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        self.network.clog((one, other), until);
        self.network.clog((other, one), until);
        self.ends_after(millis, TimedFault::Clogs);
    }

    pub(super) fn heal(&mut self) {
        self.network.heal();
        self.damaged_frames.clear();
        for node in 0..self.machines.len() {
            if self.machines[node].unconnected_since.take().is_some() {
                self.takes_new_address(node);
            }
        }
        self.unclog(Duration::MAX);
        self.unstall();
    }

    /// Changes what the network does to packets. Where they got lost more often before, the fleet may
    /// take its time.
    pub(super) fn change_weather(&mut self, change: impl FnOnce(&mut Network)) {
        let losses = self.network.losses();
        change(&mut self.network);
        if self.network.losses() < losses {
            let until = self.connections.last_arrival().max(self.now + AFTER_LOSS);
            self.disturbed_until(until);
        }
    }

    pub(super) fn calm_network(&mut self) {
        let usual = Weather { loss: 0, corruption: 0, ..self.settings.weather.clone() };
        let bursts = self.settings.bursts;
        self.change_weather(|network| {
            (network.weather, network.bursts) = (usual, bursts);
            network.await_no_hit();
        });
    }

    /// Cuts every directed pair but those for which this holds, in place of an earlier partition.
    pub(super) fn cut_all_but(&mut self, passes: impl Fn(usize, usize) -> bool) {
        let nodes = 0..self.machines.len();
        let pairs = nodes.clone().flat_map(|from| nodes.clone().map(move |to| (from, to)));
        let parted = pairs.filter(|(from, to)| from != to && !passes(*from, *to));
        self.network.part(parted.collect());
        self.unstall();
    }

    /// Everything arrives that was held back by clogs that are over.
    pub(super) fn unclog(&mut self, by: Duration) {
        let held = self.network.unclog(by);
        if !held.is_empty() {
            self.disturbed();
        }
        for event in held {
            self.agenda.enter(self.now, event);
        }
    }

    /// A node starts again with the address of another, which no other node may share already.
    pub(super) fn share_address(&mut self, node: usize, with: Option<usize>) {
        let twins = match (self.twins, with) {
            (None, Some(one)) if one != node => Some(Twins::Address(one, node)),
            (Some(Twins::Address(_, other)), None) if other == node => None,
            (None | Some(_), _) => return,
        };
        self.twins = twins;
        self.end_process(node);
        self.machines[node].address = self.machines[node].own_address;
        self.apply_twins();
        self.start(node);
    }
}
