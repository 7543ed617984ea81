//! What only the system can say: whether there is room for what is to be written, and to set it aside.

use std::{fs::File, io, os::fd::AsRawFd, sync::Once, time::Duration};

/// A file that may not grow is told so by an error, as a full disk is; the signal that comes with it would end us.
pub(super) fn survive_file_limit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: no handler is installed, the signal is only ignored.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    });
}

/// What became of setting room aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetAside {
    Done,
    /// This file system cannot.
    Unknown,
}

/// Takes blocks of the disk for these bytes of the file, whose size stays as it is.
pub(super) fn set_aside(file: &File, from: u64, bytes: u64) -> io::Result<SetAside> {
    let (Ok(from), Ok(bytes)) = (i64::try_from(from), i64::try_from(bytes)) else {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    };
    loop {
        // SAFETY: takes numbers only, and the descriptor is open as long as `file` is borrowed.
        if unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, from, bytes) } == 0 {
            return Ok(SetAside::Done);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENODEV | libc::ESPIPE | libc::ENOSYS) => return Ok(SetAside::Unknown),
            _ => return Err(error),
        }
    }
}

/// Whether this process may make a file as long as that; setting room aside does not ask.
pub(super) fn may_grow_to(size: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes only the struct it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    if known && limit.rlim_cur != libc::RLIM_INFINITY && size > limit.rlim_cur {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(())
}

/// Whether the file system says that it has so many bytes left. Some do not say.
pub(super) fn has_left(file: &File, bytes: u64) -> io::Result<()> {
    // SAFETY: all zeroes are a valid value of this struct of numbers.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: writes only the struct it is given, and the descriptor is open as long as `file` is borrowed.
    let known = unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut found) } == 0;
    if known && found.f_blocks > 0 && found.f_bavail.saturating_mul(found.f_frsize) < bytes {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    Ok(())
}

/// Whether a pipe or a device would take something within that time.
pub(super) fn takes(file: &File, patience: Duration) -> io::Result<()> {
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let millis = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one struct is given and one is announced.
    let ready = unsafe { libc::poll(&raw mut asked, 1, millis) };
    if ready < 0 {
        Err(io::Error::last_os_error())
    } else if asked.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 {
        Err(io::ErrorKind::BrokenPipe.into())
    } else if ready == 0 {
        Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"))
    } else {
        Ok(())
    }
}
