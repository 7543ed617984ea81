//! The configuration of a desk under test, table by table, so that a test names only what it is about.
//!
//! What would get into a test's way is off: the crawler has nothing to read, and limits are beyond a test's own pace.

use super::desk::Desk;
use super::dir::Dir;
use super::origin::{Origin, Speaks};
use super::tls::Tls;
use std::net::{SocketAddr, TcpListener};

/// Where one desk listens.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub http: SocketAddr,
    pub https: SocketAddr,
    pub agtp: SocketAddr,
    pub admin: SocketAddr,
}

impl Ports {
    /// Four ports that were free a moment ago.
    pub fn free() -> Ports {
        let held: Vec<TcpListener> = (0..4).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
        let at = |n: usize| held[n].local_addr().expect("its address");
        Ports { http: at(0), https: at(1), agtp: at(2), admin: at(3) }
    }
}

/// An address where nobody listens.
pub fn dead_address() -> SocketAddr {
    Ports::free().http
}

/// Whether every desk under test is to serve by the proxy library alone (`FRONTDESK_TEST_FAST_PATH=off`).
pub fn fast_path_is_off() -> bool {
    std::env::var("FRONTDESK_TEST_FAST_PATH").is_ok_and(|word| word == "off")
}

#[derive(Clone)]
pub struct Setup {
    tables: Vec<(String, Vec<String>)>,
    tail: String,
    agtp: bool,
    pub tls: Option<Tls>,
    pub upstream_ca: Option<Tls>,
    pub env: Vec<(String, String)>,
    pub open_files: Option<usize>,
    files: Vec<(String, String)>,
    /// It is expected not to get ready.
    pub unready: bool,
}

impl Setup {
    /// In front of this origin.
    pub fn before(origin: &Origin) -> Setup {
        let setup = Setup::empty().set("upstream", &format!("url = \"{}\"", origin.url()));
        if origin.speaks == Speaks::H2 { setup.set("upstream", "http2 = \"prior-knowledge\"") } else { setup }
    }

    /// In front of several, or of nobody.
    pub fn before_urls(urls: &[String]) -> Setup {
        Setup::empty().set("upstream", &format!("urls = {urls:?}"))
    }

    fn empty() -> Setup {
        Setup {
            tables: Vec::new(),
            tail: String::new(),
            agtp: false,
            tls: None,
            upstream_ca: None,
            env: Vec::new(),
            open_files: None,
            files: Vec::new(),
            unready: false,
        }
        .set("content", "start = []\nllms_txt = \"off\"")
        .limits(&[])
    }

    /// Adds lines to a table.
    pub fn set(mut self, table: &str, lines: &str) -> Setup {
        match self.tables.iter_mut().find(|(name, _)| name == table) {
            Some((_, all)) => all.push(lines.to_owned()),
            None => self.tables.push((table.to_owned(), vec![lines.to_owned()])),
        }
        self
    }

    /// These lines in a table, and no others.
    pub fn instead(mut self, table: &str, lines: &str) -> Setup {
        self.tables.retain(|(name, _)| name != table);
        self.set(table, lines)
    }

    /// These rates, and for the rest none that a test's own pace would reach.
    pub fn limits(mut self, rates: &[(&str, &str)]) -> Setup {
        self.tables.retain(|(name, _)| name != "rate_limits");
        let rest = ["anonymous", "authenticated", "actions", "content"].map(|key| (key, "1000000/minute"));
        let rest = rest.into_iter().filter(|(key, _)| rates.iter().all(|(given, _)| given != key));
        let all: Vec<String> = rates.iter().copied().chain(rest).map(|(k, rate)| format!("{k} = \"{rate}\"")).collect();
        self.set("rate_limits", &all.join("\n"))
    }

    /// Reads the site, with these lines of `[content]` and no others.
    pub fn reading(mut self, lines: &str) -> Setup {
        self.tables.retain(|(name, _)| name != "content");
        self.set("content", lines)
    }

    /// A file beside the configuration.
    pub fn file(mut self, name: &str, text: &str) -> Setup {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Text after all tables: [[capabilities]], say.
    pub fn tail(mut self, text: &str) -> Setup {
        self.tail.push_str(text);
        self
    }

    /// Also on the socket of AGTP: in cleartext, but with a certificate over TLS.
    pub fn agtp(mut self) -> Setup {
        self.agtp = true;
        self
    }

    /// Also over TLS, with this certificate as `tls.crt` and `tls.key` beside the configuration.
    pub fn tls(mut self, tls: &Tls) -> Setup {
        self.tls = Some(tls.clone());
        self
    }

    /// Trusts this certificate of the origin.
    pub fn trusting(mut self, origin: &Tls) -> Setup {
        self.upstream_ca = Some(origin.clone());
        self.set("upstream", "ca = \"upstream-ca.pem\"\nserver_name = \"localhost\"")
    }

    pub fn env(mut self, name: &str, value: &str) -> Setup {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// It answers, and says that it is not ready.
    pub fn unready(mut self) -> Setup {
        self.unready = true;
        self
    }

    /// No more files than these may be open in it.
    pub fn open_files(mut self, most: usize) -> Setup {
        self.open_files = Some(most);
        self
    }

    /// The configuration file.
    pub fn text(&self, ports: &Ports) -> String {
        let mut listen = format!("http = \"{}\"\nadmin = \"{}\"", ports.http, ports.admin);
        let mut setup = self.clone();
        if self.tls.is_some() {
            listen.push_str(&format!("\nhttps = \"{}\"", ports.https));
            setup = setup.set("tls", "cert = \"tls.crt\"\nkey = \"tls.key\"");
        }
        if self.agtp {
            listen.push_str(&format!("\nagtp = \"{}\"", ports.agtp));
        }
        setup = setup.set("listen", &listen);
        if fast_path_is_off()
            && !self.tables.iter().any(|(_, lines)| lines.iter().any(|line| line.contains("fast_path")))
        {
            setup = setup.set("runtime", "fast_path = false");
        }
        let mut text = String::new();
        for (name, lines) in &setup.tables {
            text.push_str(&format!("[{name}]\n{}\n\n", lines.join("\n")));
        }
        text + &self.tail
    }

    /// The files that the configuration speaks of.
    pub fn write_files(&self, dir: &Dir) {
        if let Some(tls) = &self.tls {
            tls.write(dir);
        }
        if let Some(ca) = &self.upstream_ca {
            dir.write("upstream-ca.pem", &ca.cert_pem);
        }
        for (name, text) in &self.files {
            dir.write(name, text);
        }
    }

    pub async fn start(self) -> Desk {
        Desk::with_setup(self).await
    }
}
