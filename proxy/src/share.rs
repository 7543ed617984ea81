//! How many connections and requests each client address has at a time, so that one address cannot take all of them.
//!
//! Many clients may be behind one address: behind NAT, or a proxy that `listen.trusted_proxies` does not name. So an address
//! may go beyond its share while nobody else is turned away; only an eighth stays free for the others. Once another address
//! was turned away, nobody gets more than the share for a while.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::{caller::forwarded, site::Settings, state::Subject};
use parking_lot::Mutex;

/// Every address may have so many, however few there are in all.
const LEAST: usize = 8;
/// This part of all stays free for addresses that have less than their share: an eighth.
const RESERVED: usize = 8;
/// How long nobody gets more than the share after another address was turned away.
const STRICT: Duration = Duration::from_secs(30);

/// How often the log says that an address gets no more.
const SAID_AGAIN: Duration = Duration::from_secs(60);

/// What the addresses have (of IPv6 the /64). An address that has nothing is not in here.
#[derive(Debug)]
pub struct Shares {
    /// For the log.
    what: &'static str,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    by_address: HashMap<Subject, usize>,
    /// When an address that had less than its share got nothing.
    turned_away: Option<Instant>,
    /// When the log last said that an address gets no more.
    said: Option<Instant>,
}

/// What one address may have.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    pub client: IpAddr,
    most: usize,
    reserved: usize,
}

impl Bound {
    /// Of `all`, by `protection.client_share`; `None`: the address may have all of them. A trusted proxy may, for its many
    /// clients.
    pub fn of(client: IpAddr, all: usize, settings: &Settings) -> Option<Self> {
        let most = (all.saturating_mul(settings.protection.client_share) / 100).max(LEAST);
        let binds = most < all && !forwarded::is_trusted(client, &settings.listen.trusted_proxies);
        binds.then(|| Self { client, most, reserved: all.div_ceil(RESERVED) })
    }
}

/// An address has one more for as long as this lives.
#[derive(Debug)]
pub struct Share {
    of: Arc<Shares>,
    whose: Subject,
    /// It is no more than its share.
    pub is_within: bool,
}

impl Shares {
    /// Nobody has any yet. `what`: in the log.
    pub fn of(what: &'static str) -> Arc<Self> {
        Arc::new(Self { what, held: Mutex::default() })
    }

    /// One more for an address, while so many are `free`; `None`: it has its share, and the rest is for others.
    pub fn take(self: &Arc<Self>, bound: &Bound, free: usize) -> Option<Share> {
        let whose = Subject::address(bound.client);
        let mut held = self.held.lock();
        let has = held.by_address.get(&whose).copied().unwrap_or(0);
        let is_within = has < bound.most;
        let is_strict = || held.turned_away.is_some_and(|at| at.elapsed() < STRICT);
        if !is_within && (free <= bound.reserved || is_strict()) {
            if held.said.is_none_or(|at| at.elapsed() >= SAID_AGAIN) {
                held.said = Some(Instant::now());
                tracing::warn!(
                    client = %bound.client,
                    "one address has {has} {}, and gets no more while others need the rest; if it is a proxy in front, name it \
                     in listen.trusted_proxies; protection.client_share = 100 switches this bound off",
                    self.what
                );
            }
            return None;
        }
        held.by_address.insert(whose, has + 1);
        Some(Share { of: self.clone(), whose, is_within })
    }

    /// Call this when an address got nothing though it has less than its share.
    pub fn turned_away(&self) {
        self.held.lock().turned_away = Some(Instant::now());
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let by_address = &mut self.of.held.lock().by_address;
        match by_address.get_mut(&self.whose) {
            Some(has) if *has > 1 => *has -= 1,
            _ => drop(by_address.remove(&self.whose)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(client: &str, most: usize, reserved: usize) -> Bound {
        Bound { client: client.parse().unwrap(), most, reserved }
    }

    /// Takes as many of `all` as the address gets.
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
}
