//! What `liftmesh doctor` examines: whether a node can run on this machine, and in its fleet.
//!
//! It changes nothing: no file is made, nothing is sent to the panel or the fleet. While the node
//! itself runs, everything that it uses counts as correct, and it says what it hears.

mod certificate;
mod disk;
mod fleet;
mod network;
mod panel;

use std::env;
use std::error::Error;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use elevator_fleet::wire::keyring::Keyring;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::Serialize;

use crate::client::Client;
use crate::config::{ConfigError, Settings};
use crate::data_dir;
use crate::fleet_key::{FileError, KeyError, Keys};
use crate::latch;
use crate::mqtt::{self, MqttSettings};

const ROOT: u32 = 0;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The key of the configuration, or the part of the machine, that it concerns.
    check: &'static str,
    #[serde(flatten)]
    verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Verdict {
    result: Outcome,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Ok,
    /// It could not be examined.
    Unchecked,
    /// The node runs with it, and something is lost or will be.
    Warning,
    /// The node does not run with it.
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    Yes,
    No,
}

/// Examines everything that the node would use, in two seconds or a few more.
pub(crate) fn examine(settings: &Settings) -> Vec<Finding> {
    let place = settings.data_dir.as_path();
    let status = is_locked(place).then(|| Client::connect(place).and_then(|it| it.status()));
    let stranger = match &status {
        Some(Ok(status)) if status.node != settings.node => Some(&status.node),
        Some(Ok(_) | Err(_)) | None => None,
    };
    let running = if status.is_some() && stranger.is_none() { Running::Yes } else { Running::No };
    let address = network::present(settings);
    let asker = geteuid().as_raw();
    let owner = fs::metadata(place).ok().map(|directory| directory.uid());
    let keys = Keys::new(settings.keys.clone(), settings.fleet.clone(), address)
        .for_user(owner.unwrap_or(asker));

    let mut findings = vec![finding("config", Verdict::good("every value is valid"))];
    let mut add = |check, verdict| findings.push(finding(check, verdict));
    if let Some(node) = stranger {
        let what = format!("{} is in use by node {node}, which is running", place.display());
        add("data_dir", Verdict::wrong(what, "give each node a data_dir of its own"));
    } else {
        add("data_dir", data_dir(place, running));
        add("journal", disk::journal(place, &settings.node, running));
    }
    add("disk", disk::disk(place));
    add("clock", clock());
    add("address", network::address(settings));
    add("broadcast", network::broadcast(address, settings.broadcast));
    add("fleet_keys", fleet_keys(&keys, owner));
    if let Some(panel) = &settings.panel {
        add("panel", panel::panel(panel, running));
    }
    if let Some(reading) = &settings.reading {
        // The running node has the path.
        let path = |_| if running == Running::Yes { Ok(()) } else { reading.check_path() };
        let verdict = match reading.group().and_then(path) {
            Ok(()) => Verdict::good(format!("{} goes to its group", reading.path.display())),
            Err(error) => Verdict::of_error(&error, "correct the table [operator]"),
        };
        add("operator.read_only_socket", verdict);
    }
    if let (Some(address), Some(files)) = (settings.http, &settings.tls) {
        add("http.certificate", certificate::certificate(files, address, owner));
    }
    if let Some(mqtt) = &settings.mqtt {
        add("mqtt.broker", broker(mqtt));
    }
    findings.extend(network::ports(settings, running));
    if let (Some(status), None) = (&status, stranger) {
        findings.extend(fleet::node(status));
    } else {
        let listened = keys.get().map(|keys| fleet::listen(settings, address, &keys));
        findings.extend(listened.into_iter().flatten());
        let verdict = Verdict::warning("this node is not running", "systemctl start liftmesh");
        findings.push(finding("node", verdict));
    }
    findings
}

/// The clock of the day, which a node needs for its displays, audit log and events; no car moves by
/// it.
fn clock() -> Verdict {
    let (now, made) = (SystemTime::now(), env::current_exe().and_then(fs::metadata));
    let shown = humantime::format_rfc3339_seconds(now);
    if made.and_then(|program| program.modified()).is_ok_and(|made| now < made) {
        return Verdict::warning(
            format!("it is {shown}, before this program was built: the clock is slow"),
            "set the clock, for example with `timedatectl set-ntp true`",
        );
    }
    // systemd-timesyncd makes the directory, and the file once it has the time.
    let timesync = Path::new("/run/systemd/timesync");
    if timesync.exists() && !timesync.join("synchronized").exists() {
        return Verdict::warning(
            format!("it is {shown}, and systemd-timesyncd has not heard from a time server"),
            "let the computer reach its time server, or set NTP= in timesyncd.conf",
        );
    }
    Verdict::good(format!("it is {shown}"))
}

fn broker(settings: &MqttSettings) -> Verdict {
    let broker = &settings.broker;
    match mqtt::reach(settings) {
        Ok(()) => Verdict::good(format!("{broker} accepts this node")),
        Err(error) => Verdict::warning(
            format!("no connection to {broker}: {error}"),
            "start the broker, or correct its address, the user name, the password or the CA",
        ),
    }
}

pub(crate) fn of_configuration(error: &ConfigError) -> Finding {
    finding("config", Verdict::of_error(error, "correct the configuration"))
}

impl Verdict {
    fn good(what: impl Into<String>) -> Self {
        Self { result: Outcome::Ok, what: what.into(), remedy: None }
    }

    fn unchecked(why: impl Into<String>) -> Self {
        Self { result: Outcome::Unchecked, ..Self::good(why) }
    }

    fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { result: Outcome::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn wrong(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { result: Outcome::Error, ..Self::warning(what, remedy) }
    }

    /// The messages of errors end with what to do, after a semicolon; those without take `otherwise`.
    fn of_error(error: &dyn Error, otherwise: &str) -> Self {
        let message = error.to_string();
        let (what, remedy) = message.rsplit_once("; ").unwrap_or((&message, otherwise));
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        Self::wrong(causes.fold(what.to_owned(), |what, cause| format!("{what}: {cause}")), remedy)
    }
}

impl Finding {
    pub(crate) fn result(&self) -> Outcome {
        self.verdict.result
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, verdict: Verdict { result, what, remedy } } = self;
        let (mark, more) = match result {
            Outcome::Ok => ("ok", ""),
            Outcome::Unchecked => ("-", "not checked, "),
            Outcome::Warning => ("warning", ""),
            Outcome::Error => ("error", ""),
        };
        write!(f, "{mark:7}  {check}: {more}{what}")?;
        remedy.iter().try_for_each(|remedy| write!(f, "; {remedy}"))
    }
}

fn finding(check: &'static str, verdict: Verdict) -> Finding {
    Finding { check, verdict }
}

/// Tries the lock that a running node holds.
fn is_locked(data_dir: &Path) -> bool {
    let lock = data_dir::open(&data_dir.join("node.lock"), File::options().read(true));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

fn data_dir(path: &Path, running: Running) -> Verdict {
    let shown = path.display();
    if let Some(latch) = latch::find(path) {
        let remedy = format!("inspect the car, then run: {}", latch::remedy(path));
        return Verdict::wrong(format!("{shown} has a latch: {latch}"), remedy);
    }
    match fs::metadata(path) {
        Ok(directory) if !directory.is_dir() => {
            Verdict::wrong(format!("{shown} is not a directory"), "set data_dir to a directory")
        }
        Ok(directory) if let Err(error) = data_dir::check_rights(path, &directory) => {
            Verdict::of_error(&error, "")
        }
        Ok(_) => match access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) if running == Running::Yes => {
                Verdict::good(format!("{shown} is in use by this node, which is running"))
            }
            Ok(()) => files(path),
            Err(error) => Verdict::wrong(
                format!("{shown} can't be used: {error}"),
                "let the node's user read, write and enter it, on a disk that can be written",
            ),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => makeable(path),
        Err(error) => Verdict::wrong(
            format!("{shown} can't be reached: {error}"),
            "correct the path, or let the node's user enter the directories above it",
        ),
    }
}

/// The keys have to be the node's user's to read, to whom the data directory belongs.
fn fleet_keys(keys: &Keys, owner: Option<u32>) -> Verdict {
    let Err(error) = keys.read() else {
        return Verdict::good(match keys.get().as_deref().and_then(Keyring::sent) {
            Some(key) => format!("messages are sent with key {}", key.id()),
            None => "messages are sent without a key".to_owned(),
        });
    };
    // Without a data directory the node's user is anybody, if root asks.
    let is_known = owner.is_some() || geteuid().as_raw() != ROOT;
    let is_open = |error: &FileError| match error {
        FileError::OtherOwner { .. } => !is_known,
        FileError::Io { .. } | FileError::Exposed { .. } | FileError::NoKey { .. } => false,
    };
    if let KeyError::Files(errors) = &error
        && errors.iter().all(is_open)
    {
        return Verdict::unchecked(
            "whether the node can read the file depends on its user: run this as that user",
        );
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
        let shown = file.display();
        if data_dir::is_irregular(&file) {
            return Verdict::wrong(format!("{shown} is not a regular file"), "move it away");
        }
        match access(&file, Access::READ_OK | Access::WRITE_OK) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                let what = format!("{shown} can't be read and written: {error}");
                return Verdict::wrong(what, "give it to the node's user");
            }
        }
    }
    Verdict::good(format!("{} can be read and written", path.display()))
}

fn makeable(path: &Path) -> Verdict {
    let above = path.ancestors().skip(1).find(|above| above.exists());
    let (above, shown) = (above.unwrap_or(Path::new(".")), path.display());
    match access(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Verdict::good(format!("{shown} will be created when the node starts")),
        Err(error) => Verdict::wrong(
            format!("{shown} is missing and can't be created in {}: {error}", above.display()),
            "create it for the node's user",
        ),
    }
}
