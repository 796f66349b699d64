//! `liftmesh caretaker`: a hang is cleared over HTTP, at the computer of the car.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::thread;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::settings::Setting;
use liftmesh_harness::building::{Building, Line};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::{Answer, Events, get, post, serving};
use super::token;

const PATH: &str = "/api/v1/cars/B/clear-hang";

fn body() -> String {
    json!({"operator": "J. Kovac", "reason": "brake replaced"}).to_string()
}

fn outcome(answer: &Answer) -> (u16, String) {
    (answer.status, answer.problem())
}

fn is(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Lets the car of a node hang on its way to a floor; its order is promised.
pub(super) fn hang(building: &mut Building, name: &str, to: Button) {
    building.panel(name).send("fault motor stuck").expect("taken");
    building.press(name, to);
    building.wait_lit(&[name], to);
    assert_eq!(building.exit(name).code(), Some(3));
    building.panel(name).send("fault motor ok").expect("taken");
}

fn is_latched(building: &Building, name: &str) -> bool {
    building.data_dir(name).join("hang.toml").exists()
}

/// F9, H3, F1: nothing clears it but a token that may; it is on record; the promised order is served.
#[test]
fn a_hang_is_cleared_where_its_latch_is() {
    let mut building = Building::with_cars(6, Line::Serial, &["A", "B"]);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let running = get(b, "/api/v1/latch").json();
    assert_eq!(
        running,
        json!({
            "running": true, "node": "B", "latch": null, "text": null, "remedy": null,
            "tokens_usable": null
        })
    );
    let call = building.car_call(5);
    hang(&mut building, "B", call);
    let mut caretaker = building.start_caretaker("B");
    serving(&building, 2);

    let latch = get(b, "/api/v1/latch").json();
    assert_eq!((&latch["running"], &latch["node"]), (&json!(false), &json!("B")), "{latch}");
    assert_eq!(latch["latch"]["cause"], "hang", "{latch}");
    assert_eq!(latch["latch"]["evidence"]["floor"], 5, "{latch}");
    assert!(latch["text"].as_str().is_some_and(|text| text.contains("node B hung")), "{latch}");
    assert!(get(b, "/").body.starts_with("<!doctype html>"));
    let mut events = Events::follow(b, None);
    let first = events.next();
    assert_eq!((first.kind.as_str(), &first.data), ("latched", &latch));
    assert_eq!(outcome(&get(b, "/api/v1/fleet")), is(503, "latched"));
    assert_eq!(outcome(&get(b, "/readyz")), is(503, "latched"));
    assert!(get(b, "/metrics").body.contains("liftmesh_latched{node=\"B\"} 1"));
    let foreign = super::request(b, "GET", "/api/v1/latch", &[("Host", "evil.example")], "");
    assert_eq!(outcome(&foreign), is(421, "other_host"));

    let clear = |token: Option<&str>, path: &str, body: &str| outcome(&post(b, path, token, body));
    assert_eq!(clear(None, PATH, &body()), is(401, "token_required"));
    assert_eq!(clear(Some("liftmesh-token-0"), PATH, &body()), is(401, "token_unknown"));
    let kiosk = token(&building, "B", "kiosk", "call");
    assert_eq!(clear(Some(&kiosk), PATH, &body()), is(403, "scope_missing"));
    // At once, though the caretaker looks at the journal every two seconds only.
    let stolen = token(&building, "B", "stolen", "operate");
    let revoked = building.operator("B", &["token", "revoke", "--name", "stolen"]).output();
    assert!(revoked.expect("it runs").status.success());
    assert_eq!(clear(Some(&stolen), PATH, &body()), is(401, "token_unknown"));
    let phone = token(&building, "B", "phone", "operate");
    assert_eq!(clear(Some(&phone), PATH, "{}"), is(400, "malformed"));
    let no_reason = json!({"operator": "J. Kovac", "reason": " "}).to_string();
    assert_eq!(clear(Some(&phone), PATH, &no_reason), is(400, "malformed"));
    let other = "/api/v1/cars/A/clear-hang";
    assert_eq!(clear(Some(&phone), other, &body()), is(409, "not_here"));
    // Node A can't: the latch is not at its computer.
    let at_a = token(&building, "A", "desk", "operate");
    building.wait("A knows the hang", |_| get(a, "/api/v1/fleet").json()["hung"] == json!(["B"]));
    building.wait("A knows why", |_| {
        let hangs = &get(a, "/api/v1/fleet").json()["hangs"];
        (&hangs[0]["car"], &hangs[0]["floor"]) == (&json!("B"), &json!(5))
    });
    let answer = post(a, PATH, Some(&at_a), &body());
    assert_eq!(outcome(&answer), is(409, "not_here"));
    assert!(answer.body.contains(&b.ip().to_string()), "{answer:?}");
    let own = post(a, other, Some(&at_a), &body());
    assert_eq!(outcome(&own), is(409, "nothing_to_clear"));
    // Node B does not hear that it is revoked.
    let revoked = building.operator("A", &["token", "revoke", "--name", "desk"]).output();
    let said = String::from_utf8(revoked.expect("it runs").stdout).expect("text");
    assert!(said.contains(&format!("but not yet at: B ({})", b.ip())), "{said}");
    assert!(is_latched(&building, "B"));
    assert!(caretaker.ended().is_none());

    let cleared = post(b, PATH, Some(&phone), &body());
    assert_eq!(cleared.status, 200, "{cleared:?}");
    let cleared = cleared.json();
    assert_eq!(cleared["car"], "B", "{cleared}");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(0));
    assert!(!is_latched(&building, "B"));
    let audit = building.operator("B", &["audit", "--json"]).output().expect("it runs");
    let records = String::from_utf8(audit.stdout).expect("text");
    assert_eq!(cleared["audit_records"], records.lines().count(), "{records}");
    let last: Value =
        serde_json::from_str(records.lines().last().expect("a record")).expect("JSON");
    assert_eq!(
        (&last["operator"], &last["reason"]),
        (&json!("J. Kovac"), &json!("brake replaced"))
    );
    assert_eq!(last["account"]["token"], "phone", "{last}");

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

/// Only a clearing at the caretaker ends it with 0, and so lets a supervisor start the node.
#[test]
fn a_caretaker_ends_with_0_only_after_a_clearing() {
    let mut building = Building::with_cars(6, Line::Serial, &["A"]);
    let refused = building.caretaker_command("A").output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2), "a node runs: {refused:?}");
    let call = building.car_call(5);
    hang(&mut building, "A", call);
    let mut caretaker = building.start_caretaker("A");
    serving(&building, 1);
    caretaker.signal(Signal::TERM);
    assert_eq!(building.end_of(&mut caretaker).code(), Some(4));
    assert!(is_latched(&building, "A"));

    let mut caretaker = building.start_caretaker("A");
    serving(&building, 1);
    building.clear_hang("A");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(2));
    let refused = building.caretaker_command("A").output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("is not latched"), "{said}");
}

/// Nobody without a token makes it read the journal again, or write to it, or set it aside; and the bearer
/// of one is served meanwhile.
#[test]
fn strangers_do_not_reach_the_journal() {
    let mut building = Building::with_cars(6, Line::Serial, &["A"]);
    let phone = token(&building, "A", "phone", "operate");
    let call = building.car_call(5);
    hang(&mut building, "A", call);
    let mut caretaker = building.start_caretaker("A");
    let a = serving(&building, 1);
    let path = "/api/v1/cars/A/clear-hang";
    let journal = building.data_dir("A").join("journal.redb");
    let changed = || fs::metadata(&journal).and_then(|file| file.modified()).expect("a journal");
    building.wait("the tokens are read", |_| {
        get(a, "/api/v1/latch").json()["tokens_usable"] == json!(true)
    });
    let before = changed();
    let clear = |token: &str, body: &str| outcome(&post(a, path, Some(token), body));
    let strangers: Vec<_> = (0..40).map(|_| clear("liftmesh-token-0", &body()).0).collect();
    assert!(strangers.contains(&401) && strangers.contains(&429), "{strangers:?}");
    assert_eq!(clear(&phone, "{}"), is(400, "malformed"));
    assert_eq!(changed(), before, "somebody has written to the journal");
    // What a disk has damaged stays where it is, for those who may look into it.
    let mut file = File::options().write(true).open(&journal).expect("a journal");
    file.rewind().and_then(|()| file.write_all(&[0; 8192])).expect("written");
    drop(file);
    building.wait("no token counts", |_| {
        get(a, "/api/v1/latch").json()["tokens_usable"] == json!(false)
    });
    // Now it counts among the strangers.
    building.wait("it says so", |_| clear(&phone, &body()) == is(503, "tokens_unusable"));
    let names = fs::read_dir(building.data_dir("A")).expect("a directory");
    let names: Vec<_> = names.map(|it| it.expect("a file").file_name()).collect();
    assert!(names.iter().any(|name| name == "journal.redb"), "{names:?}");
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("damaged")), "{names:?}");
    caretaker.signal(Signal::TERM);
    assert_eq!(building.end_of(&mut caretaker).code(), Some(4));
}

/// P5: where the journal is lost there are no tokens, and the caretaker says so.
#[test]
fn a_lost_journal_can_only_be_cleared_at_the_computer() {
    let mut building = Building::with_cars(6, Line::Serial, &["A"]);
    let phone = token(&building, "A", "phone", "operate");
    assert!(building.stop("A").success());
    fs::remove_file(building.data_dir("A").join("journal.redb")).expect("removed");
    let mut caretaker = building.start_caretaker("A");
    let a = serving(&building, 1);
    let latch = get(a, "/api/v1/latch").json();
    assert_eq!(latch["latch"]["cause"], "journal-lost", "{latch}");
    assert_eq!(latch["tokens_usable"], false, "{latch}");
    assert!(latch["remedy"].as_str().is_some_and(|it| it.starts_with("liftmesh clear-hang")));
    let path = "/api/v1/cars/A/clear-hang";
    assert_eq!(outcome(&post(a, path, Some(&phone), &body())), is(503, "tokens_unusable"));
    caretaker.signal(Signal::TERM);
    assert_eq!(building.end_of(&mut caretaker).code(), Some(4));
}

/// The caretaker waits for a node that is about to end, which takes longer than other requests may.
#[test]
fn a_slow_clearing_is_reported_when_it_is_done() {
    let mut building = Building::with_cars(6, Line::Serial, &["A"]);
    let phone = token(&building, "A", "phone", "operate");
    let call = building.car_call(5);
    hang(&mut building, "A", call);
    let mut caretaker = building.start_caretaker("A");
    let a = serving(&building, 1);
    let lock = File::options().write(true).open(building.data_dir("A").join("node.lock"));
    let lock = lock.expect("a lock");
    lock.lock().expect("locked");
    let holder = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5300));
        drop(lock);
    });
    let cleared = post(a, "/api/v1/cars/A/clear-hang", Some(&phone), &body());
    assert_eq!(cleared.status, 200, "{cleared:?}");
    holder.join().expect("it ends");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(0));
    assert!(!is_latched(&building, "A"));
}
