use std::sync::Arc;
use std::time::{Duration, SystemTime};

use elevator_fleet::directives::{Directives, Words};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{Call, HallCall, JournalId, NodeId};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use liftmesh_api::{Flights, State, id_of};
use serde_json::json;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::calls::Desk;
use super::events::EventLog;
use super::metrics::Counted;
use super::routes::{self, App, Place};
use super::snapshot::Looker;
use super::statistics::Collector;
use crate::operator::tests::full_status;
use crate::operator::{NodeLoop, Query, Reply, Request};
use crate::tokens::{Change, Scope, TokenHash, Tokens};

fn state() -> serde_json::Value {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
    serde_json::to_value(State::new(&full_status(), &Flights::new(Kinematics::default()), at))
        .unwrap()
}

#[test]
fn the_fleet_has_the_node_itself_first() {
    let state = state();
    let fleet = &state["fleet"];
    let status = full_status();
    assert_eq!(fleet["at"], "1970-01-01T00:00:01.500Z");
    assert_eq!(fleet["node"], status.node.as_str());
    assert_eq!(fleet["nodes"][0]["self"], true);
    assert_eq!(fleet["nodes"].as_array().unwrap().len(), 1 + status.peers.len());
}

#[test]
fn an_order_is_named_by_its_call() {
    let floor = |index| elevator_driver::Floor::try_from(index).unwrap();
    let hall = HallCall::new(floor(3), elevator_driver::Direction::Up);
    assert_eq!(id_of(&Call::Hall(hall)), "hall-3-up");
    assert_eq!(id_of(&Call::Hall(HallCall::to(floor(0), floor(3)).unwrap())), "destination-0-3");
    let car = NodeId::new("A").unwrap();
    assert_eq!(id_of(&Call::Car { car, floor: floor(5) }), "car-A-5");
}

#[test]
fn a_lift_state_has_every_field_of_open_rmf() {
    let state = state();
    let lift = state["cars"][0]["lift_state"].as_object().unwrap();
    let names: Vec<_> = lift.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "available_floors",
            "available_modes",
            "current_floor",
            "current_mode",
            "destination_floor",
            "door_state",
            "lift_name",
            "lift_time",
            "motion_state",
            "session_id",
        ]
    );
    assert_eq!(lift["lift_time"], json!({"sec": 1, "nanosec": 500_000_000}));
}

/// A router as at this address, over a loop that has one answer, and the token `view` in its fleet.
fn router(address: &str, view: &str, tasks: &mut JoinSet<()>) -> axum::Router {
    let (asked, mut requests) = mpsc::channel::<Request>(16);
    tasks.spawn(async move {
        while let Some(Request { query, reply }) = requests.recv().await {
            let answer = match query {
                Query::Status => Reply::Status(Box::new(full_status())),
                Query::Statistics => {
                    let (kept, statistics) = oneshot::channel();
                    kept.send(Vec::new()).unwrap();
                    Reply::Statistics(statistics)
                }
                other => panic!("nobody asked for {other:?}"),
            };
            // A client that has gone does not need it.
            drop(reply.send(answer));
        }
    });
    let mut directives = Directives::default();
    let (scope, hash) = (Scope::View, TokenHash::of(view));
    let change = Change::Create { name: "reader".parse().unwrap(), scope, hash };
    let (key, value) = change.directive(&directives, SystemTime::now()).unwrap();
    directives.set(key, value, Words::new("kovac").unwrap(), JournalId(1)).unwrap();
    let (_, tokens) = watch::channel(Arc::new(Tokens::of(&directives)));
    let node_loop = NodeLoop::new(asked);
    let counted = Counted::new(None, None).unwrap();
    let (source, events) = broadcast::channel(1);
    let (log, events) = EventLog::new(events, 7, counted.clone());
    let (looker, looks) = Looker::new(node_loop.clone(), Kinematics::default());
    let (collector, figures) = Collector::new(source.subscribe(), looks.clone(), node_loop.clone());
    let (desk, calls) = Desk::new(node_loop.clone());
    tasks.spawn(async move {
        log.run().await;
        drop(source);
    });
    tasks.spawn(looker.run());
    tasks.spawn(collector.run());
    tasks.spawn(desk.run());
    let seats = routes::seats();
    let place = Place { address: address.parse().unwrap(), is_tls: true };
    let app = App { looks, events, calls, figures, tokens, counted, node_loop, seats, place };
    routes::router(app)
}

/// The status of a response.
async fn status(router: &axum::Router, path: &str, token: Option<&str>) -> u16 {
    let mut request = axum::http::Request::get(path);
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let request = request.body(axum::body::Body::empty()).unwrap();
    let service = TowerToHyperService::new(router.clone());
    service.call(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn beyond_loopback_reading_needs_a_token() {
    let read = ["/api/v1/fleet", "/api/v1/cars", "/api/v1/orders", "/api/v1/events", "/metrics"];
    let mut tasks = JoinSet::new();
    let far = router("192.168.1.11:7080", "secret", &mut tasks);
    let near = router("127.0.0.1:7080", "secret", &mut tasks);
    for path in read.into_iter().chain(["/readyz"]) {
        assert_eq!(status(&far, path, None).await, 401, "{path}");
        assert_eq!(status(&far, path, Some("other")).await, 401, "{path}");
    }
    for path in read {
        assert_eq!(status(&far, path, Some("secret")).await, 200, "{path}");
        assert_eq!(status(&near, path, None).await, 200, "{path}");
    }
    // They say nothing of the fleet, and a browser has no token before it has the page.
    for path in ["/", "/healthz"] {
        assert_eq!(status(&far, path, None).await, 200, "{path}");
    }
}
