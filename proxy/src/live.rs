//! The configuration in use: one pointer, which a reload swaps as a transaction (decision 0009).
//!
//! A reload reads, checks, compiles and swaps. If it fails, the running configuration stays, and the log, /config,
//! /readyz and the metrics report the failure.

mod config_thread;
mod failure;
mod learned;
mod next;
mod reading;
mod retired_harnesses;

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use frontdesk_filters::concierge::Library;
use frontdesk_filters::desk::unread_library;
use frontdesk_filters::dialect;
use frontdesk_filters::{
    Learned,
    site::{Listen, Outline, Settings},
};
use frontdesk_store::Store;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    certificate::Certificate,
    handoff::Handoff,
    metrics::Metrics,
    outbound::Outbound,
    running::{Homes, Running},
    source::{Source, lines as told},
    sys::give_back,
    upstream::Pool,
};

use config_thread::drop_unused;
pub use config_thread::on_config_thread;
pub use failure::Failure;
use next::{open_audit, open_harness};
pub use reading::{Reading, Stage, shown};
use retired_harnesses::RetiredHarnesses;

/// The running configuration, and the means to replace it.
pub struct Live {
    source: Source,
    current: ArcSwap<Running>,
    metrics: Arc<Metrics>,
    certificate: Arc<Certificate>,
    outbound: Arc<Outbound>,
    /// The addresses that the process listens on. They stay as they were at the start.
    bound: Listen,
    /// The configured number of worker threads at the start.
    threads: usize,
    /// Allows one reload at a time, file reads included. No request takes it.
    reloading: Mutex<()>,
    /// The outcome of the last reload. Held only to read or write it.
    state: Mutex<State>,
    /// Notified of every swap.
    swapped: watch::Sender<()>,
    /// Notified of swaps that changed the upstreams or how they are probed.
    repooled: watch::Sender<()>,
    /// Notified of swaps that changed the key URLs, and of requests with unknown keys.
    keys_wanted: watch::Sender<()>,
    /// When a request last made us fetch keys.
    wanted: Mutex<Option<Instant>>,
    /// Notified when there are events for a harness.
    noted: Arc<watch::Sender<()>>,
    earlier: RetiredHarnesses,
    /// The site's pages. Outlives a swap.
    library: ArcSwap<Library>,
    /// The crawl's progress. Held only to read or write it.
    reading: Mutex<Reading>,
}

/// How soon a request with an unknown key may trigger another fetch.
const WANTED_AGAIN: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    learned: Learned,
    failure: Option<Failure>,
    /// What a reload wanted to change and could not.
    not_swapped: Vec<String>,
}

impl Live {
    /// Loads the first configuration. Without one the process cannot run.
    pub fn start(source: Source, metrics: Arc<Metrics>, outbound: Arc<Outbound>) -> Result<Arc<Self>, Vec<String>> {
        let declaration = source.declare().map_err(|refused| told(&refused))?;
        let certificate = Arc::new(Certificate::default());
        if let Some(tls) = &declaration.settings.tls {
            certificate.load(tls).map_err(|e| vec![e])?;
            tell_validity(&certificate, &metrics);
        }
        let pool = Pool::new(&declaration.settings.upstream, metrics.clone()).map_err(|e| vec![e])?;
        let store = Store::open(&declaration.settings.store).map_err(|e| vec![e])?;
        let (bound, threads) = (declaration.settings.listen.clone(), declaration.settings.threads);
        let audit = open_audit(&declaration, None).map_err(|e| vec![e])?;
        let noted = Arc::new(watch::Sender::new(()));
        let harness = open_harness(&declaration, None, &outbound, &noted).map_err(|e| vec![e])?;
        let handoff = Handoff::open(declaration.settings.handoff.as_ref(), None, &metrics);
        let homes = Homes { pool, store, audit, harness, handoff };
        let running = Running::new(declaration, &Learned::default(), homes);
        running.pool.show(None);
        metrics.reloaded(true, seconds(running.since));
        declare(&metrics, &running);
        give_back();
        let unread = unread_library(&running.snapshot.settings);
        Ok(Arc::new(Self {
            source,
            current: ArcSwap::from_pointee(running),
            metrics,
            certificate,
            outbound,
            bound,
            threads,
            reloading: Mutex::new(()),
            state: Mutex::default(),
            swapped: watch::Sender::new(()),
            repooled: watch::Sender::new(()),
            keys_wanted: watch::Sender::new(()),
            wanted: Mutex::default(),
            noted,
            earlier: RetiredHarnesses::default(),
            library: ArcSwap::from_pointee(unread),
            reading: Mutex::default(),
        }))
    }

    /// The configuration in use. The returned pointer keeps it alive after a swap.
    pub fn current(&self) -> Arc<Running> {
        self.current.load_full()
    }

    /// Borrows the configuration for a moment, which is cheaper than cloning the pointer.
    pub fn look<T>(&self, at: impl FnOnce(&Running) -> T) -> T {
        at(&self.current.load())
    }

    /// The pages of the site that the crawler has read so far.
    pub fn library(&self) -> Arc<Library> {
        self.library.load_full()
    }

    /// Wakes subscribers after every swap.
    pub fn swaps(&self) -> watch::Receiver<()> {
        self.swapped.subscribe()
    }

    /// Wakes subscribers after a change of the upstreams.
    pub fn new_upstreams(&self) -> watch::Receiver<()> {
        self.repooled.subscribe()
    }

    /// Wakes the job that fetches keys.
    pub fn keys_wanted(&self) -> watch::Receiver<()> {
        self.keys_wanted.subscribe()
    }

    /// Wakes the job that sends events to harnesses.
    pub fn notes(&self) -> watch::Receiver<()> {
        self.noted.subscribe()
    }

    /// Requests a fetch after a request with an unknown key. The rate is limited: strangers' keys must not make us
    /// flood the servers that publish keys.
    pub fn want_keys(&self) {
        let mut wanted = self.wanted.lock();
        if wanted.is_none_or(|at| at.elapsed() >= WANTED_AGAIN) {
            *wanted = Some(Instant::now());
            self.keys_wanted.send_replace(());
        }
    }

    /// Whether the configuration on the disk differs from the running one and was not yet refused.
    pub fn has_news(&self) -> bool {
        match self.source.declare() {
            Ok(declaration) => match self.failure() {
                // This declaration was tried and failed. Only a different one is new.
                Some(failure) => !failure.is_of(&declaration),
                None => declaration.hash != self.current().snapshot.hash,
            },
            // Log a mistake once. A file that is still wrong in the same way is not new.
            Err(refused) => self.failure().is_none_or(|failure| !failure.says(&refused)),
        }
    }

    /// The configuration's file; `None` for a text from the command line.
    pub fn file(&self) -> Option<&Path> {
        self.source.text.is_none().then_some(self.source.path.as_path())
    }

    /// The file's path, or the name of the text.
    pub fn name(&self) -> &Path {
        &self.source.path
    }

    /// The outline of the file as it is now, mistakes included; `None` without a file. Blocks on the disk.
    pub fn outline(&self) -> Option<io::Result<Outline>> {
        self.source.outline()
    }

    /// The certificate for new TLS handshakes.
    pub fn certificate(&self) -> Arc<Certificate> {
        self.certificate.clone()
    }

    /// The addresses that the process listens on.
    pub fn bound(&self) -> &Listen {
        &self.bound
    }

    /// Why the last reload failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.state.lock().failure.clone()
    }

    /// Settings in the file that need a restart.
    pub fn not_swapped(&self) -> Vec<String> {
        self.state.lock().not_swapped.clone()
    }

    /// Reads everything again and swaps it in. `Err` says why not; the running configuration stays.
    /// Blocks on files: do not call this on a worker thread.
    pub fn reload(&self) -> Result<(), Failure> {
        let _one = self.reloading.lock();
        match self.next() {
            Ok(running) => {
                let not_swapped = self.unswappable(&running.snapshot.settings);
                for what in &not_swapped {
                    tracing::warn!("{what}");
                }
                tracing::info!(hash = running.short_hash(), "a new configuration is in use");
                self.metrics.reloaded(true, seconds(running.since));
                let before = self.current.swap(Arc::new(running));
                let now = self.current();
                if !before.snapshot.settings.store.is_same_place(&now.snapshot.settings.store) {
                    tracing::warn!(
                        "[store] now names another store, which knows none of the old one's idempotency keys: an \
                         action that a client retries with its key may run again"
                    );
                }
                now.store.adopt(&now.snapshot.settings.store);
                drop(now);
                declare(&self.metrics, &self.current());
                let pool = self.current().pool.clone();
                if !Arc::ptr_eq(&before.pool, &pool) {
                    pool.show(Some(&before.pool));
                    drop_unused(self.library.swap(Arc::new(unread_library(&self.current().snapshot.settings))));
                    self.state.lock().learned.contents = None;
                }
                let asked = |running: &Running| dialect::probes(&running.snapshot.settings);
                if !Arc::ptr_eq(&before.pool, &pool) || asked(&before) != asked(&self.current()) {
                    self.repooled.send_replace(());
                }
                if before.snapshot.settings.key_urls() != self.current().snapshot.settings.key_urls() {
                    self.keys_wanted.send_replace(());
                }
                self.earlier.swapped(&before, &self.current());
                drop_unused(before);
                let mut state = self.state.lock();
                state.not_swapped = not_swapped;
                state.failure = None;
                drop(state);
                self.swapped.send_replace(());
                Ok(())
            }
            Err(failure) => {
                failure.log();
                self.metrics.reloaded(false, 0.0);
                self.state.lock().failure = Some(failure.clone());
                Err(failure)
            }
        }
    }

    /// The settings that need a restart, one sentence each.
    fn unswappable(&self, wanted: &Settings) -> Vec<String> {
        let listen = self.bound.bound_differently(&wanted.listen).into_iter().map(|key| format!("listen.{key}"));
        let threads = (self.threads != wanted.threads).then(|| "runtime.threads".to_owned());
        let sentence = |key| format!("{key} has changed in the file, which takes a restart; the old one stays in use");
        listen.chain(threads).map(sentence).collect()
    }
}

/// Declares the capabilities to the metrics.
fn declare(metrics: &Metrics, running: &Running) {
    metrics.declared(running.snapshot.settings.capabilities.iter().map(|capability| capability.id.as_str()));
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Shows until when the certificate is valid, and warns of its end.
fn tell_validity(certificate: &Certificate, metrics: &Metrics) {
    metrics.certificate_valid_until(certificate.valid_until().unwrap_or(0));
    if let Some(warning) = certificate.warning(SystemTime::now()) {
        tracing::warn!("tls.cert: {warning}");
    }
}

/// When the process started.
pub fn started() -> Instant {
    static STARTED: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}
