//! What is logged, as `log.filter` says it.

use tracing_subscriber::filter::Targets;

/// The lines to log, such as `info,liftmesh::mesh=debug`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogFilter(pub(super) Targets);

impl LogFilter {
    /// `None` if a part of the text is no level and no module of this program.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.replace(' ', "");
        // To the parser an empty part is a level, too.
        let has_all = text.split([',', '=']).all(|part| !part.is_empty());
        let targets = text.parse::<Targets>().ok().filter(|_| has_all)?;
        let is_ours = |target: &str| target == "liftmesh" || target.starts_with("liftmesh::");
        targets.iter().all(|(target, _)| is_ours(target)).then_some(Self(targets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_nothing_is_refused() {
        let right = "info WARN off info,liftmesh::mesh=debug liftmesh=debug liftmesh::runtime";
        for right in right.split(' ').chain(["warn, liftmesh::mesh::link=trace"]) {
            assert!(LogFilter::new(right).is_some(), "{right}");
        }
        let wrong = "inof info, a=loud liftmesh=inof info,tokio=debug info,[span]=debug =info \
                     liftmesh::mesh=";
        for wrong in wrong.split(' ').chain([""]) {
            assert!(LogFilter::new(wrong).is_none(), "{wrong}");
        }
    }
}
