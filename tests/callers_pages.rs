//! Promise: a credential never costs a caller a page; the site gets its own credentials and never an API key, and its
//! pages do not tell which guess is right.

use crate::callers::{KEY, by_key, desk, desk_with, told};
use crate::support::page::PAGE;
use crate::support::rates::{api_key, converse, rate};
use crate::support::signer::Bot;
use crate::support::{Ask, Origin, Reply, Request, Setup, Via};

#[tokio::test]
async fn callers_are_never_refused_on_pages() {
    let bot = Bot::new("https://bot.example");
    let (origin, desk) = desk_with(|setup| setup.tail(&bot.known())).await;
    let mut spoiled = bot.signing();
    spoiled.flip = true;
    for ask in [
        by_key(Ask::get("/"), "wrong"),
        Ask::get("/").bearer("wrong"),
        Ask::get("/").bearer("a.b.c"),
        Ask::get("/").header("Authorization", "Bearer"),
        spoiled.apply(Ask::get("/")),
        Bot::new("https://stranger.example").sign(Ask::get("/")),
        Ask::get("/").header("Signature", "garbage").header("Signature-Input", "garbage((("),
    ] {
        let what = format!("{:?}", ask.headers);
        for _ in 0..3 {
            assert_eq!(desk.ask(Via::H1, ask.clone()).await.status, 200, "{what}");
            assert_eq!(told(&origin), [vec!["none".to_owned()], vec![], vec![]], "{what}");
        }
    }
    let anonymous = rate(&desk.ask(Via::H1, converse()).await, "after them");
    assert_eq!(anonymous.remaining, 49, "and nothing was counted");
}

#[tokio::test]
async fn callers_keep_their_authorization_on_pages() {
    let (origin, desk) = desk().await;
    for value in ["Bearer the-sites-own", "Bearer eyJhbGciOiJub25lIn0.e30.x", "Basic dXNlcjpwYXNz", "Bearer"] {
        for _ in 0..3 {
            desk.ask(Via::H1, Ask::get("/").header("Authorization", value)).await;
            assert_eq!(origin.last().headers.all("authorization"), [value]);
        }
    }
}

/// By every way that a page goes.
#[tokio::test]
async fn callers_do_not_show_the_site_an_api_key() {
    let (origin, desk) = desk().await;
    let page = Ask::get("/").bearer(KEY);
    let cookies = page.clone().header("Cookie", "a=1").header("Cookie", "b=2");
    let markdown = page.clone().header("Accept", "text/markdown");
    let upgrade = page.clone().header("Connection", "Upgrade").header("Upgrade", "echo");
    for ask in [page, cookies, markdown, upgrade, Ask::post("/form", "a=1").bearer(KEY)] {
        desk.ask(Via::H1, ask).await;
        let last = origin.last();
        assert_eq!(last.headers.all("x-frontdesk-verified"), ["key"]);
        let head = String::from_utf8_lossy(&last.raw_head).into_owned();
        assert!(!head.to_lowercase().contains("authorization") && !head.contains(KEY), "{head}");
    }
}

#[tokio::test]
async fn callers_do_not_show_the_site_an_api_key_beside_another_credential() {
    let (origin, desk) = desk().await;
    let other = "Basic dTpw";
    let first = Ask::get("/").bearer(KEY).header("Authorization", other);
    let last = Ask::get("/").header("Authorization", other).bearer(KEY);
    for ask in [first, last] {
        desk.ask(Via::H1, ask).await;
        let head = String::from_utf8_lossy(&origin.last().raw_head).into_owned();
        assert!(!head.to_lowercase().contains("authorization") && !head.contains(KEY), "{head}");
    }
}

/// No endpoint accepts these. A client may send them all the same, and the key in them is ours.
#[tokio::test]
async fn callers_do_not_show_the_site_an_api_key_in_a_spelling_that_no_endpoint_accepts() {
    let (origin, desk) = desk().await;
    for form in
        ["Token KEY", "KEY", "ApiKey KEY", "Bearer \"KEY\"", "Bearer KEY,", "Bearer: KEY", "Bearer x, Bearer KEY"]
    {
        let value = form.replace("KEY", KEY);
        for ask in [Ask::get("/"), Ask::post("/form", "a=1")] {
            desk.ask(Via::H1, ask.header("Authorization", &value)).await;
            let last = origin.last();
            assert_eq!(last.headers.all("x-frontdesk-verified"), ["none"], "{form}");
            let head = String::from_utf8_lossy(&last.raw_head).into_owned();
            assert!(!head.to_lowercase().contains("authorization") && !head.contains(KEY), "{head}");
        }
        let other = form.replace("KEY", "the-sites-own");
        desk.ask(Via::H1, Ask::get("/").header("Authorization", &other)).await;
        assert_eq!(origin.last().headers.all("authorization"), [other.as_str()], "the site's own passes");
    }
}

/// Else the site's answer would tell which of many guesses is right.
#[tokio::test]
async fn callers_that_guess_in_other_spellings_on_pages_learn_nothing() {
    let (origin, desk) = desk().await;
    for n in 0..60 {
        let guess = if n % 2 == 0 { format!("Token guess-{n}") } else { format!("guess-{n}") };
        assert_eq!(desk.ask(Via::H1, Ask::get("/").header("Authorization", &guess)).await.status, 200);
    }
    let right = format!("Token {KEY}");
    desk.ask(Via::H1, Ask::get("/").header("Authorization", &right)).await;
    assert_eq!(origin.last().headers.all("authorization"), [right.as_str()], "a right one looks like the others");
}

/// Several guesses in one request count as several.
#[tokio::test]
async fn callers_that_guess_in_many_lines_of_a_page_learn_nothing() {
    let (origin, desk) = desk().await;
    for n in 0..6 {
        let ask = (0..10).fold(Ask::get("/"), |ask, m| ask.bearer(&format!("guess-{n}-{m}")));
        assert_eq!(desk.ask(Via::H1, ask).await.status, 200);
    }
    desk.ask(Via::H1, Ask::get("/").bearer(KEY)).await;
    assert_eq!(told(&origin)[0], ["none"], "a right one looks like the others");
}

/// Reading the site anew and a reload both compile the configuration again.
#[tokio::test]
async fn callers_that_guess_are_remembered_over_a_new_configuration() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = || Setup::before(&origin).limits(&[("anonymous", "50/minute")]).tail(&api_key("partner-a", KEY, ""));
    let desk = setup().start().await;
    for n in 0..60 {
        desk.ask(Via::H1, Ask::get("/").bearer(&format!("guess-{n}"))).await;
    }
    desk.swap(&setup().set("site", "name = \"Another name\"")).await;
    desk.ask(Via::H1, Ask::get("/").bearer(KEY)).await;
    assert_eq!(told(&origin)[0], ["none"], "a right one looks like the others");
}

/// Else the site's answer would tell which of many guesses is right.
#[tokio::test]
async fn callers_that_guess_in_authorization_on_pages_learn_nothing() {
    let (origin, desk) = desk().await;
    for _ in 0..60 {
        desk.ask(Via::H1, Ask::get("/").bearer("the-sites-own")).await;
        desk.ask(Via::H1, Ask::get("/").bearer("eyJhbGciOiJub25lIn0.e30.x")).await;
    }
    desk.ask(Via::H1, Ask::get("/").bearer(KEY)).await;
    assert_eq!(told(&origin)[0], ["key"], "the site's own tokens are no guesses");
    for n in 0..60 {
        assert_eq!(desk.ask(Via::H1, Ask::get("/").bearer(&format!("guess-{n}"))).await.status, 200);
    }
    desk.ask(Via::H1, Ask::get("/").bearer(KEY)).await;
    assert_eq!(told(&origin)[0], ["none"], "a right one looks like the others");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(origin.last().headers.all("authorization"), [bearer.as_str()]);
}
