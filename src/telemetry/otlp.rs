//! Spans as OTLP has them in JSON.

use elevator_fleet::model::{FleetName, NodeId};
use serde_json::{Value, json};

use super::tracer::Span;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;

/// Who has made the spans.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) node: NodeId,
    pub(super) fleet: FleetName,
}

/// The body of a request that exports these spans.
pub(super) fn body(source: &Source, spans: &[Span]) -> Vec<u8> {
    let Source { node, fleet } = source;
    let fleet = fleet.to_string();
    let resource = [
        ("service.name", "liftmesh"),
        ("service.namespace", fleet.as_str()),
        ("service.instance.id", node.as_str()),
        ("service.version", env!("CARGO_PKG_VERSION")),
    ];
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let body = json!({
        "resourceSpans": [{
            "resource": {"attributes": attributes(resource)},
            "scopeSpans": [{
                "scope": {"name": "liftmesh", "version": env!("CARGO_PKG_VERSION")},
                "spans": spans,
            }],
        }],
    });
    body.to_string().into_bytes()
}

fn span(span: &Span) -> Value {
    let mut value = json!({
        "traceId": format!("{:016x}{:016x}", span.press.incarnation.0, span.press.sequence),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes(span.attributes.iter().map(|(key, value)| (*key, value.as_str()))),
    });
    if let Some(parent) = span.parent {
        value["parentSpanId"] = format!("{parent:016x}").into();
    }
    value
}

fn attributes<'a>(attributes: impl IntoIterator<Item = (&'static str, &'a str)>) -> Vec<Value> {
    let attributes = attributes.into_iter();
    attributes.map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect()
}
