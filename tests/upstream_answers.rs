//! Promise: whatever the site sends, a caller soon gets valid JSON with the right code, and nothing of the site's
//! internals.

use crate::support::calls::{AOM, FULL, action, assert_fault, call, query, site};
use crate::support::{Answer, Ask, Coding, Desk, Origin, Reply, Request, Response, Step, Tls};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const READ: &str = "\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/api/read\"";
const DO: &str = "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/do\"";

async fn desk_before(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (Origin, Desk) {
    let origin = Origin::start(move |_: &Request| reply()).await;
    let desk = site(&origin, &(query("read", READ) + &action("do", DO))).start().await;
    (origin, desk)
}

/// What a read and an action say to it.
async fn both(desk: &Desk) -> [Response; 2] {
    let read = desk.call(call("/agent/read", &json!({}))).await;
    [read, desk.call(call("/agent/do", &json!({})).bearer(FULL)).await]
}

/// Both say that the answer was of no use, in a few words.
async fn assert_malformed(reply: impl Fn() -> Reply + Send + Sync + 'static, what: &str) {
    let (_origin, desk) = desk_before(reply).await;
    for response in both(&desk).await {
        assert_fault(&response, 502, "upstream_malformed_response", what);
        assert!(response.body.len() < 4_000 && !response.text().contains("SECRET"), "{what}: {}", response.text());
    }
}

#[tokio::test]
async fn upstream_answers_that_are_not_json_are_malformed() {
    let page = "<!DOCTYPE html><html><body>SECRET stack trace</body></html>";
    assert_malformed(move || Reply::html(page), "a 200 with HTML").await;
    assert_malformed(move || Reply::json(page), "HTML that says it is JSON").await;
    for text in [
        "{\"SECRET\":",
        "{\"a\":1}}",
        "{\"a\":1} {\"b\":2}",
        "{'SECRET':1}",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "SECRET",
        "[1,]",
        "\u{feff}x",
    ] {
        assert_malformed(move || Reply::json(text), text).await;
    }
    assert_malformed(|| Reply::json(b"{\"a\":\"\xff\xfe SECRET\"}"), "invalid UTF-8").await;
    assert_malformed(|| Reply::json(b"{\"a\":\"SECRET\0\"}"), "a NUL").await;
    assert_malformed(|| Reply::json(b"\0\0\0\0"), "only NUL").await;
}

#[tokio::test]
async fn upstream_answers_that_break_off_are_not_passed_on() {
    let cut = || Reply::json("{\"a\":[1,2,").header("X-Internal", "SECRET");
    type Way = Arc<dyn Fn() -> Reply + Send + Sync>;
    let ways: [(&str, Way); 3] = [
        ("a short body", Arc::new(move || cut().header("Content-Length", "900").verbatim())),
        ("a chunk that never ends", Arc::new(move || cut().chunked().hang_up())),
        ("a whole value and no end", Arc::new(|| Reply::json("{\"a\":1}").chunked().hang_up())),
    ];
    for (what, reply) in ways {
        let (_origin, desk) = desk_before(move || reply()).await;
        for response in both(&desk).await {
            assert_eq!((response.status, response.media_type().as_str()), (502, AOM), "{what}: {}", response.text());
            let code = response.json()["error"]["code"].clone();
            assert!(code == "upstream_malformed_response" || code == "upstream_connection_error", "{what}: {code}");
        }
    }
}

#[tokio::test]
async fn upstream_answers_of_fifty_megabytes_are_refused_without_being_kept() {
    let piece: Arc<[u8]> = vec![b'x'; 1 << 20].into();
    let big = move || (0..50).fold(Reply::json("{\"a\":\""), |r, _| r.then(&piece)).then("\"}").chunked();
    let (_origin, desk) = desk_before(big).await;
    for response in both(&desk).await {
        assert_fault(&response, 502, "upstream_malformed_response", "50 MB");
    }
    assert!(desk.rss_peak_kb() < 300_000, "{} KB", desk.rss_peak_kb());
}

#[tokio::test]
async fn upstream_answers_nested_without_end_are_refused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [1_000, 100_000] {
            let mut text = open.repeat(depth) + "1" + &close.repeat(depth);
            assert_malformed(
                {
                    let text = text.clone();
                    move || Reply::json(&text)
                },
                &format!("{depth} × {open}"),
            )
            .await;
            text.truncate(open.len() * depth);
            assert_malformed(move || Reply::json(&text), &format!("{depth} × {open}, open")).await;
        }
    }
}

#[tokio::test]
async fn upstream_answers_with_odd_values_stay_well_formed() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":123456789012345678901234567890}"#,
        r#"{"a":-0.0,"b":1e308,"c":5e-324}"#,
        r#"{"a":"\u0000\u001f\"\\\/"}"#,
        r#"{"a":"</script>\u2028"}"#,
        r#"{"":{"error":{"code":"x"},"actions":[1]}}"#,
        r#"{"__proto__":{"a":1},"data":1,"policies":"none"}"#,
        "  \n[ ]\t",
    ] {
        let (_origin, desk) = desk_before(move || Reply::json(text)).await;
        for response in both(&desk).await {
            assert_eq!((response.status, response.media_type().as_str()), (200, AOM), "{text}: {}", response.text());
            let answer = response.json();
            let keys = answer.as_object().expect("planes");
            assert_eq!(keys.len(), 8, "{text}: {answer}");
            assert!(answer["policies"].is_object() && answer.get("error").is_none(), "{text}: {answer}");
        }
    }
    let (_origin, desk) = desk_before(|| Reply::json(r#"{"a":1,"a":2}"#)).await;
    let text = both(&desk).await[0].text();
    assert_eq!(text.matches("\"a\":").count(), 1, "no duplicate keys go out: {text}");
}

#[tokio::test]
async fn upstream_answers_with_huge_numbers_are_json_still() {
    for number in ["1e400".to_owned(), "-1E+99999".to_owned(), "9".repeat(5_000)] {
        let text = format!("{{\"a\":{number}}}");
        let (_origin, desk) = desk_before(move || Reply::json(&text)).await;
        for response in both(&desk).await {
            if response.status != 200 {
                assert_fault(&response, 502, "upstream_malformed_response", &number);
                continue;
            }
            // As it was, or as none; never "inf".
            let plain = response.text().replace(&number, "0").to_lowercase().replace(&number.to_lowercase(), "0");
            let body: Value = serde_json::from_str(&plain).unwrap_or_else(|e| panic!("{number}: {e}: {plain}"));
            assert!(body["data"]["a"].is_number() || body["data"]["a"].is_null(), "{number}: {plain}");
        }
    }
}

#[tokio::test]
async fn upstream_answers_that_are_not_http_are_a_connection_error() {
    for bytes in ["", "garbage\r\n\r\n", "HTTP/1.1 200", "HTTP/1.1 999999 SECRET\r\n\r\n", "SSH-2.0-SECRET\r\n"] {
        let origin = Origin::start(move |_: &Request| vec![Step::Write(bytes.as_bytes().to_vec()), Step::Close]).await;
        let desk = site(&origin, &(query("read", READ) + &action("do", DO))).start().await;
        for response in both(&desk).await {
            assert_eq!((response.status, response.media_type().as_str()), (502, AOM), "{bytes}: {}", response.text());
            let code = response.json()["error"]["code"].clone();
            assert!(code == "upstream_connection_error" || code == "upstream_malformed_response", "{bytes}: {code}");
            assert!(!response.text().contains("SECRET"), "{bytes}: {}", response.text());
        }
    }
}

#[tokio::test]
async fn upstream_answers_that_send_elsewhere_are_not_followed() {
    let elsewhere = Origin::start(|_: &Request| Reply::json("{\"SECRET\":1}")).await;
    let url = format!("{}/api/elsewhere?SECRET", elsewhere.url());
    for status in [301, 302, 303, 307, 308] {
        let url = url.clone();
        let (_origin, desk) = desk_before(move || Reply::new(status).header("Location", &url).body("{}")).await;
        for response in both(&desk).await {
            assert_fault(&response, 502, "upstream_error", &status.to_string());
            assert!(
                response.header("location").is_none() && !response.text().contains("SECRET"),
                "{}",
                response.text()
            );
        }
    }
    assert!(elsewhere.requests().is_empty());
}

/// How most sites answer a form.
#[tokio::test]
async fn upstream_answers_that_send_elsewhere_may_have_been_carried_out() {
    let origin = Origin::start(|_: &Request| Reply::new(303).header("Location", "/done?n=1")).await;
    let form = "\nupstream = { method = \"POST\", path = \"/api/do\", body = \"form\", response = \"wrap\" }";
    let read = "\nupstream = { method = \"GET\", path = \"/api/read\", response = \"wrap\" }";
    let declared = action("do", DO) + &action("form", form) + &query("read", read);
    let desk = site(&origin, &declared).start().await;
    let taken = desk.call(call("/agent/form", &json!({ "a": 1 })).bearer(FULL)).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    let data = taken.json()["data"].clone();
    assert_eq!((&data["status"], &data["location"]), (&json!(303), &json!("/done?n=1")), "{data}");
    assert!(taken.header("location").is_none());
    for (status, location) in [(302, "https://idp.test/login"), (302, "/\\\\idp.test"), (307, "/there"), (304, "/x")] {
        let origin = Origin::start(move |_: &Request| Reply::new(status).header("Location", location)).await;
        let desk = site(&origin, &action("form", form)).start().await;
        let told = desk.call(call("/agent/form", &json!({})).bearer(FULL)).await;
        assert_fault(&told, 502, "upstream_error", location);
        assert!(!told.text().contains("idp.test"), "{}", told.text());
    }
    // What is not declared to be anything at all is no success, and no failure that invites to try again.
    for endpoint in ["/agent/do", "/agent/read"] {
        let told = desk.call(call(endpoint, &json!({})).bearer(FULL)).await;
        let error = assert_fault(&told, 502, "upstream_error", endpoint)["error"].clone();
        assert!(error["message"].as_str().is_some_and(|text| text.contains("may have carried this out")), "{error}");
        assert_eq!(error["details"]["location"], "/done?n=1", "{error}");
    }
}

/// Bytes that a site sends after its response never reach another request.
#[tokio::test]
async fn upstream_answers_do_not_come_after_an_answer_without_a_body() {
    let stray = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"SECRET\":1}";
    let says = move |r: &Request| -> Answer {
        if r.target == "/page" {
            return Reply::html("<!doctype html><title>t</title><p>own").into();
        }
        if !r.target.contains("204") {
            return Reply::json("{\"own\":1}").into();
        }
        let head = format!("HTTP/1.1 204 No Content\r\nContent-Length: {}\r\n\r\n", stray.len());
        let late = Duration::from_millis(30);
        vec![Step::Write(head.into_bytes()), Step::Pause(late), Step::Write(stray.into()), Step::KeepAlive].into()
    };
    let empty = "\nupstream = { method = \"GET\", path = \"/api/204\" }";
    let declared = query("read", READ) + &query("empty", empty);
    let (plain, tls) = (Origin::start(says).await, Tls::new());
    let secured = Origin::start_tls(&tls, says).await;
    for (origin, by_library) in [(&plain, false), (&secured, false), (&secured, true)] {
        let desk = site(origin, &declared);
        let desk = if by_library { desk.set("runtime", "fast_path = false") } else { desk };
        let desk = desk.trusting(&tls).set("upstream", "http2 = \"off\"").start().await;
        for _ in 0..3 {
            assert_eq!(desk.get("/204").await.status, 204);
            assert_eq!(desk.get("/ok").await.text(), "{\"own\":1}", "passed on, by the library: {by_library}");
            assert_eq!(desk.call(call("/agent/empty", &json!({}))).await.status, 200);
            let read = desk.call(call("/agent/read", &json!({}))).await;
            assert!(read.text().contains("own"), "called, by the library: {by_library}: {}", read.text());
            // A page that is told as Markdown is fetched by the library in any case.
            assert_ne!(desk.get("/204.md").await.status, 200);
            let page = desk.get("/page.md").await;
            assert!(page.text().contains("own"), "fetched, by the library: {by_library}: {}", page.text());
        }
    }
}

#[tokio::test]
async fn upstream_answers_bring_no_headers_along() {
    let (_origin, desk) = desk_before(|| {
        let reply = Reply::json("{}").header("Set-Cookie", "session=SECRET").header("X-Powered-By", "SECRET/1.0");
        reply
            .header("Server", "SECRET")
            .header("WWW-Authenticate", "Basic SECRET")
            .header("X-Frontdesk-Caller", "SECRET")
    })
    .await;
    for response in both(&desk).await {
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(!format!("{:?}", response.headers).contains("SECRET"), "{:?}", response.headers);
    }
}

#[tokio::test]
async fn upstream_answers_in_a_coding_are_read_or_refused() {
    for coding in [Coding::Gzip, Coding::Br, Coding::Zstd] {
        let packed = coding.encode(b"{\"a\":1}");
        let name = coding.name().expect("a name");
        let reply = move || Reply::json(&packed).header("Content-Encoding", name);
        for fast_path in ["fast_path = true", "fast_path = false"] {
            let origin = Origin::start({
                let reply = reply.clone();
                move |_: &Request| reply()
            })
            .await;
            let declared = query("read", READ) + &action("do", DO);
            let desk = site(&origin, &declared).set("runtime", fast_path).start().await;
            for response in both(&desk).await {
                assert_eq!(response.status, 200, "{name}, {fast_path}: {}", response.text());
                assert_eq!(response.json()["data"], json!({ "a": 1 }), "{name}, {fast_path}");
            }
        }
    }
    // What is too much once it is unpacked, and what is not in the coding that it names, is of no use.
    let bomb = Coding::Gzip.encode(&[b"{\"a\":\"", &vec![b'x'; 64 << 20][..], b"\"}"].concat());
    assert_malformed(move || Reply::json(&bomb).header("Content-Encoding", "gzip"), "64 MB, packed").await;
    assert_malformed(|| Reply::json("{\"a\":1}").header("Content-Encoding", "gzip"), "no gzip").await;
    assert_malformed(|| Reply::json("{\"a\":1}").header("Content-Encoding", "pack200"), "no known coding").await;
}

#[tokio::test]
async fn upstream_answers_never_lead_to_another_id() {
    let id = "18446744073709551617";
    let origin = Origin::start(move |_: &Request| Reply::json(format!("{{\"id\":{id},\"price\":0.1}}"))).await;
    let next = "\n[[capabilities.aom.actions]]\nid = \"do\"\ninput = { id = \"{data.id}\", price = \"{data.price}\" }";
    let renamed = query("renamed", &format!("{READ}\nrename_output = {{ own = \"id\" }}"));
    let desk = site(&origin, &(query("read", &format!("{READ}{next}")) + &renamed + &action("do", DO))).start().await;
    let read = desk.call(call("/agent/read", &json!({})).bearer(FULL)).await.json();
    assert_eq!((&read["data"], &read["actions"][0]["input"]), (&json!({ "id": id, "price": 0.1 }), &read["data"]));
    assert_eq!(desk.call(call("/agent/renamed", &json!({}))).await.json()["data"]["own"], id);
    for (endpoint, input) in
        [("/agent/do", format!("{{\"id\":{id}}}")), ("/agent/do", "{\"n\":0.12345678901234567890}".into())]
    {
        let ask = Ask::post(endpoint, input).header("Content-Type", "application/json").bearer(FULL);
        let told = assert_fault(&desk.call(ask).await, 422, "invalid_input", "sent back as a number");
        assert!(told.to_string().contains("Send it as a string"), "{told}");
    }
    let ask = call("/agent/do", &read["actions"][0]["input"]).bearer(FULL);
    assert_eq!(desk.call(ask).await.status, 200, "sent back as it was told");
}
