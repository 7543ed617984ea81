//! Promise: an agent's keys are fetched only from the directory that the operator named, over TLS and in the
//! background.

use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, assert_refused, converse, rate};
use crate::support::signer::Bot;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Tls, Via, eventually};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WELL_KNOWN: &str = "/.well-known/http-message-signatures-directory";
const IN_THE_BACKGROUND: Duration = Duration::from_secs(60);

/// What is served at which path.
type Pages = Arc<Mutex<Vec<(String, Reply)>>>;

/// A server of directories, the site, and a desk that trusts both.
struct Stage {
    directories: Origin,
    pages: Pages,
    site: Origin,
    tls: Tls,
}

impl Stage {
    async fn set() -> Stage {
        let (tls, pages) = (Tls::new(), Pages::default());
        let served = pages.clone();
        let directories = Origin::start_tls(&tls, move |request: &Request| {
            let served = served.lock().expect("the pages");
            let found = served.iter().find(|(path, _)| *path == request.target);
            found.map_or(Reply::new(404).body("none"), |(_, reply)| reply.clone())
        })
        .await
        .owns_well_known();
        let site = Origin::start(|_: &Request| Reply::html(PAGE)).await;
        Stage { directories, pages, site, tls }
    }

    /// From now on this directory stands here.
    fn serve(&self, path: &str, directory: &str) {
        let kind = "application/http-message-signatures-directory+json";
        let reply = Reply::new(200).header("Content-Type", kind).header("Cache-Control", "max-age=1").body(directory);
        self.reply(path, reply);
    }

    fn reply(&self, path: &str, reply: Reply) {
        let mut pages = self.pages.lock().expect("the pages");
        pages.retain(|(known, _)| known != path);
        pages.push((path.to_owned(), reply));
    }

    async fn desk(&self, entry: &str) -> Desk {
        Setup::before(&self.site)
            .limits(&[("anonymous", "100000/minute"), ("authenticated", "50000/minute")])
            .file("ca.pem", &self.tls.cert_pem)
            .env("SSL_CERT_FILE", "ca.pem")
            .tail(&format!("\n[[auth.signed_agents.keys]]\n{entry}\n"))
            .start()
            .await
    }

    async fn is_asked(&self) {
        eventually("the directory is asked", IN_THE_BACKGROUND, async || !self.directories.requests().is_empty()).await;
    }
}

async fn status(desk: &Desk, bot: &Bot) -> u16 {
    desk.ask(Via::H1, bot.sign(converse())).await.status
}

async fn becomes_known(desk: &Desk, bot: &Bot) {
    eventually("the agent is known", IN_THE_BACKGROUND, async || status(desk, bot).await == LET_THROUGH).await;
}

#[tokio::test]
async fn directories_are_at_the_agents_well_known_place() {
    let stage = Stage::set().await;
    let bot = Bot::new(&stage.directories.url());
    stage.serve(WELL_KNOWN, &bot.directory());
    let desk = stage.desk(&format!("agent = \"{}\"", bot.agent)).await;
    becomes_known(&desk, &bot).await;
    assert_eq!(rate(&desk.ask(Via::H1, bot.sign(converse())).await, "known").limit, 50_000);
    desk.ask(Via::H1, bot.sign(Ask::get("/"))).await;
    assert_eq!(stage.site.last().headers.all("x-frontdesk-agent"), [bot.agent.as_str()]);
    let asked = stage.directories.requests();
    assert!(asked.iter().all(|r| r.method == "GET" && r.target == WELL_KNOWN), "{asked:?}");
    let fetched = asked.len();
    for _ in 0..50 {
        assert_eq!(status(&desk, &bot).await, LET_THROUGH);
    }
    assert!(stage.directories.requests().len() <= fetched + 5, "not once a request");
}

#[tokio::test]
async fn directories_may_be_elsewhere() {
    let stage = Stage::set().await;
    let bot = Bot::new("https://bot.example");
    stage.serve("/keys/bots.json", &bot.directory());
    let place = format!("{}/keys/bots.json", stage.directories.url());
    let desk = stage.desk(&format!("agent = \"{}\"\ndirectory = \"{place}\"", bot.agent)).await;
    becomes_known(&desk, &bot).await;
    desk.ask(Via::H1, bot.sign(Ask::get("/"))).await;
    assert_eq!(stage.site.last().headers.all("x-frontdesk-caller"), ["https://bot.example"]);
}

#[tokio::test]
async fn directories_are_never_taken_from_the_request() {
    let stage = Stage::set().await;
    let (known, evil) = (Bot::new("https://bot.example"), Bot::new(&stage.directories.url()));
    stage.serve("/known", &known.directory());
    stage.serve(WELL_KNOWN, &evil.directory());
    let place = format!("{}/known", stage.directories.url());
    let desk = stage.desk(&format!("agent = \"{}\"\ndirectory = \"{place}\"", known.agent)).await;
    becomes_known(&desk, &known).await;
    for value in [format!("\"{}\"", evil.agent), format!("sig1=\"{}\"", evil.agent)] {
        for _ in 0..3 {
            let component =
                if value.starts_with('"') { "\"signature-agent\"" } else { "\"signature-agent\";key=\"sig1\"" };
            let ask = evil.signing().cover(component).apply(converse().header("Signature-Agent", &value));
            assert_refused(&desk.ask(Via::H1, ask).await, &value);
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(stage.directories.requests().iter().all(|r| r.target == "/known"), "a caller chose where we look");
}

#[tokio::test]
async fn directories_change_and_are_read_again() {
    let stage = Stage::set().await;
    let (old, new) = (Bot::new("https://bot.example"), Bot::new("https://bot.example"));
    stage.serve("/keys", &old.directory());
    let place = format!("{}/keys", stage.directories.url());
    let desk = stage.desk(&format!("agent = \"{}\"\ndirectory = \"{place}\"", old.agent)).await;
    becomes_known(&desk, &old).await;
    assert_eq!(status(&desk, &new).await, 401);
    let both = serde_json::json!({ "keys": [old.jwk(), new.jwk()] }).to_string();
    stage.serve("/keys", &both);
    becomes_known(&desk, &new).await;
    assert_eq!(status(&desk, &old).await, LET_THROUGH);
}

#[tokio::test]
async fn directories_that_lead_away_or_are_none_make_nobody_known() {
    let stage = Stage::set().await;
    let bot = Bot::new("https://bot.example");
    stage.serve("/elsewhere", &bot.directory());
    let huge = format!("{{\"pad\":\"{}\",{}", " ".repeat(8 << 20), &bot.directory()[1..]);
    for (what, reply) in [
        ("a redirect", Reply::new(302).header("Location", "/elsewhere")),
        ("an error with a good body", Reply::new(500).body(bot.directory())),
        ("no JSON", Reply::html("<p>hello</p>")),
        ("no key of this kind", Reply::json("{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}, 7, null]}")),
        ("beyond any bound", Reply::json(huge)),
    ] {
        stage.reply("/keys", reply);
        let place = format!("{}/keys", stage.directories.url());
        let before = stage.directories.requests().len();
        let desk = stage.desk(&format!("agent = \"{}\"\ndirectory = \"{place}\"", bot.agent)).await;
        eventually(what, IN_THE_BACKGROUND, async || stage.directories.requests().len() > before).await;
        tokio::time::sleep(Duration::from_millis(800)).await;
        let answer = status(&desk, &bot).await;
        assert!([401, 503].contains(&answer), "{what}: {answer}");
        assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH, "{what}: others are served");
        assert_eq!(desk.ask(Via::H1, bot.sign(Ask::get("/"))).await.status, 200, "{what}: pages pass");
    }
    assert!(stage.directories.requests().iter().all(|r| r.target == "/keys"), "a redirect was followed");
}

#[tokio::test]
async fn directories_that_are_slow_hold_nobody_up() {
    let stage = Stage::set().await;
    let bot = Bot::new("https://bot.example");
    stage.reply("/keys", Reply::json("").pause(Duration::from_secs(30)).then(bot.directory()));
    let place = format!("{}/keys", stage.directories.url());
    let desk = stage.desk(&format!("agent = \"{}\"\ndirectory = \"{place}\"", bot.agent)).await;
    stage.is_asked().await;
    for _ in 0..5 {
        let begun = Instant::now();
        let answer = status(&desk, &bot).await;
        assert!([401, 503].contains(&answer), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(5), "it waited: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn directories_are_read_over_tls_only() {
    use crate::support::Dir;
    use crate::support::desk::run_to_end;
    for entry in
        ["agent = \"http://bot.example\"", "agent = \"https://a.example\"\ndirectory = \"http://b.example/keys\""]
    {
        let dir = Dir::new();
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:1\"\n[[auth.signed_agents.keys]]\n{entry}\n");
        dir.write("frontdesk.toml", text);
        let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
        assert_eq!(code, 1, "{entry}: {out}{err}");
        assert!((out + &err).contains("frontdesk.toml:"), "{entry}: where it is");
    }
}
