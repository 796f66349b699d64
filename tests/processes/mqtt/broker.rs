//! A Mosquitto for one test, and a client that writes down what it hears.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use liftmesh_harness::Process;
use liftmesh_harness::building::{PATIENCE, skip};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{ConnectProperties, Packet, Publish, PublishProperties};
use rumqttc::v5::{Client, Event, MqttOptions};
use rustix::process::Signal;
use serde_json::Value;

/// Where every broker of the tests listens, each on another port.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 40);

pub(crate) struct Broker {
    process: Option<Process>,
    pub(super) port: u16,
    directory: tempfile::TempDir,
}

impl Broker {
    /// Starts a broker that takes everybody; `None` where there is none installed.
    pub(crate) fn open() -> Option<Self> {
        Self::configured(|_, port| format!("listener {port} {ADDRESS}\nallow_anonymous true\n"))
    }

    /// Starts a broker with this configuration, which has a listener with the given port.
    pub(super) fn configured(configure: impl FnOnce(&Path, u16) -> String) -> Option<Self> {
        if Command::new("mosquitto").arg("-h").output().is_err() {
            skip("mosquitto is not installed: apt install mosquitto");
            return None;
        }
        let directory = tempfile::Builder::new().prefix("liftmesh-broker-").tempdir();
        let directory = directory.expect("a directory");
        let port = free_port();
        let lines = configure(directory.path(), port);
        // It is in the test's own directory, which another user could not enter.
        let text = format!("user root\npersistence false\n{lines}");
        fs::write(directory.path().join("broker.conf"), text).expect("a file");
        let mut broker = Self { process: None, port, directory };
        broker.start();
        Some(broker)
    }

    pub(super) fn start(&mut self) {
        let mut command = Command::new("mosquitto");
        command.arg("-c").arg(self.path("broker.conf"));
        let process = Process::start("mosquitto", command, self.path("log")).expect("mosquitto");
        let started = Instant::now();
        while TcpStream::connect((ADDRESS, self.port)).is_err() {
            assert!(started.elapsed() < PATIENCE, "{}", process.last_lines(20));
            std::thread::sleep(Duration::from_millis(10));
        }
        self.process = Some(process);
    }

    pub(super) fn kill(&mut self) {
        self.process.take().expect("a broker").kill();
    }

    pub(super) fn suspend(&self) {
        self.process.as_ref().expect("a broker").signal(Signal::STOP);
    }

    pub(crate) fn url(&self) -> String {
        format!("mqtt://{ADDRESS}:{}", self.port)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A client that hears everything that is published from here on, and what is retained.
    pub(super) fn ear(&self) -> Ear {
        Ear::new(&format!("ear-{:08x}", fastrand::u32(..)), self.port, None)
    }
}

pub(super) fn free_port() -> u16 {
    let port = TcpListener::bind((ADDRESS, 0)).and_then(|held| held.local_addr());
    port.expect("a port").port()
}

/// A message.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) topic: String,
    pub(super) payload: String,
    pub(super) retained: bool,
    /// The node that published it, and in which term.
    pub(super) node: Option<String>,
    pub(super) term: Option<u64>,
    pub(super) correlation: Option<String>,
    pub(super) content_type: Option<String>,
}

impl Said {
    fn new(message: &Publish) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let properties = message.properties.clone().unwrap_or_default();
        let value = |name: &str| {
            let mut properties = properties.user_properties.iter();
            properties.find(|(key, _)| key == name).map(|(_, value)| value.clone())
        };
        Self {
            topic: text(&message.topic),
            payload: text(&message.payload),
            retained: message.retain,
            node: value("node"),
            term: value("term").map(|term| term.parse().expect("a number")),
            correlation: properties.correlation_data.as_deref().map(text),
            content_type: properties.content_type,
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn is_by(&self, node: &str) -> bool {
        self.node.as_deref() == Some(node)
    }
}

/// A client that hears everything.
pub(super) struct Ear {
    client: Client,
    heard: Arc<Mutex<Vec<Said>>>,
}

impl Ear {
    /// A client with this identifier at this port, and a user's name and password if it needs them.
    pub(super) fn new(name: &str, port: u16, user: Option<(&str, &str)>) -> Self {
        let mut options = MqttOptions::new(name, ADDRESS.to_string(), port);
        let max_packet_size = Some(1 << 20);
        options.set_connect_properties(ConnectProperties {
            max_packet_size,
            ..ConnectProperties::new()
        });
        if let Some((name, password)) = user {
            options.set_credentials(name, password);
        }
        let (client, mut connection) = Client::new(options, 1000);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (pen, again) = (Arc::clone(&heard), client.clone());
        std::thread::spawn(move || {
            for event in connection.iter() {
                match event {
                    Ok(Event::Incoming(Packet::Publish(message))) => {
                        pen.lock().expect("a lock").push(Said::new(&message));
                    }
                    Ok(Event::Incoming(Packet::ConnAck(_))) => {
                        again.try_subscribe("#", QoS::AtLeastOnce).ok();
                    }
                    Ok(_) => {}
                    // The test has ended, or the broker is away.
                    Err(_) if Arc::strong_count(&pen) == 1 => return,
                    Err(_) => std::thread::sleep(Duration::from_millis(50)),
                }
            }
        });
        Self { client, heard }
    }

    /// Everything so far.
    pub(super) fn all(&self) -> Vec<Said> {
        self.heard.lock().expect("a lock").clone()
    }

    pub(super) fn on(&self, topic: &str) -> Vec<Said> {
        self.all().into_iter().filter(|said| said.topic == topic).collect()
    }

    /// Waits for a message on a topic.
    #[track_caller]
    pub(super) fn wait(&self, topic: &str, mut is_it: impl FnMut(&Said) -> bool) -> Said {
        let started = Instant::now();
        loop {
            let heard = self.on(topic);
            if let Some(said) = heard.iter().find(|said| is_it(said)) {
                return said.clone();
            }
            assert!(started.elapsed() < PATIENCE, "waited in vain on {topic}: {heard:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Publishes a request, and waits for the answer on this topic, with this correlation data.
    #[track_caller]
    pub(super) fn ask(&self, topic: &str, asked: &Value, (to, id): (&str, &str)) -> Said {
        self.publish(QoS::AtLeastOnce, topic, asked.to_string(), Some((to, id)));
        self.wait(to, |said| said.correlation.as_deref() == Some(id))
    }

    pub(super) fn publish(
        &self,
        qos: QoS,
        topic: &str,
        payload: String,
        reply: Option<(&str, &str)>,
    ) {
        let properties = PublishProperties {
            response_topic: reply.map(|(topic, _)| topic.to_owned()),
            correlation_data: reply.map(|(_, id)| id.to_owned().into()),
            ..PublishProperties::default()
        };
        let sent = self.client.publish_with_properties(topic, qos, false, payload, properties);
        sent.expect("a connection");
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.client.try_disconnect().ok();
    }
}
