//! The identity of this process in records of a shared store, so that another process can tell later whether it still
//! runs.
//!
//! If the process that began a call is gone, no task waits for the call's answer any more. Only a process of the same
//! boot and the same PID namespace can be checked; about others nothing is known.

use std::{fs, time::Duration};

use frontdesk_filters::desk::Holders;

use crate::clock::since_boot;

/// Names processes and checks whether they run.
pub struct Processes {
    name: String,
    /// The boot and namespace that another process must share to be visible from here.
    place: String,
}

impl Processes {
    pub fn new() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
        let place = match (boot.trim(), namespace) {
            ("", _) | (_, Err(_)) => String::new(),
            (boot, Ok(namespace)) => format!("{boot} {namespace}"),
        };
        let pid = std::process::id();
        // Without a place other processes cannot check us, and no other process has our name.
        let name = format!("{place}|{pid}|{}", began(pid).unwrap_or_default());
        Self { name, place }
    }
}

impl Holders for Processes {
    fn name(&self) -> &str {
        &self.name
    }

    fn clock(&self) -> Duration {
        since_boot()
    }

    fn is_gone(&self, name: &str) -> bool {
        let mut parts = name.split('|');
        let (Some(place), Some(pid), Some(start)) = (parts.next(), parts.next(), parts.next()) else { return false };
        let Ok(pid) = pid.parse() else { return false };
        // If /proc hides other users' processes, a missing entry means nothing.
        let all_are_seen = fs::metadata("/proc/1/stat").is_ok();
        if place.is_empty() || place != self.place || start.is_empty() || !all_are_seen {
            return false;
        }
        began(pid).is_none_or(|now| now != start)
    }
}

/// The start time of a process, in ticks since boot. PIDs are reused, but a PID with its start time is unique. `None`:
/// there is no such process, or it is a zombie.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything, but ends with the last parenthesis.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18).map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_there_and_who_is_gone() {
        let here = Processes::new();
        assert!(!here.is_gone(here.name()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let name = format!("{}|{}|{}", here.place, child.id(), began(child.id()).unwrap());
        assert!(!here.is_gone(&name));
        child.kill().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(here.is_gone(&name), "a process that nobody has buried yet");
        child.wait().unwrap();
        assert!(here.is_gone(&name));
        assert!(here.is_gone(&format!("{}|{}|1", here.place, std::process::id())), "another with the same number");
        for elsewhere in ["other boot|1|1", "", "|1|1", "x"] {
            assert!(!here.is_gone(elsewhere), "{elsewhere}");
        }
    }
}
