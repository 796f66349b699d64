//! Commands that go to a node at another computer: `--url`, with a token.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use elevator_driver::Button;
use elevator_fleet::settings::Setting;
use liftmesh_harness::building::{Building, Line};
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use super::client::{address, get, serving};
use super::tls::certificate;
use super::token;
use crate::command_line::liftmesh;

const WHO: [&str; 4] = ["--operator", "J. Kovac", "--reason", "new carpet"];

/// Somebody at another computer: where the node is, and the file of a token.
pub(crate) struct Desk {
    url: String,
    directory: TempDir,
}

impl Desk {
    pub(crate) fn new(url: String, token: &str) -> Self {
        let desk = Self { url, directory: tempfile::tempdir().expect("a directory") };
        fs::write(desk.token(), format!("{token}\n")).expect("written");
        fs::set_permissions(desk.token(), Permissions::from_mode(0o600)).expect("rights");
        desk
    }

    fn token(&self) -> PathBuf {
        self.directory.path().join("token")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = liftmesh(words);
        command.args(["--url", &self.url]).arg("--token-file").arg(self.token());
        command
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        printed(&self.command(words).output().expect("it runs"))
    }

    /// The exit code, and what it says on standard error: never the token.
    fn fails(&self, words: &[&str]) -> (Option<i32>, String) {
        let refused = refusal(&self.command(words).output().expect("it runs"));
        let token = fs::read_to_string(self.token()).expect("a token");
        assert!(!refused.1.contains(token.trim()), "{refused:?}");
        refused
    }
}

#[track_caller]
fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn refusal(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).expect("text"))
}

/// Who took car B out, and why? B has heard of it from A, and does not know whose account it was.
#[test]
fn the_audit_log_of_the_fleet_says_who_and_why() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let secret = token(&building, "A", "desk", "operate");
    let desk = Desk::new(format!("http://{b}"), &secret);
    building.done("A", &[&["mode", "B", "out-of-service"], &WHO[..]].concat());
    building.wait("B records it", |_| {
        let shown = desk.command(&["audit"]).output().expect("it runs").stdout;
        String::from_utf8_lossy(&shown).contains("  mode/B is out-of-service\n")
    });
    let of_b = desk.done(&["audit"]);
    let heard = of_b.lines().find(|line| line.contains("mode/B is")).expect("a record");
    assert!(heard.contains("new carpet") && !heard.contains("uid"), "{of_b}");
    let page = desk.done(&["audit", "--fleet"]);
    let found: Vec<_> = page.lines().filter(|line| line.contains("mode/B is")).collect();
    let is_whole = |line: &str| line.contains("  A     setting  J. Kovac  uid ");
    assert!(found.len() == 1 && is_whole(found[0]) && !page.contains("not asked"), "{page}");
    let without_token = building.done("A", &["audit", "--fleet"]);
    assert!(without_token.contains(&format!("\nnot asked: B: http://{b}: ")), "{without_token}");
    building.kill("B");
    let page = Desk::new(format!("http://{a}"), &secret).done(&["audit", "--fleet"]);
    assert!(page.contains(&format!("\nnot asked: B: no node answers at http://{b};")), "{page}");
    building.assert_safe();
}

/// The key may not be read by others; then the node serves its car alone. A client believes a node by the
/// certificate of its authority alone, and so it does when that was renewed.
#[test]
fn a_node_is_believed_by_the_certificate_of_its_authority() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let (a, directory) = (address(&building, 1), tempfile::tempdir().expect("a directory"));
    let [own, key] = certificate(directory.path(), a.ip());
    fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("rights");
    building.start_with("A", |command| {
        command.arg("--http-certificate").arg(&own).arg("--http-key").arg(&key);
    });
    building.wait_in_service(&["A"]);
    assert!(TcpStream::connect(a).is_err(), "it serves without its key");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("rights");
    serving(&building, 1);

    let secret = token(&building, "A", "kiosk", "call");
    let with = |words: &[&str], ca: &Path| {
        let mut command = liftmesh(words);
        command.env("LIFTMESH_URL", format!("https://{a}")).env("LIFTMESH_TOKEN", &secret);
        command.arg("--ca").arg(ca).output().expect("it runs")
    };
    let served = printed(&with(&["order", "hall", "2", "up", "--wait", "served"], &own));
    assert!(served.starts_with("hall 2 up served by A"), "{served}");
    let other = tempfile::tempdir().expect("a directory");
    let [renewed, its_key] = certificate(other.path(), a.ip());
    let (code, why) = refusal(&with(&["status"], &renewed));
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("is not trusted") && why.contains("--ca FILE"), "{why}");
    for (old, new) in [(&key, &its_key), (&own, &renewed)] {
        fs::rename(new, old).expect("a name");
    }
    building
        .wait("the renewed certificate is presented", |_| with(&["status"], &own).status.success());
    building.assert_safe();
}

/// Lets the car of a node hang on its way to the floor that this button is for; its order is promised.
fn hang(building: &mut Building, name: &str) -> Button {
    let call = building.car_call(5);
    building.tell(name, "fault motor stuck");
    building.press(name, call);
    building.wait_lit(&[name], call);
    assert_eq!(building.exit(name).code(), Some(3));
    building.tell(name, "fault motor ok");
    call
}

/// F9, H3, F1: at the address of a node that hung its caretaker answers, and ends with 0 once the hang is
/// cleared there: the node starts again, and serves what it had promised.
#[test]
fn a_hang_is_cleared_from_another_computer() {
    let mut building = Building::with_cars(6, Line::Serial, &["A", "B"]);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let desk = Desk::new(format!("http://{b}"), &token(&building, "B", "desk", "operate"));
    let running = building.caretaker_command("B").output().expect("it runs");
    assert_eq!(running.status.code(), Some(2), "a node runs: {running:?}");
    let call = hang(&mut building, "B");

    // What ends it otherwise lets nobody start the node.
    let mut caretaker = building.start_caretaker("B");
    serving(&building, 2);
    caretaker.signal(Signal::TERM);
    assert_eq!(building.end_of(&mut caretaker).code(), Some(4));
    let mut caretaker = building.start_caretaker("B");
    serving(&building, 2);
    for words in [&["status"][..], &["top", "--once"]] {
        let (code, why) = desk.fails(words);
        assert_eq!(code, Some(4), "{why}");
        assert!(why.contains("`liftmesh clear-hang --url …`"), "{why}");
    }
    building.wait("A knows the hang", |_| {
        get(a, "/api/v1/fleet").json()["hangs"][0]["car"] == json!("B")
    });
    let cleared = desk.done(&[&["clear-hang"], &WHO[..]].concat());
    assert!(cleared.contains("\naudit log: record "), "{cleared}");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(0));
    building.start("B");
    building.wait_in_service(&["B"]);
    building.wait_dark(&["B"], call);
    building.wait("A knows that the hang is over", |building| {
        let settings = building.status("A").map(|status| status.settings).unwrap_or_default();
        settings.iter().any(|it| matches!(it.setting, Setting::Hang(_, None)))
    });
    assert_eq!(get(a, "/api/v1/fleet").json()["hangs"], json!([]));
    building.assert_safe();
}
