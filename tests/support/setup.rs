//! The configuration of a desk under test, table by table, so that a test states only what it is about.
//!
//! Features that would disturb a test are off: the crawler has nothing to read, and limits are far above a test's pace.

use super::desk::Desk;
use super::dir::Dir;
use super::origin::{Origin, Speaks};
use super::tls::Tls;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{SocketAddr, TcpListener};

/// The ports of one desk.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub http: SocketAddr,
    pub https: SocketAddr,
    pub agtp: SocketAddr,
    pub admin: SocketAddr,
}

impl Ports {
    /// Four ports that were free a moment ago. The system gives none of them to a process that asks for any port, such
    /// as another test's site, which could get one before the desk does.
    pub fn free() -> Ports {
        let any = || 10_000 + (RandomState::new().build_hasher().finish() % 22_000) as u16;
        let free = std::iter::repeat_with(any).filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
        let held: Vec<TcpListener> = free.take(4).collect();
        let at = |n: usize| held[n].local_addr().expect("its address");
        Ports { http: at(0), https: at(1), agtp: at(2), admin: at(3) }
    }
}

/// An address on which no process listens.
pub fn dead_address() -> SocketAddr {
    Ports::free().http
}

/// Whether all desks under test run without the fast path (`FRONTDESK_TEST_FAST_PATH=off`).
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
    /// The desk is expected not to become ready.
    pub unready: bool,
}

impl Setup {
    /// In front of this origin.
    pub fn before(origin: &Origin) -> Setup {
        let setup = Setup::empty().set("upstream", &format!("url = \"{}\"", origin.url()));
        if origin.speaks == Speaks::H2 { setup.set("upstream", "http2 = \"prior-knowledge\"") } else { setup }
    }

    /// In front of several upstreams, or of none.
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

    /// Replaces the lines of a table.
    pub fn instead(mut self, table: &str, lines: &str) -> Setup {
        self.tables.retain(|(name, _)| name != table);
        self.set(table, lines)
    }

    /// Sets these rates; the others stay far above a test's pace.
    pub fn limits(mut self, rates: &[(&str, &str)]) -> Setup {
        self.tables.retain(|(name, _)| name != "rate_limits");
        let rest = ["anonymous", "authenticated", "actions", "content"].map(|key| (key, "1000000/minute"));
        let rest = rest.into_iter().filter(|(key, _)| rates.iter().all(|(given, _)| given != key));
        let all: Vec<String> = rates.iter().copied().chain(rest).map(|(k, rate)| format!("{k} = \"{rate}\"")).collect();
        self.set("rate_limits", &all.join("\n"))
    }

    /// Crawls the site, with only these lines of `[content]`.
    pub fn reading(mut self, lines: &str) -> Setup {
        self.tables.retain(|(name, _)| name != "content");
        self.set("content", lines)
    }

    /// Adds a file beside the configuration.
    pub fn file(mut self, name: &str, text: &str) -> Setup {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Adds text after all tables, for example [[capabilities]].
    pub fn tail(mut self, text: &str) -> Setup {
        self.tail.push_str(text);
        self
    }

    /// Also listens on the AGTP socket: in cleartext, or over TLS with a certificate.
    pub fn agtp(mut self) -> Setup {
        self.agtp = true;
        self
    }

    /// Also listens over TLS, with this certificate as `tls.crt` and `tls.key` beside the configuration.
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

    /// The desk will answer but report that it is not ready.
    pub fn unready(mut self) -> Setup {
        self.unready = true;
        self
    }

    /// Limits the open files of the process.
    pub fn open_files(mut self, most: usize) -> Setup {
        self.open_files = Some(most);
        self
    }

    /// The text of the configuration file.
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

    /// Writes the files that the configuration refers to.
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
