//! Everything that happens without a request: one supervised list, each with its interval, its jitter and its bound.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::admin::metrics::Metrics;

/// One run: whether it went well, or why not.
pub type Run = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// A thing done again and again.
pub struct Job {
    pub name: &'static str,
    /// Asked before each wait, since a swap may change it.
    pub interval: Box<dyn Fn() -> Duration + Send>,
    /// A run that takes longer is given up.
    pub bound: Duration,
    pub run: Box<dyn Fn() -> Run + Send>,
    /// What still runs needs it: it goes on while the process drains.
    pub to_the_end: bool,
    /// Runs before its time when this is told of something.
    pub wake: Option<watch::Receiver<()>>,
}

/// Starts every job, the first run at once. They end when the drain begins, but for those that are needed.
pub fn supervise(jobs: Vec<Job>, metrics: &Arc<Metrics>, drain: &watch::Receiver<bool>) {
    for mut job in jobs {
        let (metrics, mut drain) = (metrics.clone(), drain.clone());
        metrics.job_begins(job.name);
        tokio::spawn(async move {
            let mut turn = 0u32;
            loop {
                let began = Instant::now();
                // A task of its own: a run that panics ends only itself.
                let run = tokio::spawn(timeout(job.bound, (job.run)()));
                let result = match run.await {
                    Ok(Ok(Ok(()))) => "ok",
                    Ok(Ok(Err(why))) => {
                        tracing::debug!(job = job.name, why, "a background job failed");
                        "failed"
                    }
                    Ok(Err(_)) => {
                        tracing::warn!(job = job.name, bound = ?job.bound, "a background job took too long");
                        "timeout"
                    }
                    Err(_) => {
                        tracing::error!(job = job.name, "a background job panicked; it will be tried again");
                        "panic"
                    }
                };
                metrics.job(job.name, result);
                turn = turn.wrapping_add(1);
                let interval = (job.interval)();
                // Up to a tenth later, so that replicas do not act in step.
                let jitter = interval.mul_f64(f64::from(turn.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 / 10.0);
                tokio::select! {
                    () = sleep((interval + jitter).saturating_sub(began.elapsed()).max(Duration::from_millis(10))) => {}
                    () = told(&mut job.wake) => {}
                    _ = drain.changed(), if !job.to_the_end => return,
                }
            }
        });
    }
}

/// Returns when there is something to be told; never, if there is nobody to tell.
async fn told(wake: &mut Option<watch::Receiver<()>>) {
    if let Some(wake) = wake
        && wake.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
