//! What proves the node to the broker, and the broker to the node: read anew for each connection, so
//! that a changed password or certificate needs no restart.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rumqttc::v5::MqttOptions;
use rustls::ClientConfig;
use zeroize::Zeroizing;

use super::broker::Encryption;
use crate::credentials::{self, CredentialsError};

/// How long the disk may take.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// What the configuration says.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) encryption: Encryption,
    pub(crate) username: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
}

/// The password and the certificates, where they are needed.
type Proof = (Option<Zeroizing<String>>, Option<Arc<ClientConfig>>);

impl Access {
    /// Puts the password into the options of a connection, and returns whom to trust, if it is over TLS.
    ///
    /// # Errors
    /// [`CredentialsError`]
    pub(super) async fn apply(
        &self,
        options: &mut MqttOptions,
    ) -> Result<Option<Arc<ClientConfig>>, CredentialsError> {
        let access = self.clone();
        let read = tokio::task::spawn_blocking(move || access.read());
        let read = tokio::time::timeout(READ_LIMIT, read).await;
        let (password, tls) = read
            .map_err(|_late| CredentialsError::NoAnswer)?
            .map_err(|_failed| CredentialsError::NoAnswer)??;
        if let Some(username) = &self.username {
            options.set_credentials(username, password.as_ref().map_or("", |word| word.as_str()));
        }
        Ok(tls)
    }

    fn read(&self) -> Result<Proof, CredentialsError> {
        let password = self.password_file.as_deref().map(credentials::password).transpose()?;
        let tls = match self.encryption {
            Encryption::None => None,
            Encryption::Tls => Some(Arc::new(credentials::tls(self.ca_file.as_deref())?)),
        };
        Ok((password, tls))
    }
}
