//! The circuit breaker between requests and a store that may be away. While it is open, no request waits for the store.
//!
//! A request passes only while the store is known to answer. A request that finds it broken opens the breaker for all
//! others. Only the background job closes it: it probes the store, at growing intervals.
//!
//! A lost connection does not yet mean that the store is away. It is renewed at once, and requests wait for that a
//! moment. The breaker opens if the renewal fails, or if connections are lost again and again.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::RwLock;
use tokio::{sync::Notify, time::timeout_at};

/// The longest interval between two probes. The first probe comes at the job's next run.
const SELDOM: Duration = Duration::from_secs(4);

/// A store that answered this long counts as one that was never away.
const TRUSTED: Duration = Duration::from_secs(30);

/// So many connections in a row, each shorter than [`TRUSTED`], are renewed at once.
const RENEWALS: u32 = 8;
/// A renewal that takes longer than this is considered abandoned.
const RENEWING: Duration = Duration::from_secs(10);

/// Guards the thing that requests use while the store is reachable: a connection, or `()`.
pub struct Breaker<T> {
    /// The store's name for the operator, without secrets: "Redis at redis.internal:6379/0".
    home: String,
    inside: RwLock<Inside<T>>,
    /// Notified when a renewal has ended.
    renewed: Notify,
    without: AtomicU64,
}

/// The most reasons that the log gets for one outage.
const REASONS: usize = 4;

struct Inside<T> {
    held: Option<T>,
    /// Counts closings. A failure on a connection from before a closing must not open the breaker again.
    turn: u64,
    /// Why it is open; `None` before the first probe.
    why: Option<String>,
    /// The reasons already logged in this outage. Each is logged once, up to a bound.
    told: Vec<String>,
    since: Instant,
    failures: u32,
    probe_at: Instant,
    /// When the store last came back.
    back_at: Option<Instant>,
    /// A renewal of a lost connection is under way.
    renewal: Option<Renewal>,
    /// The number of renewals in a row.
    renewals: u32,
    /// When the breaker closed last.
    closed_at: Instant,
}

struct Renewal {
    /// Requests wait for the renewal until then.
    awaited: Instant,
    /// No other caller probes before then.
    ends: Instant,
}

/// The right to use the store once.
#[derive(Clone)]
pub struct Pass<T> {
    pub held: T,
    turn: u64,
}

impl<T: Clone> Breaker<T> {
    /// A breaker that is open until the first probe succeeds.
    pub fn open(home: String) -> Self {
        let now = Instant::now();
        let inside = Inside {
            held: None,
            turn: 0,
            why: None,
            told: Vec::new(),
            since: now,
            failures: 0,
            probe_at: now,
            back_at: None,
            renewal: None,
            renewals: 0,
            closed_at: now,
        };
        Self { home, inside: RwLock::new(inside), renewed: Notify::new(), without: AtomicU64::new(0) }
    }

    /// A breaker that is closed from the start.
    pub fn closed(home: String, held: T) -> Self {
        let breaker = Self::open(home);
        breaker.inside.write().held = Some(held);
        breaker
    }

    /// The right to use the store; `None` at once while it is away.
    pub fn pass(&self) -> Option<Pass<T>> {
        self.inside.read().pass()
    }

    /// The right to use the store; `None` while it is away. Waits a moment for a renewal under way.
    pub async fn pass_or_wait(&self) -> Option<Pass<T>> {
        loop {
            let renewed = self.renewed.notified();
            tokio::pin!(renewed);
            // From here on this task sees every end of a renewal.
            renewed.as_mut().enable();
            let until = {
                // One look at both: a renewal that ends between two looks would seem an absence.
                let inside = self.inside.read();
                if let Some(pass) = inside.pass() {
                    return Some(pass);
                }
                inside.renewal.as_ref()?.awaited
            };
            timeout_at(until.into(), renewed).await.ok()?;
        }
    }

    /// Counts an operation that was decided without the store.
    pub fn decided_without(&self) {
        self.without.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens the breaker: the holder of this pass found the store away.
    pub fn trip(&self, pass: &Pass<T>, why: &str) {
        let mut inside = self.inside.write();
        if inside.turn != pass.turn || inside.held.is_none() {
            return;
        }
        let held = inside.held.take();
        inside.opens(why);
        drop(inside);
        drop(held);
        tracing::warn!("{} is away: {why}", self.home);
    }

    /// The holder of this pass found the connection lost. With `Some(turn)` the caller has to connect again and report
    /// the outcome ([`Breaker::close_since`], [`Breaker::not_renewed`]); requests wait for it, at most for `wait`.
    /// `None`: another caller renews already, or connections are lost too often, and the store counts as away.
    pub fn renew(&self, pass: &Pass<T>, why: &str, wait: Duration) -> Option<u64> {
        let mut inside = self.inside.write();
        if inside.turn != pass.turn || inside.held.is_none() {
            return None;
        }
        inside.renewals = if inside.closed_at.elapsed() < TRUSTED { inside.renewals + 1 } else { 1 };
        if inside.renewals > RENEWALS {
            drop(inside);
            self.trip(pass, why);
            return None;
        }
        let (held, now) = (inside.held.take(), Instant::now());
        inside.renewal = Some(Renewal { awaited: now + wait, ends: now + RENEWING });
        (inside.why, inside.since) = (Some(why.into()), now);
        drop(inside);
        drop(held);
        Some(pass.turn)
    }

    /// The renewal of this turn failed.
    pub fn not_renewed(&self, turn: u64, why: &str) {
        let mut inside = self.inside.write();
        if inside.turn != turn || inside.renewal.take().is_none() {
            return;
        }
        inside.opens(why);
        drop(inside);
        self.renewed.notify_waiters();
        tracing::warn!("{} is away: {why}", self.home);
    }

    /// Whether the store is away and a probe is due.
    pub fn probe_due(&self) -> bool {
        let (inside, now) = (self.inside.read(), Instant::now());
        let renewing = inside.renewal.as_ref().is_some_and(|renewal| now < renewal.ends);
        inside.held.is_none() && !renewing && inside.probe_at <= now
    }

    /// A probe found the store still away.
    pub fn still_away(&self, why: &str) {
        let mut inside = self.inside.write();
        let is_news = inside.told.len() < REASONS && !inside.told.iter().any(|told| told == why);
        if is_news {
            inside.told.push(why.into());
        }
        inside.failures = inside.failures.saturating_add(1);
        inside.why = Some(why.into());
        inside.probe_at = Instant::now() + pause(inside.failures);
        drop(inside);
        if is_news {
            tracing::warn!("{} cannot be reached: {why}", self.home);
        } else {
            tracing::debug!("{} is still away: {why}", self.home);
        }
    }

    /// The number of closings.
    pub fn turn(&self) -> u64 {
        self.inside.read().turn
    }

    /// A probe that began in this turn succeeded: closes, unless the breaker was closed meanwhile and may have failed
    /// again.
    pub fn close_since(&self, turn: u64, held: T) {
        let mut inside = self.inside.write();
        if inside.turn != turn {
            return;
        }
        let (why, since, renewal) = (inside.why.take(), inside.since, inside.renewal.take());
        inside.held = Some(held);
        inside.told.clear();
        inside.turn += 1;
        inside.closed_at = Instant::now();
        if renewal.is_none() {
            inside.back_at = why.is_some().then_some(inside.closed_at);
        }
        drop(inside);
        self.renewed.notify_waiters();
        match (why, renewal) {
            (Some(why), Some(_)) => {
                let took = since.elapsed().as_millis();
                tracing::info!("{} is connected to again after {took} ms: {why}", self.home);
            }
            (Some(_), None) => tracing::info!("{} is back after {} s", self.home, since.elapsed().as_secs()),
            (None, _) => tracing::info!("{} is reached", self.home),
        }
    }

    /// Replaces what requests use.
    pub fn replace(&self, held: T) {
        let mut inside = self.inside.write();
        if inside.held.is_none() {
            let turn = inside.turn;
            drop(inside);
            return self.close_since(turn, held);
        }
        let before = inside.held.replace(held);
        inside.turn += 1;
        inside.closed_at = Instant::now();
        drop(inside);
        drop(before);
    }

    /// Makes the next run of the job probe, because there is a new way to the store.
    pub fn probe_soon(&self) {
        self.inside.write().probe_at = Instant::now();
    }

    /// Whether requests pass, at once or after a moment.
    pub fn is_closed(&self) -> bool {
        let inside = self.inside.read();
        inside.held.is_some() || inside.renewal.as_ref().is_some_and(|renewal| Instant::now() < renewal.awaited)
    }

    /// Why the store is away; `None` while it is not.
    pub fn away(&self) -> Option<String> {
        let inside = self.inside.read();
        match &inside.held {
            Some(_) => None,
            None => Some(format!("{} is away: {}", self.home, inside.why.as_deref().unwrap_or("not reached yet"))),
        }
    }

    /// The number of operations decided without the store.
    pub fn without(&self) -> u64 {
        self.without.load(Ordering::Relaxed)
    }
}

impl<T: Clone> Inside<T> {
    fn pass(&self) -> Option<Pass<T>> {
        self.held.clone().map(|held| Pass { held, turn: self.turn })
    }

    /// Records that the store is away from now on.
    fn opens(&mut self, why: &str) {
        let now = Instant::now();
        // A store that goes away again soon is probed less often.
        let again = self.back_at.is_some_and(|at| at.elapsed() < TRUSTED);
        self.failures = if again || self.renewals > RENEWALS { self.failures + 1 } else { 0 };
        self.probe_at = if self.failures == 0 { now } else { now + pause(self.failures) };
        (self.why, self.since) = (Some(why.into()), now);
        self.told = vec![why.into()];
    }
}

/// The pause before the next probe: one second at first, doubled each time, less a random part of up to a quarter, so
/// that replicas do not probe together.
fn pause(failures: u32) -> Duration {
    let whole = Duration::from_millis(500).saturating_mul(1 << failures.min(8)).min(SELDOM);
    whole.mul_f64(1.0 - f64::from(super::fresh() as u8) / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_from_before_does_not_open_what_was_closed_since() {
        let breaker = Breaker::closed("the store".into(), 1);
        let old = breaker.pass().unwrap();
        breaker.trip(&old, "gone");
        assert!(breaker.pass().is_none() && breaker.probe_due());
        breaker.close_since(breaker.turn(), 2);
        breaker.trip(&old, "gone");
        assert_eq!(breaker.pass().unwrap().held, 2);
        // Away again so soon: the job's next run does not probe yet.
        breaker.trip(&breaker.pass().unwrap(), "gone");
        assert!(!breaker.probe_due());
    }

    #[tokio::test]
    async fn a_command_without_a_connection_waits_for_the_next_one_but_not_for_ever() {
        let wait = Duration::from_millis(200);
        let breaker = std::sync::Arc::new(Breaker::closed("the store".into(), 0));
        // Connections lost now and then are renewed each time, and no request is refused.
        for n in 1..=RENEWALS {
            let lost = breaker.pass().unwrap();
            assert_eq!(breaker.renew(&lost, "cut", wait), Some(breaker.turn()));
            assert_eq!(breaker.renew(&lost, "cut", wait), None, "one of them renews it");
            assert!(breaker.is_closed() && breaker.pass().is_none() && !breaker.probe_due());
            let waits = tokio::spawn({
                let breaker = breaker.clone();
                async move { breaker.pass_or_wait().await.map(|pass| pass.held) }
            });
            tokio::task::yield_now().await;
            breaker.close_since(breaker.turn(), n);
            assert_eq!(waits.await.unwrap(), Some(n));
        }
        // Lost again and again: the breaker opens for a while.
        assert_eq!(breaker.renew(&breaker.pass().unwrap(), "cut", wait), None);
        assert!(!breaker.is_closed() && !breaker.probe_due());

        let breaker = Breaker::closed("the store".into(), 0);
        assert!(breaker.renew(&breaker.pass().unwrap(), "cut", wait).is_some());
        let began = Instant::now();
        assert!(breaker.pass_or_wait().await.is_none() && began.elapsed() >= wait);
        // Requests wait no longer than that, although the outcome is not known yet.
        let began = Instant::now();
        assert!(breaker.pass_or_wait().await.is_none() && began.elapsed() < wait);
        assert!(!breaker.is_closed() && !breaker.probe_due());
        breaker.not_renewed(breaker.turn(), "connection refused");
        assert_eq!(breaker.away().unwrap(), "the store is away: connection refused");
        assert!(breaker.probe_due() && breaker.pass_or_wait().await.is_none());
    }

    #[test]
    fn a_probe_from_before_does_not_close_what_has_failed_since() {
        let breaker = Breaker::open("the store".into());
        let turn = breaker.turn();
        breaker.close_since(turn, 1);
        breaker.trip(&breaker.pass().unwrap(), "gone");
        breaker.close_since(turn, 2);
        assert!(!breaker.is_closed());
        breaker.close_since(breaker.turn(), 3);
        assert_eq!(breaker.pass().unwrap().held, 3);
    }

    #[test]
    fn probes_become_seldom() {
        let breaker = Breaker::<()>::open("the store".into());
        assert!(breaker.probe_due());
        assert!(breaker.away().unwrap().contains("not reached yet"));
        breaker.still_away("connection refused");
        assert!(!breaker.probe_due());
        assert_eq!(breaker.away().unwrap(), "the store is away: connection refused");
        assert!(pause(1) > Duration::from_millis(700) && pause(1) <= Duration::from_secs(1));
        assert!(pause(u32::MAX) > Duration::from_secs(2) && pause(u32::MAX) <= SELDOM);
    }
}
