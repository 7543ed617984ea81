//! Starts the process from a configuration: binds the listeners, starts the background jobs, serves until a signal.

mod after_reload;
mod descriptors;
mod ending;
mod handover;
mod jobs;
mod listeners;
mod signals;
mod succession;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use frontdesk_filters::{chain::Chains, desk::Kept, limits::tokens};
use pingora::{proxy::HttpProxy, server::configuration::ServerConf};
use tokio::sync::watch;

use crate::{
    accept::{Gate, WithFastPath},
    access::AccessLog,
    admin::{Admin, Attempts, Page},
    fast_path::FastPath,
    front::{Front, background::BackgroundTasks, inflight::InflightLimit},
    live::Live,
    logs::Logs,
    metrics::Metrics,
    outbound::Outbound,
    process::Processes,
    source::Source,
    sys::{give_back, put_program_away, tidy},
    traces::Traces,
};
use ending::Ending;
use listeners::Listeners;
use sd_notify::NotifyState;
use signals::Signals;

/// The most connections at a time to the admin address.
const ADMIN_CONNECTIONS: usize = 256;
/// Idle upstream connections that each worker keeps.
const POOL: usize = 128;
/// Connect attempts for one request: the first and one retry.
const TRIES: usize = 2;
/// How long an idle blocking thread stays before it exits.
const IDLE_THREAD: Duration = Duration::from_millis(100);
/// How long the start waits for the store before it serves.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// When the start's temporary memory use has ended, so that free memory can go back to the system.
const SETTLED: Duration = Duration::from_secs(10);

/// Why the process did not start, in lines for the operator.
pub struct NotStarted(pub Vec<String>);

impl NotStarted {
    /// Prints the reasons and returns the exit code.
    pub fn tell(&self) -> ExitCode {
        for line in &self.0 {
            eprintln!("frontdesk: {line}");
        }
        ExitCode::FAILURE
    }
}

/// A task that runs beside the proxy until the process ends. It gets the shared parts it may need.
pub type Beside = Box<dyn FnOnce(Arc<Live>, Arc<Metrics>) + Send>;

/// Runs until a signal ends it. With `upgrade`, first takes over the listeners of the running process.
pub fn run(source: Source, upgrade: bool, beside: Option<Beside>) -> Result<(), NotStarted> {
    crate::live::started();
    // A write beyond the file size limit then fails, as on a full disk.
    crate::sys::survive_file_limit();
    let logs = Logs::start();
    ready_for_tls()?;
    let metrics = Metrics::new().map_err(|e| NotStarted(vec![e.to_string()]))?;
    let outbound = Outbound::new();
    let live = Live::start(source, metrics.clone(), outbound.clone()).map_err(NotStarted)?;
    let place = match (upgrade, &live.bound().upgrade_socket) {
        (true, None) => return Err(NotStarted(vec![succession::NO_PLACE.to_owned()])),
        (true, place) => place.clone(),
        (false, _) => None,
    };
    if let Some(said) = live.current().snapshot.settings.signals.by_default() {
        tracing::info!("content signals by default, in robots.txt and the manifest: {said}");
    }
    let threads = threads(live.current().snapshot.settings.threads);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("frontdesk")
        // Each blocking thread keeps memory. A burst needs many of them, and the time after it none.
        .thread_keep_alive(IDLE_THREAD)
        .on_thread_park(tidy)
        .enable_all()
        .build()
        .map_err(|e| NotStarted(vec![format!("no worker threads: {e}")]))?;
    let ended = runtime.block_on(serve((live, outbound), metrics, logs, (threads, place), beside));
    runtime.shutdown_background();
    ended
}

/// Installs one TLS provider for every library and checks that trusted certificates can be read.
pub fn ready_for_tls() -> Result<(), NotStarted> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    check_trust_store()
}

/// Checks the trust store first, because the library panics if the store that the environment names cannot be read.
fn check_trust_store() -> Result<(), NotStarted> {
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let Some(path) = std::env::var_os(name)
            && let Err(e) = std::fs::metadata(&path)
        {
            let path = path.to_string_lossy();
            return Err(NotStarted(vec![format!(
                "{name} names {path}, which cannot be read ({e}); correct or unset it"
            )]));
        }
    }
    Ok(())
}

/// The configured number of workers, or the number that the cgroup's CPU quota allows.
fn threads(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

async fn serve(
    (live, outbound): (Arc<Live>, Arc<Outbound>),
    metrics: Arc<Metrics>,
    logs: Logs,
    (threads, place): (usize, Option<PathBuf>),
    beside: Option<Beside>,
) -> Result<(), NotStarted> {
    // First of all, because an unhandled SIGHUP would end the process.
    let mut signals = Signals::receive()?;
    let (drain_sender, drain) = watch::channel(false);
    let draining = Arc::new(AtomicBool::new(false));
    let running = live.current();
    let settings = &running.snapshot.settings;
    logs.set_level(&settings.log.level).map_err(|e| NotStarted(vec![e]))?;
    for warning in running.warnings() {
        tracing::warn!("{warning}");
    }
    if cfg!(not(target_os = "linux")) {
        tracing::warn!(
            "this system is not Linux: Frontdesk is not tested here, does not see that a process of a shared store \
             died, and does not measure its memory; use Linux for a public site (frontdesk help platforms)"
        );
    }

    // One attempt, so that a reachable store counts from the first request. A job retries an unreachable one.
    let _ = tokio::time::timeout(FIRST_LOOK, running.store.tend()).await;
    let access = Arc::new(AccessLog::start(metrics.clone()).map_err(|e| NotStarted(vec![e.to_string()]))?);
    let files = descriptors::raised();
    let connections = descriptors::connections(settings.protection.max_connections, files);
    let gate = Gate::new(live.clone(), metrics.clone(), connections, drain.clone());
    let configurations = live.clone();
    outbound.deliver_for(move || configurations.current(), metrics.clone());
    let traces = Traces::start(&outbound, &metrics);
    let processes = Arc::new(Processes::new());
    let errands = BackgroundTasks::new();
    let entry = Arc::<InflightLimit>::default();
    let chains = Arc::<Chains>::default();
    let kept = Arc::<Kept>::default();
    let front = Front {
        live: live.clone(),
        metrics: metrics.clone(),
        access: access.clone(),
        draining: draining.clone(),
        outbound: outbound.clone(),
        processes: processes.clone(),
        kept: kept.clone(),
        chains: chains.clone(),
        errands: errands.clone(),
        entry: entry.clone(),
        traces: traces.clone(),
    };
    let conf = ServerConf { threads, upstream_keepalive_pool_size: POOL, max_retries: TRIES, ..ServerConf::default() };
    #[cfg(feature = "agtp")]
    let frames = Arc::new(crate::frames::Frames::new(front.clone()));
    let mut proxy = HttpProxy::new(front.clone(), Arc::new(conf));
    proxy.handle_init_modules();
    let proxy = Arc::new(WithFastPath { app: Arc::new(proxy), shortcut: Arc::new(FastPath(front)) });

    let Some(mut inherited) = succession::inherited(&live, &mut signals, place).await? else { return Ok(()) };
    let listeners = Listeners::bind(&live, &mut inherited)?;
    let open = listeners.open();
    #[cfg(feature = "agtp")]
    let mut listeners = listeners;
    if let Some(beside) = beside {
        beside(live.clone(), metrics.clone());
    }
    let (admin_sender, admin_drain) = watch::channel(false);
    let admin_gate = Gate::new(live.clone(), metrics.clone(), ADMIN_CONNECTIONS, admin_drain);
    let admin = Admin {
        live: live.clone(),
        metrics: metrics.clone(),
        logs: logs.clone(),
        outbound: outbound.clone(),
        processes,
        draining: draining.clone(),
        stop: signals.stop.clone(),
        page: Page::default(),
        attempts: Attempts::default(),
    };
    #[cfg(feature = "agtp")]
    listeners.serve_frames(&gate, &frames);
    listeners.serve((&gate, &proxy), (admin_gate.clone(), Arc::new(WithFastPath::long(admin))));
    jobs::start(&live, &metrics, &outbound, &chains, &drain);
    let made_with = (settings.protection.max_connections, settings.log.level.clone());
    tokio::spawn(after_reload::follow(live.clone(), (gate.clone(), files), logs, kept, made_with));
    if running.snapshot.counts_tokens() {
        // Building the tables takes many times the memory of the result.
        tokens::warm(give_back);
    }
    drop(running);
    inherited.served();
    tokio::spawn(async {
        tokio::time::sleep(SETTLED).await;
        tokio::task::spawn_blocking(put_program_away);
    });
    // Without a service manager this does nothing.
    let _ = sd_notify::notify(&[NotifyState::Ready]);

    Ending {
        live,
        gate,
        entry,
        errands,
        chains,
        draining,
        drain: drain_sender,
        admin_gate,
        admin_drain: admin_sender,
        traces,
        access,
    }
    .come(&mut signals, &open)
    .await;
    Ok(())
}
