//! Three nodes in virtual time: they merge, one order reaches all of them, the master dies, and the
//! next one takes over.
//!
//! ```text
//! cargo run -p elevator-fleet --example three_nodes
//! ```
//!
//! The brain has no socket and no clock: this file is both. It hands the actions of each node to
//! the others and moves the time forward one millisecond at a time.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::{Call, FleetName, HallCall, Mac, NodeId, Role, Timestamp};
use elevator_fleet::node::{
    Access, Action, Identity, LinkId, LinkSide, MeshTimes, Node, NodeSettings, Restored,
};
use elevator_fleet::wire::{Nonce, Protocol};

type Failed = Box<dyn std::error::Error>;

/// The nodes that run, and the links between them: an id, and the nodes at both ends.
struct Lan {
    nodes: Vec<Node>,
    links: Vec<(LinkId, [NodeId; 2])>,
    now: Timestamp,
}

impl Lan {
    /// Moves the time forward. Datagrams and frames arrive at once, writes to disk too.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.now + Duration::from_millis(1);
            for index in 0..self.nodes.len() {
                self.nodes[index].handle_timeout(self.now);
                while let Some(action) = self.nodes[index].poll_action() {
                    self.perform(index, action);
                }
            }
        }
    }

    fn perform(&mut self, from: usize, action: Action) {
        let now = self.now;
        let sender = self.nodes[from].hello().clone();
        match action {
            Action::Broadcast(beacon) => {
                for node in self.nodes.iter_mut().filter(|node| *node.hello() != sender) {
                    node.handle_beacon(sender.address, &beacon, now);
                }
            }
            Action::Unicast { to, beacon } => {
                if let Some(node) = self.nodes.iter_mut().find(|node| node.hello().address == to) {
                    node.handle_beacon(sender.address, &beacon, now);
                }
            }
            Action::Dial { peer, .. } => {
                let link = LinkId(self.links.len() as u64 + 1);
                self.links.push((link, [sender.node.clone(), peer]));
                if let Some(called) = self.other_end(link, &sender.node) {
                    let answer = called.hello().clone();
                    called.handle_link_up(link, &sender, LinkSide::Accepted, now);
                    self.nodes[from].handle_link_up(link, &answer, LinkSide::Dialled, now);
                }
            }
            Action::Send { link, frame } => {
                if let Some(to) = self.other_end(link, &sender.node) {
                    to.handle_frame(link, frame, now);
                }
            }
            Action::Close(link) => {
                if let Some(to) = self.other_end(link, &sender.node) {
                    to.handle_link_down(link, now);
                }
            }
            Action::Persist { lsn, .. } => self.nodes[from].handle_durable(lsn, now),
            Action::Report(report) => {
                println!("{:>6.3} s  {}: {report:?}", now.since_start().as_secs_f64(), sender.node);
            }
            // No protocol here has packets, no node a panel, and without cars there is no plan.
            Action::Packet { .. } | Action::Panel(_) | Action::Plan(_) => {}
        }
    }

    /// The node at the other end of a link, if it runs.
    fn other_end(&mut self, link: LinkId, sender: &NodeId) -> Option<&mut Node> {
        let (_, ends) = self.links.iter().find(|(id, _)| *id == link)?;
        let other = ends.iter().find(|end| *end != sender)?;
        self.nodes.iter_mut().find(|node| node.hello().node == *other)
    }
}

fn node(number: u8, name: &str) -> Result<Node, Failed> {
    let address = Ipv4Addr::new(127, 0, 0, number);
    Ok(Node::new(NodeSettings {
        identity: Identity {
            fleet: FleetName::new("example")?,
            node: NodeId::new(name)?,
            address,
            mac: Mac::of(address),
            role: Role::Indicator,
            link_port: 46_100,
            nonce: Nonce(u64::from(number)),
        },
        election: ElectionSettings::of(Protocol::LowestIp),
        building: std::sync::Arc::new(FloorCount::new(4).ok_or("floors")?.into()),
        mesh: MeshTimes::default(),
        car: None,
        climate: ClimateSettings::default(),
        restored: Restored::default(),
        seed: u64::from(number),
    }))
}

fn main() -> Result<(), Failed> {
    let nodes = vec![node(1, "A")?, node(2, "B")?, node(3, "C")?];
    let mut lan = Lan { nodes, links: Vec::new(), now: Timestamp::START };
    for node in &mut lan.nodes {
        node.start(lan.now);
    }
    println!("-- three nodes start");
    lan.run(Duration::from_secs(1));

    println!("-- a passenger presses up at floor 2, at node C");
    let call = Call::Hall(HallCall::new(Floor::try_from(2)?, Direction::Up));
    lan.nodes[2].handle_order(&call, Access::Public, lan.now)?;
    lan.run(Duration::from_secs(1));

    println!("-- node A loses its power");
    lan.nodes.remove(0);
    lan.run(Duration::from_secs(2));
    for node in &lan.nodes {
        let orders = node.orders().of_call(&call).count();
        println!("{}: {:?}, holds {orders} order", node.hello().node, node.node_state());
    }
    Ok(())
}
