//! The state of the process for a person: /config and /readyz?verbose.

use std::{fmt::Write, time::SystemTime};

use serde_json::{Value, json};

use crate::live::{self, Live};

/// The running configuration, its age, and why the last reload failed.
pub(super) fn config(live: &Live) -> Value {
    let running = live.current();
    let upstreams: Vec<Value> = running
        .pool
        .backends()
        .iter()
        .map(|b| json!({ "url": b.label, "up": b.is_up(), "addresses": *b.addresses() }))
        .collect();
    let store = &running.store;
    let told = |f: live::Failure| json!({ "at": when(f.at), "mistakes": f.mistakes, "warnings": f.warnings });
    let failure = live.failure().map(told);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": live::started().elapsed().as_secs(),
        "source": live.name(),
        "hash": running.snapshot.hash,
        "loaded_at": when(running.since),
        "age_seconds": running.age().as_secs(),
        "warnings": running.warnings(),
        "last_error": failure,
        "not_swapped": live.not_swapped(),
        "listening": live.bound().shown(),
        "upstreams": upstreams,
        "store": { "home": format!("{:?}", store.settings().home), "reachable": store.status().reachable },
        "documents": running.snapshot.endpoints.documents(),
        "config": serde_json::from_str::<Value>(&running.declaration.tables).unwrap_or_default(),
    })
}

/// One line for each condition of readiness, and for other facts that an operator needs.
pub(super) fn readiness(live: &Live, draining: bool) -> String {
    let running = live.current();
    let mut out = String::new();
    let mut line = |well: bool, what: String| {
        let _ = writeln!(out, "[{}] {what}", if well { '+' } else { '-' });
    };
    line(true, format!("configuration {} in use for {} s", running.short_hash(), running.age().as_secs()));
    match live.failure() {
        None => line(true, "last reload succeeded".into()),
        Some(failure) => {
            line(false, format!("last reload failed at {}; the running configuration stays", when(failure.at)));
            for mistake in failure.mistakes {
                line(false, mistake);
            }
        }
    }
    for what in live.not_swapped() {
        line(false, what);
    }
    for backend in running.pool.backends() {
        line(backend.is_up(), format!("upstream {}", backend.label));
    }
    let store = running.store.status();
    let home = format!("store {:?}, {} decisions without it", running.store.settings().home, store.without);
    line(store.reachable, running.store.away().map_or(home.clone(), |why| format!("{home}: {why}")));
    if let Some(what) = running.store.full() {
        line(false, format!("store is full: {what}"));
    }
    if let Some(why) = running.store.unready() {
        line(false, format!("not ready: {why}"));
    }
    let goes_on = running.harness.as_ref().is_some_and(|harness| harness.declared().goes_on);
    let meanwhile = if goes_on { "go on unsupervised (on_error)" } else { "get 503" };
    for link in running.harness.iter().flat_map(|harness| &harness.links) {
        match link.why_away() {
            None => line(true, format!("harness {} decides", link.name)),
            Some(why) => {
                let name = &link.name;
                line(
                    false,
                    format!("harness {name} is unreachable, and calls that need its decision {meanwhile}: {why}"),
                )
            }
        }
    }
    if let Some((well, said)) = live.reading().line() {
        line(well, said);
    }
    line(!draining, if draining { "draining".into() } else { "taking requests".into() });
    out
}

fn when(at: SystemTime) -> String {
    httpdate::fmt_http_date(at)
}
