//! Tests of the default position of the notice: right before the end of the body, where a parser takes that to be.

use super::*;

const OPEN: &str = "<!doctype html><html><head><title>t</title></head><body>";

/// Asks for each of these pages, plain and compressed, whole and byte by byte; each comes with where its notice stood.
async fn each(pages: &[String]) -> Vec<(String, usize)> {
    let served = pages.to_vec();
    let origin = Origin::start(move |request: &Request| {
        let words: Vec<usize> = request.target.split('/').skip(1).map(|word| word.parse().expect("a number")).collect();
        let coding = [Coding::Identity, Coding::Gzip][words[1]];
        let body = coding.encode(served[words[0]].as_bytes());
        let reply = Reply::html(&body).pieces_of([body.len(), 1][words[2]]).chunked();
        coding.name().map_or(reply.clone(), |name| reply.header("Content-Encoding", name))
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    let mut seen = Vec::new();
    for (number, page) in pages.iter().enumerate() {
        for way in ["0/0", "0/1", "1/0", "1/1"] {
            let response = conn.ask(&Ask::get(&format!("/{number}/{way}")).header("Accept-Encoding", "gzip")).await;
            let taken = take_out(&response.page());
            assert!(response.complete, "{page}");
            assert_eq!(taken.rest, *page);
            assert_eq!((taken.notices.len(), taken.links.len()), (1, 3), "{page}");
            seen.push((page.clone(), taken.notice_at));
        }
    }
    seen
}

#[tokio::test]
async fn notice_not_where_the_body_only_seems_to_end() {
    let bodies = [
        "<script>document.write('</body></html>');</script>",
        "<script><!-- <script></script></body> --></script>",
        "<!-- </body> -- > </html> -->",
        "<style>/* </body> */</style><textarea></body></textarea><title></body></title>",
        "<noscript></body></noscript><iframe></body></iframe>",
        "<p title='</body>' data-x=\"</html>\">x</p>",
        "<template></body></template>",
        "<svg><title></body></title><![CDATA[</body>]]></svg>",
        "<math><mi></body></mi></math>",
        "<table><tr><td><html><body>a mail</body></html></td></tr></table>",
        "</bodyx></htm></ body>",
    ];
    let pages = bodies.map(|body| format!("{OPEN}{body}<p>x</p></body></html>"));
    for (page, at) in each(&pages).await {
        assert_eq!(&page[at..], "</body></html>", "{page}");
    }
}

#[tokio::test]
async fn notice_finds_end_tags_of_every_spelling() {
    for (page, at) in each(
        &["</BODY>", "</Body\n>", "</body class=x>", "</body/>", "</HTML>"]
            .map(|tag| format!("{OPEN}<p>x</p>{tag}\n<!-- cached -->\n")),
    )
    .await
    {
        assert!(page[..at].ends_with("<p>x</p>"), "{page}: not before {:?}", &page[at..]);
    }
}

#[tokio::test]
async fn notice_stands_before_the_first_of_several_ends() {
    let page = format!("{OPEN}<p>x</p></body><p>y</p></body></html><p>z</p></body>");
    for (page, at) in each(&[page]).await {
        assert!(page[at..].starts_with("</body><p>y"), "{page}");
    }
}

#[tokio::test]
async fn notice_stands_at_the_end_of_a_page_whose_body_has_no_end() {
    let pages = [format!("{OPEN}<p>x"), "<!doctype html><title>Short</title><p>No tag at all.</p>".to_owned()];
    for (page, at) in each(&pages).await {
        assert_eq!(at, page.len(), "{page}");
    }
}

#[tokio::test]
async fn notice_leaves_framesets_alone() {
    let page = "<html><head><title>t</title></head><frameset><frame src=a></frameset></body></html>";
    let origin = Origin::start(move |_: &Request| Reply::html(page)).await;
    let desk = Setup::before(&origin).start().await;
    let taken = take_out(&desk.get("/").await.page());
    assert_eq!((taken.rest.as_str(), taken.notices.len(), taken.links.len()), (page, 0, 3));
}

#[tokio::test]
async fn notice_comes_with_the_last_of_a_page_that_takes_its_time() {
    let (top, bottom) = PAGE.split_once("</body>").expect("a body");
    let gate = crate::support::Gate::closed();
    let shut = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        Reply::html(format!("{top}</bo")).wait(&shut).then(format!("dy>{bottom}")).chunked()
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    conn.send(Ask::get("/").bytes()).await;
    // All but the few bytes that may begin the end of the body.
    let began = conn.until("everyone.</p>").await;
    assert!(!String::from_utf8_lossy(&began).contains("ahp-notice"));
    gate.open();
    let rest = conn.until("</html>").await;
    assert!(String::from_utf8_lossy(&rest).contains("ahp-notice"));
}

#[tokio::test]
async fn notice_has_a_tag_of_its_own_at_each_end() {
    let origin = Origin::start(|request: &Request| match request.header("if-none-match") {
        Some("\"a\"") => Reply::new(304).header("ETag", "\"a\""),
        _ => Reply::html(PAGE).header("ETag", "\"a\""),
    })
    .await;
    let mut tags: Vec<String> = Vec::new();
    for position in ["end", "start"] {
        let desk = Setup::before(&origin).set("discovery", &format!("notice_position = \"{position}\"")).start().await;
        let page = desk.get("/").await;
        let tag = page.header("etag").expect("a tag").to_owned();
        let head = desk.ask(Via::H1, Ask::new("HEAD", "/")).await;
        assert_eq!((head.header("etag"), head.body.len()), (Some(&*tag), 0), "{position}");
        let again = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", &tag)).await;
        assert_eq!((again.status, again.header("etag")), (304, Some(&*tag)), "{position}");
        for other in &tags {
            let anew = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", other)).await;
            assert_eq!(anew.status, 200, "a page with the notice at its other end is another page");
        }
        tags.push(tag);
    }
}
