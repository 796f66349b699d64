//! Checks whether a node can run on this machine: what `liftmesh check-config --probe` examines
//! besides the configuration, and what `liftmesh doctor` examines besides that.
//!
//! It reads and opens, and changes nothing: no file is created, nothing is sent to the panel or the
//! fleet. `doctor` connects with the MQTT broker, and says nothing there. While the node itself runs,
//! everything that it uses counts as correct.

mod certificate;
mod clock;
mod disk;
mod network;
mod node;
mod panel;

use std::error::Error;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use elevator_fleet::wire::keyring::Keyring;
use rustix::fs::{Access, access};
use rustix::process::geteuid;

use crate::config::{ConfigError, Settings};
use crate::data_dir;
use crate::fleet_key::{FileError, KeyError, Keys};
use crate::latch;
use crate::mqtt::{self, MqttSettings};
use crate::operator::ReadingSettings;

/// The user who may do anything.
const ROOT: u32 = 0;

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The key of the configuration that it concerns.
    pub(crate) key: &'static str,
    /// What was found.
    pub(crate) verdict: Verdict,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in order, in words.
    Good(String),
    /// It could not be looked at, and why.
    Unchecked(String),
    /// The node runs with it, and something is lost or will be; and how to put it right.
    Warning {
        /// What is the matter.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// It is wrong, and how to put it right.
    Wrong {
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
}

/// Whether the node of this configuration runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    Yes,
    No,
}

/// Looks at everything that the node would use.
#[must_use]
pub(crate) fn probe(settings: &Settings) -> Vec<Finding> {
    let running = running(&settings.data_dir);
    let address = network::present(settings);
    let mut findings = vec![
        finding("data_dir", data_dir(&settings.data_dir, running)),
        finding("address", network::address(settings)),
        finding("broadcast", network::broadcast(address, settings.broadcast)),
        finding("fleet_keys", fleet_keys(settings)),
    ];
    findings.extend(network::ports(settings, running == Running::Yes));
    if let Some(panel) = &settings.panel {
        findings.push(finding("panel", panel::panel(panel, running)));
    }
    if let Some(reading) = &settings.reading {
        findings.push(finding("operator.read_only_socket", read_only_socket(reading, running)));
    }
    findings
}

/// [`probe`], and what can be wrong without keeping a node from starting: clock, disk, journal, and
/// what the node says if it runs; HTTP's certificate, and the MQTT broker. It takes 100 ms to watch the
/// clock, and a broker that does not answer a few seconds.
#[must_use]
pub(crate) fn examine(settings: &Settings) -> Vec<Finding> {
    let running = running(&settings.data_dir);
    let mut findings = vec![finding("config", Verdict::Good("every value is right".to_owned()))];
    findings.extend(probe(settings));
    findings.push(finding("journal", disk::journal(&settings.data_dir, &settings.node, running)));
    findings.push(finding("disk", disk::disk(&settings.data_dir)));
    findings.push(finding("clock", clock::clock()));
    if let (Some(address), Some(files)) = (settings.http, &settings.tls) {
        let verdict = certificate::certificate(files, address, &settings.data_dir);
        findings.push(finding("http.certificate", verdict));
    }
    if let Some(mqtt) = &settings.mqtt {
        findings.push(finding("mqtt.broker", broker(mqtt)));
    }
    match running {
        Running::Yes => findings.extend(node::node(&settings.data_dir)),
        Running::No => {
            let verdict = Verdict::warning("this node does not run", "systemctl start liftmesh");
            findings.push(finding("node", verdict));
        }
    }
    findings
}

/// Whether the broker takes a connection of this node.
fn broker(settings: &MqttSettings) -> Verdict {
    let broker = &settings.broker;
    match mqtt::reach(settings) {
        Ok(()) => Verdict::Good(format!("{broker} takes this node's connections")),
        Err(error) => Verdict::warning(
            format!("{broker} takes no connection of this node: {error}"),
            "start the broker, or correct its address, the name, the password or the authority",
        ),
    }
}

/// What is wrong with a configuration.
#[must_use]
pub(crate) fn of_configuration(error: &ConfigError) -> Finding {
    finding("config", Verdict::of_error(error, "correct the configuration"))
}

impl Verdict {
    fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Warning { what: what.into(), remedy: remedy.into() }
    }

    fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), remedy: remedy.into() }
    }

    /// The messages of errors end with what to do, after a semicolon; those without take `otherwise`.
    fn of_error(error: &dyn Error, otherwise: &str) -> Self {
        let message = error.to_string();
        let (what, remedy) = message.rsplit_once("; ").unwrap_or((&message, otherwise));
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        Self::wrong(causes.fold(what.to_owned(), |what, cause| format!("{what}: {cause}")), remedy)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Good(what) => write!(f, "ok     {}: {what}", self.key),
            Verdict::Unchecked(why) => write!(f, "-      {}: not checked, {why}", self.key),
            Verdict::Warning { what, remedy } => write!(f, "-      {}: {what}; {remedy}", self.key),
            Verdict::Wrong { what, remedy } => write!(f, "wrong  {}: {what}; {remedy}", self.key),
        }
    }
}

fn finding(key: &'static str, verdict: Verdict) -> Finding {
    Finding { key, verdict }
}

/// Tries the lock that a running node holds, and releases it.
fn running(data_dir: &Path) -> Running {
    let path = data_dir.join("node.lock");
    let Ok(lock) = data_dir::open(&path, File::options().read(true)) else {
        return Running::No;
    };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Running::Yes,
        Ok(()) | Err(TryLockError::Error(_)) => Running::No,
    }
}

fn data_dir(path: &Path, running: Running) -> Verdict {
    let shown = path.display();
    if let Some(latch) = latch::find(path) {
        let remedy = format!("look into the car, then: {}", latch::remedy(path));
        return Verdict::wrong(format!("{shown} has a latch: {latch}"), remedy);
    }
    match fs::metadata(path) {
        Ok(directory) if !directory.is_dir() => {
            Verdict::wrong(format!("{shown} is no directory"), "give the path of a directory")
        }
        Ok(directory) if let Err(error) = data_dir::check_rights(path, &directory) => {
            Verdict::wrong(error.to_string(), "a node does not start in it")
        }
        Ok(_) => match access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) if running == Running::Yes => {
                Verdict::Good(format!("{shown} is in use by this node, which runs"))
            }
            Ok(()) => files(path),
            Err(error) => Verdict::wrong(
                format!("{shown} can't be used: {error}"),
                "let the node's user read, write and enter it, and give it a disk that takes writes",
            ),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => makeable(path),
        Err(error) => Verdict::wrong(
            format!("{shown} can't be reached: {error}"),
            "correct the path, or let the node's user enter the directories above it",
        ),
    }
}

/// The keys have to be the node's user's to read, to whom the data directory belongs, and not those of
/// whoever asks.
fn fleet_keys(settings: &Settings) -> Verdict {
    let asker = geteuid().as_raw();
    let owner = fs::metadata(&settings.data_dir).ok().map(|directory| directory.uid());
    let user = owner.unwrap_or(asker);
    let (files, fleet) = (settings.keys.clone(), settings.fleet.clone());
    let keys = Keys::new(files, fleet, network::present(settings)).for_user(user);
    let Err(error) = keys.read() else {
        return Verdict::Good(match keys.get().as_deref().and_then(Keyring::sent) {
            Some(key) => format!("messages are sent with key {}", key.id()),
            None => "messages are sent without a key".to_owned(),
        });
    };
    // Without a data directory the node's user is anybody, if root asks.
    let is_known = owner.is_some() || asker != ROOT;
    let is_open = |error: &FileError| match error {
        FileError::OtherOwner { .. } => !is_known,
        FileError::OtherGroup { .. } => !is_known || user != asker,
        FileError::Io { .. } | FileError::Exposed { .. } | FileError::NoKey { .. } => false,
    };
    if let KeyError::Files(errors) = &error
        && errors.iter().all(is_open)
    {
        let why = "who may read the file depends on the node's user: run this as that user";
        return Verdict::Unchecked(why.to_owned());
    }
    Verdict::wrong(
        error.to_string(),
        match keys.get() {
            Some(_) => "until then nodes that send it are not heard",
            None => "until then the node serves alone",
        },
    )
}

/// The files that a node has left there must be its user's to write.
fn files(path: &Path) -> Verdict {
    for name in ["journal.redb", "node.lock", "commissioned.toml"] {
        let file = path.join(name);
        if data_dir::is_irregular(&file) {
            let what = format!("{} is not a regular file", file.display());
            return Verdict::wrong(what, "move it away");
        }
        if let Err(error) = access(&file, Access::READ_OK | Access::WRITE_OK)
            && io::Error::from(error).kind() != ErrorKind::NotFound
        {
            return Verdict::wrong(
                format!("{} can't be read and written: {error}", file.display()),
                "give it to the node's user",
            );
        }
    }
    Verdict::Good(format!("{} can be read and written", path.display()))
}

fn makeable(path: &Path) -> Verdict {
    let above = path.ancestors().skip(1).find(|above| above.exists());
    let above = above.map_or_else(|| PathBuf::from("."), Path::to_owned);
    match access(&above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Verdict::Good(format!("{} will be made at the start", path.display())),
        Err(error) => Verdict::wrong(
            format!(
                "{} is missing and can't be made in {}: {error}",
                path.display(),
                above.display()
            ),
            "make it and give it to the node's user",
        ),
    }
}

fn read_only_socket(settings: &ReadingSettings, running: Running) -> Verdict {
    let shown = settings.path.display();
    if let Err(error) = settings.group() {
        return Verdict::of_error(&error, "correct operator.read_only_group");
    }
    if running == Running::Yes && settings.path.exists() {
        return Verdict::Good(format!("{shown} is there"));
    }
    if let Err(error) = settings.check_path() {
        return Verdict::of_error(&error, "correct operator.read_only_socket");
    }
    let above = settings.path.parent().unwrap_or(Path::new("/"));
    match access(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Verdict::Good(format!("{shown} can be made")),
        Err(error) => Verdict::wrong(
            format!("{shown} can't be made in {}: {error}", above.display()),
            "make the directory, and let the node's user make files in it",
        ),
    }
}
