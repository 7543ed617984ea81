//! Promise: an answer has the content type that both sides know, and names it (AHP appendix C).

use crate::support::calls::{FULL, upstream_calls};
use crate::support::handshake::{asking, assert_error, assert_success, question, saying, with};
use crate::support::{Desk, Origin, Reply, Request, Via, agency};
use serde_json::{Value, json};

fn accepting(capability: &str, types: &[&str]) -> Value {
    with(question(capability, "from MAD to NRT"), json!({ "context": { "accept_types": types } }))
}

async fn type_of(desk: &Desk, capability: &str, types: &[&str]) -> String {
    let reply = desk.told(&accepting(capability, types)).await;
    reply["meta"]["content_type"].as_str().expect("a type").to_owned()
}

#[tokio::test]
async fn clause_19_the_first_of_the_agents_types_that_the_capability_has() {
    let (_origin, desk) = agency::open().await;
    for (types, wanted) in [
        (&["application/data", "text/answer"][..], "application/data"),
        (&["text/answer", "application/data"], "text/answer"),
        (&["media/video", "application/data", "text/answer"], "application/data"),
        (&["x-acme/ticket", "text/answer"], "text/answer"),
        (&["application/data"], "application/data"),
    ] {
        assert_eq!(type_of(&desk, "flights_search", types).await, wanted, "{types:?}");
    }
}

#[tokio::test]
async fn clause_19_without_a_wish_it_is_text() {
    let (_origin, desk) = agency::open().await;
    let reply = desk.told(&question("flights_search", "from MAD to NRT")).await;
    assert_eq!(reply["meta"]["content_type"], "text/answer", "{reply}");
    assert!(reply["meta"].get("fallback_from").is_none(), "nothing was fallen back from: {reply}");
}

#[tokio::test]
async fn clause_20_a_fallback_says_what_it_is_from() {
    let (_origin, desk) = agency::open().await;
    let reply = desk.told(&accepting("video_get", &["media/image"])).await;
    let meta = &reply["meta"];
    assert_eq!(
        (&meta["content_type"], &meta["fallback_from"]),
        (&json!("text/answer"), &json!("media/video")),
        "{reply}"
    );
    assert_eq!(reply["response"]["answer"], "A tour, at https://cdn.test/tour.m3u8", "a description in plain language");
    assert!(reply["response"].get("payload").is_none(), "{reply}");
    let text = desk.told(&accepting("video_get", &["text/answer"])).await;
    assert_eq!(text["meta"]["fallback_from"], "media/video", "asked for or not, it is a fallback: {text}");
    let reply = desk.told(&accepting("flights_search", &["media/video"])).await;
    assert_eq!(reply["meta"]["content_type"], "text/answer", "{reply}");
    assert_eq!(reply["meta"]["fallback_from"], "application/data", "{reply}");
}

#[tokio::test]
async fn clause_21_without_a_fallback_it_is_refused_with_the_types_there_are() {
    let (origin, desk) = agency::open().await;
    for (capability, types) in [
        ("stock_check", &["text/answer"][..]),
        ("stock_check", &["media/video", "x-a/b"]),
        ("posts_list", &["media/audio"]),
    ] {
        let response = desk.ask(Via::H1, asking(&accepting(capability, types))).await;
        let reply = assert_error(&response, 400, "unsupported_type", capability);
        let available = reply["available_types"].as_array().expect("types");
        let declared = if capability == "stock_check" { "application/data" } else { "application/feed" };
        assert!(available.contains(&json!(declared)), "{reply}");
    }
    assert!(upstream_calls(&origin).is_empty(), "known before the site is asked");
}

#[tokio::test]
async fn clause_21_an_action_is_not_done_for_an_answer_nobody_can_take() {
    let (origin, desk) = agency::open().await;
    let asked = with(accepting("hold_make", &["media/video"]), json!({ "input": { "fare": "f1" } }));
    assert_error(&desk.ask(Via::H1, asking(&asked).bearer(FULL)).await, 400, "unsupported_type", "an action");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_22_media_and_files_are_addresses() {
    let (_origin, desk) = agency::open().await;
    let video = desk.told(&accepting("video_get", &["media/video"])).await;
    let payload = &video["response"]["payload"];
    assert_eq!(payload["stream_url"], "https://cdn.test/tour.m3u8", "{video}");
    assert_eq!(
        (&payload["duration_seconds"], &payload["format"]),
        (&json!(847), &json!("hls")),
        "numbers stay numbers"
    );
    let file = desk.told(&accepting("file_get", &["file/download"])).await;
    assert_eq!(file["response"]["payload"]["url"], "https://site.test/brochure.pdf", "{file}");
}

#[tokio::test]
async fn clause_22_bytes_are_never_in_an_answer() {
    let inline = "data:video/mp4;base64,AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDEAAAAIZnJlZQ==";
    let origin = Origin::start(move |r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/video" => Reply::json(json!({ "url": inline, "seconds": 1, "title": "Inline" }).to_string()).into(),
        _ => agency::says(r),
    })
    .await;
    let desk = agency::before(&origin).start().await;
    let response = desk.ask(Via::H1, asking(&accepting("video_get", &["media/video"]))).await;
    assert!(!response.json()["response"]["payload"].to_string().contains("base64"), "{}", response.text());
    // Where the operator has no words for it, it is not in ours.
    let wordless = "[[capabilities]]\nid = \"clip\"\ntype = \"query\"\ndescription = \"A clip.\"\nrisk_level = \"low\"\n\
                    auth = \"none\"\nupstream = { method = \"GET\", path = \"/api/video\" }\n\
                    ahp = { response_types = [\"media/video\"], accept_fallback = true, payload = { stream_url = \"{data.url}\" } }\n";
    let desk = agency::before(&origin).tail(wordless).start().await;
    for types in [&["media/video"][..], &["media/image"], &["text/answer"]] {
        let told = desk.told(&accepting("clip", types)).await;
        assert_eq!(told["meta"]["fallback_from"], "media/video", "{told}");
        assert!(!told.to_string().contains("base64"), "{types:?}: {told}");
    }
}

/// A desk whose own concierge says this, and may say it as an image.
async fn concierge(says: Value) -> (Origin, Desk) {
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/api/own" => Reply::json(says.to_string()).into(),
        _ => agency::says(r),
    })
    .await;
    let own = "[[capabilities]]\nid = \"own\"\ntype = \"query\"\ndescription = \"Says it.\"\nrisk_level = \"low\"\nauth = \"none\"\n\
               upstream = { method = \"POST\", path = \"/api/own\" }\n\
               ahp = { mode = \"MODE2\", response_types = [\"media/image\", \"text/answer\"] }\n";
    let desk = agency::before(&origin).tail(own).start().await;
    (origin, desk)
}

#[tokio::test]
async fn clause_22_a_concierge_sends_no_bytes_along_either() {
    for (url, is_told) in [("https://cdn.test/a.png", true), ("data:image/png;base64,AAAA", false)] {
        let images = json!({ "images": [{ "url": url, "alt": "A cat" }] });
        let said = json!({ "content_type": "media/image", "answer": "A cat.", "payload": images });
        let (_origin, desk) = concierge(json!({ "response": said })).await;
        let told = desk.told(&accepting("own", &["media/image"])).await;
        assert_eq!(told["response"]["answer"], "A cat.", "{told}");
        assert_eq!(told["response"].get("payload").is_some(), is_told, "{told}");
        assert_eq!(told["meta"]["content_type"] == "media/image", is_told, "{told}");
    }
}

#[tokio::test]
async fn clause_23_what_a_concierge_says_in_another_form_is_left_out() {
    let sources = json!([
        { "url": "/a", "title": 5, "relevance": "high", "page": 3 },
        { "url": "/b", "title": "B", "relevance": "direct" },
        { "url": null, "title": "nowhere" },
        "/c",
    ]);
    for (queries, told) in [(json!("no list"), json!({})), (json!(["x", 5]), json!({ "suggested_queries": ["x"] }))] {
        let next = json!({ "suggested_queries": queries });
        let said = json!({ "answer": "It is so.", "sources": sources, "follow_up": next });
        let (_origin, desk) = concierge(json!({ "response": said })).await;
        // It is held against the schema of replies.
        let reply = desk.told(&question("own", "Is it so?")).await;
        let expected = json!([{ "url": "/a", "page": 3 }, { "url": "/b", "title": "B", "relevance": "direct" }]);
        assert_eq!((&reply["response"]["sources"], &reply["response"]["follow_up"]), (&expected, &told), "{reply}");
    }
}

#[tokio::test]
async fn clause_23_what_is_no_json_is_told_in_words() {
    let says = |_: &Request| Reply::new(200).header("Content-Type", "text/plain").body("Plain words.");
    let origin = Origin::start(says).await;
    let raw = "[[capabilities]]\nid = \"plain\"\ntype = \"query\"\ndescription = \"Says it.\"\nrisk_level = \"low\"\nauth = \"none\"\n\
               upstream = { method = \"GET\", path = \"/api/plain\", response = \"raw\" }\n";
    let desk = agency::before(&origin).tail(raw).start().await;
    let told = desk.told(&accepting("plain", &["application/data"])).await;
    assert_eq!(told["response"], json!({ "content_type": "text/answer", "answer": "Plain words." }), "{told}");
    assert_eq!(told["meta"]["fallback_from"], "application/data", "{told}");
}

#[tokio::test]
async fn clause_23_an_answer_in_words_is_always_there() {
    let (_origin, desk) = agency::open().await;
    for (capability, types) in [
        ("flights_search", &["application/data"][..]),
        ("stock_check", &["application/data"]),
        ("posts_list", &["application/feed"]),
        ("video_get", &["media/video"]),
        ("file_get", &["file/download"]),
        ("content_search", &["application/feed"]),
        ("site_info", &["text/answer"]),
    ] {
        // `told` wants the answer, and the type twice.
        let reply = desk.told(&accepting(capability, types)).await;
        assert_eq!(reply["meta"]["content_type"], types[0], "{reply}");
        assert_eq!(reply["response"].get("payload").is_some(), types[0] != "text/answer", "{reply}");
    }
}

#[tokio::test]
async fn clause_23_payloads_have_the_shape_of_the_registry() {
    let (_origin, desk) = agency::open().await;
    let data = desk.told(&accepting("flights_search", &["application/data"])).await;
    assert_eq!(data["response"]["payload"]["data"]["results"][0]["id"], "f1", "{data}");
    let feed = desk.told(&accepting("posts_list", &["application/feed"])).await;
    let payload = &feed["response"]["payload"];
    assert_eq!((&payload["total"], &payload["items"][1]["title"]), (&json!(2), &json!("Two")), "{feed}");
    let found = desk.told(&accepting("content_search", &["application/feed"])).await;
    assert!(found["response"]["payload"]["items"].is_array(), "{found}");
    let asked = with(accepting("hold_make", &["application/action-result"]), json!({ "input": { "fare": "f1" } }));
    let done = assert_success(&desk.ask(Via::H1, asking(&asked).bearer(FULL)).await, "an action");
    let payload = &done["response"]["payload"];
    assert_eq!((&payload["action"], &payload["success"]), (&json!("hold_make"), &json!(true)), "{done}");
    assert_eq!(payload["result"]["done"], "d-1", "{done}");
}

#[tokio::test]
async fn clause_19_types_that_are_none_are_refused() {
    let (_origin, desk) = agency::open().await;
    for types in [json!("text/answer"), json!([1]), json!([null]), json!({ "0": "text/answer" })] {
        let asked = with(question("stock_check", "?"), json!({ "context": { "accept_types": types } }));
        let response = desk.ask(Via::H1, saying(asked.to_string())).await;
        assert_error(&response, 400, "invalid_request", &types.to_string());
    }
}
