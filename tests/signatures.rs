//! Promise: an agent that signs its requests is identified by its key, and by nothing that can be copied.

use crate::support::calls::{call, query};
use crate::support::jwks::now;
use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, api_key, assert_limited, assert_refused, converse, is_let_through, rate};
use crate::support::signer::{Bot, Signing};
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Tls, Via};

const AGENT: &str = "https://bot.example";

async fn desk_with(bot: &Bot, more: impl FnOnce(Setup) -> Setup) -> (Origin, Desk) {
    let answer = |r: &Request| if r.target.starts_with("/api/") { Reply::json("[]") } else { Reply::html(PAGE) };
    let origin = Origin::start(answer).await;
    let rates = [("anonymous", "100/minute"), ("authenticated", "40/minute")];
    let setup = Setup::before(&origin).limits(&rates).tls(&Tls::new()).tail(&bot.known());
    let desk = more(setup).start().await;
    (origin, desk)
}

async fn desk() -> (Bot, Origin, Desk) {
    let bot = Bot::new(AGENT);
    let (origin, desk) = desk_with(&bot, |setup| setup).await;
    (bot, origin, desk)
}

#[track_caller]
fn assert_known(response: &Response, what: &str) {
    assert_eq!(response.status, LET_THROUGH, "{what}: {}", response.text());
    assert_eq!(rate(response, what).limit, 40, "{what}");
}

#[track_caller]
fn assert_challenged(response: &Response, what: &str) {
    let reason = assert_refused(response, what);
    assert!(reason.len() > 10, "{what}: {reason}");
    let wanted = response.header("accept-signature").unwrap_or_else(|| panic!("{what}: no Accept-Signature"));
    assert!(wanted.contains("web-bot-auth") && wanted.contains("@authority"), "{what}: {wanted}");
}

#[tokio::test]
async fn signatures_in_order_are_known() {
    let (bot, origin, desk) = desk().await;
    for via in [Via::H1, Via::H1Tls, Via::H2Tls] {
        assert_known(&desk.ask(via, bot.sign(converse())).await, &format!("{via:?}"));
        assert_eq!(desk.ask(via, bot.sign(Ask::get("/p?q=1"))).await.status, 200);
        let seen = origin.last();
        assert_eq!(seen.headers.all("x-frontdesk-verified"), ["signature"], "{via:?}");
        assert_eq!(seen.headers.all("x-frontdesk-caller"), [AGENT], "{via:?}");
        assert_eq!(seen.headers.all("x-frontdesk-agent"), [AGENT], "{via:?}");
    }
    let mixed = bot.sign(converse().header("Host", "Site.TEST"));
    assert_known(&desk.ask(Via::H1, mixed).await, "a Host in capitals is signed in small letters");
}

#[tokio::test]
async fn signatures_may_cover_more() {
    let (bot, origin, desk) = desk().await;
    for (what, components, header) in [
        ("the method", &["\"@method\""][..], None),
        ("method and path", &["\"@method\"", "\"@path\""], None),
        ("a field", &["\"content-type\""], None),
        ("a dictionary's member", &["\"signature-agent\";key=\"sig1\""], Some("sig1=\"https://bot.example\"")),
        ("the older string", &["\"signature-agent\""], Some("\"https://bot.example\"")),
    ] {
        let signing = components.iter().fold(bot.signing(), |signing, component| signing.cover(component));
        let with = |ask: Ask| header.map_or(ask.clone(), |value| ask.header("Signature-Agent", value));
        assert_known(&desk.ask(Via::H1, signing.apply(with(converse()))).await, what);
        let page = with(Ask::post("/form", "a=1").header("Content-Type", "text/plain"));
        let mut changed = signing.apply(page.clone());
        desk.ask(Via::H1, changed.clone()).await;
        assert_eq!(origin.last().headers.all("x-frontdesk-verified"), ["signature"], "{what}, on a page");
        (changed.method, changed.target) = ("PUT".into(), "/other".into());
        for (name, value) in &mut changed.headers {
            if ["Content-Type", "Signature-Agent"].contains(&name.as_str()) {
                *value = value.replace("plain", "other").replace("bot.example", "evil.example");
            }
        }
        desk.ask(Via::H1, changed).await;
        assert_eq!(origin.last().headers.all("x-frontdesk-verified"), ["none"], "{what}, changed on the way");
    }
}

#[tokio::test]
async fn signatures_with_any_label_beside_any_other_are_found() {
    let (bot, _origin, desk) = desk().await;
    let stranger = Bot::new("https://stranger.example");
    let mut other = stranger.signing();
    other.label = "first".into();
    other.tag = Some("something-else".into());
    let mut ours = bot.signing();
    ours.label = "second".into();
    let twice = ours.apply(other.apply(converse()));
    assert_known(&desk.ask(Via::H1, twice.clone()).await, "in two lines");
    let mut joined = converse();
    for name in ["Signature-Input", "Signature"] {
        let values = twice.headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str()).collect::<Vec<_>>();
        joined = joined.header(name, &values.join(", "));
    }
    assert_known(&desk.ask(Via::H1, joined).await, "in one line");
    let unrelated = desk.ask(Via::H1, other.apply(converse())).await;
    assert_eq!((unrelated.status, rate(&unrelated, "another tag").limit), (LET_THROUGH, 100), "not meant for us");
}

#[tokio::test]
async fn signatures_that_do_not_hold_are_refused() {
    let (bot, origin, desk) = desk().await;
    let stranger = Bot::new(AGENT);
    let spoilt = |change: &dyn Fn(&mut Signing)| {
        let mut signing = bot.signing();
        change(&mut signing);
        signing
    };
    for (what, signing) in [
        ("a wrong bit", spoilt(&|s| s.flip = true)),
        ("another site's", spoilt(&|s| s.authority = Some("other.test".into()))),
        ("another port's", spoilt(&|s| s.authority = Some("site.test:8443".into()))),
        ("expired", spoilt(&|s| (s.created, s.expires) = (Some(now() - 7200), Some(now() - 3600)))),
        ("not yet made", spoilt(&|s| (s.created, s.expires) = (Some(now() + 3600), Some(now() + 7200)))),
        ("ended before it began", spoilt(&|s| s.expires = Some(now() - 600))),
        ("without an end", spoilt(&|s| s.expires = None)),
        ("without a beginning", spoilt(&|s| s.created = None)),
        ("of nothing", spoilt(&|s| s.covered.clear())),
        ("of the method only", spoilt(&|s| s.covered = vec!["\"@method\"".into()])),
        ("by a stranger", stranger.signing()),
        ("by a stranger under the known name", {
            let mut signing = stranger.signing();
            signing.keyid = bot.thumbprint();
            signing
        }),
        ("under no name", spoilt(&|s| s.keyid = String::new())),
        ("under the agent's name", spoilt(&|s| s.keyid = AGENT.into())),
        ("of another kind", spoilt(&|s| s.alg = Some("hmac-sha256".into()))),
    ] {
        for via in [Via::H1, Via::H2Tls] {
            assert_challenged(&desk.ask(via, signing.apply(converse())).await, what);
        }
        assert_eq!(desk.ask(Via::H1, signing.apply(Ask::get("/"))).await.status, 200, "{what}, on a page");
        assert_eq!(origin.last().headers.all("x-frontdesk-verified"), ["none"], "{what}, on a page");
        assert!(!origin.last().headers.has("x-frontdesk-caller"), "{what}, on a page");
    }
    let with_alg = spoilt(&|s| s.alg = Some("ed25519".into()));
    assert_known(&desk.ask(Via::H1, with_alg.apply(converse())).await, "its own kind");
}

#[tokio::test]
async fn signatures_bent_on_the_way_are_refused() {
    let (bot, _origin, desk) = desk().await;
    let good = bot.sign(converse());
    let change = |name: &str, change: &dyn Fn(&str) -> String| {
        let mut ask = good.clone();
        for (n, value) in &mut ask.headers {
            if n == name {
                *value = change(value);
            }
        }
        ask
    };
    for (what, ask) in [
        ("extended", change("Signature-Input", &|v| v.replace("expires=", "expires=9"))),
        ("covering more", change("Signature-Input", &|v| v.replace("\"@authority\"", "\"@authority\" \"x-more\""))),
        ("shorter", change("Signature", &|v| format!("{}=:", &v[..v.len() - 12]))),
        ("empty", change("Signature", &|_| "sig1=::".into())),
        ("under another label", change("Signature", &|v| v.replace("sig1", "sig2"))),
        ("twice the same parameter", change("Signature-Input", &|v| format!("{v};keyid=\"x\""))),
    ] {
        let response = desk.ask(Via::H1, ask).await;
        assert_eq!(response.status, 401, "{what}: {}", response.text());
    }
    for (input, signature) in [("garbage(((", "garbage"), ("sig1=(", "sig1=:AAAA:"), ("", ""), ("sig1=()", "sig1=7")] {
        let ask = converse().header("Signature-Input", input).header("Signature", signature);
        let response = desk.ask(Via::H1, ask).await;
        assert!([401, LET_THROUGH].contains(&response.status), "{input:?}: {}", response.status);
        assert_ne!(rate(&response, input).limit, 40, "{input:?}");
    }
    assert_known(&desk.ask(Via::H1, good.clone()).await, "unbent");
}

#[tokio::test]
async fn signatures_with_a_nonce_are_good_once() {
    let (bot, _origin, desk) = desk().await;
    let signed = bot.signing().nonce("bm9uY2UtMQ").apply(converse());
    assert_known(&desk.ask(Via::H1, signed.clone()).await, "the first time");
    for via in [Via::H1, Via::H2Tls] {
        let response = desk.ask(via, signed.clone()).await;
        assert_challenged(&response, "again");
        assert!(response.text().to_lowercase().contains("nonce"), "{}", response.text());
    }
    let afresh = bot.signing().nonce("bm9uY2UtMQ").cover("\"@method\"").apply(converse());
    assert_challenged(&desk.ask(Via::H1, afresh).await, "the same nonce in another signature");
    assert_known(&desk.ask(Via::H1, bot.signing().nonce("bm9uY2UtMg").apply(converse())).await, "another nonce");
    let without = bot.sign(converse());
    for _ in 0..2 {
        assert_known(&desk.ask(Via::H1, without.clone()).await, "a nonce is the agent's choice");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_with_a_nonce_are_good_once_for_64_at_once() {
    use crate::support::rates::at_once;
    let (bot, _origin, desk) = desk().await;
    let signed = bot.signing().nonce("bm9uY2U").apply(converse());
    let responses = at_once(&[&desk], vec![signed; 64]).await;
    assert_eq!(responses.iter().filter(|r| r.status == LET_THROUGH).count(), 1);
    assert!(responses.iter().all(|r| [LET_THROUGH, 401].contains(&r.status)));
}

/// A cache in between would give the response to the next client, signed or not.
#[tokio::test]
async fn signatures_keep_what_is_answered_private() {
    let bot = Bot::new(AGENT);
    let lines = "\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60\nupstream = { method = \"GET\", path = \"/api/items\" }";
    let (_origin, desk) = desk_with(&bot, |setup| setup.tail(&query("items.search", lines))).await;
    let ask = || call("/agent/items/search", &serde_json::json!({}));
    for (asked, whose) in [(ask(), "public"), (bot.sign(ask()), "private")] {
        let response = desk.ask(Via::H1, asked).await;
        assert_eq!(response.headers.tokens("cache-control"), [whose, "max-age=60"], "{}", response.text());
    }
}

#[tokio::test]
async fn signatures_share_the_agents_count() {
    let bot = Bot::new(AGENT);
    let rates = [("anonymous", "4/minute"), ("authenticated", "3/minute")];
    let (_origin, desk) = desk_with(&bot, |setup| setup.limits(&rates)).await;
    for used in 1..=3 {
        let response = desk.ask(Via::H1, bot.sign(converse())).await;
        assert_eq!(rate(&response, "signed").remaining, 3 - used);
    }
    assert_limited(&desk.ask(Via::H1, bot.sign(converse())).await, "agent", "a fourth");
    let mut bad = bot.signing();
    bad.flip = true;
    let statuses = desk.statuses((0..6).map(|_| bad.apply(converse()))).await;
    assert_eq!(statuses, [401, 401, 401, 401, 429, 429], "bad ones are counted by address");
}

#[tokio::test]
async fn signatures_may_be_required() {
    let bot = Bot::new(AGENT);
    let (_origin, desk) = desk_with(&bot, |setup| setup.set("auth.signed_agents", "require = true")).await;
    for ask in [converse(), converse().header("AICP-Agent", AGENT), Ask::post("/mcp", "{}")] {
        assert_challenged(&desk.ask(Via::H1, ask.clone()).await, &ask.target);
        let signed = desk.ask(Via::H1, bot.sign(ask.clone())).await;
        assert!(is_let_through(signed.status), "{}: {}", ask.target, signed.text());
    }
    assert_known(&desk.ask(Via::H1, bot.sign(converse())).await, "a question");
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface", "/"] {
        assert_eq!(desk.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn signatures_go_together_with_a_key() {
    let bot = Bot::new(AGENT);
    let key = api_key("partner-a", "hush-hush", "rate_limit = \"7/minute\"");
    let (_origin, desk) = desk_with(&bot, |setup| setup.tail(&key)).await;
    let both = desk.ask(Via::H1, bot.sign(converse().bearer("hush-hush"))).await;
    assert_eq!((both.status, rate(&both, "both").limit), (LET_THROUGH, 7), "the credential is the caller");
    let mut bad = bot.signing();
    bad.flip = true;
    assert_eq!(desk.ask(Via::H1, bad.apply(converse().bearer("hush-hush"))).await.status, 401, "a bad one is bad");
    assert_eq!(desk.ask(Via::H1, bot.sign(converse().bearer("wrong-one"))).await.status, 401, "and so is a bad key");
}

#[tokio::test]
async fn signatures_made_for_another_site_are_not_taken_from_it() {
    let bot = Bot::new(AGENT);
    let (origin, desk) = desk_with(&bot, |setup| setup.set("site", "origin = \"https://site.test\"")).await;
    assert_known(&desk.ask(Via::H1, bot.sign(converse())).await, "made for us");
    // A site that the agent visited may replay its request to us, with its own name as Host.
    let elsewhere = |ask: Ask| bot.sign(ask.header("Host", "evil.test"));
    for via in [Via::H1, Via::H2Tls] {
        assert_challenged(&desk.ask(via, elsewhere(converse())).await, "made for another site");
        desk.ask(via, elsewhere(Ask::get("/"))).await;
        assert_eq!(origin.last().headers.all("x-frontdesk-verified"), ["none"], "on a page");
    }
}
