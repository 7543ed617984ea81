//! The configuration in use: one pointer, swapped as a transaction (decision 9).
//!
//! Read, check, compile, swap. A failure keeps the running one, and is told to the log, to /config, to /readyz and to
//! the metrics.

use std::{
    path::Path,
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use frontdesk_filters::{
    dialect::Occupied,
    site::{Declaration, Listen, Mistake, Snapshot},
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    admin::metrics::Metrics,
    certificate::Certificate,
    source::{Source, lines},
    upstream::Pool,
};

/// What a request runs on, from its first byte to its last.
pub struct Running {
    pub snapshot: Snapshot,
    pub pool: Arc<Pool>,
    /// What both were made from; it is compiled again when the site's own documents come or go.
    pub declaration: Declaration,
    pub since: SystemTime,
}

/// Why the last reload failed.
#[derive(Debug, Clone)]
pub struct Failure {
    pub at: SystemTime,
    pub mistakes: Vec<String>,
    /// The hash of the declaration, where it could be read but not be used.
    tried: Option<String>,
}

/// The running configuration and the way to the next.
pub struct Live {
    source: Source,
    current: ArcSwap<Running>,
    metrics: Arc<Metrics>,
    certificate: Arc<Certificate>,
    /// What the process listens on; it stays as it was at the start.
    bound: Listen,
    /// One reload at a time, files and all; never taken by a request.
    reloading: Mutex<()>,
    /// What the last reload learned; held only to read or write it.
    state: Mutex<State>,
    /// Told of every swap.
    swapped: watch::Sender<()>,
    /// Told of swaps that changed the upstreams.
    repooled: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    occupied: Occupied,
    failure: Option<Failure>,
    /// What a reload wanted to change and could not.
    not_swapped: Vec<String>,
}

impl Live {
    /// Loads the first configuration; without one there is nothing to run.
    pub fn start(source: Source, metrics: Arc<Metrics>) -> Result<Arc<Self>, Vec<String>> {
        let declaration = source.declare().map_err(|refused| lines(&refused))?;
        let certificate = Arc::new(Certificate::default());
        if let Some(tls) = &declaration.settings.tls {
            certificate.load(tls).map_err(|e| vec![e])?;
        }
        let pool = Pool::new(&declaration.settings.upstream, metrics.clone()).map_err(|e| vec![e])?;
        let bound = declaration.settings.listen.clone();
        let running = Running::new(declaration, &Occupied::default(), pool);
        running.pool.show(None);
        metrics.reloaded(true, seconds(running.since));
        Ok(Arc::new(Self {
            source,
            current: ArcSwap::from_pointee(running),
            metrics,
            certificate,
            bound,
            reloading: Mutex::new(()),
            state: Mutex::default(),
            swapped: watch::Sender::new(()),
            repooled: watch::Sender::new(()),
        }))
    }

    /// The configuration in use. Holding it keeps it whole, whatever is swapped in meanwhile.
    pub fn current(&self) -> Arc<Running> {
        self.current.load_full()
    }

    /// Wakes whoever has to follow a swap.
    pub fn swaps(&self) -> watch::Receiver<()> {
        self.swapped.subscribe()
    }

    /// Wakes whoever has to follow other upstreams.
    pub fn new_upstreams(&self) -> watch::Receiver<()> {
        self.repooled.subscribe()
    }

    /// Whether what is there now differs from what is running and could be taken into use.
    pub fn has_news(&self) -> bool {
        match self.source.declare() {
            Ok(declaration) => match self.failure() {
                // Tried, and it could not be used: only something else is news.
                Some(failure) => failure.tried.as_ref() != Some(&declaration.hash),
                None => declaration.hash != self.current().snapshot.hash,
            },
            // Said once; a file that is still wrong in the same way is no news.
            Err(refused) => self.failure().is_none_or(|f| f.mistakes != lines(&refused)),
        }
    }

    /// The file behind it; `None` for a text from the command line.
    pub fn file(&self) -> Option<&Path> {
        self.source.text.is_none().then_some(self.source.path.as_path())
    }

    /// The file's path, or the name of the text.
    pub fn name(&self) -> &Path {
        &self.source.path
    }

    /// The certificate that handshakes use.
    pub fn certificate(&self) -> Arc<Certificate> {
        self.certificate.clone()
    }

    /// What the process listens on.
    pub fn bound(&self) -> &Listen {
        &self.bound
    }

    /// Why the last reload failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.state.lock().failure.clone()
    }

    /// What the file says and the process cannot follow without a restart.
    pub fn not_swapped(&self) -> Vec<String> {
        self.state.lock().not_swapped.clone()
    }

    /// Reads everything anew and swaps it in. `Err` holds the mistakes; the running configuration stays.
    /// Blocks on files: not for a worker thread.
    pub fn reload(&self) -> Result<(), Vec<String>> {
        let _one = self.reloading.lock();
        match self.next() {
            Ok(running) => {
                let not_swapped = unswappable(&self.bound, &running.snapshot.settings.listen);
                for what in &not_swapped {
                    tracing::warn!("{what}");
                }
                tracing::info!(hash = running.short_hash(), "a new configuration is in use");
                self.metrics.reloaded(true, seconds(running.since));
                let before = self.current.swap(Arc::new(running));
                let pool = self.current().pool.clone();
                if !Arc::ptr_eq(&before.pool, &pool) {
                    pool.show(Some(&before.pool));
                    self.repooled.send_replace(());
                }
                let mut state = self.state.lock();
                state.not_swapped = not_swapped;
                state.failure = None;
                drop(state);
                self.swapped.send_replace(());
                Ok(())
            }
            Err(Unusable { mistakes, tried }) => {
                for mistake in &mistakes {
                    tracing::error!("{mistake}");
                }
                let count = mistakes.len();
                tracing::error!(mistakes = count, "the configuration was not taken into use; the running one stays");
                self.metrics.reloaded(false, 0.0);
                self.state.lock().failure = Some(Failure { at: SystemTime::now(), mistakes: mistakes.clone(), tried });
                Err(mistakes)
            }
        }
    }

    fn next(&self) -> Result<Running, Unusable> {
        let declaration =
            self.source.declare().map_err(|refused| Unusable { mistakes: lines(&refused), tried: None })?;
        let unusable = |mistake| Unusable { mistakes: vec![mistake], tried: Some(declaration.hash.clone()) };
        let settings = &declaration.settings;
        let current = self.current();
        let pool = if *current.pool.settings() == settings.upstream && same_files(&current, &declaration) {
            current.pool.clone()
        } else {
            Pool::new(&settings.upstream, self.metrics.clone()).map_err(unusable)?
        };
        if let Some(tls) = &settings.tls {
            self.certificate.load(tls).map_err(unusable)?;
        }
        let occupied = self.state.lock().occupied.clone();
        Ok(Running::new(declaration, &occupied, pool))
    }

    /// Takes note of where the site behind `pool` has documents of its own; ours move out of their way, or back.
    /// Blocks while another reload runs: not for a worker thread.
    pub fn occupy(&self, occupied: Occupied, pool: &Arc<Pool>) {
        let _one = self.reloading.lock();
        let current = self.current();
        // Another site may have been swapped in while this one was asked.
        if !Arc::ptr_eq(&current.pool, pool) || self.state.lock().occupied == occupied {
            return;
        }
        tracing::info!(?occupied, "the site's own documents at well-known paths have changed; ours follow");
        let mut moved = Running::new(current.declaration.clone(), &occupied, current.pool.clone());
        moved.since = current.since;
        self.state.lock().occupied = occupied;
        self.current.store(Arc::new(moved));
    }
}

/// A declaration that was not taken into use.
struct Unusable {
    mistakes: Vec<String>,
    /// Its hash, if it could be read.
    tried: Option<String>,
}

impl Running {
    fn new(declaration: Declaration, occupied: &Occupied, pool: Arc<Pool>) -> Self {
        Self { snapshot: Snapshot::compile(&declaration, occupied), pool, declaration, since: SystemTime::now() }
    }

    /// What the operator should know about it, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.declaration.warnings.iter().map(Mistake::to_string).collect()
    }

    /// Enough of its hash to tell it from others.
    pub fn short_hash(&self) -> &str {
        self.snapshot.hash.get(..8).unwrap_or(&self.snapshot.hash)
    }

    /// How long it has been in use, as far as the clock can tell.
    pub fn age(&self) -> std::time::Duration {
        self.since.elapsed().unwrap_or_default()
    }
}

/// Certificates of the upstream may have changed under the same names: their bytes are in the hash.
fn same_files(current: &Running, next: &Declaration) -> bool {
    let upstream = &next.settings.upstream;
    let none = upstream.ca.is_none() && upstream.client_cert.is_none();
    none || current.snapshot.hash == next.hash
}

/// What cannot follow a swap, one sentence each.
fn unswappable(bound: &Listen, wanted: &Listen) -> Vec<String> {
    let sentence =
        |key| format!("listen.{key} has changed in the file, which takes a restart; the old one stays in use");
    bound.bound_differently(wanted).into_iter().map(sentence).collect()
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Since when the process runs.
pub fn started() -> Instant {
    static STARTED: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}
