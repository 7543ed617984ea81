//! The certificate of the TLS listeners: loaded from its files, and replaced without a restart.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use frontdesk_files::certified_key;
use frontdesk_filters::site::Tls;
use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// The certificate in use. Handshakes read it, and a reload replaces it.
#[derive(Debug, Default)]
pub struct Certificate(ArcSwapOption<CertifiedKey>);

impl Certificate {
    /// Loads both files, and uses them only if they match. The error names the file and the reason.
    pub fn load(&self, files: &Tls) -> Result<(), String> {
        self.0.store(Some(Arc::new(certified_key(&files.cert, &files.key)?)));
        Ok(())
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}
