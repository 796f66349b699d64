//! A node that does not run because it is latched: what its caretaker answers.

use std::fs;
use std::path::Path;

use axum::Router;
use axum::http::request::Builder;
use elevator_fleet::model::NodeId;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::super::latched::begin;
use super::super::routes::Endpoint;
use super::EVENTS_PATH;
use super::bench::{LOOPBACK, frames, json as answer, next, send, text};
use crate::clearance;
use crate::journal::{Account, Journal};
use crate::latch::{self, Hang, Latch};
use crate::offline::Offline;
use crate::operator::Claim;
use crate::tokens::{Change, Scope, TokenHash};

const CLEAR: &str = "/api/v1/cars/A/clear-hang";
const PHONE: Option<&str> = Some("liftmesh-token-phone");
const STOLEN: Option<&str> = Some("liftmesh-token-stolen");

fn node() -> NodeId {
    NodeId::new("A").unwrap()
}

fn by() -> Value {
    json!({"operator": "J. Kovac", "reason": "brake replaced"})
}

fn hang() -> Latch {
    Latch::Hang(Hang { node: node(), ..latch::tests::hang() })
}

fn change(directory: &TempDir, change: &Change) {
    let mut offline = Offline::open(directory.path(), Some(node())).unwrap();
    offline.change(change, "kovac", Account::default()).unwrap();
}

fn latched() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    drop(Journal::open(directory.path(), &node()).unwrap());
    latch::set(directory.path(), &hang()).unwrap();
    let scopes = [Scope::Operate, Scope::Call, Scope::Operate];
    for (name, scope) in ["phone", "kiosk", "stolen"].into_iter().zip(scopes) {
        let hash = TokenHash::of(&format!("liftmesh-token-{name}"));
        let name = name.parse().unwrap();
        change(&directory, &Change::Create { name, scope, hash, lifetime_s: None });
    }
    directory
}

async fn serve(directory: &Path) -> (Router, JoinSet<()>) {
    let endpoint = Endpoint { address: LOOPBACK.parse().unwrap(), is_tls: true };
    let (mut keeper, router, mut tasks) = begin(endpoint, directory.to_owned(), node(), hang());
    keeper.refresh().await;
    tasks.spawn(keeper.run());
    (router, tasks)
}

async fn ask(
    router: &Router,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: &Value,
) -> (u16, Value) {
    let request = Builder::new().method(method).uri(path);
    answer(send(router, request, token, body).await).await
}

/// F9, H3: nothing clears it but a token that may, and the audit log has whose it was.
#[tokio::test]
async fn a_hang_is_cleared_where_its_latch_is() {
    let directory = latched();
    let (router, _tasks) = serve(directory.path()).await;
    let get = async |path: &str| send(&router, Builder::new().uri(path), None, &Value::Null).await;
    let (_, shown) = answer(get("/api/v1/latch").await).await;
    assert_eq!((&shown["running"], &shown["latch"]["cause"]), (&json!(false), &json!("hang")));
    assert!(shown["text"].as_str().unwrap().contains("node A hung"), "{shown}");
    assert!(shown["remedy"].as_str().unwrap().starts_with("liftmesh clear-hang"), "{shown}");
    let message = next(&mut frames(get(EVENTS_PATH).await)).await.unwrap();
    assert!(message.starts_with("event: latched\ndata: {\"running\":false,"), "{message}");
    assert!(text(get("/metrics").await).await.ends_with("liftmesh_latched{node=\"A\"} 1\n"));
    assert!(text(get("/").await).await.starts_with("<!doctype html>"));

    // The caretaker knows the tokens, and learns at once that one is revoked.
    let (status, _) = ask(&router, "POST", CLEAR, STOLEN, &json!({})).await;
    assert_eq!(status, 400);
    change(&directory, &Change::Revoke { name: "stolen".parse().unwrap() });
    let journal = directory.path().join("journal.redb");
    let before = fs::read(&journal).unwrap();
    let reasonless = json!({"operator": "J. Kovac", "reason": " "});
    for (method, path, token, body, status, code) in [
        ("GET", "/api/v1/fleet", None, Value::Null, 503, "latched"),
        ("GET", "/readyz", None, Value::Null, 503, "latched"),
        ("POST", CLEAR, None, by(), 401, "token_required"),
        ("POST", CLEAR, Some("liftmesh-token-0"), by(), 401, "token_unknown"),
        ("POST", CLEAR, STOLEN, by(), 401, "token_unknown"),
        ("POST", CLEAR, Some("liftmesh-token-kiosk"), by(), 403, "scope_missing"),
        ("POST", CLEAR, PHONE, json!({}), 400, "malformed"),
        ("POST", CLEAR, PHONE, reasonless, 400, "malformed"),
        ("POST", "/api/v1/cars/B/clear-hang", PHONE, by(), 409, "not_here"),
    ] {
        let (found, said) = ask(&router, method, path, token, &body).await;
        assert_eq!((found, said["code"].as_str().unwrap()), (status, code), "{path}: {said}");
    }
    assert_eq!(fs::read(&journal).unwrap(), before, "somebody has written to the journal");
    assert!(latch::find(directory.path()).is_some());

    // The directory is in use: the first clearing waits for it. A second one is refused at once.
    let somebody = Claim::new(directory.path()).unwrap();
    let by = by();
    let first = ask(&router, "POST", CLEAR, PHONE, &by);
    let second = async {
        let (status, said) = ask(&router, "POST", CLEAR, PHONE, &by).await;
        assert_eq!((status, &said["code"]), (503, &json!("busy")), "{said}");
        drop(somebody);
    };
    let ((status, cleared), ()) = tokio::join!(first, second);
    assert_eq!((status, &cleared["car"]), (200, &json!("A")), "{cleared}");
    assert!(latch::find(directory.path()).is_none());
    let records = clearance::audit(directory.path()).unwrap();
    assert_eq!(cleared["audit_records"], records.len(), "{records:?}");
    let last = serde_json::to_value(records.last().unwrap()).unwrap();
    assert_eq!((&last["operator"], &last["reason"]), (&by["operator"], &by["reason"]));
    assert_eq!(last["account"]["token"], "phone", "{last}");
}

/// P5: without a journal there are no tokens. What a disk has damaged stays where it is.
#[tokio::test]
async fn a_lost_journal_can_only_be_cleared_at_the_computer() {
    let names = |directory: &TempDir| {
        let files = fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for is_lost in [true, false] {
        let directory = latched();
        let journal = directory.path().join("journal.redb");
        if is_lost {
            fs::remove_file(&journal).unwrap();
        } else {
            fs::write(&journal, [0; 16_384]).unwrap();
        }
        let before = names(&directory);
        let (router, _tasks) = serve(directory.path()).await;
        let (status, said) = ask(&router, "POST", CLEAR, PHONE, &by()).await;
        assert_eq!((status, &said["code"]), (503, &json!("tokens_unusable")));
        let (_, shown) = ask(&router, "GET", "/api/v1/latch", None, &Value::Null).await;
        assert_eq!(shown["tokens_usable"], false, "{shown}");
        assert_eq!(names(&directory), before);
    }
}
