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
use rumqttc::v5::mqttbytes::v5::{ConnectProperties, Packet, PublishProperties};
use rumqttc::v5::{Client, Event, MqttOptions};
use rustix::process::Signal;
use serde_json::Value;

/// Where every broker of the tests listens, each on another port.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 40);

pub(crate) struct Broker {
    process: Option<Process>,
    port: u16,
    directory: tempfile::TempDir,
}

impl Broker {
    /// Starts a broker that takes everybody; `None` where there is none installed.
    pub(crate) fn open() -> Option<Self> {
        Self::with("allow_anonymous true\n")
    }

    /// Starts a broker with these lines in its configuration.
    pub(crate) fn with(lines: &str) -> Option<Self> {
        Self::prepared(|_| lines.to_owned())
    }

    /// The same, where the lines name files in a directory.
    pub(crate) fn prepared(prepare: impl FnOnce(&Path) -> String) -> Option<Self> {
        Self::configured(|place, port| format!("listener {port} {ADDRESS}\n{}", prepare(place)))
    }

    /// Starts a broker with this configuration, which has a listener with the given port.
    pub(crate) fn configured(configure: impl FnOnce(&Path, u16) -> String) -> Option<Self> {
        if Command::new("mosquitto").arg("-h").output().is_err() {
            skip("mosquitto is not installed: apt install mosquitto");
            return None;
        }
        let directory = tempfile::Builder::new().prefix("liftmesh-broker-").tempdir();
        let directory = directory.expect("a directory");
        let port = TcpListener::bind((ADDRESS, 0)).and_then(|held| held.local_addr());
        let port = port.expect("a port").port();
        let lines = configure(directory.path(), port);
        // It is in the test's own directory, which another user could not enter.
        let text = format!("user root\npersistence false\n{lines}");
        fs::write(directory.path().join("broker.conf"), text).expect("a file");
        let mut broker = Self { process: None, port, directory };
        broker.start();
        Some(broker)
    }

    pub(crate) fn start(&mut self) {
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

    pub(crate) fn kill(&mut self) {
        self.process.take().expect("a broker").kill();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.as_ref().expect("a broker").signal(signal);
    }

    pub(crate) fn url(&self) -> String {
        format!("mqtt://{ADDRESS}:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A client that hears everything that is published from here on, and what is retained.
    pub(crate) fn ear(&self) -> Ear {
        self.ear_as(|_| {})
    }

    pub(crate) fn ear_as(&self, change: impl FnOnce(&mut MqttOptions)) -> Ear {
        Self::ear_named(&format!("ear-{:08x}", fastrand::u32(..)), self.port, change)
    }

    /// The same with this client identifier, at this port.
    pub(crate) fn ear_named(name: &str, port: u16, change: impl FnOnce(&mut MqttOptions)) -> Ear {
        let mut options = MqttOptions::new(name, ADDRESS.to_string(), port);
        let properties =
            ConnectProperties { max_packet_size: Some(1 << 20), ..ConnectProperties::new() };
        options.set_connect_properties(properties);
        change(&mut options);
        let (client, mut connection) = Client::new(options, 1000);
        client.subscribe("#", QoS::AtLeastOnce).expect("a subscription");
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
        Ear { client, heard }
    }
}

/// A message.
#[derive(Debug, Clone)]
pub(crate) struct Said {
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
    fn new(message: &rumqttc::v5::mqttbytes::v5::Publish) -> Self {
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

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A client that hears everything.
pub(crate) struct Ear {
    client: Client,
    heard: Arc<Mutex<Vec<Said>>>,
}

impl Ear {
    /// Everything so far.
    pub(crate) fn all(&self) -> Vec<Said> {
        self.heard.lock().expect("a lock").clone()
    }

    pub(crate) fn on(&self, topic: &str) -> Vec<Said> {
        self.all().into_iter().filter(|said| said.topic == topic).collect()
    }

    /// Waits for a message on a topic.
    #[track_caller]
    pub(crate) fn wait(&self, topic: &str, mut is_it: impl FnMut(&Said) -> bool) -> Said {
        let started = Instant::now();
        loop {
            if let Some(said) = self.on(topic).into_iter().find(|said| is_it(said)) {
                return said;
            }
            let heard = self.on(topic);
            assert!(started.elapsed() < PATIENCE, "waited in vain on {topic}: {heard:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Publishes a call; the answer comes to `reply`, with `id` as correlation data.
    pub(crate) fn call(&self, prefix: &str, payload: &str, reply: Option<(&str, &str)>) {
        self.call_with(QoS::AtLeastOnce, prefix, payload, reply);
    }

    pub(crate) fn call_with(
        &self,
        qos: QoS,
        prefix: &str,
        payload: &str,
        reply: Option<(&str, &str)>,
    ) {
        self.publish(qos, format!("{prefix}/calls"), payload, reply);
    }

    /// Publishes what a robot asks for of a session.
    pub(crate) fn session(&self, prefix: &str, payload: &str, reply: (&str, &str)) {
        self.publish(QoS::AtLeastOnce, format!("{prefix}/sessions"), payload, Some(reply));
    }

    fn publish(&self, qos: QoS, topic: String, payload: &str, reply: Option<(&str, &str)>) {
        let properties = PublishProperties {
            response_topic: reply.map(|(topic, _)| topic.to_owned()),
            correlation_data: reply.map(|(_, id)| id.to_owned().into()),
            ..PublishProperties::default()
        };
        let payload = payload.to_owned();
        self.client
            .publish_with_properties(topic, qos, false, payload, properties)
            .expect("a connection");
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.client.try_disconnect().ok();
    }
}
