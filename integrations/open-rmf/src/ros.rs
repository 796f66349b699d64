//! The ROS node: publishes the states of lifts and takes the requests of robots.

use ros2_client::dds::{Context, ContextOptions, Node, NodeCreateError, Publisher, Subscription};
use ros2_client::names::NameError;
use ros2_client::qos::{History, QosProfile, WhenFull};
use ros2_client::{CreateError, MessageTypeName, Name, NodeName, NodeOptions};

use crate::messages::{LiftRequest, LiftState};

#[derive(Debug, thiserror::Error)]
pub(crate) enum RosError {
    #[error("can't join DDS domain {domain}: {source}")]
    Join { domain: u16, source: CreateError },
    #[error("can't create the ROS node: {0}")]
    Node(#[from] NodeCreateError),
    #[error("can't use the topic {topic}: {source}")]
    Topic { topic: String, source: CreateError },
    #[error("{0} is not the name of a ROS topic, such as lift_requests")]
    Name(String, #[source] NameError),
}

pub(crate) struct Ros {
    states: Publisher<LiftState>,
    requests: Vec<Subscription<LiftRequest>>,
    /// Others see it for as long as it lives.
    _node: Node,
}

impl Ros {
    pub(crate) fn join(domain: u16, topics: &[String]) -> Result<Self, RosError> {
        let options = ContextOptions::new().domain_id(domain);
        let context =
            Context::with_options(options).map_err(|source| RosError::Join { domain, source })?;
        let name = NodeName::new("/", "liftmesh_lift_adapter")
            .map_err(|error| RosError::Name("liftmesh_lift_adapter".to_owned(), error))?;
        let mut node = context.new_node(name, NodeOptions::new().enable_rosout(false))?;
        // Compatible with every durability and reliability that Open-RMF uses. Robots repeat requests
        // that still count, so the adapter needs none from before its start.
        let qos = QosProfile::publisher_default()
            .reliability_reliable(WhenFull::Fail)
            .history(History::KeepLast { depth: 100 });
        let open = |node: &Node, topic: &str, message| {
            let name =
                Name::new("/", topic).map_err(|error| RosError::Name(topic.to_owned(), error))?;
            node.create_topic(&name, MessageTypeName::new("rmf_lift_msgs", message), &qos)
                .map_err(|source| RosError::Topic { topic: topic.to_owned(), source })
        };
        let failed = |topic: &str| {
            let topic = topic.to_owned();
            move |source| RosError::Topic { topic, source }
        };
        let topic = open(&node, "lift_states", "LiftState")?;
        let states = node.create_publisher(&topic, None).map_err(failed("lift_states"))?;
        let mut requests = Vec::new();
        for name in topics {
            let topic = open(&node, name, "LiftRequest")?;
            requests.push(node.create_subscription(&topic, None).map_err(failed(name))?);
        }
        Ok(Self { states, requests, _node: node })
    }

    pub(crate) fn publish(&self, state: &LiftState) {
        if let Err(error) = self.states.publish(state.clone()) {
            log::warn!("the state of lift {} was not published: {error:?}", state.lift_name);
        }
    }

    /// What has arrived since the last time.
    pub(crate) fn requests(&self) -> Vec<LiftRequest> {
        let mut requests = Vec::new();
        for subscription in &self.requests {
            loop {
                match subscription.take() {
                    Ok(Some((request, _info))) => requests.push(request),
                    Ok(None) => break,
                    Err(error) => {
                        log::warn!("a request can't be read: {error:?}");
                        break;
                    }
                }
            }
        }
        requests
    }
}
