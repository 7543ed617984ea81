//! One reading after the other: the next one asks only what has changed, and one process reads for all.

use super::*;

#[tokio::test]
async fn crawl_asks_the_second_time_only_whether_something_changed() {
    let changed = Arc::new(AtomicUsize::new(0));
    let now = changed.clone();
    let origin = Origin::start(move |request: &Request| match request.target.as_str() {
        "/" if request.header("if-none-match") == Some("\"start\"") => Reply::new(304).header("ETag", "\"start\""),
        "/" => page("Start", &["/a", "/b"]).header("ETag", "\"start\""),
        "/a" if now.load(Ordering::Relaxed) == 0 => page("First", &[]),
        "/a" => page("Second", &[]),
        "/b" if now.load(Ordering::Relaxed) == 0 => page("Gone soon", &[]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(&format!("{FAST}\nrefresh = \"1s\"")).start().await;
    eventually("a round", A_WHILE, async || desk.get("/llms.txt").await.text().contains("[Gone soon]")).await;
    changed.store(1, Ordering::Relaxed);
    eventually("the next round", A_WHILE, async || {
        let body = desk.get("/llms.txt").await.text();
        body.contains("[Start]") && body.contains("[Second]") && !body.contains("[First]") && !body.contains("soon")
    })
    .await;
    let starts: Vec<Request> = crawled(&origin).into_iter().filter(|r| r.target == "/").collect();
    assert_eq!(starts.iter().filter(|r| r.header("if-none-match").is_none()).count(), 1);
    assert!(metric(&desk, "frontdesk_crawl_requests_total{result=\"unchanged\"}").await >= 1.0);
}

#[tokio::test]
async fn crawl_begins_anew_where_the_site_is_another() {
    let first = Origin::start(|r: &Request| if r.target == "/" { page("First site", &[]) } else { missing() }).await;
    let second = Origin::start(|r: &Request| if r.target == "/" { page("Second site", &[]) } else { missing() }).await;
    let desk = Setup::before(&first).reading(FAST).start().await;
    eventually("the first", A_WHILE, async || desk.get("/llms.txt").await.text().contains("First site")).await;
    let text = std::fs::read_to_string(&desk.config).expect("the file").replace(&first.url(), &second.url());
    std::fs::write(&desk.config, text).expect("the file is written");
    eventually("the second", A_WHILE, async || {
        let body = desk.get("/llms.txt").await.text();
        body.contains("Second site") && !body.contains("First site")
    })
    .await;
}

#[tokio::test]
async fn crawl_is_done_by_one_replica_for_all() {
    let origin = Origin::start(shop).await;
    let dir = Dir::new();
    let store = format!("url = \"file:{}\"", dir.path().display());
    let setup = Setup::before(&origin)
        .reading("rate = \"20/second\"\nfollow = [\"/*\"]")
        .set("site", SITE)
        .set("store", &store);
    let (one, two) = (setup.clone().start().await, setup.clone().start().await);
    let (a, b) = (known_at(&one, 7.0), known_at(&two, 7.0));
    tokio::join!(a, b);
    eventually("both list the same", A_WHILE, async || {
        one.get("/llms.txt").await.text() == two.get("/llms.txt").await.text()
    })
    .await;
    let once = |origin: &Origin| targets(origin).iter().filter(|target| *target == "/about").count();
    assert_eq!(once(&origin), 1, "{:?}", targets(&origin));
    assert_eq!(targets(&origin).iter().filter(|target| *target == "/robots.txt").count(), 1);
    // Who comes later, or comes back, finds what is known.
    drop((one, two));
    let asked = targets(&origin).len();
    let three = setup.start().await;
    known_at(&three, 7.0).await;
    eventually("they are listed", A_WHILE, async || three.get("/llms.txt").await.text().contains("/docs/two")).await;
    assert_eq!(targets(&origin).len(), asked, "and nobody is asked for it");
}
