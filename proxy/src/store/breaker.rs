//! What stands between requests and a home of state that may be away: while it is open, nobody waits.
//!
//! A request goes through only while the way is known to be good, and whoever finds it broken opens the breaker for
//! everyone after. Closing it is nobody's business but the background job's, which probes, more and more seldom.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::{RwLock, RwLockWriteGuard};

/// The longest wait between two probes; the first comes at the next turn of the job.
const SELDOM: Duration = Duration::from_secs(4);

/// A home that stayed this long is trusted like one that was never away.
const TRUSTED: Duration = Duration::from_secs(30);

/// Holds what requests use while the home can be reached: a connection, or nothing but the fact.
pub struct Breaker<T> {
    /// For the operator, without secrets: "Redis at redis.internal:6379/0".
    home: String,
    inside: RwLock<Inside<T>>,
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
}

/// Leave to use the home once.
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
        };
        Self { home, inside: RwLock::new(inside), without: AtomicU64::new(0) }
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
        let now = Instant::now();
        let held = inside.held.take();
        // What goes away again and again is believed to be back more and more seldom.
        let again = inside.back_at.is_some_and(|at| at.elapsed() < TRUSTED);
        let failures = if again { inside.failures + 1 } else { 0 };
        let probe_at = if failures == 0 { now } else { now + pause(failures) };
        (inside.why, inside.since, inside.failures, inside.probe_at) = (Some(why.into()), now, failures, probe_at);
        inside.told = vec![why.into()];
        drop(inside);
        drop(held);
        tracing::warn!("{} is away: {why}", self.home);
    }

    /// Whether the home is away and it is time to look again.
    pub fn probe_due(&self) -> bool {
        let inside = self.inside.read();
        inside.held.is_none() && inside.probe_at <= Instant::now()
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

    /// A probe found the home back.
    pub fn close(&self, held: T) {
        self.close_with(self.inside.write(), held);
    }

    /// How often it has been closed.
    pub fn turn(&self) -> u64 {
        self.inside.read().turn
    }

    /// A probe that began in this turn found the home back; unless it was closed since, and may have failed again.
    pub fn close_since(&self, turn: u64, held: T) {
        let inside = self.inside.write();
        if inside.turn == turn {
            self.close_with(inside, held);
        }
    }

    fn close_with(&self, mut inside: RwLockWriteGuard<'_, Inside<T>>, held: T) {
        let (was_away, since) = (inside.why.take().is_some(), inside.since);
        inside.held = Some(held);
        inside.told.clear();
        inside.turn += 1;
        inside.back_at = was_away.then(Instant::now);
        drop(inside);
        if was_away {
            tracing::info!("{} is back after {} s", self.home, since.elapsed().as_secs());
        } else {
            tracing::info!("{} is reached", self.home);
        }
    }

    /// Whether requests go through.
    pub fn is_closed(&self) -> bool {
        self.inside.read().held.is_some()
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
        breaker.close(2);
        breaker.trip(&old, "gone");
        assert_eq!(breaker.pass().unwrap().held, 2);
        // Away once more so soon: it is not believed at the next turn.
        breaker.trip(&breaker.pass().unwrap(), "gone");
        assert!(!breaker.probe_due());
    }

    #[test]
    fn a_probe_from_before_does_not_close_what_has_failed_since() {
        let breaker = Breaker::open("the store".into());
        let turn = breaker.turn();
        breaker.close(1);
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
