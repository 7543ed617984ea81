//! Promise: Frontdesk identifies callers by their proof, tells the site who was verified, and nobody can impersonate
//! one.

use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, api_key, assert_limited, assert_refused, converse, rate};
use crate::support::signer::Bot;
use crate::support::{Ask, Conn, Desk, Origin, Reply, Request, Response, Setup, Tls, Via};

pub(crate) const KEY: &str = "key-of-partner-a-4711";
const OTHER: &str = "key-of-partner-b-0815";

pub(crate) async fn desk_with(more: impl FnOnce(Setup) -> Setup) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let keys = api_key("partner-a", KEY, "") + &api_key("partner-b", OTHER, "rate_limit = \"5/hour\"");
    let rates = [("anonymous", "50/minute"), ("authenticated", "3/minute")];
    let setup = Setup::before(&origin).limits(&rates).tls(&Tls::new()).tail(&keys);
    let desk = more(setup).start().await;
    (origin, desk)
}

pub(crate) async fn desk() -> (Origin, Desk) {
    desk_with(|setup| setup).await
}

pub(crate) fn by_key(ask: Ask, key: &str) -> Ask {
    ask.header("X-AHP-Key", key)
}

/// Verified, caller and agent as the site was told.
pub(crate) fn told(origin: &Origin) -> [Vec<String>; 3] {
    let seen = origin.last();
    ["X-Frontdesk-Verified", "X-Frontdesk-Caller", "X-Frontdesk-Agent"]
        .map(|name| seen.headers.all(name).into_iter().map(str::to_owned).collect())
}

#[tokio::test]
async fn callers_with_a_key_have_a_count_of_their_own() {
    let (_origin, desk) = desk().await;
    for (used, ask) in (1..).zip([by_key(converse(), KEY), converse().bearer(KEY), by_key(converse(), KEY)]) {
        let response = desk.ask(if used == 2 { Via::H2Tls } else { Via::H1 }, ask).await;
        assert_eq!(response.status, LET_THROUGH, "{}", response.text());
        let rate = rate(&response, "with a key");
        assert_eq!((rate.limit, rate.remaining, rate.window), (3, 3 - used, 60), "in either header");
    }
    assert_limited(&desk.ask(Via::H1, by_key(converse(), KEY)).await, "agent", "X-AHP-Key");
    assert_limited(&desk.ask(Via::H1, converse().bearer(KEY)).await, "agent", "Bearer");
    let mut elsewhere = Conn::open_from(2, desk.ports.http).await;
    assert_limited(&elsewhere.ask(&by_key(converse(), KEY)).await, "agent", "from another address");
    let other = desk.ask(Via::H1, by_key(converse(), OTHER)).await;
    let own = rate(&other, "a key with a rate of its own");
    assert_eq!((other.status, own.limit, own.remaining, own.window), (LET_THROUGH, 5, 4, 3600));
    let anonymous = rate(&desk.ask(Via::H1, converse()).await, "without a key");
    assert_eq!((anonymous.limit, anonymous.remaining), (50, 49), "keys were not counted by address");
}

#[tokio::test]
async fn callers_with_a_bad_key_are_refused_at_agent_endpoints() {
    let (_origin, desk) = desk().await;
    let hash = api_key("x", KEY, "");
    let hash = hash.split('"').nth(3).expect("the hash");
    let mut reasons = Vec::new();
    for key in
        ["guess-4711", &KEY[..KEY.len() - 1], &format!("{KEY}x"), &KEY.to_uppercase(), hash, "partner-a", "a b", "%00"]
    {
        for (how, ask) in [("X-AHP-Key", by_key(converse(), key)), ("Bearer", converse().bearer(key))] {
            let what = format!("{how}: {key}");
            let response = desk.ask(Via::H1, ask).await;
            reasons.push(assert_refused(&response, &what));
            let challenge = response.header("www-authenticate").unwrap_or_else(|| panic!("{what}: no challenge"));
            assert!(challenge.starts_with("Bearer"), "{what}: {challenge}");
            assert!(!response.text().contains(key) || key.len() < 4, "{what}: the key came back: {}", response.text());
        }
    }
    for both in [by_key(converse(), KEY).bearer("guess-4711"), by_key(converse(), "guess-4711").bearer(KEY)] {
        assert_refused(&desk.ask(Via::H1, both).await, "a good one does not excuse a bad one");
    }
    for path in ["/.well-known/agent.json", "/openapi.json", "/agent/converse/status/x"] {
        assert_refused(&desk.ask(Via::H1, by_key(Ask::get(path), "wrong")).await, path);
    }
    assert!(reasons.iter().all(|r| r.len() > 10), "a reason to act on: {reasons:?}");
    assert_eq!(desk.ask(Via::H1, by_key(converse(), KEY)).await.status, LET_THROUGH);
}

/// Everything of an answer but its dates and ids.
fn told_alike(response: &Response) -> (u16, String, Vec<(String, String)>) {
    let differs = ["date", "x-request-id", "retry-after", "x-ratelimit-reset", "ratelimit"];
    let fields = response.headers.0.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
    (response.status, response.text(), fields.filter(|(name, _)| !differs.contains(&name.as_str())).collect())
}

#[tokio::test]
async fn callers_that_guess_learn_nothing_beyond_the_limit() {
    let (_origin, desk) = desk_with(|setup| setup.limits(&[("anonymous", "20/minute")])).await;
    let statuses = desk.statuses((0..60).map(|n| by_key(converse(), &format!("guess-{n}")))).await;
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 20, "{statuses:?}");
    let text = |response: &Response| response.text().replace(char::is_numeric, "");
    for via in [Via::H1, Via::H2Tls] {
        let wrong = desk.ask(via, by_key(converse(), "guess")).await;
        let right = desk.ask(via, by_key(converse(), KEY)).await;
        assert_limited(&right, "ip", "the right key");
        assert_eq!(text(&right), text(&wrong), "{via:?}");
        let (right, wrong) = (told_alike(&right), told_alike(&wrong));
        assert_eq!((right.0, &right.2), (wrong.0, &wrong.2), "{via:?}");
    }
    // Who presents nothing is not asked for a credential, and who comes from elsewhere has done nothing.
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH);
    let mut elsewhere = Conn::open_from(9, desk.ports.http).await;
    assert_eq!(elsewhere.ask(&by_key(converse(), KEY)).await.status, LET_THROUGH);
}

#[tokio::test]
async fn callers_that_guessed_are_heard_again_once_the_window_ends() {
    let (_origin, desk) = desk_with(|setup| setup.limits(&[("anonymous", "3/second")])).await;
    let mut locked = false;
    for _ in 0..10 {
        desk.statuses((0..4).map(|_| by_key(converse(), "guess"))).await;
        locked |= desk.ask(Via::H1, by_key(converse(), KEY)).await.status == 429;
    }
    assert!(locked);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert_eq!(desk.ask(Via::H1, by_key(converse(), KEY)).await.status, LET_THROUGH);
}

#[tokio::test]
async fn callers_may_write_bearer_as_they_like() {
    let (_origin, desk) = desk().await;
    for value in [format!("bearer {KEY}"), format!("BEARER {KEY}"), format!("Bearer  {KEY}")] {
        let response = desk.ask(Via::H1, converse().header("Authorization", &value)).await;
        assert_eq!(rate(&response, &value).limit, 3, "{value}: {}", response.text());
    }
}

#[tokio::test]
async fn callers_with_another_scheme_are_the_sites_business() {
    let (_origin, desk) = desk().await;
    for value in ["Basic dXNlcjpwYXNz", "Digest username=\"x\"", "Negotiate abc", "BearerX abc"] {
        let response = desk.ask(Via::H1, converse().header("Authorization", value)).await;
        assert_eq!((response.status, rate(&response, value).limit), (LET_THROUGH, 50), "{value}");
    }
}

#[tokio::test]
async fn callers_are_anonymous_where_nothing_can_be_verified() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk =
        Setup::before(&origin).limits(&[("anonymous", "50/minute"), ("authenticated", "3/minute")]).start().await;
    let signed = Bot::new("https://bot.example").sign(converse());
    for ask in [converse().bearer("whatever"), converse().bearer("a.b.c"), by_key(converse(), KEY), signed] {
        let response = desk.ask(Via::H1, ask.clone()).await;
        assert_eq!((response.status, rate(&response, "ignored").limit), (LET_THROUGH, 50), "{:?}", ask.headers);
    }
    desk.ask(Via::H1, Ask::get("/").bearer("whatever")).await;
    assert_eq!(told(&origin), [vec!["none".to_owned()], vec![], vec![]]);
}

#[tokio::test]
async fn callers_that_are_proven_are_told_to_the_site() {
    let bot = Bot::new("https://bot.example");
    let (origin, desk) = desk_with(|setup| setup.tail(&bot.known())).await;
    let none = || vec![];
    let one = |text: &str| vec![text.to_owned()];
    let key = [one("key"), one("partner-a"), none()];
    for via in [Via::H1, Via::H1Tls, Via::H2Tls] {
        for (ask, expected) in [
            (Ask::get("/"), [one("none"), none(), none()]),
            (by_key(Ask::get("/"), KEY), key.clone()),
            (Ask::get("/").bearer(KEY), key.clone()),
            (by_key(Ask::post("/form", "a=1"), KEY), key.clone()),
            (
                by_key(Ask::get("/"), KEY).header("AICP-Agent", "Claim/1.0"),
                [one("key"), one("partner-a"), one("Claim/1.0; claimed")],
            ),
            (Ask::get("/").header("AICP-Agent", "Claim/1.0"), [one("none"), none(), one("Claim/1.0; claimed")]),
            (bot.sign(Ask::get("/")), [one("signature"), one("https://bot.example"), one("https://bot.example")]),
            (
                bot.sign(Ask::get("/").header("AICP-Agent", "Claim/1.0")),
                [one("signature"), one("https://bot.example"), one("https://bot.example")],
            ),
            (by_key(bot.sign(Ask::get("/")), KEY), [one("key"), one("partner-a"), one("https://bot.example")]),
        ] {
            let what = format!("{via:?}: {:?}", ask.headers);
            assert_eq!(desk.ask(via, ask).await.status, 200, "{what}");
            assert_eq!(told(&origin), expected, "{what}");
        }
    }
}

#[tokio::test]
async fn callers_cannot_write_what_we_tell_the_site() {
    let (origin, desk) = desk().await;
    let forged = |ask: Ask| {
        ["X-Frontdesk-Verified", "X-Frontdesk-Caller", "X-Frontdesk-Agent", "x_frontdesk_caller", "X-Frontdesk-Other"]
            .iter()
            .fold(ask, |ask, name| ask.header(name, "forged").header(name, "signature"))
    };
    for (ask, expected) in [
        (Ask::get("/"), [vec!["none"], vec![], vec![]]),
        (by_key(Ask::get("/"), KEY), [vec!["key"], vec!["partner-a"], vec![]]),
        (Ask::get("/").header("Connection", "X-Frontdesk-Verified"), [vec!["none"], vec![], vec![]]),
    ] {
        desk.ask(Via::H1, forged(ask)).await;
        assert_eq!(told(&origin), expected.map(|v| v.into_iter().map(str::to_owned).collect::<Vec<_>>()));
        let head = String::from_utf8_lossy(&origin.last().raw_head).into_owned();
        assert!(!head.contains("forged"), "{head}");
    }
}

#[tokio::test]
async fn callers_that_upgrade_are_told_to_the_site_too() {
    let (origin, desk) = desk().await;
    let ask = Ask::get("/socket").header("Connection", "Upgrade").header("Upgrade", "echo");
    for (ask, verified, caller) in [(ask.clone(), "none", &[][..]), (by_key(ask, KEY), "key", &["partner-a"][..])] {
        desk.ask(Via::H1, ask.header("X-Frontdesk-Caller", "forged")).await;
        assert_eq!(origin.last().headers.all("x-frontdesk-verified"), [verified]);
        assert_eq!(origin.last().headers.all("x-frontdesk-caller"), caller);
    }
}

#[tokio::test]
async fn callers_that_only_claim_are_labelled_whatever_they_claim() {
    let (origin, desk) = desk().await;
    for claim in
        ["ExampleAgent/1.0", "\"ExampleAgent/1.0\"", "https://bot.example", "x; verified", "a, b", "a;claimed=0"]
    {
        desk.ask(Via::H1, Ask::get("/").header("AICP-Agent", claim)).await;
        let [verified, caller, agent] = told(&origin);
        assert_eq!((verified.as_slice(), caller.len(), agent.len()), (&["none".to_owned()][..], 0, 1), "{claim}");
        assert!(agent[0].ends_with("; claimed") && agent[0].len() > 9, "{claim}: {}", agent[0]);
    }
    let long = "x".repeat(5_000);
    assert_eq!(desk.ask(Via::H1, Ask::get("/").header("AICP-Agent", &long)).await.status, 200, "a long claim");
    for agent in &told(&origin)[2] {
        assert!(agent.ends_with("; claimed"), "a long claim: {agent}");
    }
}

#[tokio::test]
async fn callers_without_a_name_are_turned_away_where_the_policy_says_so() {
    let bot = Bot::new("https://bot.example");
    let (_origin, desk) = desk_with(|s| s.set("policies", "anonymous_access = false").tail(&bot.known())).await;
    for ask in [converse(), converse().header("AICP-Agent", "Claim/1.0"), Ask::post("/capabilities/x", "{}")] {
        let response = desk.ask(Via::H1, ask.clone()).await;
        assert_refused(&response, &ask.target);
        let challenge = response.header("www-authenticate").unwrap_or_default();
        assert!(challenge.starts_with("Bearer"), "{}: {:?}", ask.target, response.headers);
    }
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface", "/"] {
        assert_eq!(desk.get(path).await.status, 200, "{path}");
    }
    assert_eq!(desk.ask(Via::H1, by_key(converse(), KEY)).await.status, LET_THROUGH);
    assert_eq!(desk.ask(Via::H1, bot.sign(converse())).await.status, LET_THROUGH);
}

#[tokio::test]
async fn callers_come_and_go_with_a_swap() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin);
    let with = |key: &str| setup.clone().tail(&api_key("partner-a", key, ""));
    let desk = with(KEY).start().await;
    for (known, gone) in [(KEY, OTHER), (OTHER, KEY), (KEY, OTHER)] {
        desk.swap(&with(known)).await;
        assert_eq!(desk.ask(Via::H1, by_key(converse(), known)).await.status, LET_THROUGH);
        assert_eq!(desk.ask(Via::H1, by_key(converse(), gone)).await.status, 401);
    }
}

#[tokio::test]
async fn callers_keys_are_written_nowhere() {
    let (_origin, desk) = desk().await;
    for ask in [by_key(converse(), KEY), by_key(converse(), "wrong-8899"), Ask::get("/?a").bearer(KEY)] {
        desk.ask(Via::H1, ask).await;
    }
    crate::support::eventually("the access log", crate::support::SOON, async || desk.access_log().len() >= 3).await;
    let said = desk.stdout() + &desk.stderr() + &desk.admin_get("/config").await.text();
    let said = said + &desk.admin_get("/metrics").await.text();
    for secret in [KEY, OTHER, "wrong-8899"] {
        assert!(!said.contains(secret), "{secret} was written down");
    }
}
