//! Promise: a site without an API is callable: its pages, texts, tables, XML and files come back as data, in every
//! dialect, and what does not fit is a clear refusal.

use crate::support::calls::{FULL, assert_answer, assert_fault, call, query, site};
use crate::support::rpc;
use crate::support::{Ask, Desk, Origin, Reply, Request};
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A site whose answers are of every kind, each at `/api/KIND`.
async fn origin() -> Origin {
    Origin::start(|request: &Request| {
        let path = request.target.split('?').next().unwrap_or_default().to_owned();
        let of = |kind: &str, body: &[u8]| Reply::new(200).header("Content-Type", kind).body(body);
        match path.trim_start_matches("/api/") {
            "page" => of(
                "text/html; charset=Shift_JIS",
                &[
                    &b"<title>T</title><nav><a href=/menu>Menu</a></nav><main><h1>"[..],
                    b"\x93\xfa\x96{",
                    b"</h1><p>See <a href=more>more</a>.</main>",
                ]
                .concat(),
            ),
            "long" => {
                let words: String =
                    (0..500).map(|n| format!("<p>Paragraph {n} says something of its own.</p>")).collect();
                of("text/html", format!("<title>Long</title><main>{words}</main>").as_bytes())
            }
            "huge" => of("text/html", "<p>word</p>".repeat(900_000).as_bytes()),
            "text" => of("text/plain; charset=iso-8859-1", b"caf\xe9"),
            "csv" => of("text/csv", b"id;price;ok\n1;9.5;true\n2;;false\n"),
            "rows" => of("text/csv", "1,2\n".repeat(300_000).as_bytes()),
            "xml" => of("application/xml", b"<order id='7'><line>a</line><line>b</line></order>"),
            "rss" => of(
                "application/rss+xml",
                b"<rss><channel><title>N</title><item><title>A</title><link>/a</link></item></channel></rss>",
            ),
            "png" => of("image/png", PNG),
            "own" => of("application/pdf", b"%PDF-1.4 own").header("Cache-Control", "private"),
            "named" => of("text/calendar", b"BEGIN:VCALENDAR")
                .header("Content-Disposition", "attachment; filename=\"a b.ics\""),
            "json" => of("application/json", b"{\"a\":1}"),
            _ => Reply::new(404),
        }
    })
    .await
}

/// A query `ID` of `/api/PATH` with this `response`.
fn read(id: &str, path: &str, response: &str) -> String {
    query(id, &format!("\nupstream = {{ method = \"GET\", path = \"/api/{path}\", response = \"{response}\" }}"))
}

async fn data(desk: &Desk, id: &str) -> Value {
    assert_answer(&desk.call(call(&format!("/agent/{id}"), &json!({}))).await, 200, id)["data"].clone()
}

#[tokio::test]
async fn answers_of_every_kind_are_data() {
    let origin = origin().await;
    let kinds = ["page", "text", "csv", "xml", "rss", "png", "json", "named"];
    let all: String = kinds.map(|kind| read(&format!("auto.{kind}"), kind, "auto")).concat()
        + &read("a.page", "page", "page")
        + &read("a.text", "text", "text")
        + &read("a.table", "csv", "table")
        + &read("a.xml", "xml", "xml")
        + &read("a.file", "page", "file");
    let desk = site(&origin, &all).start().await;
    let page = json!({ "title": "T", "url": "https://site.test/api/page",
        "markdown": "# 日本\n\nSee [more](https://site.test/api/more).\n" });
    let table = json!({ "columns": ["id", "price", "ok"], "rows": [[1, 9.5, true], [2, null, false]] });
    let xml = json!({ "order": { "@id": "7", "line": ["a", "b"] } });
    for (id, expected) in [
        ("auto/page", page.clone()),
        ("a/page", page),
        ("auto/text", json!({ "text": "café" })),
        ("a/text", json!({ "text": "café" })),
        ("auto/csv", table.clone()),
        ("a/table", table),
        ("auto/xml", xml.clone()),
        ("a/xml", xml),
        ("auto/rss", json!({ "title": "N", "items": [{ "title": "A", "url": "/a" }] })),
        ("auto/json", json!({ "a": 1 })),
        (
            "auto/png",
            json!({ "file": { "url": "/api/png", "media_type": "image/png", "size": PNG.len(), "name": "png" } }),
        ),
        (
            "auto/named",
            json!({ "file": { "url": "/api/named", "media_type": "text/calendar", "size": 15, "name": "a b.ics" } }),
        ),
    ] {
        assert_eq!(data(&desk, id).await, expected, "{id}");
    }
    assert_eq!(data(&desk, "a/file").await["file"]["media_type"], "text/html");
}

#[tokio::test]
async fn answers_that_are_pages_are_cut_to_the_callers_room() {
    let origin = origin().await;
    let desk =
        site(&origin, &(read("long", "long", "page") + &read("huge", "huge", "auto") + &read("rows", "rows", "auto")))
            .start()
            .await;
    let long = data(&desk, "long").await;
    let markdown = long["markdown"].as_str().expect("Markdown");
    assert!(markdown.len() < 8_000 && markdown.contains("[Cut here: "), "{} {markdown}", markdown.len());
    let asked = json!({ "ahp": "0.1", "capability": "long", "query": "all", "context": { "max_tokens": 300,
        "accept_types": ["application/data", "text/answer"] } });
    let answer = desk.call(call("/agent/converse", &asked)).await.json();
    let shorter = answer["response"]["payload"]["data"]["markdown"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(shorter.len() < 1_200 && shorter.contains("[Cut here: "), "{shorter}");
    for id in ["huge", "rows"] {
        let refused = desk.call(call(&format!("/agent/{id}"), &json!({}))).await;
        let body = assert_fault(&refused, 502, "upstream_malformed_response", id);
        assert_eq!(body["error"]["reason"], "response_too_large", "{body}");
    }
}

#[tokio::test]
async fn answers_that_do_not_fit_say_in_the_log_what_would() {
    let origin = origin().await;
    let all = read("json.page", "page", "json") + &read("page.csv", "csv", "page") + &read("text.png", "png", "text");
    let desk = site(&origin, &all).start().await;
    for (id, response) in [("json.page", "page"), ("page.csv", "table"), ("text.png", "file")] {
        let refused = desk.call(call(&format!("/agent/{}", id.replace('.', "/")), &json!({}))).await;
        assert_fault(&refused, 502, "upstream_malformed_response", id);
        desk.says(&format!("capability=\"{id}\" response=\"{response}\"")).await;
    }
}

#[tokio::test]
async fn answers_that_are_files_are_given_by_a_ticket_to_their_caller_alone() {
    let origin = origin().await;
    let desk = site(&origin, &(read("own", "own", "file") + &read("png", "png", "auto"))).start().await;
    let own = call("/agent/own", &json!({})).bearer(FULL);
    let file = assert_answer(&desk.call(own).await, 200, "a private file")["data"]["file"].clone();
    assert_eq!((&file["name"], &file["size"]), (&json!("own"), &json!(12)));
    let url = file["url"].as_str().expect("an address");
    assert!(url.starts_with("/agent/files/"), "{url}");
    let got = desk.call(Ask::get(url).bearer(FULL)).await;
    assert_eq!((got.status, got.media_type().as_str(), got.text().as_str()), (200, "application/pdf", "%PDF-1.4 own"));
    assert_eq!(got.headers.get("cache-control"), Some("private, no-store"));
    assert_eq!(got.headers.get("content-disposition"), Some("attachment; filename*=UTF-8''own"));
    assert_eq!(desk.get(url).await.status, 404, "another caller");
    assert_eq!(desk.call(Ask::get("/agent/files/0123456789abcdef0123456789abcdef").bearer(FULL)).await.status, 404);
    // The site's own address serves what everybody gets there.
    let png = data(&desk, "png").await;
    assert_eq!(desk.get(png["file"]["url"].as_str().expect("an address")).await.body, PNG);
    // Nothing of that is kept for others.
    assert!(origin.requests().iter().all(|request| !request.target.starts_with("/agent/files")));
}

#[tokio::test]
async fn answers_over_mcp_are_content_of_their_kind() {
    let origin = origin().await;
    let all = ["page", "png", "own", "named"].map(|kind| read(kind, kind, "auto")).concat();
    let desk = site(&origin, &all).start().await;
    let called = async |tool: &str| {
        let message = rpc::call(tool, json!({ "query": "it" }));
        desk.call(rpc::post(message.to_string())).await.json()["result"].clone()
    };
    let page = called("page").await;
    assert!(page.to_string().contains("# 日本"), "{page}");
    let content = |result: &Value, kind: &str| {
        let all = result["content"].as_array().expect("content").clone();
        all.into_iter().find(|part| part["type"] == kind).unwrap_or_else(|| panic!("{kind}: {result}"))
    };
    let png = called("png").await;
    assert_eq!(
        content(&png, "image"),
        json!({ "type": "image", "data": "iVBORw0KGgoAAAANSUhEUg==", "mimeType": "image/png" })
    );
    let own = content(&called("own").await, "resource_link");
    assert!(own["uri"].as_str().is_some_and(|uri| uri.starts_with("https://site.test/agent/files/")), "{own}");
    let named = content(&called("named").await, "resource");
    assert_eq!(named["resource"]["text"], "BEGIN:VCALENDAR");
}
