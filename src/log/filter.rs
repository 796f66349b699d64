//! What is logged, as `log.filter` says it.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// The modules that log.
const TARGETS: [&str; 37] = [
    "liftmesh::caretaker",
    "liftmesh::http",
    "liftmesh::http::latched",
    "liftmesh::http::metrics",
    "liftmesh::http::routes",
    "liftmesh::http::server",
    "liftmesh::http::statistics",
    "liftmesh::http::tls",
    "liftmesh::journal",
    "liftmesh::journal::writer",
    "liftmesh::log",
    "liftmesh::log::queue",
    "liftmesh::mesh",
    "liftmesh::mesh::accept",
    "liftmesh::mesh::addresses",
    "liftmesh::mesh::datagram",
    "liftmesh::mesh::interface",
    "liftmesh::mesh::keys",
    "liftmesh::mesh::link",
    "liftmesh::mqtt",
    "liftmesh::mqtt::connection",
    "liftmesh::mqtt_metrics",
    "liftmesh::operator::reading",
    "liftmesh::operator::socket",
    "liftmesh::panel",
    "liftmesh::priority",
    "liftmesh::runtime",
    "liftmesh::runtime::answer",
    "liftmesh::runtime::audit",
    "liftmesh::runtime::disk",
    "liftmesh::runtime::hang",
    "liftmesh::runtime::planner",
    "liftmesh::runtime::report",
    "liftmesh::runtime::stop",
    "liftmesh::runtime::supervisor",
    "liftmesh::tokens::stored",
];

/// The lines to log: a level, or levels by module, separated by commas, such as
/// `info,liftmesh::mesh=debug`.
///
/// Levels and modules have to exist: a typo would silence lines on which somebody relies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFilter(String);

impl LogFilter {
    /// `None` if a part of the text is not a valid level or module.
    #[must_use]
    pub(crate) fn new(text: &str) -> Option<Self> {
        let is_filter = text.split(',').all(|part| is_setting(part.trim()));
        is_filter.then(|| Self(text.to_owned()))
    }

    pub(super) fn to_env_filter(&self) -> EnvFilter {
        // Nothing is left to be ignored.
        EnvFilter::builder().parse_lossy(&self.0)
    }
}

fn is_setting(part: &str) -> bool {
    match part.split_once('=') {
        Some((target, level)) => is_target(target) && is_level(level),
        // A module without a level is logged completely.
        None => is_level(part) || is_target(part),
    }
}

fn is_level(text: &str) -> bool {
    // An empty text would be a level, too.
    !text.is_empty() && text.parse::<LevelFilter>().is_ok()
}

/// Whether this is a module that logs, or has modules in it that do.
fn is_target(text: &str) -> bool {
    let is_above = |target: &str| {
        let below = target.strip_prefix(text);
        below.is_some_and(|below| below.is_empty() || below.starts_with("::"))
    };
    !text.is_empty() && TARGETS.iter().any(|target| is_above(target))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn what_names_nothing_is_refused() {
        for right in [
            "info",
            "WARN",
            "off",
            "info,liftmesh::mesh=debug",
            "warn, liftmesh::mesh::link=trace",
            "liftmesh=debug",
            "liftmesh::runtime",
        ] {
            assert!(LogFilter::new(right).is_some(), "{right}");
        }
        for wrong in [
            "",
            "inof",
            "info,",
            "a=loud",
            "liftmesh=inof",
            "liftmesh::msh=debug",
            "liftmesh::mes=debug",
            "liftmesh::mesh::=debug",
            "info,tokio=debug",
            "info,[span]=debug",
            "=info",
            "liftmesh::mesh=",
        ] {
            assert!(LogFilter::new(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_modules_that_log_are_known() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeSet::new();
        let mut waiting = vec![source.clone()];
        while let Some(directory) = waiting.pop() {
            for entry in std::fs::read_dir(directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs")
                    && logs(&std::fs::read_to_string(&path).expect("text"))
                {
                    let module = path.strip_prefix(&source).expect("below").with_extension("");
                    let parts = module.iter().map(|part| part.to_str().expect("text"));
                    let parts: Vec<_> = parts.filter(|part| *part != "mod").collect();
                    found.insert(format!("liftmesh::{}", parts.join("::")));
                }
            }
        }
        assert_eq!(found, TARGETS.map(str::to_owned).into());
    }

    fn logs(source: &str) -> bool {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        ["error!(", "warn!(", "info!(", "debug!(", "trace!("]
            .iter()
            .any(|macro_name| code.contains(macro_name))
    }
}
