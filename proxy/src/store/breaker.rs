//! What stands between requests and a home of state that may be away: while it is open, nobody waits.
//!
//! A request goes through only while the way is known to be good, and whoever finds it broken opens the breaker for
//! everyone after. Closing it is nobody's business but the background job's, which probes, more and more seldom.
//!
//! A lost connection is not yet an absent home: it is made anew at once, and requests wait for it a moment. The breaker
//! opens if that fails, or if connections are lost again and again.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::RwLock;
use tokio::{sync::Notify, time::timeout_at};

/// The longest wait between two probes; the first comes at the next turn of the job.
const SELDOM: Duration = Duration::from_secs(4);

/// A home that stayed this long is trusted like one that was never away.
const TRUSTED: Duration = Duration::from_secs(30);

/// So many connections in a row, none of which lasted for [`TRUSTED`], are made anew at once.
const RENEWALS: u32 = 8;
/// A renewal that takes longer than this was given up without a word.
const RENEWING: Duration = Duration::from_secs(10);

/// Holds what requests use while the home can be reached: a connection, or nothing but the fact.
pub struct Breaker<T> {
    /// For the operator, without secrets: "Redis at redis.internal:6379/0".
    home: String,
    inside: RwLock<Inside<T>>,
    /// Told when a renewal has ended.
    renewed: Notify,
    without: AtomicU64,
}

/// As many reasons are told of one absence.
const REASONS: usize = 4;

struct Inside<T> {
    held: Option<T>,
    /// Counts closings, so that a failure of a connection from before does not open what was closed since.
    turn: u64,
    /// Why it is open; `None` before the first probe.
    why: Option<String>,
    /// The reasons that the log has since it is open: each stands there once, and no more than a few.
    told: Vec<String>,
    since: Instant,
    failures: u32,
    probe_at: Instant,
    /// When it was back last.
    back_at: Option<Instant>,
    /// A lost connection is being made anew.
    renewal: Option<Renewal>,
    /// How many were in a row.
    renewals: u32,
    /// When it was closed last.
    closed_at: Instant,
}

struct Renewal {
    /// Requests wait for it until then.
    awaited: Instant,
    /// Nobody else probes until then.
    ends: Instant,
}

/// Leave to use the home once.
#[derive(Clone)]
pub struct Pass<T> {
    pub held: T,
    turn: u64,
}

impl<T: Clone> Breaker<T> {
    /// Open until somebody closes it.
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

    /// Closed from the start.
    pub fn closed(home: String, held: T) -> Self {
        let breaker = Self::open(home);
        breaker.inside.write().held = Some(held);
        breaker
    }

    /// What to use, or `None`, at once, while the home is away.
    pub fn pass(&self) -> Option<Pass<T>> {
        let inside = self.inside.read();
        inside.held.clone().map(|held| Pass { held, turn: inside.turn })
    }

    /// What to use, or `None` while the home is away; while a lost connection is made anew, after a moment.
    pub async fn pass_or_wait(&self) -> Option<Pass<T>> {
        loop {
            let renewed = self.renewed.notified();
            tokio::pin!(renewed);
            // From here on no end of a renewal is missed.
            renewed.as_mut().enable();
            if let Some(pass) = self.pass() {
                return Some(pass);
            }
            let until = self.inside.read().renewal.as_ref()?.awaited;
            timeout_at(until.into(), renewed).await.ok()?;
        }
    }

    /// One more operation that had to be decided without the home.
    pub fn decided_without(&self) {
        self.without.fetch_add(1, Ordering::Relaxed);
    }

    /// Whoever used this pass found the home away: the next ones do not try.
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

    /// Whoever used this pass found the connection lost. The caller makes another in this turn, and says how it went
    /// ([`Breaker::close_since`], [`Breaker::not_renewed`]); until then requests wait, for so long at most. `None`:
    /// somebody else does, or it happens too often, and the home is away.
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

    /// The renewal that began in this turn failed.
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

    /// Whether the home is away and it is time to look again.
    pub fn probe_due(&self) -> bool {
        let (inside, now) = (self.inside.read(), Instant::now());
        let renewing = inside.renewal.as_ref().is_some_and(|renewal| now < renewal.ends);
        inside.held.is_none() && !renewing && inside.probe_at <= now
    }

    /// A probe found the home away still.
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

    /// How often it has been closed.
    pub fn turn(&self) -> u64 {
        self.inside.read().turn
    }

    /// A probe that began in this turn found the home back; unless it was closed since, and may have failed again.
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

    /// What is used from now on, in place of what was.
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

    /// An absent home is probed at the next turn of the job: there is a new way to it.
    pub fn probe_soon(&self) {
        self.inside.write().probe_at = Instant::now();
    }

    /// Whether requests go through, at once or after a moment.
    pub fn is_closed(&self) -> bool {
        let inside = self.inside.read();
        inside.held.is_some() || inside.renewal.as_ref().is_some_and(|renewal| Instant::now() < renewal.awaited)
    }

    /// Why the home is away; `None` while it is not.
    pub fn away(&self) -> Option<String> {
        let inside = self.inside.read();
        match &inside.held {
            Some(_) => None,
            None => Some(format!("{} is away: {}", self.home, inside.why.as_deref().unwrap_or("not reached yet"))),
        }
    }

    /// How many operations were decided without the home.
    pub fn without(&self) -> u64 {
        self.without.load(Ordering::Relaxed)
    }
}

impl<T> Inside<T> {
    /// Takes note that the home is away from now on.
    fn opens(&mut self, why: &str) {
        let now = Instant::now();
        // What goes away again and again is believed to be back more and more seldom.
        let again = self.back_at.is_some_and(|at| at.elapsed() < TRUSTED);
        self.failures = if again || self.renewals > RENEWALS { self.failures + 1 } else { 0 };
        self.probe_at = if self.failures == 0 { now } else { now + pause(self.failures) };
        (self.why, self.since) = (Some(why.into()), now);
        self.told = vec![why.into()];
    }
}

/// How long to leave an absent home alone: a second at first, doubled each time, and up to a quarter of it less, so
/// that replicas do not knock together.
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
        // Away once more so soon: it is not believed at the next turn.
        breaker.trip(&breaker.pass().unwrap(), "gone");
        assert!(!breaker.probe_due());
    }

    #[tokio::test]
    async fn whoever_needs_a_lost_connection_waits_for_the_next_one_but_not_for_ever() {
        let wait = Duration::from_millis(200);
        let breaker = std::sync::Arc::new(Breaker::closed("the store".into(), 0));
        // Lost now and then: made anew each time, and nobody is refused.
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
        // Again and again: it is left alone for a while.
        assert_eq!(breaker.renew(&breaker.pass().unwrap(), "cut", wait), None);
        assert!(!breaker.is_closed() && !breaker.probe_due());

        let breaker = Breaker::closed("the store".into(), 0);
        assert!(breaker.renew(&breaker.pass().unwrap(), "cut", wait).is_some());
        let began = Instant::now();
        assert!(breaker.pass_or_wait().await.is_none() && began.elapsed() >= wait);
        // Longer than that nobody waits, though it is not known yet whether it is away.
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
