//! Tests of a site whose public name differs from its upstream's: the crawler uses the public name.

use super::*;

/// A site that answers by this name only, as WordPress does by its `siteurl`.
async fn known_as(name: &'static str) -> Origin {
    Origin::start(move |request: &Request| match (request.target.as_str(), request.header("host") == Some(name)) {
        (target, false) => Reply::new(301).header("Location", &format!("http://{name}{target}")),
        ("/", true) => page("The shop", &[&format!("http://{name}/about"), "/docs"]),
        ("/about" | "/docs", true) => page(&request.target[1..], &[]),
        _ => missing(),
    })
    .await
}

#[tokio::test]
async fn crawl_reads_a_site_that_redirects_to_its_own_name() {
    let origin = known_as("shop.example.com").await;
    let desk = Setup::before(&origin).reading(&format!("{FAST}\nrefresh = \"1s\"")).start().await;
    known_at(&desk, 3.0).await;
    round(&desk).await;
    eventually("it is listed", A_WHILE, async || {
        desk.get("/llms.txt").await.text().contains("](http://site.test/about)")
    })
    .await;
    let body = desk.get("/llms.txt").await.text();
    assert!(!body.contains("shop.example.com"), "a name that nobody declared is not published: {body}");
    let log = desk.stderr();
    let said: Vec<&str> = log.lines().filter(|line| line.contains("is read by that name")).collect();
    assert_eq!(said.len(), 1, "once: {log}");
    assert!(said[0].contains("origin = \"http://shop.example.com\""), "{log}");
    assert!(!log.contains("no page of the site could be read"), "{log}");
}

#[tokio::test]
async fn crawl_does_not_believe_a_visitors_host() {
    let origin = known_as("shop.example.com").await;
    let desk = Setup::before(&origin).reading(&format!("{FAST}\nrefresh = \"1s\"")).start().await;
    for _ in 0..5 {
        desk.ask(Via::H1, Ask::get("/").header("Host", "evil.example")).await;
    }
    known_at(&desk, 3.0).await;
    desk.ask(Via::H1, Ask::get("/").header("Host", "evil.example")).await;
    round(&desk).await;
    let hosts: std::collections::HashSet<String> =
        crawled(&origin).iter().filter_map(|r| r.header("host").map(str::to_owned)).collect();
    assert!(!hosts.contains("evil.example"), "{hosts:?}");
    assert!(!desk.get("/llms.txt").await.text().contains("evil"));
}

#[tokio::test]
async fn crawl_says_what_helps_where_a_site_redirects_elsewhere() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        // A path of its own: no other name of the same page.
        "/" => Reply::new(302).header("Location", "https://www.shop.test/en/"),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(&format!("{FAST}\nrefresh = \"1s\"")).start().await;
    round(&desk).await;
    round(&desk).await;
    let log = desk.stderr();
    let said: Vec<&str> = log.lines().filter(|line| line.contains("no page of the site could be read")).collect();
    assert_eq!(said.len(), 1, "once: {log}");
    assert!(said[0].contains("WARN") && said[0].contains("origin = \"https://www.shop.test\""), "{log}");
}
