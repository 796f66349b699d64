//! Where the socket goes when the disk of the data directory takes none (P5).

use std::path::{Component, Path, PathBuf};

const VARIABLE: &str = "XDG_RUNTIME_DIR";

const PROGRAM: &str = "liftmesh";

/// The runtime directory of the service, which needs no variable.
const SERVICE: &str = "/run/liftmesh";

/// The substitutes for a data directory, best first, which node and client find by themselves.
pub(crate) fn stand_ins(data_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let user = std::env::var_os(VARIABLE).map(PathBuf::from);
    let user = user.filter(|path| path.is_absolute());
    let user = user.map(|path| path.join(PROGRAM));
    let below = tail(data_dir);
    user.into_iter().chain([PathBuf::from(SERVICE)]).map(move |directory| directory.join(&below))
}

fn tail(data_dir: &Path) -> PathBuf {
    let absolute = data_dir
        .canonicalize()
        .or_else(|_| std::path::absolute(data_dir))
        .unwrap_or_else(|_| data_dir.to_owned());
    let named = |part: &Component<'_>| matches!(part, Component::Normal(_));
    absolute.components().filter(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_directory_has_one_place_however_it_is_spelled() {
        let directory = tempfile::tempdir().unwrap();
        let data_dir = directory.path().join("data");
        std::fs::create_dir(&data_dir).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&data_dir, &link).unwrap();
        assert_eq!(tail(&data_dir), tail(&link));
        assert_eq!(tail(&data_dir), tail(&link.join("../data/.")));
        assert!(tail(&data_dir).is_relative());
        let service = stand_ins(&data_dir).last().unwrap();
        assert_eq!(service, Path::new(SERVICE).join(tail(&data_dir)));
    }
}
