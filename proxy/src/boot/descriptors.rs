//! Raises the limit on open files, and computes how many connections fit under it.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors for everything but client connections: listeners, logs, the store, background requests.
const BESIDE: usize = 256;
/// Descriptors of one request: the client's connection and the upstream's.
const EACH: usize = 2;

/// How many of the allowed files the system really gives: macOS refuses a limit above `OPEN_MAX`.
const fn given(most: u64) -> u64 {
    if cfg!(target_os = "macos") && most > 10_240 { 10_240 } else { most }
}

/// Raises the soft limit as far as allowed (the usual 1024 is far below `protection.max_connections`) and returns it.
pub(super) fn raised() -> usize {
    let files = Resource::RLIMIT_NOFILE;
    let limit = getrlimit(files).map_or(1024, |(soft, most)| match setrlimit(files, given(most), most) {
        Ok(()) => given(most),
        Err(e) => {
            tracing::warn!(error = %e, "the limit on open files could not be raised; it bounds the connections");
            soft
        }
    });
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// `protection.max_connections`, or fewer, so that every client connection can get an upstream connection.
pub(super) fn connections(wanted: usize, files: usize) -> usize {
    let most = (files.saturating_sub(BESIDE) / EACH).max(1);
    if wanted > most {
        let needed = wanted.saturating_mul(EACH).saturating_add(BESIDE);
        tracing::warn!(
            "only {files} files may be open: {most} connections are taken at a time, and more wait; for \
             protection.max_connections = {wanted} let {needed} be open (ulimit -n, LimitNOFILE)"
        );
    }
    wanted.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_files_for_all_connections_that_are_taken() {
        assert_eq!(connections(20_000, 65_536), 20_000);
        assert_eq!(connections(20_000, 20_000), 9_872);
        assert_eq!(connections(20_000, 40_256), 20_000);
        assert_eq!(connections(5, 64), 1, "one is always taken");
        assert_eq!(connections(7, usize::MAX), 7);
    }
}
