//! Builds the next configuration: reads, checks and compiles it, and takes over unchanged parts of the running one.

use std::sync::Arc;

use frontdesk_audit as audit;
use frontdesk_filters::{harness::Harness, site::Declaration};
use frontdesk_store::Store;
use tokio::{runtime::Handle, sync::watch};

use super::{Failure, Live, tell_validity};
use crate::{
    handoff::Handoff,
    outbound::{Outbound, transports},
    running::{Homes, Running},
    upstream::Pool,
};

impl Live {
    pub(super) fn next(&self) -> Result<Running, Failure> {
        let declaration = self.source.declare().map_err(|refused| Failure::refused(&refused))?;
        let unusable = |mistake| Failure::unusable(mistake, &declaration);
        let settings = &declaration.settings;
        let current = self.current();
        let pool = if *current.pool.settings() == settings.upstream && same_files(&current, &declaration) {
            current.pool.clone()
        } else {
            Pool::new(&settings.upstream, self.metrics.clone()).map_err(unusable)?
        };
        let store = if current.store.fits(&settings.store) {
            current.store.check(&settings.store).map_err(unusable)?;
            current.store.clone()
        } else {
            let next = Store::open(&settings.store).map_err(unusable)?;
            next.follow(&current.store);
            next
        };
        let audit = open_audit(&declaration, current.audit.as_ref()).map_err(unusable)?;
        let harness =
            open_harness(&declaration, current.harness.as_ref(), &self.outbound, &self.noted).map_err(unusable)?;
        if let Some(tls) = &settings.tls {
            self.certificate.load(tls).map_err(unusable)?;
            tell_validity(&self.certificate, &self.metrics);
        }
        let mut learned = self.state.lock().learned.clone();
        if !Arc::ptr_eq(&pool, &current.pool) {
            // The pages are of another site.
            learned.contents = None;
        }
        // Greet the harness before its first call: one that was not greeted counts as unreachable.
        if let Some(new) =
            harness.as_ref().filter(|new| current.harness.as_ref().is_none_or(|old| !Arc::ptr_eq(old, new)))
            && let Ok(runtime) = Handle::try_current()
        {
            // The harness job logs an unreachable one and greets it again.
            drop(runtime.block_on(new.greet(true)));
        }
        let handoff = Handoff::open(settings.handoff.as_ref(), current.handoff.as_ref(), &self.metrics);
        Ok(Running::new(declaration, &learned, Homes { pool, store, audit, harness, handoff }).after(&current))
    }
}

/// The harness of a configuration. Takes over the current one if its settings have not changed.
pub(super) fn open_harness(
    declaration: &Declaration,
    current: Option<&Arc<Harness>>,
    outbound: &Arc<Outbound>,
    noted: &Arc<watch::Sender<()>>,
) -> Result<Option<Arc<Harness>>, String> {
    let Some(declared) = &declaration.settings.harness else { return Ok(None) };
    if let Some(current) = current.filter(|current| current.declared() == declared) {
        return Ok(Some(current.clone()));
    }
    let token = Some(declared.token.as_str()).filter(|token| !token.is_empty());
    let named = transports::names(&declared.urls).into_iter().zip(&declared.urls);
    let ways = named.map(|(name, url)| Ok((name, transports::way(outbound, url, token)?)));
    let harness = Harness::new(declared.clone(), ways.collect::<Result<_, String>>()?);
    let noted = noted.clone();
    harness.telemetry.on_put(move || noted.send_replace(()));
    harness.telemetry.on_trouble(|harness, why| {
        tracing::warn!(harness, why, "the harness sent no valid decision");
    });
    Ok(Some(Arc::new(harness)))
}

/// The audit log of a declaration. Takes over the current one if its settings have not changed.
pub(super) fn open_audit(
    declaration: &Declaration,
    present: Option<&Arc<audit::Log>>,
) -> Result<Option<Arc<audit::Log>>, String> {
    let Some(settings) = &declaration.settings.audit else { return Ok(None) };
    match present.filter(|log| log.fits(settings)) {
        Some(log) => Ok(Some(log.clone())),
        None => audit::Log::open(settings).map(Some),
    }
}

/// Whether the upstream's certificate files have the same content: they may change under the same names.
fn same_files(current: &Running, next: &Declaration) -> bool {
    let upstream = &next.settings.upstream;
    let none = upstream.ca.is_none() && upstream.client_cert.is_none();
    none || current.snapshot.hash == next.hash
}
