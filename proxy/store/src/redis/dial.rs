//! Connects to the server, and explains failures to the operator.

use std::{fmt, io, sync::Arc, time::Duration};

use frontdesk_config::{self as site, StoreTls};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisError, RedisResult,
    aio::MultiplexedConnection,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{
    link::{DIALING, Driver, Link},
    recording_socket::{Failure, RecordingSocket},
    trouble::Trouble,
};
use frontdesk_files::{add_system_roots, certified_key, chain, private_key};

/// The most requests that wait to be written.
const PIPELINE: usize = 1024;

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    host: String,
    port: u16,
}

impl Node {
    /// The node of a redirection error. `asked`: the node that sent it, if that is not the one in the URL.
    pub fn of(error: &RedisError, dialer: &Dialer, asked: Option<&Self>) -> Option<Self> {
        if error.code() != Some("MOVED") {
            return None;
        }
        let (host, port) = error.redirect_node()?.0.rsplit_once(':')?;
        let host = match (host, asked, &dialer.place) {
            // An empty host means the same host.
            ("" | "?", Some(asked), _) => asked.host.clone(),
            ("" | "?", None, ConnectionAddr::Tcp(named, _) | ConnectionAddr::TcpTls { host: named, .. }) => {
                named.clone()
            }
            _ => host.trim_matches(['[', ']']).to_owned(),
        };
        Some(Self { host, port: port.parse().ok()? })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.host, self.port)
    }
}

/// Makes connections.
pub struct Dialer {
    /// How long a request waits for an answer.
    pub patience: Duration,
    url: String,
    place: ConnectionAddr,
    tls: StoreTls,
    session: RedisConnectionInfo,
    address: String,
    password: Option<String>,
    /// The permissions that its user needs.
    needs: String,
}

impl Dialer {
    /// Parses a URL of Redis or Valkey, and checks that the TLS files can be used.
    pub fn new(url: &str, settings: &site::Store, needs: String) -> Result<Self, String> {
        let right = "write \"redis://user:password@host:6379/0\", rediss://… or \"unix:/run/redis.sock?db=0\"";
        let refuse = |why: &str| format!("store.url: {why}; {right}");
        let info = url.into_connection_info().map_err(|error| refuse(&error.to_string()))?;
        if let ConnectionAddr::TcpTls { insecure, .. } = info.addr() {
            if *insecure {
                return Err(refuse("#insecure is not to be had: name the authority's certificate in store.ca"));
            }
            tls_config(&settings.tls).map_err(|why| format!("store: {why}"))?;
        }
        let (place, database) = (info.addr(), info.redis_settings().db());
        // Database 0 needs no SELECT.
        let needs = if database == 0 { needs } else { format!("{needs} +select") };
        let address = match place {
            ConnectionAddr::Unix(path) => format!("{} (database {database})", path.display()),
            place => format!("{place}/{database}"),
        };
        let password = info.redis_settings().password().map(str::to_owned);
        // Sending a client name would need one more permission.
        let session = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self {
            patience: settings.patience,
            url: url.to_owned(),
            place: info.addr().clone(),
            tls: settings.tls.clone(),
            session,
            address,
            password,
            needs,
        })
    }

    /// Whether another dialer leads to the same server in the same way and as the same user.
    pub fn is_same_way(&self, other: &Self) -> bool {
        self.url == other.url && self.tls == other.tls
    }

    /// The server's address, without secrets.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Connects to the server in the URL, or to a node that it redirected us to, and examines it. Reads TLS
    /// certificates and keys again.
    pub async fn dial(&self, node: Option<&Node>) -> Result<Link, Trouble> {
        let dialing = async {
            let (connection, driver, failure) = self.connect(node).await?;
            let link = Link::new(connection, driver);
            // If the socket failed while no command waited, its own failure is the reason.
            link.look().await.map_err(|error| failure.get().map_or(error, |why| io::Error::other(&**why).into()))?;
            Ok::<_, RedisError>(link)
        };
        match timeout(DIALING, dialing).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) => Err(self.explain(&error)),
            Err(_) => Err(Trouble::Absent(format!("no connection within {DIALING:?}"))),
        }
    }

    async fn connect(&self, node: Option<&Node>) -> RedisResult<(MultiplexedConnection, Driver, Failure)> {
        let at = |host: &str, port: u16| node.cloned().unwrap_or_else(|| Node { host: host.to_owned(), port });
        match &self.place {
            ConnectionAddr::TcpTls { host, port, .. } => {
                let Node { host, port } = at(host, *port);
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                let tls = self.tls.clone();
                let config = tokio::task::spawn_blocking(move || tls_config(&tls)).await.map_err(io::Error::other)?;
                let config = config.map_err(io::Error::other)?;
                let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp(&host, port).await?).await?;
                self.greet(tls).await
            }
            ConnectionAddr::Unix(path) => self.greet(UnixStream::connect(path).await?).await,
            ConnectionAddr::Tcp(host, port) => {
                let Node { host, port } = at(host, *port);
                self.greet(tcp(&host, port).await?).await
            }
            other => Err(io::Error::other(format!("{other} is not an address that can be connected to")).into()),
        }
    }

    /// Authenticates and selects the database.
    async fn greet<S>(&self, socket: S) -> RedisResult<(MultiplexedConnection, Driver, Failure)>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE);
        let (socket, failure) = RecordingSocket::new(socket);
        let (connection, driver) = MultiplexedConnection::new_with_config(&self.session, socket, config).await?;
        Ok((connection, Box::pin(driver), failure))
    }

    /// Explains an error, without the password.
    pub fn explain(&self, error: &RedisError) -> Trouble {
        Trouble::of(error, &self.needs).without(self.password.as_deref())
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The trusted certificates and our own. The error names the file that cannot be used.
fn tls_config(tls: &StoreTls) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match &tls.ca {
        Some(ca) => {
            for certificate in chain(ca)? {
                roots.add(certificate).map_err(|e| format!("{}: {e}", ca.display()))?;
            }
        }
        None => add_system_roots(&mut roots)?,
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots);
    match (&tls.client_cert, &tls.client_key) {
        (Some(cert), Some(key)) => {
            certified_key(cert, key)?;
            config.with_client_auth_cert(chain(cert)?, private_key(key)?).map_err(|e| e.to_string())
        }
        _ => Ok(config.with_no_client_auth()),
    }
}
