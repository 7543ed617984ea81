//! Runs the background jobs, each with its interval, jitter and time limit, and restarts them after a panic.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::metrics::Metrics;

/// The future of one run, with its outcome.
pub type Run = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// A recurring task.
pub struct Job {
    pub name: &'static str,
    /// The interval, computed before each wait because a swap may change it.
    pub interval: Box<dyn Fn() -> Duration + Send>,
    /// The time limit of a run.
    pub bound: Duration,
    pub run: Box<dyn Fn() -> Run + Send>,
    /// Requests in flight need it, so it goes on while the process drains.
    pub to_the_end: bool,
    /// A notification starts a run early.
    pub wake: Option<watch::Receiver<()>>,
}

/// Starts every job with an immediate run. Jobs end when the drain begins, except those that requests in flight need.
pub fn supervise(jobs: Vec<Job>, metrics: &Arc<Metrics>, drain: &watch::Receiver<bool>) {
    for mut job in jobs {
        let (metrics, mut drain) = (metrics.clone(), drain.clone());
        metrics.job_begins(job.name);
        tokio::spawn(async move {
            let mut turn = 0u32;
            loop {
                let began = Instant::now();
                // A task of its own, so that a panic ends only this run.
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

/// Returns at a notification; never without a notifier.
async fn told(wake: &mut Option<watch::Receiver<()>>) {
    if let Some(wake) = wake
        && wake.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
