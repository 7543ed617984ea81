//! Hands the listening sockets from an old process to its successor, so that an upgrade refuses no connection.
//!
//! The new process (`run --upgrade`) reads its configuration and waits at `listen.upgrade_socket`. On SIGQUIT the old
//! one sends it the sockets. The new one serves on them and says so; only then does the old one stop accepting and
//! finish its requests. Until then both can accept, and if the new one fails, the old one keeps serving.
//!
//! The peer has to run as the same user or as root: a socket gives access to all data that clients send to it.

use std::{
    io::{self, BufRead, BufReader, IoSlice, Write},
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nix::{
    sys::socket::{ControlMessage, MsgFlags, sendmsg},
    unistd::geteuid,
};

use crate::sys;

/// How long a successor waits for the sockets.
const WAITS: Duration = Duration::from_secs(300);
/// How long a successor may take until it serves on them.
const BEGINS: Duration = Duration::from_secs(30);
/// The most sockets in one hand-over.
const MOST: usize = 64;
/// The first bytes of both sides. A different version of the protocol would use different bytes.
const HELLO: &[u8] = b"frontdesk sockets 1\n";
/// The successor's message that it serves.
const SERVING: &str = "serving\n";
/// A closed peer is an error of the call, not a signal. Where the flag is missing, Rust's start ignores the signal.
#[cfg(target_os = "linux")]
const NO_SIGNAL: MsgFlags = MsgFlags::MSG_NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: MsgFlags = MsgFlags::empty();

/// Listening sockets that another process has bound for us, each with its address.
#[derive(Default)]
pub(super) struct Inherited {
    listeners: Vec<(SocketAddr, TcpListener)>,
    /// The connection to the old process, for the message that we serve.
    giver: Option<UnixStream>,
}

impl Inherited {
    /// The sockets of a service manager (`LISTEN_FDS`), if there is one.
    pub(super) fn from_manager() -> io::Result<Self> {
        Self::of(sys::bound_for_us()?)
    }

    fn of(sockets: Vec<OwnedFd>) -> io::Result<Self> {
        let mut listeners = Vec::with_capacity(sockets.len());
        for listener in sockets.into_iter().map(TcpListener::from) {
            listener.set_nonblocking(true)?;
            listeners.push((listener.local_addr()?, listener));
        }
        Ok(Self { listeners, giver: None })
    }

    /// Removes and returns the socket of an address, if there is one.
    pub(super) fn take(&mut self, address: SocketAddr) -> Option<TcpListener> {
        let at = self.listeners.iter().position(|(bound, _)| *bound == address)?;
        Some(self.listeners.swap_remove(at).1)
    }

    /// Tells the old process that we serve on all sockets. Closes the unused ones.
    pub(super) fn served(self) {
        for (address, _) in &self.listeners {
            tracing::warn!(%address, "upgrade: closed an inherited socket on which the configuration does not listen");
        }
        if let Some(mut giver) = self.giver
            && let Err(e) = giver.write_all(SERVING.as_bytes())
        {
            tracing::warn!(error = %e, "upgrade: the previous process has already exited");
        }
    }
}

/// The Unix socket at which a successor waits. Dropping it removes its file.
pub(super) struct Place {
    listener: UnixListener,
    path: PathBuf,
}

impl Place {
    /// # Errors
    ///
    /// Another process waits there already, or the file cannot be written.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        // A dead process's socket file is in the way. A live process that waits there must stay.
        let left = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if left && !Self::is_taken(path) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// The blocking wait, for a thread that may block. Its caller may give up: the file on the disk belongs to this
    /// `Place`, not to the blocked thread.
    pub(super) fn waiting(&self) -> io::Result<impl FnOnce() -> io::Result<Inherited> + Send + use<>> {
        let listener = self.listener.try_clone()?;
        Ok(move || given(&listener))
    }

    /// Whether a successor waits there. A socket file of a dead process does not count.
    pub(super) fn is_taken(path: &Path) -> bool {
        UnixStream::connect(path).is_ok()
    }
}

/// Waits for the old process and receives its sockets.
fn given(listener: &UnixListener) -> io::Result<Inherited> {
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => match received(&stream) {
                Ok(sockets) => return Ok(Inherited { giver: Some(stream), ..Inherited::of(sockets)? }),
                // The peer only looked whether a successor waits here.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
                Err(e) => tracing::warn!(error = %e, "upgrade: the peer connected but sent no listening sockets"),
            },
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        if began.elapsed() > WAITS {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "no process handed over its sockets within five minutes",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Sends the sockets to a successor and waits until it serves on them.
///
/// # Errors
///
/// There is no successor, or it failed before it served. This process then keeps serving.
pub(super) fn give(path: &Path, sockets: &[OwnedFd]) -> io::Result<()> {
    let stream = UnixStream::connect(path).map_err(|e| {
        let hint = "start one first: frontdesk run --upgrade --config FILE";
        io::Error::new(e.kind(), format!("no successor waits at {}: {e}; {hint}", path.display()))
    })?;
    check_peer(&stream)?;
    let fds: Vec<RawFd> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(HELLO)], &rights, NO_SIGNAL, None)?;
    stream.set_read_timeout(Some(BEGINS))?;
    let mut said = String::new();
    BufReader::new(stream).read_line(&mut said)?;
    match said.as_str() {
        SERVING => Ok(()),
        _ => Err(io::Error::other("the successor got the sockets and ended before it served; see its log")),
    }
}

/// Receives the sockets in the first message.
fn received(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    check_peer(stream)?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut hello = [0; HELLO.len()];
    let sockets = sys::received::<MOST>(stream, &mut hello)?;
    if hello == [0; HELLO.len()] {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if hello != HELLO || sockets.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak this version's hand-over protocol"));
    }
    Ok(sockets)
}

fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = user_of(stream)?;
    if peer != 0 && peer != geteuid().as_raw() {
        let why = format!("the peer runs as user {peer}, which is neither ours nor root");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// The user of the process at the other end.
#[cfg(target_os = "linux")]
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials)?.uid())
}

/// The user of the process at the other end.
#[cfg(not(target_os = "linux"))]
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(nix::unistd::getpeereid(stream)?.0.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn sockets_go_over_and_only_then_is_it_said() {
        let folder = std::env::temp_dir().join(format!("frontdesk-handover-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("upgrade.sock");
        let nobody = give(&path, &[]).unwrap_err().to_string();
        assert!(nobody.contains("no successor waits") && nobody.contains("--upgrade"), "{nobody}");

        // The socket file of a dead process is not in the way.
        drop(UnixListener::bind(&path).unwrap());
        let (one, other) = (bound(), bound());
        let (here, there) = (one.local_addr().unwrap(), other.local_addr().unwrap());
        let place = Place::at(&path).unwrap();
        let successor = std::thread::spawn(move || {
            let mut inherited = place.waiting().unwrap()().unwrap();
            assert!(inherited.take("127.0.0.1:1".parse().unwrap()).is_none());
            let taken = inherited.take(here).unwrap();
            assert_eq!(taken.local_addr().unwrap(), here);
            inherited.served();
            taken
        });
        let sockets = [OwnedFd::from(one), OwnedFd::from(other)];
        give(&path, &sockets).unwrap();
        drop(sockets);
        let taken = successor.join().unwrap();
        assert!(std::net::TcpStream::connect(here).is_ok(), "it is open still");
        assert!(std::net::TcpStream::connect(there).is_err(), "nobody wanted it");
        assert!(!path.exists(), "and nothing is left");
        drop(taken);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
