use elevator_fleet::model::FleetName;
use elevator_fleet::wire::Protocol;

use super::*;
use crate::operator::tests::busy_status;

impl MqttSettings {
    /// Of a node of the fleet `north`, without encryption or password.
    pub(super) fn plain(broker: &str, node: &str) -> Self {
        Self {
            broker: broker.parse().unwrap(),
            access: Access {
                encryption: Encryption::None,
                username: None,
                password_file: None,
                ca_file: None,
            },
            prefix: Prefix::of(&FleetName::new("north").unwrap()),
            node: NodeId::new(node).unwrap(),
            period: Duration::from_millis(500),
            session_expiry: Duration::from_mins(1),
            kinematics: Kinematics::default(),
        }
    }
}

/// The master publishes; where the mastership rotates all the time, the first node does.
#[test]
fn one_node_of_a_group_publishes() {
    let slave = || NodeState::Slave { master: NodeId::new("B").unwrap() };
    for (election, node, state, expected) in [
        (Protocol::LowestIp, "A", NodeState::Seeking, None),
        (Protocol::LowestIp, "C", NodeState::Master, Some("C")),
        (Protocol::LowestIp, "A", slave(), Some("B")),
        (Protocol::TokenRing, "A", NodeState::Seeking, None),
        (Protocol::TokenRing, "A", slave(), Some("A")),
        (Protocol::TokenRing, "C", NodeState::Master, Some("B")),
    ] {
        let mut status = busy_status();
        (status.election, status.node_state) = (election, state);
        status.node = NodeId::new(node).unwrap();
        assert_eq!(publisher(&status).map(NodeId::as_str), expected, "{election}, {node}");
    }
}
