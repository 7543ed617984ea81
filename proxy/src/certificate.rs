//! The certificate of the TLS listeners: loaded from its files, and replaced without a restart.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwapOption;
use frontdesk_base::date::rfc3339;
use frontdesk_files::{certified_key, valid_until};
use frontdesk_filters::site::Tls;
use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// How long before its end a certificate is warned of. The alert `FrontdeskCertificateEnds` has the same time.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// The certificate in use. Handshakes read it, and a reload replaces it.
#[derive(Debug, Default)]
pub struct Certificate(ArcSwapOption<CertifiedKey>);

impl Certificate {
    /// Loads both files, and uses them only if they match. The error names the file and the reason.
    pub fn load(&self, files: &Tls) -> Result<(), String> {
        self.0.store(Some(Arc::new(certified_key(&files.cert, &files.key)?)));
        Ok(())
    }

    /// Until when it is valid, in seconds since 1970.
    pub fn valid_until(&self) -> Option<u64> {
        valid_until(&self.0.load().as_ref()?.cert)
    }

    /// That it ends soon or has ended, in words for the operator.
    pub fn warning(&self, now: SystemTime) -> Option<String> {
        let end = UNIX_EPOCH.checked_add(Duration::from_secs(self.valid_until()?))?;
        let (at, now_or_soon) = (rfc3339(end), now.checked_add(SOON)?);
        let renewed = "renew it: a changed file is taken into use by itself";
        match (end <= now, end <= now_or_soon) {
            (true, _) => {
                Some(format!("the certificate is not valid any more since {at}, and clients refuse it; {renewed}"))
            }
            (_, true) => Some(format!("the certificate is valid until {at} only; {renewed}")),
            _ => None,
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}
