//! What simulators and nodes say of themselves.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::Building;
use elevator_driver::vocabulary::show_labels_here;
use elevator_fleet::json::BuildingForm;
use elevator_fleet::node::Status;
use serde_json::Value;

/// How long a node may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The URL of the panel of a simulator that writes to this log, once it is ready.
pub(super) fn announced(log: &Path) -> Option<String> {
    let said = fs::read_to_string(log).expect("a log");
    let is_ready = said.lines().any(|line| line.starts_with("control ")) && said.ends_with('\n');
    let panel = said.lines().find_map(|line| line.strip_prefix("panel "));
    is_ready.then(|| panel.expect("a panel").to_owned())
}

/// The status of the node with this data directory, over its Unix socket.
pub(super) fn status(data_dir: &Path) -> io::Result<Status> {
    let mut stream = UnixStream::connect(data_dir.join("node.sock"))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(b"GET /api/v1/status HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map(|(_head, body)| body);
    let said: Value = serde_json::from_str(body.unwrap_or_default())?;
    // The node says floors by their labels; the simulator takes their indices.
    let building: Option<BuildingForm> = serde_json::from_value(said["building"].clone()).ok();
    let building = building.and_then(|form| Building::try_from(form).ok());
    show_labels_here(building.map(Arc::new));
    let status = serde_json::from_value(said);
    show_labels_here(None);
    Ok(status?)
}
