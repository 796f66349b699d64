//! The site's broker: `[mqtt]`.

use std::path::PathBuf;

use super::{Checker, Tables};
use crate::config::key::KeyDefault::{Absent, Value};
use crate::config::value::{Time, Username};
use crate::mqtt::{Broker, Encryption, Prefix};

table! {
    /// MQTT 5: state and events of the fleet for a broker, and calls from there. The same on every
    /// node except for the files; see docs/MQTT.md.
    [mqtt] struct Mqtt {
        /// The broker; `mqtts` uses TLS. Anyone who may publish to the topic of calls may call
        /// cars: restrict that in the broker.
        broker: Option<Broker> = Absent("none: the node does not use MQTT", "mqtts://broker.example:8883"),
        /// The prefix of every topic; each fleet at a broker needs its own.
        topic: Option<Prefix> = Absent("`liftmesh/` and the fleet's name", "liftmesh/north"),
        /// The user name at the broker.
        username: Option<Username> = Absent("none", "liftmesh"),
        /// The file with the password for `username`, one line of text. A file that everybody can
        /// read is refused.
        password_file: Option<PathBuf> = Absent("none", "/etc/liftmesh/mqtt-password"),
        /// The CA certificates, in PEM, one of which must have signed the broker's. For `mqtts`.
        ca_file: Option<PathBuf> = Absent("those of the system", "/etc/liftmesh/mqtt-ca.pem"),
        /// The time between two published states while something moves.
        period: Time<100, 60_000> = Value("500 ms"),
        /// How long the broker keeps calls while no node takes them.
        session_expiry: Time<1_000, 86_400_000> = Value("10 min"),
    }
}

pub(super) fn relate(Tables { mqtt, .. }: &Tables, check: &Checker<'_>) {
    let needs_broker = [
        ("mqtt.username", mqtt.username.is_some()),
        ("mqtt.ca_file", mqtt.ca_file.is_some()),
        ("mqtt.topic", mqtt.topic.is_some()),
    ];
    for (key, is_given) in needs_broker {
        check.relate(
            mqtt.broker.is_some() || !is_given,
            &[key, "mqtt.broker"],
            "left out without mqtt.broker",
        );
    }
    check.relate(
        mqtt.username.is_some() || mqtt.password_file.is_none(),
        &["mqtt.password_file", "mqtt.username"],
        "left out without mqtt.username",
    );
    let has_tls = |broker: &Broker| broker.encryption == Encryption::Tls;
    check.relate(
        mqtt.ca_file.is_none() || mqtt.broker.as_ref().is_none_or(has_tls),
        &["mqtt.ca_file", "mqtt.broker"],
        "left out unless mqtt.broker is mqtts://",
    );
}
