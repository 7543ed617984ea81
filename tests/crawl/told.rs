//! Tests of what an operator and an agent see of a crawl.

use super::*;

#[tokio::test]
async fn crawl_can_be_seen() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/" => Reply::new(302).header("Location", "https://elsewhere.test/start"),
        _ => missing(),
    })
    .await;
    let setup = Setup::before(&origin).reading(&format!("{FAST}\nrefresh = \"1h\"")).set("log", "level = \"debug\"");
    let desk = setup.start().await;
    round(&desk).await;
    let log = desk.stderr();
    let lines = |what: &str| log.lines().filter(|line| line.contains(what)).map(str::to_owned).collect::<Vec<_>>();
    let requests = lines("the crawler requested an address");
    assert_eq!(requests.len(), crawled(&origin).len(), "a line a request: {log}");
    let start = requests.iter().find(|line| line.contains("address=\"/\" ")).expect("the start page");
    assert!(start.contains("status=302") && start.contains("result=\"off_site\""), "{start}");
    assert!(start.contains("DEBUG"), "{start}");
    let none = lines("the crawler got no page here");
    assert_eq!(none.len(), 2, "the first of each result: {log}");
    assert!(none.iter().any(|line| line.contains("https://elsewhere.test/start") && line.contains("INFO")), "{log}");
    let ready = desk.admin_get("/readyz?verbose").await.text();
    let line = ready.lines().find(|line| line.contains("content:")).expect("a line on the content");
    let asked = crawled(&origin).len();
    assert_eq!(line, format!("[-] content: 0 pages of {asked} asked: / moved to https://elsewhere.test/start"));
}

#[tokio::test]
async fn crawl_that_goes_well_is_seen_too() {
    let origin = Origin::start(shop).await;
    let desk = Setup::before(&origin).reading(FAST).set("site", SITE).start().await;
    round(&desk).await;
    let ready = desk.admin_get("/readyz?verbose").await.text();
    assert!(ready.contains("[+] content: 7 pages of "), "{ready}");
}

/// What an agent is told that asks the site.
async fn asked(desk: &Desk, query: &str) -> serde_json::Value {
    let body = serde_json::json!({ "ahp": "0.1", "capability": "content_search", "query": query });
    let ask = Ask::post("/agent/converse", body.to_string()).header("Content-Type", "application/json");
    desk.ask(Via::H1, ask).await.json()
}

#[tokio::test]
async fn crawl_that_has_not_ended_denies_nothing() {
    let gate = Gate::closed();
    let shut = gate.clone();
    let origin = Origin::start(move |request: &Request| match request.target.as_str() {
        "/" => page("Start", &["/submarines"]),
        "/robots.txt" => missing(),
        target => Reply::html("").wait(&shut).then(page(&target[1..], &[]).whole()),
    })
    .await;
    let desk = Setup::before(&origin).reading("rate = \"1/second\"\nfollow = [\"/*\"]\nstart = [\"/\"]").start().await;
    known_at(&desk, 1.0).await;
    // Answers know of a page a moment after it is counted.
    eventually("a page is known", A_WHILE, async || {
        let said = asked(&desk, "Do you rent submarines?").await;
        said["meta"]["coverage"]["pages"].as_u64().is_some_and(|pages| pages >= 1)
    })
    .await;
    let said = asked(&desk, "Do you rent submarines?").await;
    let answer = said["response"]["answer"].as_str().unwrap_or_default();
    assert!(answer.contains("so far") && answer.contains("still being read"), "{said}");
    assert!(!answer.contains("Nothing on this site"), "{said}");
    assert_eq!(said["meta"]["coverage"]["complete"], false, "{said}");
    assert!(said["meta"]["coverage"]["pages"].as_u64().is_some_and(|pages| pages >= 1), "{said}");
    let ready = desk.admin_get("/readyz?verbose").await.text();
    assert!(ready.contains("the first reading is under way"), "{ready}");
    gate.open();
    round(&desk).await;
    eventually("all of it is known", A_WHILE, async || {
        let said = asked(&desk, "Do you rent horses?").await;
        let answer = said["response"]["answer"].as_str().unwrap_or_default();
        answer.starts_with("Nothing on this site answers that.") && said["meta"].get("coverage").is_none()
    })
    .await;
    let said = asked(&desk, "What is the page on submarines about?").await;
    assert!(said["response"]["sources"][0]["url"].as_str().is_some_and(|url| url.ends_with("/submarines")), "{said}");
}

#[tokio::test]
async fn crawl_that_reads_nothing_promises_nothing() {
    let elsewhere = Origin::start(|_: &Request| Reply::new(302).header("Location", "https://login.test/start")).await;
    let failing = Origin::start(|_: &Request| Reply::new(500)).await;
    for origin in [elsewhere, failing] {
        let desk = Setup::before(&origin).reading(FAST).start().await;
        eventually("it says so", A_WHILE, async || {
            let said = asked(&desk, "Do you rent submarines?").await;
            let answer = said["response"]["answer"].as_str().unwrap_or_default();
            answer.contains("could be read") && !answer.contains("moment") && said["meta"]["coverage"]["pages"] == 0
        })
        .await;
    }
}
