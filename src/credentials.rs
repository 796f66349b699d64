//! Passwords and tokens in files, and the authorities whose certificates count.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

/// More than a secret or a file of certificates needs, in bytes.
const LONGEST: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{}: others may read or change it (mode {mode:04o}); fix it with: chmod o= {}",
        path.display(), path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{}: it must be one line of text", path.display())]
    NoPassword { path: PathBuf },
    #[error("{}: it contains no PEM certificate", path.display())]
    NoCertificate { path: PathBuf },
    #[error(
        "the system has no CA certificates: name a file with some (mqtt.ca_file, alerts.ca_file or --ca)"
    )]
    NoAuthorities,
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the disk does not answer")]
    NoAnswer,
}

/// Reads a password or a token: the one line of a file that other users can't read.
pub(crate) fn password(path: &Path) -> Result<Zeroizing<String>, CredentialsError> {
    let (bytes, about) = contents(path)?;
    let mode = about.mode() & 0o7777;
    if mode & 0o007 != 0 {
        return Err(CredentialsError::Exposed { path: path.to_owned(), mode });
    }
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let word = text.strip_suffix('\n').unwrap_or(text);
    let word = word.strip_suffix('\r').unwrap_or(word);
    if word.is_empty() || word.chars().any(char::is_control) {
        return Err(CredentialsError::NoPassword { path: path.to_owned() });
    }
    Ok(Zeroizing::new(word.to_owned()))
}

pub(crate) fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, CredentialsError> {
    let mut authorities = RootCertStore::empty();
    if let Some(path) = ca_file {
        let no_certificate = || CredentialsError::NoCertificate { path: path.to_owned() };
        let (bytes, _) = contents(path)?;
        for certificate in CertificateDer::pem_slice_iter(&bytes) {
            let certificate = certificate.map_err(|_error| no_certificate())?;
            authorities.add(certificate)?;
        }
        if authorities.is_empty() {
            return Err(no_certificate());
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        authorities.add_parsable_certificates(found.certs);
        if authorities.is_empty() {
            return Err(CredentialsError::NoAuthorities);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(authorities).with_no_client_auth())
}

fn contents(path: &Path) -> Result<(Zeroizing<Vec<u8>>, Metadata), CredentialsError> {
    read_file(path).map_err(|source| CredentialsError::Io { path: path.to_owned(), source })
}

/// The bytes of a file, and what the system says of it; `InvalidInput` if it is something else.
pub(crate) fn read_file(path: &Path) -> io::Result<(Zeroizing<Vec<u8>>, Metadata)> {
    // A pipe would keep the reader waiting for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok((bytes, about))
}

/// A secret as text: what it begins with, and hexadecimal digits.
pub(crate) fn secret_text(prefix: &str, secret: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + 2 * secret.len()));
    text.push_str(prefix);
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
    for byte in secret {
        text.extend([digit(byte >> 4), digit(byte & 0xf)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn written(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("password");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (place, path)
    }

    #[test]
    fn a_password_is_a_line_that_others_can_not_read() {
        let (_place, path) = written("open sesame\n", 0o640);
        assert_eq!(password(&path).unwrap().as_str(), "open sesame");
        let (_place, path) = written("open sesame\n", 0o644);
        let refused = password(&path).unwrap_err().to_string();
        assert!(refused.contains("(mode 0644); fix it with: chmod o= "), "{refused}");
        for wrong in ["", "\n", "two\nlines\n"] {
            let (_place, path) = written(wrong, 0o600);
            assert!(
                matches!(password(&path), Err(CredentialsError::NoPassword { .. })),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn an_authority_is_a_certificate() {
        let (place, path) = written("-----BEGIN NOTHING-----\n", 0o644);
        assert!(matches!(tls(Some(&path)), Err(CredentialsError::NoCertificate { .. })));
        assert!(matches!(tls(Some(place.path())), Err(CredentialsError::Io { .. })));
    }
}
