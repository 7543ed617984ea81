//! The only file with unsafe code. Each use states why it is sound.
//!
//! Descriptors from outside are plain numbers until they have an owner. Signal actions and the allocator belong to the
//! whole process. No other file may touch these.

#![expect(unsafe_code, reason = "the one place for it; tests/house.rs sees to that")]

#[cfg(feature = "mimalloc")]
use std::alloc::{GlobalAlloc, Layout};
use std::{
    cell::Cell,
    io::{self, IoSliceMut},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use bytes::BytesMut;
#[cfg(feature = "mimalloc")]
use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};
use nix::sys::{
    signal::{SigHandler, Signal, signal},
    socket::{ControlMessageOwned, MsgFlags, recvmsg},
};
use rustix::net::{RecvFlags, recv};

/// Lets a command that only prints end silently when its reader closes the pipe, as with `head`. Commands with sockets
/// handle the error where they write.
pub(crate) fn end_with_the_reader() {
    // SAFETY: the default action is no function of ours.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}

/// Ignores the signal about the file size limit, so that a write fails with an error, as on a full disk.
pub(crate) fn survive_file_limit() {
    // SAFETY: no handler is installed, the signal is only ignored.
    let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
}

/// The sockets that a service manager has bound (`LISTEN_FDS`); empty without one, or after the first call.
pub(crate) fn bound_for_us() -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    // SAFETY: they were given to this process before it began, are open, and are taken only once.
    Ok(sd_notify::listen_fds()?.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect())
}

/// No child process inherits a received descriptor. Where the flag is missing, the descriptor is marked afterwards.
#[cfg(target_os = "linux")]
const CLOSED_ON_EXEC: MsgFlags = MsgFlags::MSG_CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSED_ON_EXEC: MsgFlags = MsgFlags::empty();

/// Reads the first message of a stream into `said`, and its descriptors, at most `MOST`.
pub(crate) fn received<const MOST: usize>(stream: &UnixStream, said: &mut [u8]) -> io::Result<Vec<OwnedFd>> {
    let mut room = nix::cmsg_space!([RawFd; MOST]);
    let mut parts = [IoSliceMut::new(said)];
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut room), CLOSED_ON_EXEC)?;
    let mut given = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            // SAFETY: the kernel has just made them for this process, and they are read out of the message only once.
            given.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    #[cfg(not(target_os = "linux"))]
    for socket in &given {
        nix::fcntl::fcntl(socket, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    }
    Ok(given)
}

/// Reads from a socket into the free room of `buf` and returns the number of bytes.
pub(crate) fn receive(socket: impl AsFd, buf: &mut BytesMut) -> io::Result<usize> {
    let ((read, _), _) = recv(socket, buf.spare_capacity_mut(), RecvFlags::empty())?;
    let came = read.len();
    // SAFETY: so many bytes of the room that was left have been written.
    unsafe { buf.set_len(buf.len() + came) };
    Ok(came)
}

/// The same as [`crate::socket::acknowledge`] for a socket of the library, of which only the descriptor is known.
pub(crate) fn acknowledge(socket: RawFd) {
    #[cfg(target_os = "linux")]
    if socket >= 0 {
        // SAFETY: the caller holds the connection, so the descriptor stays open while this borrows it.
        let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(socket) };
        let _ = rustix::net::sockopt::set_tcp_quickack(socket, true);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// Whether a socket, known only by its descriptor, accepts more bytes now. For an invalid descriptor the answer is yes:
/// the write itself will fail.
pub(crate) fn takes_more(socket: RawFd) -> bool {
    let mut asked = nix::libc::pollfd { fd: socket, events: nix::libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, which lives until this returns; the number is only looked up.
    let ready = unsafe { nix::libc::poll(&raw mut asked, 1, 0) };
    ready != 0
}

/// The number of written bytes that the peer of a socket has not acknowledged.
pub(crate) fn unacknowledged(socket: RawFd) -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut bytes: nix::libc::c_int = 0;
        // SAFETY: it writes one number, to a place that lives until this returns (tcp(7): SIOCOUTQ is TIOCOUTQ).
        let asked = unsafe { nix::libc::ioctl(socket, nix::libc::TIOCOUTQ, &raw mut bytes) };
        if asked == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        0
    }
}

#[cfg(feature = "mimalloc")]
// SAFETY: it is declared so in mimalloc.h, and may be called by any thread at any time.
unsafe extern "C" {
    safe fn mi_collect(force: bool);
}

/// The allocator of the process. The crate `mimalloc` passes an alignment with each request. Requests without one are
/// much faster for all but the smallest sizes.
#[cfg(feature = "mimalloc")]
pub(crate) struct Allocator;

/// The alignment that any allocation of at least this size has anyway.
#[cfg(feature = "mimalloc")]
const ALIGNED: usize = 16;

#[cfg(feature = "mimalloc")]
fn is_aligned_anyway(layout: Layout) -> bool {
    layout.align() <= ALIGNED && layout.align() <= layout.size()
}

#[cfg(feature = "mimalloc")]
// SAFETY: mimalloc's functions do what is asked of an allocator, are used for all of it, and never unwind.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size may be asked for; alignments are powers of two.
        unsafe {
            match is_aligned_anyway(layout) {
                true => mi_malloc(layout.size()).cast(),
                false => mi_malloc_aligned(layout.size(), layout.align()).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match is_aligned_anyway(layout) {
                true => mi_zalloc(layout.size()).cast(),
                false => mi_zalloc_aligned(layout.size(), layout.align()).cast(),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        // SAFETY: it came from here, whichever way, and is given back once.
        unsafe { mi_free(pointer.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; what it becomes is aligned as it was.
        unsafe {
            match is_aligned_anyway(layout) && layout.align() <= size {
                true => mi_realloc(pointer.cast(), size).cast(),
                false => mi_realloc_aligned(pointer.cast(), size, layout.align()).cast(),
            }
        }
    }
}

/// How often an idle thread returns unused memory.
const TIDIED: Duration = Duration::from_secs(5);

/// Returns memory that the allocator keeps for this thread alone. Otherwise the memory would return only when the
/// thread allocates the same sizes again, which rarely happens after a burst. Call it on an idle thread: it takes
/// microseconds.
pub(crate) fn tidy() {
    thread_local!(static LAST: Cell<Option<Instant>> = const { Cell::new(None) });
    let now = Instant::now();
    if LAST.get().is_none_or(|last| now.duration_since(last) >= TIDIED) {
        LAST.set(Some(now));
        #[cfg(feature = "mimalloc")]
        mi_collect(false);
    }
}

/// Drops the program's own code and constants from resident memory, so that pages used only at the start do not count
/// forever. Pages in use come back from the page cache, sixteen at a time. Call it once after the start. Probes that a
/// tracer has set before that are lost; later ones stay.
pub(crate) fn put_program_away() {
    #[cfg(target_os = "linux")]
    linux::put_program_away();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        ffi::{c_int, c_void},
        ptr::{slice_from_raw_parts, with_exposed_provenance_mut, without_provenance_mut},
    };

    use nix::libc::{_SC_PAGESIZE, MADV_DONTNEED, PF_W, PT_LOAD, dl_iterate_phdr, dl_phdr_info, madvise, sysconf};

    pub(super) fn put_program_away() {
        // SAFETY: it only asks; and what is called is called before this returns, with a number for a pointer.
        unsafe {
            let page = usize::try_from(sysconf(_SC_PAGESIZE)).unwrap_or(1 << 16);
            dl_iterate_phdr(Some(put_away), without_provenance_mut::<c_void>(page));
        }
    }

    unsafe extern "C" fn put_away(program: *mut dl_phdr_info, _: usize, page: *mut c_void) -> c_int {
        // SAFETY: the linker describes what it has loaded, for as long as this is called.
        let (base, parts) = unsafe {
            let program = &*program;
            (program.dlpi_addr as usize, &*slice_from_raw_parts(program.dlpi_phdr, program.dlpi_phnum.into()))
        };
        let page = page.addr();
        // Writable parts no longer match the file.
        for part in parts.iter().filter(|part| part.p_type == PT_LOAD && part.p_flags & PF_W == 0) {
            let from = base + part.p_vaddr as usize;
            let to = (from + part.p_memsz as usize) / page * page;
            let from = from.next_multiple_of(page);
            // SAFETY: whole pages of a file that are only read: who looks at them sees what the file holds, as before.
            unsafe { madvise(with_exposed_provenance_mut(from), to.saturating_sub(from), MADV_DONTNEED) };
        }
        // The first entry is the program itself. The others are shared libraries.
        1
    }
}

/// Returns free memory to the system. Reading a declaration leaves many small blocks behind, which the allocator would
/// keep for the thread that read it. Takes milliseconds after a large one: do not call it on a worker thread.
pub(crate) fn give_back() {
    #[cfg(feature = "mimalloc")]
    mi_collect(true);
    // SAFETY: it takes no pointer, and may be called by any thread at any time.
    #[cfg(all(not(feature = "mimalloc"), target_os = "linux", target_env = "gnu"))]
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

#[cfg(all(test, feature = "mimalloc"))]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_allocated_is_aligned_and_keeps_what_is_in_it() {
        for align in (0..=12).map(|power| 1 << power) {
            for size in (1..=130).chain([255, 256, 257, 1000, 1025, 4095, 8192, 65_537, 1 << 20]) {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: written within its bounds, and given back once with the layout that it has by then.
                unsafe {
                    let zeroed = Allocator.alloc_zeroed(layout);
                    assert!((zeroed as usize).is_multiple_of(align) && *zeroed == 0, "{layout:?}");
                    Allocator.dealloc(zeroed, layout);
                    let first = Allocator.alloc(layout);
                    assert!((first as usize).is_multiple_of(align), "{layout:?}");
                    first.write(7);
                    for size in [3 * size, size.div_ceil(3)] {
                        let other = Allocator.realloc(Allocator.alloc(layout), layout, size);
                        assert!((other as usize).is_multiple_of(align), "{layout:?}, then {size}");
                        Allocator.dealloc(other, Layout::from_size_align(size, align).unwrap());
                    }
                    let longer = Allocator.realloc(first, layout, size + 1);
                    assert_eq!(*longer, 7, "{layout:?}");
                    Allocator.dealloc(longer, Layout::from_size_align(size + 1, align).unwrap());
                }
            }
        }
    }
}
