//! This process, as records in a shared store name it: enough to tell later whether it is still there.
//!
//! A call that was begun by a process that is gone has no one waiting for its answer any more. Only a process of the same
//! boot and the same namespace can be looked at; of any other it is not known.

use std::{fs, time::Duration};

use frontdesk_filters::desk::Holders;

use crate::clock::since_boot;

/// Says who is there.
pub struct Processes {
    name: String,
    /// What has to be the same for another process to be seen from here.
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
        // Without a place nobody can say anything of us, and nobody else has our name.
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
        // Where other people's processes are hidden, not to be seen means nothing.
        let all_are_seen = fs::metadata("/proc/1/stat").is_ok();
        if place.is_empty() || place != self.place || start.is_empty() || !all_are_seen {
            return false;
        }
        began(pid).is_none_or(|now| now != start)
    }
}

/// When a process began, in ticks since the machine did; a number is used again, a number and its beginning are not.
/// `None`: there is none, or it is over and only its parent has not noticed.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, but ends with the last parenthesis.
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
