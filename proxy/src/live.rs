//! The configuration in use: one pointer, swapped as a transaction (decision 9).
//!
//! Read, check, compile, swap. A failure keeps the running one, and is told to the log, to /config, to /readyz and to
//! the metrics.

mod apart;
mod earlier;
mod failure;
mod learned;
mod next;
mod reading;
mod running;

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use frontdesk_filters::concierge::Library;
use frontdesk_filters::desk::unread_library;
use frontdesk_filters::dialect::Occupied;
use frontdesk_filters::{
    Learned,
    site::{Listen, Outline, Settings},
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    admin::metrics::Metrics,
    certificate::Certificate,
    handoff::Handoff,
    outbound::Outbound,
    source::{Source, lines as told},
    store::Store,
    sys::give_back,
    upstream::Pool,
};

pub use apart::apart;
use apart::take_apart;
use earlier::Earlier;
pub use failure::Failure;
use next::{open_audit, open_harness};
pub use reading::{Reading, Stage, shown};
use running::Homes;
pub use running::Running;

/// The running configuration and the way to the next.
pub struct Live {
    source: Source,
    current: ArcSwap<Running>,
    metrics: Arc<Metrics>,
    certificate: Arc<Certificate>,
    outbound: Arc<Outbound>,
    /// What the process listens on; it stays as it was at the start.
    bound: Listen,
    /// Worker threads, as they were asked for at the start.
    threads: usize,
    /// One reload at a time, files and all; never taken by a request.
    reloading: Mutex<()>,
    /// What the last reload learned; held only to read or write it.
    state: Mutex<State>,
    /// Told of every swap.
    swapped: watch::Sender<()>,
    /// Told of swaps that changed the upstreams, or what they are asked for.
    repooled: watch::Sender<()>,
    /// Told of swaps that changed where keys are fetched, and of keys that nobody knows yet.
    keys_wanted: watch::Sender<()>,
    /// When somebody last made us look for more.
    wanted: Mutex<Option<Instant>>,
    /// Told when there is something to tell a harness.
    noted: Arc<watch::Sender<()>>,
    earlier: Earlier,
    /// Outlives a swap.
    library: ArcSwap<Library>,
    /// How far the site has been read; held only to read or write it.
    reading: Mutex<Reading>,
}

/// How soon keys are looked for again, whoever asks for it.
const WANTED_AGAIN: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    learned: Learned,
    failure: Option<Failure>,
    /// What a reload wanted to change and could not.
    not_swapped: Vec<String>,
}

impl Live {
    /// Loads the first configuration; without one there is nothing to run.
    pub fn start(source: Source, metrics: Arc<Metrics>, outbound: Arc<Outbound>) -> Result<Arc<Self>, Vec<String>> {
        let declaration = source.declare().map_err(|refused| told(&refused))?;
        let certificate = Arc::new(Certificate::default());
        if let Some(tls) = &declaration.settings.tls {
            certificate.load(tls).map_err(|e| vec![e])?;
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
            earlier: Earlier::default(),
            library: ArcSwap::from_pointee(unread),
            reading: Mutex::default(),
        }))
    }

    /// The configuration in use. Holding it keeps it whole, whatever is swapped in meanwhile.
    pub fn current(&self) -> Arc<Running> {
        self.current.load_full()
    }

    /// Looks at it for a moment, which costs less than to hold it.
    pub fn look<T>(&self, at: impl FnOnce(&Running) -> T) -> T {
        at(&self.current.load())
    }

    /// What the site's pages say, as far as they were read.
    pub fn library(&self) -> Arc<Library> {
        self.library.load_full()
    }

    /// Wakes whoever has to follow a swap.
    pub fn swaps(&self) -> watch::Receiver<()> {
        self.swapped.subscribe()
    }

    /// Wakes whoever has to follow other upstreams.
    pub fn new_upstreams(&self) -> watch::Receiver<()> {
        self.repooled.subscribe()
    }

    /// Wakes whoever fetches keys.
    pub fn keys_wanted(&self) -> watch::Receiver<()> {
        self.keys_wanted.subscribe()
    }

    /// Wakes whoever tells a harness what there is to tell.
    pub fn notes(&self) -> watch::Receiver<()> {
        self.noted.subscribe()
    }

    /// Somebody presented a key that is not known here. Strangers' keys must not make us hammer those who publish keys.
    pub fn want_keys(&self) {
        let mut wanted = self.wanted.lock();
        if wanted.is_none_or(|at| at.elapsed() >= WANTED_AGAIN) {
            *wanted = Some(Instant::now());
            self.keys_wanted.send_replace(());
        }
    }

    /// Whether what is there now differs from what is running and could be taken into use.
    pub fn has_news(&self) -> bool {
        match self.source.declare() {
            Ok(declaration) => match self.failure() {
                // Tried, and it could not be used: only something else is news.
                Some(failure) => !failure.is_of(&declaration),
                None => declaration.hash != self.current().snapshot.hash,
            },
            // Said once; a file that is still wrong in the same way is no news.
            Err(refused) => self.failure().is_none_or(|failure| !failure.says(&refused)),
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

    /// What the file says now, however wrong it is; `None` where there is no file. Blocks on it.
    pub fn outline(&self) -> Option<io::Result<Outline>> {
        self.source.outline()
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

    /// Reads everything anew and swaps it in. `Err` says why not; the running configuration stays.
    /// Blocks on files: not for a worker thread.
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
                        "[store] has changed and names another store: what was promised and kept in the old one is not \
                         known in it, and an action that is repeated with its key may be carried out again"
                    );
                }
                now.store.adopt(&now.snapshot.settings.store);
                drop(now);
                declare(&self.metrics, &self.current());
                let pool = self.current().pool.clone();
                if !Arc::ptr_eq(&before.pool, &pool) {
                    pool.show(Some(&before.pool));
                    take_apart(self.library.swap(Arc::new(unread_library(&self.current().snapshot.settings))));
                    self.state.lock().learned.contents = None;
                }
                let asked = |running: &Running| Occupied::probes(&running.snapshot.settings.paths);
                if !Arc::ptr_eq(&before.pool, &pool) || asked(&before) != asked(&self.current()) {
                    self.repooled.send_replace(());
                }
                if before.snapshot.settings.key_urls() != self.current().snapshot.settings.key_urls() {
                    self.keys_wanted.send_replace(());
                }
                self.earlier.swapped(&before, &self.current());
                take_apart(before);
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

    /// What cannot follow a swap, one sentence each.
    fn unswappable(&self, wanted: &Settings) -> Vec<String> {
        let listen = self.bound.bound_differently(&wanted.listen).into_iter().map(|key| format!("listen.{key}"));
        let threads = (self.threads != wanted.threads).then(|| "runtime.threads".to_owned());
        let sentence = |key| format!("{key} has changed in the file, which takes a restart; the old one stays in use");
        listen.chain(threads).map(sentence).collect()
    }
}

/// Tells the metrics what can be called.
fn declare(metrics: &Metrics, running: &Running) {
    metrics.declared(running.snapshot.settings.capabilities.iter().map(|capability| capability.id.as_str()));
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Since when the process runs.
pub fn started() -> Instant {
    static STARTED: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}
