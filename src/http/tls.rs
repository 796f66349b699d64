//! TLS: the certificate of `http.certificate`, and its key, read again and again.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tracing::{error, info, warn};
use zeroize::Zeroizing;

use crate::credentials::read_file;
use crate::fleet_key::{self, FileError};

/// Between two looks at the files, also at some that could not be used.
const LOOK_EVERY: Duration = Duration::from_secs(10);

const CERTIFICATE: &str = "http.certificate";
const KEY: &str = "http.key";

/// Where certificate and key are, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate, followed by the intermediate certificates.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Why there is no TLS, and so no HTTP; or why a certificate is not replaced.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{what} {path}: {source}", path = path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{KEY}{}", .0.to_string().trim_start_matches("fleet key"))]
    Key(FileError),
    #[error("{what} {path}: it is not PEM as expected: {source}", path = path.display())]
    Pem { what: &'static str, path: PathBuf, source: pem::Error },
    #[error("{CERTIFICATE} {path}: it contains no certificate", path = .0.display())]
    Empty(PathBuf),
    #[error("http.certificate and http.key can't be used together: {0}")]
    Unfit(#[from] rustls::Error),
}

/// A certificate that is replaced when its files change, so that a renewal stops no car.
pub(crate) struct Renewal {
    files: TlsFiles,
    /// Of what the files had when they were last used.
    used: blake3::Hash,
    /// Why others are not used, as the log has it.
    refused: Option<String>,
    acceptor: watch::Sender<TlsAcceptor>,
}

impl Renewal {
    pub(crate) async fn begin(files: TlsFiles) -> Result<Self, TlsError> {
        let (used, acceptor) = read_all(&files).await?;
        Ok(Self { files, used, refused: None, acceptor: watch::Sender::new(acceptor) })
    }

    /// The same, again and again until they can be used.
    pub(crate) async fn insist(files: TlsFiles) -> Self {
        let mut known = None;
        loop {
            let reason = match Self::begin(files.clone()).await {
                Ok(renewal) => return renewal,
                Err(refused) => Some(refused.to_string()),
            };
            if known != reason {
                let (reason, retry_s) = (reason.as_deref(), LOOK_EVERY.as_secs());
                error!(reason, retry_s, "the HTTP server can't be started: trying again");
            }
            known = reason;
            sleep(LOOK_EVERY).await;
        }
    }

    /// What takes connections, with the latest certificate that could be used.
    pub(crate) fn acceptor(&self) -> watch::Receiver<TlsAcceptor> {
        self.acceptor.subscribe()
    }

    pub(crate) async fn run(mut self) {
        loop {
            sleep(LOOK_EVERY).await;
            self.look().await;
        }
    }

    async fn look(&mut self) {
        let refused = match read_all(&self.files).await {
            Ok((read, acceptor)) => {
                if read != self.used {
                    self.used = read;
                    self.acceptor.send_replace(acceptor);
                    info!("new HTTP connections get the renewed certificate");
                }
                None
            }
            // They are read again at the next look: key and certificate are not replaced at once.
            Err(refused) => Some(refused.to_string()),
        };
        if let Some(reason) = refused.as_deref().filter(|_| self.refused != refused) {
            warn!(reason, "the renewed certificate can't be used: serving with the old one");
        }
        self.refused = refused;
    }
}

/// What takes connections with these files, and the hash of what they have.
async fn read_all(files: &TlsFiles) -> Result<(blake3::Hash, TlsAcceptor), TlsError> {
    let blocking = files.clone();
    spawn_blocking(move || load(&blocking)).await.unwrap_or_else(|panicked| {
        let (path, source) = (files.certificate.clone(), io::Error::other(panicked));
        Err(TlsError::Io { what: CERTIFICATE, path, source })
    })
}

fn load(files: &TlsFiles) -> Result<(blake3::Hash, TlsAcceptor), TlsError> {
    let TlsFiles { certificate, key } = files;
    let chain = certificates(certificate)?;
    let (bytes, about) = read(KEY, key)?;
    fleet_key::check_secret(key, &about).map_err(TlsError::Key)?;
    let pem = |source| TlsError::Pem { what: KEY, path: key.clone(), source };
    let secret = PrivateKeyDer::from_pem_slice(&bytes).map_err(pem)?;
    let mut hasher = blake3::Hasher::new();
    chain.iter().map(AsRef::as_ref).chain([secret.secret_der()]).for_each(|der: &[u8]| {
        hasher.update(der);
    });
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((hasher.finalize(), TlsAcceptor::from(Arc::new(config))))
}

pub(crate) fn check(files: &TlsFiles) -> Result<(), TlsError> {
    load(files).map(drop)
}

/// The certificates of a file: that of the node comes first.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let (bytes, _) = read(CERTIFICATE, path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let pem = |source| TlsError::Pem { what: CERTIFICATE, path: path.to_owned(), source };
    let certificates = certificates.map_err(pem)?;
    if certificates.is_empty() { Err(TlsError::Empty(path.to_owned())) } else { Ok(certificates) }
}

fn read(what: &'static str, path: &Path) -> Result<(Zeroizing<Vec<u8>>, Metadata), TlsError> {
    read_file(path).map_err(|source| TlsError::Io { what, path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

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

    /// The tests of processes show that connections get it.
    #[tokio::test]
    async fn a_renewed_certificate_is_used_once_its_key_is_there() {
        let [(_one, files), (_two, renewed)] = [files(), files()];
        let mut renewal = Renewal::begin(files.clone()).await.unwrap();
        let before = renewal.used;
        fs::copy(&renewed.certificate, &files.certificate).unwrap();
        renewal.look().await;
        assert!(renewal.refused.is_some() && renewal.used == before);
        fs::copy(&renewed.key, &files.key).unwrap();
        renewal.look().await;
        assert!(renewal.refused.is_none() && renewal.used != before);
    }

    fn why(files: &TlsFiles) -> String {
        check(files).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_certificate_or_no_key_is_refused() {
        let (_directory, good) = files();
        let (_other_directory, other) = files();
        assert!(check(&good).is_ok());
        let mixed = TlsFiles { key: other.key.clone(), ..good.clone() };
        assert!(
            why(&mixed).starts_with("http.certificate and http.key can't be used"),
            "{mixed:?}"
        );
        let swapped = TlsFiles { certificate: good.key.clone(), ..good.clone() };
        assert!(why(&swapped).contains("it contains no certificate"), "{}", why(&swapped));
        fs::write(&other.key, "nothing").unwrap();
        assert!(why(&other).contains("http.key"), "{}", why(&other));
        let missing = TlsFiles { key: "/nowhere/node.key".into(), ..good.clone() };
        assert!(why(&missing).starts_with("http.key /nowhere/node.key: "), "{}", why(&missing));
        fs::set_permissions(&good.key, Permissions::from_mode(0o644)).unwrap();
        let path = good.key.display();
        let expected = format!(
            "http.key {path}: others may read or change it (mode 0644); fix it with: chmod 0640 {path}"
        );
        assert_eq!(why(&good), expected);
    }
}
