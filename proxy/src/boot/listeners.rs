//! The listening sockets and the protocol on each. This table alone names the addresses of single protocols.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Weak},
};

use tokio::net::TcpListener;

use super::{NotStarted, handover::Inherited};
use crate::{
    accept::{self, App, Gate, Manner},
    live::Live,
};

/// The bound sockets, before serving starts.
pub(super) struct Listeners {
    http: Vec<Bound>,
    #[cfg(feature = "agtp")]
    frames: Option<Bound>,
    admin: Bound,
}

/// A socket, how its connections begin (PROXY header, TLS), and its name in the log.
type Bound = (Arc<TcpListener>, Manner, &'static str);

/// The sockets, for as long as this process accepts on them.
pub(super) struct Open(Vec<Weak<TcpListener>>);

impl Open {
    /// Duplicates of all descriptors, for a successor.
    pub(super) fn copies(&self) -> std::io::Result<Vec<OwnedFd>> {
        self.0.iter().filter_map(Weak::upgrade).map(|listener| listener.as_fd().try_clone_to_owned()).collect()
    }
}

impl Listeners {
    /// Binds every socket that was not inherited. Fails if one fails: a process that serves half its addresses is no
    /// use.
    pub(super) fn bind(live: &Live, inherited: &mut Inherited) -> Result<Self, NotStarted> {
        let mut bind = |address, key| bind(address, key, inherited);
        let listen = live.bound();
        let mut http = Vec::new();
        for address in &listen.http {
            let manner = Manner { tls: None, h2c: listen.h2c, proxy_protocol: listen.proxy_protocol };
            http.push((bind(*address, "listen.http")?, manner, "http"));
        }
        for address in &listen.https {
            let manner = Manner::tls(live.certificate(), listen.proxy_protocol).map_err(|e| no_tls("https", &e))?;
            http.push((bind(*address, "listen.https")?, manner, "https"));
        }
        #[cfg(feature = "agtp")]
        let frames = match listen.agtp {
            // Without a certificate the address is loopback only: see the rules of [listen].
            Some(address) => {
                let certificate = live.current().snapshot.settings.tls.is_some().then(|| live.certificate());
                let manner = Manner::frames(certificate, listen.proxy_protocol).map_err(|e| no_tls("agtp", &e))?;
                Some((bind(address, "listen.agtp")?, manner, "agtp"))
            }
            None => None,
        };
        Ok(Self {
            http,
            #[cfg(feature = "agtp")]
            frames,
            admin: (bind(listen.admin, "listen.admin")?, Manner::plain(), "admin"),
        })
    }

    /// The sockets that a hand-over may send.
    pub(super) fn open(&self) -> Open {
        let all = self.http.iter().chain([&self.admin]);
        #[cfg(feature = "agtp")]
        let all = all.chain(&self.frames);
        Open(all.map(|(listener, ..)| Arc::downgrade(listener)).collect())
    }

    /// Serves on each socket. The admin address has a gate of its own.
    pub(super) fn serve<H: App, A: App>(
        self,
        (gate, http): (&Arc<Gate>, &Arc<H>),
        (admin_gate, admin): (Arc<Gate>, Arc<A>),
    ) {
        serve(admin_gate, self.admin, admin);
        for bound in self.http {
            serve(gate.clone(), bound, http.clone());
        }
    }

    /// Serves on the AGTP socket, if there is one.
    #[cfg(feature = "agtp")]
    pub(super) fn serve_frames<F: App>(&mut self, gate: &Arc<Gate>, frames: &Arc<F>) {
        if let Some(bound) = self.frames.take() {
            serve(gate.clone(), bound, frames.clone());
        }
    }
}

fn serve<A: App>(gate: Arc<Gate>, (listener, manner, what): Bound, app: Arc<A>) {
    if let Ok(address) = listener.local_addr() {
        tracing::info!("{what} on {address}");
    }
    tokio::spawn(accept::listen(gate, listener, manner, app));
}

fn bind(address: SocketAddr, key: &str, inherited: &mut Inherited) -> Result<Arc<TcpListener>, NotStarted> {
    let listener = match inherited.take(address) {
        Some(given) => TcpListener::from_std(given),
        None => accept::bind(address),
    };
    listener.map(Arc::new).map_err(|e| {
        let hint = match e.kind() {
            std::io::ErrorKind::AddrInUse => "another process listens there; stop it or choose another address",
            std::io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose a higher one",
            std::io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
            _ => "choose another address",
        };
        NotStarted(vec![format!("{key}: {address} cannot be listened on: {e}; {hint}")])
    })
}

fn no_tls(key: &str, e: &rustls::Error) -> NotStarted {
    NotStarted(vec![format!("listen.{key}: {e}")])
}
