//! What simulators and nodes say of themselves.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use elevator_fleet::node::Status;

use super::PATIENCE;
use crate::Process;

/// How long a node may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The URL of the panel of a simulator that has just been started, once it is ready.
pub(super) fn announced(simulator: &Process) -> String {
    let start = Instant::now();
    loop {
        let said = fs::read_to_string(simulator.log()).expect("a log");
        let ready = said.lines().any(|line| line.starts_with("control ")) && said.ends_with('\n');
        if ready {
            let panel = said.lines().find_map(|line| line.strip_prefix("panel "));
            return panel.expect("a panel").to_owned();
        }
        let name = simulator.name();
        assert!(start.elapsed() < PATIENCE, "{name} is not ready:\n{said}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The status of the node with this data directory, over its Unix socket.
pub(super) fn status(data_dir: &Path) -> io::Result<Status> {
    let mut stream = UnixStream::connect(data_dir.join("node.sock"))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(b"GET /api/v1/status HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map(|(_head, body)| body);
    Ok(serde_json::from_str(body.unwrap_or_default())?)
}
