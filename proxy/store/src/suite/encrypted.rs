//! Tests of Redis over TLS: only a trusted server is used, and one that requires our certificate gets it.

use std::process::Command;

use frontdesk_config::{self as site, StoreHome, StoreTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{Directory, Server, connected, redis::everything_works, server::free_port, settings, tends_well, until};
use crate::Store;

/// The environment variable with the server's URL for the child process.
const URL: &str = "FRONTDESK_SUITE_URL";

/// A certificate authority and its certificates, in files.
struct Authority {
    files: Directory,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let files = Directory::new();
        std::fs::create_dir_all(files.path()).unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, files.path().display().to_string());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { files, issuer };
        authority.write("ca.pem", &authority.issuer.pem());
        authority
    }

    fn file(&self, name: &str) -> String {
        self.files.path().join(name).into_os_string().into_string().unwrap()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.file(name), text).unwrap();
        self.file(name)
    }

    /// Signs a certificate for a name: `NAME.pem` and `NAME.key`.
    fn signs(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        (self.write(&format!("{name}.pem"), &signed.pem()), self.write(&format!("{name}.key"), &key.serialize_pem()))
    }

    /// A TLS server with a certificate of this authority, and its URL.
    fn serves(&self, arguments: &[&str]) -> (Server, String) {
        let (port, (cert, key)) = (free_port().to_string(), self.signs("127.0.0.1"));
        let ca = self.file("ca.pem");
        let tls = ["--tls-port", &port, "--tls-cert-file", &cert, "--tls-key-file", &key, "--tls-ca-cert-file", &ca];
        (Server::start(&[&tls, arguments].concat()), format!("127.0.0.1:{port}"))
    }
}

#[tokio::test]
#[ignore = "runs in a process of its own, for a_server_is_reached_over_tls"]
async fn reaches_the_server_over_tls() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = connected(&settings(StoreHome::Redis(url))).await;
    everything_works(&store, "tls").await;
    println!("\nreached");
}

#[test]
fn a_server_is_reached_over_tls() {
    let authority = Authority::new();
    let (_server, at) = authority.serves(&["--tls-auth-clients", "no", "--requirepass", "secret"]);
    let reached = |trusted: &str| {
        let (_, module) = module_path!().split_once("::").unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args([&format!("{module}::reaches_the_server_over_tls"), "--exact", "--ignored", "--nocapture"])
            .env(URL, format!("rediss://:secret@{at}/1"))
            .env("SSL_CERT_FILE", trusted)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        (said.contains("\nreached"), said)
    };
    let (trusting, said) = reached(&authority.file("ca.pem"));
    assert!(trusting, "{said}");
    let stranger = rcgen::generate_simple_self_signed(["stranger".to_owned()]).unwrap();
    let (trusting, said) = reached(&authority.write("stranger.pem", &stranger.cert.pem()));
    assert!(!trusting && said.contains("invalid peer certificate") && !said.contains("secret"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_certificate_of_ours_gets_the_one_that_is_named() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (_server, at) = authority.serves(&["--tls-auth-clients", "yes"]);
    let with = |ca: &Authority, client: Option<&(String, String)>| {
        let (client_cert, client_key) = client.map(|(cert, key)| (cert.into(), key.into())).unzip();
        let tls = StoreTls { ca: Some(ca.file("ca.pem").into()), client_cert, client_key };
        site::Store { tls, ..settings(StoreHome::Redis(format!("rediss://{at}/1"))) }
    };
    let ours = authority.signs("frontdesk");
    everything_works(&*connected(&with(&authority, Some(&ours))).await, "certified").await;

    // Refused with a reason: no client certificate, one of another authority, and a server of another authority.
    let theirs = other.signs("frontdesk");
    for (settings, why) in [
        (with(&authority, None), "it requires a client certificate"),
        (with(&authority, Some(&theirs)), "it refuses our side of TLS"),
        (with(&other, Some(&ours)), "no trusted authority has signed its certificate"),
    ] {
        let store = Store::open(&settings).unwrap();
        let said = store.tend().await.unwrap_err();
        assert!(said.contains(why) && store.unready().is_some_and(|said| said.contains(why)), "{why}: {said}");
    }

    // Unusable files are found before any connection.
    let mixed = (ours.0.clone(), theirs.1.clone());
    let why = Store::open(&with(&authority, Some(&mixed))).err().unwrap();
    assert!(why.starts_with("store: ") && why.contains("do not fit together"), "{why}");
    authority.write("ca.pem", "nonsense");
    let why = Store::open(&with(&authority, Some(&ours))).err().unwrap();
    assert!(why.contains("ca.pem: holds no certificate"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_were_replaced_are_used_for_the_next_connection() {
    let authority = Authority::new();
    let (server, at) = authority.serves(&["--tls-auth-clients", "yes"]);
    let (ours, theirs) = (authority.signs("frontdesk"), Authority::new());
    let (cert, key) = theirs.signs("frontdesk");
    let (client_cert, client_key) = (Some(ours.0.clone().into()), Some(ours.1.clone().into()));
    let tls = StoreTls { ca: Some(authority.file("ca.pem").into()), client_cert, client_key };
    let store = connected(&site::Store { tls, ..settings(StoreHome::Redis(format!("rediss://{at}"))) }).await;
    // A client certificate that is not accepted any more …
    let kept = [(&ours.0, &cert), (&ours.1, &key)].map(|(ours, other)| {
        let kept = std::fs::read(ours).unwrap();
        std::fs::copy(other, ours).unwrap();
        (ours, kept)
    });
    server.ask(&["CLIENT", "KILL", "TYPE", "normal"]);
    until("it is refused", || !store.status().reachable).await;
    // … and one that is accepted, without a reload.
    for (ours, kept) in kept {
        std::fs::write(ours, kept).unwrap();
    }
    tends_well(&store).await;
    everything_works(&store, "renewed").await;
}
