//! A new binary takes the listeners over from the old one, so that nobody is refused in between.
//!
//! The new process (`run --upgrade`) reads its configuration, waits at `listen.upgrade_socket` and is given the sockets
//! once the old one gets SIGQUIT. It serves on them and says so; only then does the old one stop accepting and finish
//! what runs. Until that word both could accept, so that nothing is lost whichever of them fails: the old one goes on.
//!
//! Whoever is at the other end has to be of the same user, or root: a socket is as good as all that is sent to it.

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
    sys::socket::{ControlMessage, MsgFlags, getsockopt, sendmsg, sockopt::PeerCredentials},
    unistd::geteuid,
};

use crate::sys;

/// How long a successor waits to be given the sockets.
const WAITS: Duration = Duration::from_secs(300);
/// How long a successor may take to serve on them.
const BEGINS: Duration = Duration::from_secs(30);
/// Sockets that are handed over at once, more than anybody listens on.
const MOST: usize = 64;
/// What both say first: another version of this would be another word.
const HELLO: &[u8] = b"frontdesk sockets 1\n";
/// What a successor says when it serves.
const SERVING: &str = "serving\n";

/// Sockets that somebody else has bound for us, each with its address.
#[derive(Default)]
pub(super) struct Inherited {
    listeners: Vec<(SocketAddr, TcpListener)>,
    /// Whom to tell that we serve.
    giver: Option<UnixStream>,
}

impl Inherited {
    /// What a service manager has bound (`LISTEN_FDS`); nothing, where there is none.
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

    /// The socket of an address, if there is one.
    pub(super) fn take(&mut self, address: SocketAddr) -> Option<TcpListener> {
        let at = self.listeners.iter().position(|(bound, _)| *bound == address)?;
        Some(self.listeners.swap_remove(at).1)
    }

    /// Everything is served: tells whoever gave the sockets. Those that nobody wanted are closed.
    pub(super) fn served(self) {
        for (address, _) in &self.listeners {
            tracing::warn!(%address, "this socket was handed over, and the configuration does not listen there: closed");
        }
        if let Some(mut giver) = self.giver
            && let Err(e) = giver.write_all(SERVING.as_bytes())
        {
            tracing::warn!(error = %e, "the process before this one is gone already");
        }
    }
}

/// Where a successor waits. What it leaves on the disk goes with it.
pub(super) struct Place {
    listener: UnixListener,
    path: PathBuf,
}

impl Place {
    /// # Errors
    ///
    /// Somebody waits there already, or it cannot be written.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        // What an earlier one left behind is in the way; somebody who waits there now is not to be pushed aside.
        let left = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        if left && !Self::is_taken(path) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// What waits here, to be run where it may block. Whoever waits for it may go away: what is on the disk goes with
    /// this place, and not with what still blocks.
    pub(super) fn waiting(&self) -> io::Result<impl FnOnce() -> io::Result<Inherited> + Send + use<>> {
        let listener = self.listener.try_clone()?;
        Ok(move || given(&listener))
    }

    /// Whether a successor waits there, or only what one left behind that was killed.
    pub(super) fn is_taken(path: &Path) -> bool {
        UnixStream::connect(path).is_ok()
    }
}

/// What the process before this one gives; waits for it.
fn given(listener: &UnixListener) -> io::Result<Inherited> {
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => match received(&stream) {
                Ok(sockets) => return Ok(Inherited { giver: Some(stream), ..Inherited::of(sockets)? }),
                // Somebody looks whether anybody is here.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
                Err(e) => tracing::warn!(error = %e, "somebody came who gave no sockets"),
            },
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        if began.elapsed() > WAITS {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody gave any sockets in five minutes"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Gives the sockets to a successor, and waits until it serves on them.
///
/// # Errors
///
/// There is none, or it did not come that far: nothing has changed, and this process goes on.
pub(super) fn give(path: &Path, sockets: &[OwnedFd]) -> io::Result<()> {
    let stream = UnixStream::connect(path).map_err(|e| {
        let hint = "start one first: frontdesk run --upgrade --config FILE";
        io::Error::new(e.kind(), format!("no successor waits at {}: {e}; {hint}", path.display()))
    })?;
    check_peer(&stream)?;
    let fds: Vec<RawFd> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(HELLO)], &rights, MsgFlags::MSG_NOSIGNAL, None)?;
    stream.set_read_timeout(Some(BEGINS))?;
    let mut said = String::new();
    BufReader::new(stream).read_line(&mut said)?;
    match said.as_str() {
        SERVING => Ok(()),
        _ => Err(io::Error::other("the successor took the sockets and ended before it served; its log says why")),
    }
}

/// The sockets that come in the first message.
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
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak as a process of this kind does"));
    }
    Ok(sockets)
}

fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = getsockopt(stream, PeerCredentials)?.uid();
    if peer != 0 && peer != geteuid().as_raw() {
        let why = format!("at the other end is a process of user {peer}, neither ours nor root's");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
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

        // What somebody left behind who is gone is not in the way.
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
