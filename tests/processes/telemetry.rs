//! Traces of orders, at a collector that takes what real nodes send.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

/// A span as it came.
#[derive(Debug, Clone)]
struct Span {
    /// The node that made it.
    node: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    start: u64,
    end: u64,
}

/// Takes OTLP over HTTP, and keeps the spans.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// It ends with the test's process.
    fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let collector = Self::default();
        let taker = collector.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                taker.take(stream.expect("a connection"));
            }
        });
        (collector, address)
    }

    fn take(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(head.contains("content-type: application/json\r\n"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.expect("a length").parse().expect("a number")];
        reader.read_exact(&mut body).expect("a body");
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            )
            .expect("an answer");
        let body = serde_json::from_slice(&body).expect("a request as the specification has it");
        self.0.lock().expect("a lock").extend(spans(body));
    }

    /// The spans by trace.
    fn traces(&self) -> BTreeMap<Vec<u8>, Vec<Span>> {
        let mut traces = BTreeMap::<_, Vec<_>>::new();
        for span in self.0.lock().expect("a lock").iter() {
            traces.entry(span.trace.clone()).or_default().push(span.clone());
        }
        traces
    }
}

fn spans(request: ExportTraceServiceRequest) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_node in request.resource_spans {
        let resource = of_node.resource.expect("who has made them");
        let attribute = |key: &str| {
            let found = resource.attributes.iter().find(|attribute| attribute.key == key);
            match found.and_then(|attribute| attribute.value.clone()?.value) {
                Some(Value::StringValue(text)) => text,
                other => panic!("{key} is {other:?}"),
            }
        };
        assert_eq!(attribute("service.name"), "liftmesh");
        let made = of_node.scope_spans.into_iter().flat_map(|scope| scope.spans);
        spans.extend(made.map(|span| {
            assert_eq!(span.kind, i32::from(SpanKind::Internal), "{span:?}");
            assert!(span.attributes.iter().any(|it| it.key == "liftmesh.call"), "{span:?}");
            Span {
                node: attribute("service.instance.id"),
                trace: span.trace_id,
                id: span.span_id,
                parent: span.parent_span_id,
                name: span.name,
                start: span.start_time_unix_nano,
                end: span.end_time_unix_nano,
            }
        }));
    }
    spans
}

/// C presses, A is master and assigns, B's car serves: their spans are one trace.
#[test]
fn an_order_is_one_trace_across_three_nodes() {
    let (collector, address) = Collector::start();
    let endpoint = address.to_string();
    let flags = ["--telemetry-endpoint", &endpoint];
    let building = Building::with_flags(4, Line::Serial, &["A", "B", "C"], &flags);
    building.take_out("A");
    building.take_out("C");
    building.press("C", building.hall(2, Direction::Up));
    let wanted = [("A", "assignment"), ("B", "service"), ("C", "order"), ("C", "promise")];
    let mut whole = Vec::new();
    building.wait("the whole trace has come", |_| {
        let is_whole = |spans: &Vec<Span>| {
            let made: BTreeSet<_> =
                spans.iter().map(|span| (span.node.as_str(), span.name.as_str())).collect();
            wanted.iter().all(|one| made.contains(one))
        };
        whole = collector.traces().into_values().find(is_whole).unwrap_or_default();
        !whole.is_empty()
    });
    let span = |name: &str| whole.iter().find(|span| span.name == name).expect("it has come");
    let [order, promise, assignment, service] =
        ["order", "promise", "assignment", "service"].map(span);
    assert_eq!((order.trace.len(), order.id.len(), order.parent.len()), (16, 8, 0));
    for child in [promise, assignment, service] {
        assert_eq!(child.parent, order.id, "{child:?}");
        assert!(order.start <= child.start && child.start <= child.end, "{order:?} {child:?}");
    }
    assert!(promise.end < service.end && assignment.end < service.end, "{whole:?}");
    assert!(order.end >= service.end, "{order:?} {service:?}");
    // Slaves hear of the assignment, and don't export it as theirs.
    building.wait_all_dark();
    let later = collector.traces().remove(&order.trace).expect("it is there");
    let assigned = later.iter().filter(|span| span.name == "assignment");
    assert!(assigned.clone().all(|span| span.node == "A"), "{later:?}");
    let ids: BTreeSet<_> = whole.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), whole.len(), "{whole:?}");
}

/// Nothing waits for a collector that is not there, or does not answer.
#[test]
fn a_node_serves_without_its_collector() {
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = deaf.local_addr().expect("an address").to_string();
    let flags = ["--telemetry-endpoint", &endpoint];
    let mut building = Building::with_flags(4, Line::Serial, &["A", "B"], &flags);
    building.press("A", building.hall(2, Direction::Up));
    building.wait_all_dark();
    drop(deaf);
    building.press("B", building.hall(1, Direction::Down));
    building.wait_all_dark();
    assert_eq!(building.stop("A").code(), Some(0));
}
