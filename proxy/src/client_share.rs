//! Counts connections and requests by client address, so that one address cannot take all of them.
//!
//! Many clients may share one address: behind NAT, or behind a proxy that `listen.trusted_proxies` does not name. So an
//! address may exceed its share while no other address is refused; only an eighth stays free for others. Once another
//! address has been refused, the share is a strict limit for a while.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use frontdesk_filters::{caller::forwarded, site::Settings, state::Subject};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The smallest share, even if the total is small.
const LEAST: usize = 8;
/// This part of the total (an eighth) stays free for addresses below their share.
const RESERVED: usize = 8;
/// How long the share is a strict limit after another address was refused.
const STRICT: Duration = Duration::from_secs(30);

/// How often the log repeats that an address reached its limit.
const SAID_AGAIN: Duration = Duration::from_secs(60);

/// The counts of all addresses (for IPv6: of each /64). An address without a count has no entry.
#[derive(Debug)]
pub struct Shares {
    /// The counted thing, for the log.
    what: &'static str,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    by_address: HashMap<Subject, Arc<Client>>,
    /// When an address that had less than its share got nothing.
    turned_away: Option<Instant>,
    /// When the log last reported an address at its limit.
    said: Option<Instant>,
}

/// What one address has. Some of it may idle: it can be taken away for more of the same address, so that it does not have to
/// be turned away. What idles counts like what is in use, or all of it could become busy at once.
#[derive(Debug, Default)]
struct Client {
    /// Changed under the lock of `held` only.
    has: AtomicUsize,
    idle: AtomicUsize,
    /// How many of the idle ones have to end, because others took their places.
    ending: AtomicUsize,
    /// Woken for each of these: the longest idle one ends.
    room: Notify,
}

/// What one address may have.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub client: IpAddr,
    most: usize,
    reserved: usize,
}

impl Bound {
    /// The limit by `protection.client_share` of `all`; `None`: no limit. A trusted proxy has none, because it carries
    /// many clients.
    pub fn of(client: IpAddr, all: usize, settings: &Settings) -> Option<Self> {
        let share = settings.protection.client_share;
        let binds = share < 100 && all > 1 && !forwarded::is_trusted(client, &settings.listen.trusted_proxies);
        binds.then(|| Self { client, most: Self::most(all, share), reserved: all.div_ceil(RESERVED) })
    }

    /// So many percent of all, at least `LEAST`, but never the last one.
    fn most(all: usize, share: usize) -> usize {
        (all.saturating_mul(share) / 100).max(LEAST).min(all.saturating_sub(1))
    }
}

/// One counted connection or request of an address, while it exists.
#[derive(Debug)]
pub struct Share {
    of: Arc<Shares>,
    whose: Subject,
    client: Arc<Client>,
    /// It is no more than its share.
    pub is_within: bool,
    /// An idle one of the same address ends for it.
    pub displaces: bool,
}

/// It idles for as long as this lives.
pub struct Idle<'a>(&'a Client);

impl Shares {
    /// Empty counts. `what`: the counted thing, for the log.
    pub fn of(what: &'static str) -> Arc<Self> {
        Arc::new(Self { what, held: Mutex::default() })
    }

    /// Counts one more for an address, while so many are `free`; `None`: the address is at its limit.
    pub fn take(self: &Arc<Self>, bound: &Bound, free: usize) -> Option<Share> {
        let whose = Subject::address(bound.client);
        let mut held = self.held.lock();
        let client = held.by_address.entry(whose).or_default().clone();
        let has = client.has.load(Ordering::SeqCst).saturating_sub(client.ending.load(Ordering::SeqCst));
        let is_within = has < bound.most;
        let is_strict = || held.turned_away.is_some_and(|at| at.elapsed() < STRICT);
        let free_of_others = free.saturating_sub(client.idle.load(Ordering::SeqCst));
        let is_beyond = !is_within && (free_of_others <= bound.reserved || is_strict());
        let displaces = is_beyond && client.ends_an_idle_one();
        if is_beyond && !displaces {
            if held.said.is_none_or(|at| at.elapsed() >= SAID_AGAIN) {
                held.said = Some(Instant::now());
                tracing::warn!(
                    client = %bound.client,
                    "one address has {has} {}, and gets no more while others need the rest; if it is a proxy in front, name it \
                     in listen.trusted_proxies; protection.client_share = 100 switches this bound off",
                    self.what
                );
            }
            if client.has.load(Ordering::SeqCst) == 0 {
                held.by_address.remove(&whose);
            }
            return None;
        }
        client.has.fetch_add(1, Ordering::SeqCst);
        Some(Share { of: self.clone(), whose, client, is_within, displaces })
    }

    /// Call this when an address below its share was refused.
    pub fn turned_away(&self) {
        self.held.lock().turned_away = Some(Instant::now());
    }
}

impl Client {
    /// Ends the longest idle one, if one idles that has not to end already.
    fn ends_an_idle_one(&self) -> bool {
        // In this order: one that becomes busy at the same moment looks the other way round.
        let ending = self.ending.fetch_add(1, Ordering::SeqCst) + 1;
        let ends = ending <= self.idle.load(Ordering::SeqCst);
        if ends {
            self.room.notify_one();
        } else {
            self.one_has_ended();
        }
        ends
    }

    fn one_has_ended(&self) {
        let less = |ending: usize| Some(ending.saturating_sub(1));
        let _ = self.ending.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }
}

impl Share {
    /// From now on it only waits.
    pub fn idles(&self) -> Idle<'_> {
        self.client.idle.fetch_add(1, Ordering::SeqCst);
        Idle(&self.client)
    }

    /// Whether one that idled, and became busy, has to end in the place of one that still idles: none is left.
    pub fn has_to_end(&self) -> bool {
        self.client.ending.load(Ordering::SeqCst) > self.client.idle.load(Ordering::SeqCst)
    }
}

impl Idle<'_> {
    /// Returns when this one is to end, because the same address has another one.
    pub async fn displaced(&self) {
        loop {
            self.0.room.notified().await;
            // Else another one has ended by itself meanwhile.
            if self.0.ending.load(Ordering::SeqCst) > 0 {
                return;
            }
        }
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.idle.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.of.held.lock();
        self.client.one_has_ended();
        if self.client.has.fetch_sub(1, Ordering::SeqCst) == 1 {
            held.by_address.remove(&self.whose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(client: &str, most: usize, reserved: usize) -> Bound {
        Bound { client: client.parse().unwrap(), most, reserved }
    }

    /// Takes as many of `all` as the address can get.
    fn taken(shares: &Arc<Shares>, bound: &Bound, all: usize) -> Vec<Share> {
        (0..all).map_while(|n| shares.take(bound, all - n)).collect()
    }

    #[test]
    fn an_address_leaves_the_reserve_to_others() {
        let (shares, one) = (Shares::of("requests"), bound("192.0.2.1", 10, 3));
        let held = taken(&shares, &one, 20);
        assert_eq!(held.len(), 17);
        assert!(held[9].is_within && !held[10].is_within);
        assert!(shares.take(&bound("192.0.2.2", 10, 3), 1).is_some(), "another address gets the last one");
        drop(held);
        assert!(shares.held.lock().by_address.is_empty(), "an address that has nothing is forgotten");
    }

    #[test]
    fn an_address_has_its_share_at_most_once_another_was_turned_away() {
        let (shares, one) = (Shares::of("requests"), bound("192.0.2.1", 10, 3));
        shares.turned_away();
        assert_eq!(taken(&shares, &one, 20).len(), 10);
        let long_ago = Instant::now().checked_sub(STRICT + Duration::from_secs(1));
        shares.held.lock().turned_away = long_ago;
        assert!(long_ago.is_none() || taken(&shares, &one, 20).len() == 17, "only for a while");
    }

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        let shares = Shares::of("requests");
        let _held = shares.take(&bound("2001:db8::1", 1, 1), 9).unwrap();
        assert!(shares.take(&bound("2001:db8::2", 1, 1), 1).is_none());
        assert!(shares.take(&bound("2001:db8:0:1::1", 1, 1), 1).is_some());
    }

    #[test]
    fn what_idles_counts_and_makes_room_for_the_same_address() {
        let (shares, one) = (Shares::of("connections"), bound("192.0.2.1", 10, 3));
        let held: Vec<Share> = (0..17).map(|_| shares.take(&one, 20).unwrap()).collect();
        let idle: Vec<_> = held.iter().map(Share::idles).collect();
        // All of them idle: the next one takes the place of one of them, and never what is reserved.
        let more: Vec<Share> = (0..17).map(|_| shares.take(&one, 3 + 17).unwrap()).collect();
        assert!(more.iter().all(|share| share.displaces));
        assert!(shares.take(&one, 3 + 17).is_none(), "each of them has to end already");
        drop(idle);
        assert!(held.iter().all(Share::has_to_end), "though they became busy before they had ended");
        drop(held);
        assert!(!more.iter().any(Share::has_to_end));
        drop(more);
        assert!(shares.held.lock().by_address.is_empty());
    }

    #[tokio::test]
    async fn the_longest_idle_one_is_displaced() {
        let (shares, one) = (Shares::of("connections"), bound("192.0.2.1", 2, 1));
        let (first, second) = (shares.take(&one, 3).unwrap(), shares.take(&one, 2).unwrap());
        let (first_idles, second_idles) = (first.idles(), second.idles());
        let displacing = async {
            tokio::task::yield_now().await;
            shares.take(&one, 1).unwrap()
        };
        let ended = async {
            tokio::select! {
                biased;
                () = first_idles.displaced() => 1,
                () = second_idles.displaced() => 2,
            }
        };
        let (ended, third) = tokio::join!(ended, displacing);
        assert!(ended == 1 && third.displaces && !first.has_to_end(), "one that idles is left to end");
    }

    #[test]
    fn one_is_left_for_others_however_few_there_are() {
        for (all, share, most) in [(2, 50, 1), (8, 50, 7), (9, 50, 8), (10, 99, 9), (40, 50, 20), (40, 1, 8)] {
            assert_eq!(Bound::most(all, share), most, "{share} % of {all}");
        }
        let shares = Shares::of("requests");
        assert_eq!(taken(&shares, &bound("192.0.2.1", 1, 1), 2).len(), 1);
    }
}
