//! A desk with a wrong clock (libfaketime), and a Redis whose keys have aged without waiting.

use super::redis::Redis;
use super::setup::Setup;
use std::process::Command;

/// The same desk with a wall clock that is so many seconds ahead, or behind if negative. Its timers are unaffected.
pub fn ahead(setup: &Setup, seconds: i64) -> Setup {
    let setup = setup.clone().env("LD_PRELOAD", &library()).env("FAKETIME", &format!("{seconds:+}s"));
    setup.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1")
}

/// The path of the `faketime` library.
fn library() -> String {
    let said = Command::new("faketime").args(["-m", "-f", "+0s", "printenv", "LD_PRELOAD"]).output();
    let said = said.unwrap_or_else(|_| panic!("faketime is missing: run deploy/setup faketime")).stdout;
    String::from_utf8(said).expect("a path").trim().to_owned()
}

/// Reduces the remaining lifetime of every key by so many milliseconds.
pub async fn age(redis: &Redis, millis: i64) {
    for key in redis.keys().await {
        let left: i64 = redis.command(&["PTTL", &key]).await[0].parse().expect("a number");
        if left >= 0 {
            redis.command(&["PEXPIRE", &key, &(left - millis).to_string()]).await;
        }
    }
}
