//! Lines of the socket, in both directions.

use elevator_fleet::model::Call;

use super::protocol::{QueryLine, ReplyLine};

/// A request, as a client of this program would write it; `None` if the line is none.
#[must_use]
pub fn request(line: &[u8]) -> Option<String> {
    let query: QueryLine = serde_json::from_slice(line).ok()?;
    if let QueryLine::Order { call } = &query {
        // A call that is no button is refused by the server.
        drop(Call::try_from(call));
    }
    serde_json::to_string(&query).ok()
}

/// A reply, as this program would write it; `None` if the line is none.
#[must_use]
pub fn reply(line: &[u8]) -> Option<String> {
    let reply: ReplyLine = serde_json::from_slice(line).ok()?;
    serde_json::to_string(&reply).ok()
}
