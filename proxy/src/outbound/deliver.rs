//! Delivers results to callback URLs that clients name, and reads documents at such URLs: at public addresses only, and at
//! none of ours.
//!
//! The name is resolved once, every address is checked, and the connection goes to a checked address, so that a later
//! DNS change cannot redirect it. Neither follows a redirect; a delivery reads only the status.

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{
    desk::{
        Outside,
        address::{deliverable, is_loopback, is_public},
    },
    media,
    site::{Settings, StoreHome},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use pingora::http::RequestHeader;
use tokio::time::{sleep, timeout};
use url::Url;

use super::{
    Asked, Manner, Outbound, Whole, answered, because,
    external_target::{ExternalTarget, bare},
    whole,
};
use crate::running::Running;

/// The time limit for a whole delivery.
const LIMIT: Duration = Duration::from_secs(5);
/// The time limit for resolving the site's own name. A name that cannot be resolved here cannot be reached from here.
const LOOKED_UP: Duration = Duration::from_secs(1);
/// The most addresses of one name. A name with more gets no delivery.
const MOST_ADDRESSES: usize = 32;
/// Keeps these connections apart from those to services that the operator declared.
const GROUP: u64 = u64::MAX;

fn says_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(media::is_json)
}

#[async_trait]
impl Outside for Outbound {
    fn check(&self, url: &str) -> Result<(), String> {
        self.courier()?.allowed(url).map(drop)
    }

    async fn deliver(&self, url: &str, body: Bytes) -> Result<(), String> {
        let courier = self.courier()?;
        let url = courier.allowed(url)?;
        let delivered = timeout(LIMIT, courier.send(&url, body)).await;
        delivered.unwrap_or_else(|_| Err(format!("no answer within {LIMIT:?}")))
    }

    async fn document(&self, url: &str, most: usize) -> Result<Bytes, String> {
        // What callbacks may do in tests is no reason to take somebody at this machine for a client.
        deliverable(url, false)?;
        let courier = Courier { to_ourselves: false, ..self.courier()? };
        let read = async {
            let url = courier.allowed(url)?;
            let read = timeout(LIMIT, courier.read(&url, most)).await;
            read.unwrap_or_else(|_| Err(format!("no answer within {LIMIT:?}")))
        };
        match read.await {
            // Who may upload a picture to a host does not speak for it.
            Ok(Whole { status: StatusCode::OK, headers, .. }) if !says_json(&headers) => {
                Err("has another Content-Type than application/json".into())
            }
            Ok(Whole { status: StatusCode::OK, cut: false, body, .. }) => Ok(body),
            Ok(Whole { status: StatusCode::OK, .. }) => Err(format!("has more than {most} bytes")),
            Ok(Whole { status, .. }) => Err(format!("is answered with {status}, not 200 OK")),
            // Names that are found here, addresses and failed connections would tell about this network.
            Err(why) => {
                tracing::debug!(why, "could not read the document of a client");
                Err("could not be read".into())
            }
        }
    }

    async fn pause(&self, time: Duration) {
        sleep(time).await;
    }

    fn undelivered(&self, what: &str, why: &str) {
        // Log no URL: it may hold secrets of the client. Anybody can poll who has the whole id.
        let what = format!("{}…", &what[..what.floor_char_boundary(8)]);
        tracing::warn!(what, why, "could not deliver an answer to its callback URL; the agent can still poll for it");
    }
}

impl Outbound {
    /// A courier for the current configuration.
    fn courier(&self) -> Result<Courier<'_>, String> {
        let running = self.running().ok_or("cannot be used here")?;
        let to_ourselves = running.snapshot.settings.sessions.allow_http_callbacks;
        Ok(Courier { outbound: self, running, to_ourselves })
    }
}

/// Delivers under one configuration.
struct Courier<'a> {
    outbound: &'a Outbound,
    running: Arc<Running>,
    /// This machine may be reached, over http too.
    to_ourselves: bool,
}

impl Courier<'_> {
    /// Checks the URL as far as its text allows.
    fn allowed(&self, url: &str) -> Result<Url, String> {
        let settings = &self.running.snapshot.settings;
        let url = deliverable(url, self.to_ourselves)?;
        let ours = settings.site.origin.as_deref().and_then(|origin| Url::parse(origin).ok());
        if ours.is_some_and(|ours| named(&ours) == named(&url)) {
            return Err("must not lead back to this site".into());
        }
        // A name is checked at delivery, when it is resolved. A literal address is checked now.
        let literal = url.host_str().and_then(|host| bare(host).parse::<IpAddr>().ok());
        let address = literal.zip(url.port_or_known_default()).map(SocketAddr::from);
        if address.is_some_and(|address| self.here(settings).any(|own| is_same(own, address))) {
            // Do not say that it is ours: the site's own address may be a secret.
            return Err("has to lead to a public address".into());
        }
        Ok(url)
    }

    /// The addresses of our listeners, and of the upstreams.
    fn here<'s>(&'s self, settings: &'s Settings) -> impl Iterator<Item = SocketAddr> + 's {
        let sites = self.running.pool.backends().iter();
        let sites = sites.flat_map(|backend| backend.addresses().iter().copied().collect::<Vec<_>>());
        settings.listen.addresses().chain(sites)
    }

    async fn send(&self, url: &Url, body: Bytes) -> Result<(), String> {
        let server = ExternalTarget::of(url)?;
        let found = looked_up(server.name, server.port).await?;
        let mut peer = server.peer_at(self.judged(&found).await?);
        peer.group_key = GROUP;
        let request = posted(server.target(), &server.authority(), body.len()).map_err(|e| because(&e))?;
        let (mut session, _) = self.outbound.connector.get_http_session(&peer).await.map_err(|e| because(&e))?;
        let answered = answered(&mut session, request, body).await.map(|head| head.map(|head| head.status));
        session.shutdown().await;
        match answered.map_err(|e| because(&e))? {
            Some(status) if status.is_success() => Ok(()),
            Some(status) => Err(format!("the answer is {status}")),
            None => Err("no answer".into()),
        }
    }

    async fn read(&self, url: &Url, most: usize) -> Result<Whole, String> {
        let server = ExternalTarget::of(url)?;
        let found = looked_up(server.name, server.port).await?;
        let mut peer = server.peer_at(self.judged(&found).await?);
        peer.group_key = GROUP;
        let host = HeaderValue::try_from(server.authority()).map_err(|e| e.to_string())?;
        let asked = Asked { host, tls: true };
        let (mut session, _) = self.outbound.connector.get_http_session(&peer).await.map_err(|e| because(&e))?;
        let manner = Manner { asked: &asked, accept: "application/json", site: false, more: &[] };
        let read = whole(&mut session, &manner, server.target(), most).await;
        session.shutdown().await;
        read
    }

    /// The address to connect to, if none of the name's addresses is forbidden.
    async fn judged(&self, found: &[SocketAddr]) -> Result<SocketAddr, String> {
        let settings = &self.running.snapshot.settings;
        let ours = self.ours(settings).await;
        for address in found {
            let ip = address.ip();
            let may = is_public(ip) || self.to_ourselves && is_loopback(ip);
            if !may || ours.iter().any(|own| is_same(*own, *address)) {
                // Do not say which address: the client must learn nothing about this network.
                return Err("its name leads where nothing is delivered".into());
            }
        }
        found.first().copied().ok_or_else(|| "its name has no address".into())
    }

    /// The addresses of our listeners, of the site inside and outside, and of the store.
    async fn ours(&self, settings: &Settings) -> Vec<SocketAddr> {
        let mut ours: Vec<SocketAddr> = self.here(settings).collect();
        let origin = settings.site.origin.as_deref().and_then(|origin| Url::parse(origin).ok());
        if let Some(origin) = &origin {
            // A load balancer in front of us may have other addresses and names.
            let found = timeout(LOOKED_UP, looked_up(named(origin), origin.port_or_known_default().unwrap_or(443)));
            ours.extend(found.await.ok().and_then(Result::ok).unwrap_or_default());
        }
        if let StoreHome::Redis(url) = &settings.store.home
            && let Ok(url) = Url::parse(url)
            && let Some(host) = url.host_str()
        {
            // If this name cannot be resolved, no other name leads there either.
            ours.extend(looked_up(bare(host), url.port().unwrap_or(6379)).await.unwrap_or_default());
        }
        ours
    }
}

/// The host to resolve. A trailing dot makes no difference.
fn named(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    bare(host)
}

/// Resolves a name. Errors do not contain the name.
async fn looked_up(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = tokio::net::lookup_host((name, port)).await.map_err(|e| format!("its name is not found: {e}"))?;
    let found: Vec<SocketAddr> = found.take(MOST_ADDRESSES + 1).collect();
    if found.len() > MOST_ADDRESSES { Err("its name has too many addresses".into()) } else { Ok(found) }
}

/// Whether two addresses lead to the same place. A wildcard listener is behind every address of this machine.
fn is_same(own: SocketAddr, other: SocketAddr) -> bool {
    let (own_ip, other_ip) = (own.ip().to_canonical(), other.ip().to_canonical());
    own.port() == other.port()
        && (own_ip == other_ip || (own_ip.is_unspecified() || is_here(own_ip)) && is_here(other_ip))
}

/// Whether an address belongs to this machine. Connecting a datagram socket sends nothing and only selects a route. A
/// route to this machine starts at the same address.
fn is_here(address: IpAddr) -> bool {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let from = UdpSocket::bind(any).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    address.is_loopback() || from.is_ok_and(|from| from.ip() == address)
}

fn posted(target: &str, authority: &str, length: usize) -> pingora::Result<RequestHeader> {
    let mut request = RequestHeader::build("POST", target.as_bytes(), Some(5))?;
    request.insert_header(header::HOST, authority)?;
    request.insert_header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))?;
    request.insert_header(header::CONTENT_LENGTH, length)?;
    request.insert_header(header::USER_AGENT, concat!("frontdesk/", env!("CARGO_PKG_VERSION")))?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{live::Live, metrics::Metrics, source::Source};

    #[test]
    fn only_json_describes_a_client() {
        let says = |kind: &'static str| {
            says_json(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]))
        };
        assert!(says("application/json; charset=utf-8") && says("application/client+json"));
        assert!(!says("image/png") && !says("text/plain") && !says_json(&HeaderMap::new()));
    }

    /// A client that delivers under a configuration with these lines.
    fn delivering(lines: &str) -> Arc<Outbound> {
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:9\"\n{lines}");
        let source = Source { text: Some(text), ..Source::file("site.toml".into()) };
        let outbound = Outbound::new();
        let metrics = Metrics::new().unwrap();
        let live = Live::start(source, metrics.clone(), outbound.clone()).unwrap();
        outbound.deliver_for(move || live.current(), metrics);
        outbound
    }

    #[tokio::test]
    async fn where_a_name_leads_is_judged_whatever_its_spelling() {
        const PUBLIC: &str = "1.1.1.1:443";
        let (strict, open) = (delivering(""), delivering("[sessions]\nallow_http_callbacks = true\n"));
        let judged = async |by: &Outbound, found: &[&str]| {
            let found: Vec<SocketAddr> = found.iter().map(|address| address.parse().unwrap()).collect();
            by.courier().unwrap().judged(&found).await.map(|address| address.to_string())
        };
        let nowhere = Err("its name leads where nothing is delivered".to_owned());
        for inside in ["10.0.0.1:443", "169.254.169.254:443", "[fd00::1]:443", "[::ffff:192.168.1.1]:443"] {
            for by in [&strict, &open] {
                assert_eq!(judged(by, &[inside]).await, nowhere, "{inside}");
                assert_eq!(judged(by, &[PUBLIC, inside]).await, nowhere, "{inside} behind one that is public");
            }
        }
        assert_eq!(judged(&strict, &["127.0.0.1:4443"]).await, nowhere);
        assert_eq!(judged(&open, &["127.0.0.1:4443"]).await, Ok("127.0.0.1:4443".to_owned()));
        assert_eq!(judged(&strict, &[PUBLIC, "[2606:4700::1]:443"]).await, Ok(PUBLIC.to_owned()));
        assert!(judged(&strict, &[]).await.is_err());
    }

    #[tokio::test]
    async fn a_document_about_a_client_is_read_from_public_addresses_and_its_failure_tells_nothing() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let open = delivering("[sessions]\nallow_http_callbacks = true\n[site]\norigin = \"https://site.test\"\n");
        for url in [
            format!("http://127.0.0.1:{port}/c.json"),
            format!("https://127.0.0.1:{port}/c.json"),
            format!("http://localhost:{port}/c.json"),
            "https://10.0.0.1/c.json".into(),
        ] {
            let why = Outside::document(&*open, &url, 100).await.unwrap_err();
            assert!(why.starts_with("has to "), "{url}: {why}");
        }
        for url in ["https://no-such-name.invalid/c.json", "https://site.test/c.json"] {
            assert_eq!(Outside::document(&*open, url, 100).await, Err("could not be read".into()), "{url}");
        }
        assert!(timeout(Duration::from_millis(50), server.accept()).await.is_err(), "nobody came");
    }

    #[test]
    fn what_listens_everywhere_is_everywhere() {
        let same = |own: &str, other: &str| is_same(own.parse().unwrap(), other.parse().unwrap());
        assert!(same("0.0.0.0:8080", "127.0.0.1:8080") && same("0.0.0.0:8080", "127.0.0.9:8080"));
        assert!(same("[::]:8080", "[::1]:8080") && same("127.0.0.1:8080", "[::ffff:127.0.0.1]:8080"));
        assert!(same("127.0.0.1:8080", "127.0.0.2:8080") && same("198.51.100.7:1", "198.51.100.7:1"));
        assert!(!same("0.0.0.0:8080", "127.0.0.1:8081") && !same("0.0.0.0:80", "198.51.100.7:80"));
        assert!(!same("127.0.0.1:80", "198.51.100.7:80"));
    }

    #[test]
    fn a_dot_makes_no_other_host() {
        let name = |url: &str| named(&Url::parse(url).unwrap()).to_owned();
        assert_eq!(name("https://Example.com./x"), name("https://example.com"));
        assert_eq!(name("https://[::1]:8080/"), "::1");
        assert_ne!(name("https://example.com.evil.test/"), name("https://example.com"));
    }

    #[tokio::test]
    async fn an_error_does_not_say_which_name() {
        let why = looked_up("no-such-name.invalid", 443).await.unwrap_err();
        assert!(!why.contains("no-such-name"), "{why}");
    }
}
