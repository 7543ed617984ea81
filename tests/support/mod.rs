//! The base of the integration tests: a scripted origin, the real binary, and clients that show every byte.
//!
//! Nothing here replaces a part of Frontdesk. Each file holds one idea.

pub mod a2a;
pub mod agency;
pub mod agtp;
pub mod ask;
pub mod busy_site;
pub mod calls;
pub mod client;
pub mod client_h2;
pub mod clocks;
pub mod coding;
pub mod collector;
pub mod contract;
pub mod desk;
pub mod dir;
pub mod events;
pub mod exact;
pub mod faulty;
pub mod frames_h2;
pub mod gate;
pub mod handoff;
pub mod handshake;
pub mod harnesses;
pub mod head_only_site;
pub mod hostile;
pub mod jwks;
pub mod lamps;
pub mod login;
pub mod market;
pub mod message;
pub mod origin;
pub mod origin_h2;
pub mod page;
pub mod paper;
pub mod rates;
pub mod redis;
pub mod reply;
pub mod rpc;
pub mod setup;
pub mod shop;
pub mod signer;
mod slow_readers;
pub mod store_proxy;
pub mod supervisor;
pub mod tls;
pub mod trips;
pub mod verbs;
pub mod web_server;
pub mod wire;

pub use agtp::AgtpConn;
pub use ask::{Ask, Via};
pub use client::Conn;
pub use client_h2::H2Conn;
pub use coding::Coding;
pub use desk::Desk;
pub use dir::Dir;
pub use gate::Gate;
pub use message::{Framing, Headers, Request, Response};
pub use origin::Origin;
pub use reply::{Answer, Reply, Step};
pub use setup::{Ports, Setup, fast_path_is_off};
pub use slow_readers::SlowReaders;
pub use tls::Tls;

use std::time::{Duration, Instant};

/// The limit for everything that should happen at once. Generous, because many tests share two cores.
pub const SOON: Duration = Duration::from_secs(15);

/// Polls `ready` until it returns true, or fails with `what` after `within`.
pub async fn eventually(what: &str, within: Duration, mut ready: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !ready().await {
        assert!(begun.elapsed() < within, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Awaits `future`, or fails after `SOON`.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    within(SOON, what, future).await
}

/// Awaits `future`, or fails after `limit`.
pub async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, future).await {
        Ok(done) => done,
        Err(_) => panic!("not within {limit:?}: {what}"),
    }
}
