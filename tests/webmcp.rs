//! Promise: the script that offers capabilities to an agent in the browser is off unless the operator wants it, short,
//! and only on pages whose Content-Security-Policy allows it.

use crate::support::coding::Coding;
use crate::support::page::PAGE;
use crate::support::{Desk, Origin, Reply, Request, Setup};

const SCRIPT: &str = "/.well-known/webmcp.js";
const ELEMENT: &str = "<script src=\"/.well-known/webmcp.js\" async></script>";

/// A site whose pages have the policy that their path names.
async fn site() -> Origin {
    Origin::start(|request: &Request| {
        let page = Reply::html(PAGE);
        match request.target.as_str() {
            "/self" => page.header("Content-Security-Policy", "script-src 'self'; object-src 'none'"),
            "/nonce" => page.header("Content-Security-Policy", "script-src 'nonce-abc'"),
            "/both" => page
                .header("Content-Security-Policy", "default-src 'self'")
                .header("Content-Security-Policy", "script-src 'none'"),
            "/report" => page.header("Content-Security-Policy-Report-Only", "script-src 'self'"),
            "/none" => page,
            "/missing" => Reply::new(404)
                .header("Content-Type", "text/html")
                .header("Content-Security-Policy", "script-src 'self'")
                .body(PAGE),
            _ => Reply::new(404).body("none"),
        }
    })
    .await
}

async fn has_script(desk: &Desk, path: &str) -> bool {
    desk.get(path).await.page().contains(ELEMENT)
}

#[tokio::test]
async fn webmcp_is_only_on_pages_whose_policy_allows_it() {
    let origin = site().await;
    let desk = Setup::before(&origin).set("discovery", "webmcp = true").start().await;
    for (path, expected) in [
        ("/self", true),
        ("/nonce", false),
        ("/both", false),
        ("/report", false),
        ("/none", false),
        ("/missing", false),
    ] {
        assert_eq!(has_script(&desk, path).await, expected, "{path}");
    }
    let script = desk.get(SCRIPT).await;
    assert_eq!((script.status, script.media_type().as_str()), (200, "text/javascript"));
    assert!(script.body.len() < 4096, "{} bytes", script.body.len());
    assert!(script.text().contains("fetch(\"/openapi.json\""), "{}", script.text());
}

#[tokio::test]
async fn webmcp_is_off_by_default() {
    let origin = site().await;
    let desk = Setup::before(&origin).start().await;
    assert!(!has_script(&desk, "/self").await);
    assert_eq!(desk.get(SCRIPT).await.text(), "none", "the site is asked");
}

/// Promise: the site's own forms that are declared are marked on their page, and other pages stay as they are.
#[tokio::test]
async fn webmcp_marks_declared_forms_on_their_pages() {
    const CONTACT: &str = "<!DOCTYPE html><html><head><title>Contact</title></head><body><form action=/send method=post>\
        <input type=hidden name=csrf value=x><input name=mail></form></body></html>";
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/contact" | "/contact?from=home" | "/other" => Reply::html(CONTACT),
        "/zipped" => {
            let coding = Coding::named("gzip");
            Reply::html(coding.encode(CONTACT.as_bytes())).header("Content-Encoding", "gzip")
        }
        _ => Reply::new(404).body("none"),
    })
    .await;
    let capability = |id: &str, page: &str| {
        format!(
            "[[capabilities]]\nid = \"{id}\"\ntype = \"commit_action\"\nrisk_level = \"medium\"\nauth = \"none\"\n\
             idempotency_required = true\ndescription = \"Write to us.\"\nendpoint = \"/agent/{id}\"\n\
             input_schema = {{ type = \"object\", properties = {{ email = {{ type = \"string\", description = \"Where to answer\" }} }} }}\n\
             [capabilities.upstream]\nmethod = \"POST\"\npath = \"/send\"\nrename_input = {{ email = \"mail\" }}\n\
             [capabilities.upstream.form]\npage = \"{page}\"\n"
        )
    };
    let written = capability("contact.send", "/contact") + &capability("zipped.send", "/zipped");
    let marked = |name: &str| {
        CONTACT
            .replace("method=post>", &format!("method=post toolname=\"{name}\" tooldescription=\"Write to us.\">"))
            .replace("name=mail>", "name=mail toolparamdescription=\"Where to answer\">")
    };
    let form =
        |page: &str| page[page.find("<form").expect("a form")..page.find("</form>").expect("its end")].to_owned();
    for fast_path in [true, false] {
        let setup = Setup::before(&origin).set("discovery", "webmcp = true");
        let desk = setup.set("runtime", &format!("fast_path = {fast_path}")).tail(&written).start().await;
        for (path, expected) in [
            ("/contact", marked("contact_send")),
            ("/contact?from=home", marked("contact_send")),
            ("/zipped", marked("zipped_send")),
        ] {
            let page = desk.get(path).await.page();
            assert_eq!(form(&page), form(&expected), "{path}");
            assert!(page.contains("ahp-notice"), "{path}: {page}");
        }
        assert_eq!(form(&desk.get("/other").await.page()), form(CONTACT), "another page");
    }
    let desk = Setup::before(&origin).tail(&written).start().await;
    assert_eq!(form(&desk.get("/contact").await.page()), form(CONTACT), "off by default");
}
