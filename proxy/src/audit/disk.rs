//! What only the system can say: whether there is room for what is to be written, and to set it aside.

use std::{fs::File, io, os::fd::AsFd, time::Duration};

use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, fallocate},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        resource::{RLIM_INFINITY, Resource, getrlimit},
        statvfs::fstatvfs,
    },
};

/// What became of setting room aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetAside {
    Done,
    /// This file system cannot.
    Unknown,
}

/// Takes blocks of the disk for these bytes of the file, whose size stays as it is.
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

/// Whether this process may make a file as long as that; setting room aside does not ask.
pub(super) fn may_grow_to(size: u64) -> io::Result<()> {
    match getrlimit(Resource::RLIMIT_FSIZE) {
        Ok((most, _)) if most != RLIM_INFINITY && size > most => Err(Errno::EFBIG.into()),
        _ => Ok(()),
    }
}

/// Whether the file system says that it has so many bytes left. Some do not say.
pub(super) fn has_left(file: &File, bytes: u64) -> io::Result<()> {
    match fstatvfs(file) {
        Ok(found) if found.blocks() > 0 && found.blocks_available().saturating_mul(found.fragment_size()) < bytes => {
            Err(Errno::ENOSPC.into())
        }
        _ => Ok(()),
    }
}

/// Whether a pipe or a device would take something within that time.
pub(super) fn takes(file: &File, patience: Duration) -> io::Result<()> {
    let mut asked = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
    let ready = poll(&mut asked, PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX))?;
    let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    if asked[0].revents().is_some_and(|seen| seen.intersects(broken)) {
        Err(io::ErrorKind::BrokenPipe.into())
    } else if ready == 0 {
        Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"))
    } else {
        Ok(())
    }
}
