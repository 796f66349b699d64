//! TLS: the certificate of `http.certificate`, and its key.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use std::os::unix::fs::OpenOptionsExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use zeroize::Zeroizing;

use crate::fleet_key::{self, FileError};

/// More than a certificate with those that vouch for it needs, and more than a key, in bytes.
const LONGEST: u64 = 256 * 1024;

/// Where certificate and key are, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate, and behind it those that vouch for it.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Why there is no TLS, and so no HTTP.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{what} {path}: {source}", path = path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "http.key {path}: others may read or change it (mode {mode:04o}); fix it with: chmod {fix} \
         {path}", path = path.display()
    )]
    Exposed { path: PathBuf, mode: u32, fix: &'static str },
    #[error(
        "http.key {path}: {whose}; fix it with: chown and chgrp to the node's own user, and chmod 0600",
        path = path.display()
    )]
    Foreign { path: PathBuf, whose: String },
    #[error("{what} {path}: it is not PEM as expected: {source}", path = path.display())]
    Pem { what: &'static str, path: PathBuf, source: pem::Error },
    #[error("http.certificate {path}: there is no certificate in it", path = .0.display())]
    Empty(PathBuf),
    #[error("http.certificate and http.key can't be used together: {0}")]
    Unfit(#[from] rustls::Error),
}

/// Takes connections with this certificate.
///
/// # Errors
/// [`TlsError`].
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let (certificates, key) = (certificates(&files.certificate)?, key(&files.key)?);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The certificates of a file: that of the node comes first.
///
/// # Errors
/// [`TlsError`].
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const WHAT: &str = "http.certificate";
    let bytes = read(WHAT, path, |_| Ok(()))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = certificates.map_err(|source| TlsError::Pem {
        what: WHAT,
        path: path.to_owned(),
        source,
    })?;
    if certificates.is_empty() { Err(TlsError::Empty(path.to_owned())) } else { Ok(certificates) }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    const WHAT: &str = "http.key";
    let bytes = read(WHAT, path, |file| {
        fleet_key::check_secret(path, file).map_err(|refused| of_secret(path, refused))
    })?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|source| TlsError::Pem {
        what: WHAT,
        path: path.to_owned(),
        source,
    })
}

fn of_secret(path: &Path, refused: FileError) -> TlsError {
    let path = path.to_owned();
    match refused {
        FileError::Io { source, .. } => TlsError::Io { what: "http.key", path, source },
        FileError::Exposed { mode, fix, .. } => TlsError::Exposed { path, mode, fix },
        FileError::OtherOwner { owner, .. } => {
            let whose = format!("user {owner}, who is not this node's, can change it");
            TlsError::Foreign { path, whose }
        }
        FileError::OtherGroup { group, .. } => {
            let whose =
                format!("group {group}, to which this node's user does not belong, may read it");
            TlsError::Foreign { path, whose }
        }
        FileError::NoKey { .. } => {
            let source = io::ErrorKind::InvalidInput.into();
            TlsError::Io { what: "http.key", path, source }
        }
    }
}

fn read(
    what: &'static str,
    path: &Path,
    check: impl FnOnce(&File) -> Result<(), TlsError>,
) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    let failed = |source| TlsError::Io { what, path: path.to_owned(), source };
    // A pipe would keep the reader waiting for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is no file")));
    }
    check(&file)?;
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(LONGEST).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A directory with a certificate and its key.
    fn files() -> (tempfile::TempDir, TlsFiles) {
        let directory = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let certificate = directory.path().join("node.crt");
        let key = directory.path().join("node.key");
        fs::write(&certificate, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        (directory, TlsFiles { certificate, key })
    }

    fn why(files: &TlsFiles) -> String {
        acceptor(files).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let (_directory, files) = files();
        assert!(acceptor(&files).is_ok());
        fs::set_permissions(&files.key, Permissions::from_mode(0o644)).unwrap();
        let path = files.key.display();
        let expected = format!(
            "http.key {path}: others may read or change it (mode 0644); fix it with: chmod 0640 {path}"
        );
        assert_eq!(why(&files), expected);
    }

    #[test]
    fn what_is_no_certificate_or_no_key_is_refused() {
        let (_directory, good) = files();
        let (_other_directory, other) = files();
        let mixed = TlsFiles { key: other.key.clone(), ..good.clone() };
        assert!(
            why(&mixed).starts_with("http.certificate and http.key can't be used"),
            "{mixed:?}"
        );
        let swapped = TlsFiles { certificate: good.key.clone(), ..good.clone() };
        assert!(why(&swapped).contains("there is no certificate in it"), "{}", why(&swapped));
        fs::write(&other.key, "nothing").unwrap();
        assert!(why(&other).contains("http.key"), "{}", why(&other));
        let missing = TlsFiles { key: "/nowhere/node.key".into(), ..good };
        assert!(why(&missing).starts_with("http.key /nowhere/node.key: "), "{}", why(&missing));
    }
}
