//! The certificate of `http.certificate`: whether it and its key belong together, and until when it
//! counts.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::geteuid;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

use super::Verdict;
use crate::fleet_key::FileError;
use crate::http::TlsFiles;
use crate::http::tls::{self, TlsError, certificates};

/// A certificate that expires sooner is a matter for today.
const SOON: Duration = Duration::from_hours(30 * 24);

/// `owner` is whose the data directory is.
pub(super) fn certificate(files: &TlsFiles, address: SocketAddr, owner: Option<u32>) -> Verdict {
    if let Err(error) = tls::check(files) {
        let is_private = match &error {
            TlsError::Key(FileError::OtherOwner { .. }) => true,
            TlsError::Io { source, .. } => source.kind() == ErrorKind::PermissionDenied,
            TlsError::Key(_) | TlsError::Pem { .. } | TlsError::Empty(_) | TlsError::Unfit(_) => {
                false
            }
        };
        if is_private && owner != Some(geteuid().as_raw()) {
            return Verdict::unchecked(
                "whether the node can read the key depends on its user: run this as that user",
            );
        }
        return Verdict::of_error(&error, "give the node a certificate and its key");
    }
    match certificates(&files.certificate) {
        Ok(chain) => judge(&chain, address, SystemTime::now()),
        Err(_) => Verdict::unchecked("the certificate is being replaced"),
    }
}

/// Of the first certificate of a chain, at a time. Who has signed it is for clients to judge.
fn judge(chain: &[CertificateDer<'static>], address: SocketAddr, now: SystemTime) -> Verdict {
    const REMEDY: &str = "have its authority renew it, and restart the node";
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let Ok(verifier) = verifier else {
        return Verdict::unchecked("this kind of certificate can't be checked");
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let fault_at = |time: Duration| {
        let (time, name) = (UnixTime::since_unix_epoch(time), ServerName::from(address.ip()));
        match verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], time) {
            Err(Error::InvalidCertificate(fault)) => Some(fault),
            Ok(_) | Err(_) => None,
        }
    };
    match fault_at(now) {
        Some(CertificateError::NotValidYetContext { .. }) => {
            return Verdict::wrong("the certificate is not valid yet", "set the clock");
        }
        Some(CertificateError::NotValidForNameContext { .. }) => {
            return Verdict::warning(
                format!("the certificate is not for {}, where the node listens", address.ip()),
                "ignore this if clients use a name in the certificate",
            );
        }
        Some(_) | None => {}
    }
    let Some(CertificateError::ExpiredContext { not_after, .. }) =
        fault_at(Duration::from_secs(u64::MAX))
    else {
        return Verdict::good("the certificate matches its key");
    };
    let end = Duration::from_secs(not_after.as_secs());
    let shown = humantime::format_rfc3339_seconds(UNIX_EPOCH + end);
    match end.checked_sub(now) {
        None => Verdict::wrong(format!("the certificate expired at {shown}"), REMEDY),
        Some(left) if left < SOON => {
            Verdict::warning(format!("the certificate expires at {shown}"), REMEDY)
        }
        Some(_) => {
            Verdict::good(format!("the certificate matches its key and is valid until {shown}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_counts_from_its_first_day_to_its_last() {
        let mut params = CertificateParams::new(["10.0.0.1".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2027, 1, 1);
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let chain = [made.der().clone()];
        for (host, day, verdict) in [
            ("10.0.0.1", "2026-05-01", "is valid until 2027-01-01"),
            ("10.0.0.1", "2025-12-31", "is not valid yet"),
            ("10.0.0.1", "2026-12-20", "expires at 2027-01-01"),
            ("10.0.0.1", "2027-01-02", "expired at 2027-01-01"),
            ("10.0.0.2", "2026-05-01", "is not for 10.0.0.2"),
        ] {
            let time = humantime::parse_rfc3339(&format!("{day}T00:00:00Z")).unwrap();
            let judged = judge(&chain, format!("{host}:7080").parse().unwrap(), time);
            assert!(judged.what.contains(verdict), "{day}: {judged:?}");
        }
    }
}
