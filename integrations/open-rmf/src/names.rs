//! The names of sessions. The fleet makes them from the token and the `request_id`
//! (docs/API.md, "Sessions of robots"), so an adapter that has just started recognises the sessions
//! of its predecessor: their `request_id` has the lift, the robot, and when it was made.

use std::time::{Duration, SystemTime};

/// The longest time for which a session may wait for a car and then have it, and a margin.
const LONGEST: u64 = 25 * 60;

/// By how much the clocks of this computer and of an earlier adapter's may differ, in seconds.
const SKEW: u64 = 60;

pub(crate) struct Names {
    /// The BLAKE3 hash of the token.
    identity: [u8; 32],
    /// How the names of all its sessions begin.
    owner: String,
}

impl Names {
    pub(crate) fn new(token: &str) -> Self {
        let identity = *blake3::hash(token.as_bytes()).as_bytes();
        let owner = hash("liftmesh HTTP owner of requests", [&identity, b""]) >> 32;
        Self { identity, owner: format!("{:08x}", owner & 0x7fff_ffff) }
    }

    /// For a session that is opened now.
    pub(crate) fn request_id(lift: &str, robot: &str, now: SystemTime) -> String {
        request_id(&digest(lift, robot), seconds(now))
    }

    /// Whether this session was opened for this robot.
    pub(crate) fn is_of(&self, session: &str, lift: &str, robot: &str, now: SystemTime) -> bool {
        let digest = digest(lift, robot);
        let now = seconds(now);
        session.starts_with(&self.owner)
            && (now.saturating_sub(LONGEST)..=now + SKEW)
                .any(|at| self.session(&request_id(&digest, at)) == session)
    }

    fn session(&self, request_id: &str) -> String {
        let request = hash("liftmesh HTTP request", [&self.identity, request_id.as_bytes()]);
        format!("{}{request:016x}", self.owner)
    }
}

fn hash(context: &str, parts: [&[u8]; 2]) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part);
    }
    let mut hash = [0; 8];
    hasher.finalize_xof().fill(&mut hash);
    u64::from_be_bytes(hash)
}

fn request_id(digest: &str, at: u64) -> String {
    format!("open-rmf {digest} {at}")
}

/// Short enough for a `request_id`, whatever the length of the names.
fn digest(lift: &str, robot: &str) -> String {
    let digest = blake3::hash(format!("{lift}\0{robot}").as_bytes()).to_hex();
    digest[..32].to_owned()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_recognised_for_as_long_as_it_can_last() {
        let names = Names::new("liftmesh-token-1");
        let opened = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
        let request_id = Names::request_id("B", "fleet/robot", opened);
        assert!(request_id.len() <= 64, "{request_id}");
        let session = names.session(&request_id);
        let later = opened + Duration::from_mins(20);
        assert!(names.is_of(&session, "B", "fleet/robot", later));
        assert!(!names.is_of(&session, "A", "fleet/robot", later));
        assert!(!names.is_of(&session, "B", "fleet/other", later));
        assert!(!Names::new("liftmesh-token-2").is_of(&session, "B", "fleet/robot", later));
        let too_late = opened + Duration::from_mins(30);
        assert!(!names.is_of(&session, "B", "fleet/robot", too_late));
    }
}
