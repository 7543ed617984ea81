//! System calls about disk space: whether there is room for a line, and reserving it.

use std::{fs::File, io, os::fd::AsFd, time::Duration};

#[cfg(target_os = "linux")]
use nix::fcntl::{FallocateFlags, fallocate};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        resource::{RLIM_INFINITY, Resource, getrlimit},
        statvfs::fstatvfs,
    },
};

/// The outcome of reserving room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetAside {
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux reserves"))]
    Done,
    /// This file system or this operating system cannot reserve.
    Unknown,
}

/// Reserves disk blocks for these bytes of the file. The file's size stays the same.
#[cfg(target_os = "linux")]
pub(super) fn set_aside(file: &File, from: u64, bytes: u64) -> io::Result<SetAside> {
    let (Ok(from), Ok(bytes)) = (from.try_into(), bytes.try_into()) else {
        return Err(Errno::EFBIG.into());
    };
    loop {
        match fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, bytes) {
            Ok(()) => return Ok(SetAside::Done),
            Err(Errno::EINTR) => {}
            Err(Errno::EOPNOTSUPP | Errno::ENODEV | Errno::ESPIPE | Errno::ENOSYS) => return Ok(SetAside::Unknown),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Only Linux reserves blocks without a change of the file's size. Elsewhere the free space is asked for before a write.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_aside(_: &File, _: u64, _: u64) -> io::Result<SetAside> {
    Ok(SetAside::Unknown)
}

/// Whether this process may write a file of this size; reserving does not check that.
pub(super) fn may_grow_to(size: u64) -> io::Result<()> {
    match getrlimit(Resource::RLIMIT_FSIZE) {
        Ok((most, _)) if most != RLIM_INFINITY && size > most => Err(Errno::EFBIG.into()),
        _ => Ok(()),
    }
}

/// Whether the file system reports so many free bytes. Some report nothing.
#[allow(clippy::useless_conversion, reason = "on macOS the number of blocks has 32 bits")]
pub(super) fn has_left(file: &File, bytes: u64) -> io::Result<()> {
    match fstatvfs(file) {
        Ok(found) if found.blocks() > 0 => {
            let left = u64::from(found.blocks_available()).saturating_mul(found.fragment_size());
            if left < bytes { Err(Errno::ENOSPC.into()) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Whether a pipe or a device accepts data within this time.
pub(super) fn takes(file: &File, patience: Duration) -> io::Result<()> {
    let mut asked = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
    let ready = poll(&mut asked, PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX))?;
    let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    if asked[0].revents().is_some_and(|seen| seen.intersects(broken)) {
        Err(io::ErrorKind::BrokenPipe.into())
    } else if ready == 0 {
        Err(io::Error::new(io::ErrorKind::TimedOut, "it has no reader, or the reader is too slow"))
    } else {
        Ok(())
    }
}
