//! Tests of `notice_position = "start"`: the notice stands right after `<body>`.

use super::*;

fn at_start(origin: &Origin) -> Setup {
    Setup::before(origin).set("discovery", "notice_position = \"start\"")
}

#[tokio::test]
async fn notice_at_the_start_for_every_coding_and_framing() {
    let (tls, origin) = (Tls::new(), Origin::start(as_the_path_says).await);
    let desk = at_start(&origin).tls(&tls).start().await;
    let mut both = Both::to(&desk).await;
    for (number, coding) in Coding::ALL.into_iter().enumerate() {
        for framing in ["length", "chunked", "close", "bytes"] {
            let ask = Ask::get(&format!("/page/{number}/{framing}")).header("Accept-Encoding", CODINGS);
            for (client, response) in both.ask(&ask).await {
                let when = format!("{client}, {coding:?}, {framing}");
                assert_whole(coding, &response, &when);
                assert_rewritten_at_start(PAGE, &response.page(), &when);
            }
        }
    }
}

#[tokio::test]
async fn notice_not_where_a_body_tag_only_seems_to_be() {
    let heads = [
        "<script>document.write('<body>');</script>",
        "<script type=\"text/x\"><body class=\"no\"></script>",
        "<script><!-- <script> <body> </script> --></script>",
        "<!-- <body> -->",
        "<!-- > <body> -- <body> -->",
        "<title>About the <body> tag</title>",
        "<title><body></title ><meta name=x>",
        "<style>/* <body> */ body > p { color: red }</style>",
        "<meta content='<body>'>",
        "<meta content=\"</head><body>\" data-y='<body'>",
        "<noscript><link rel=stylesheet href='<body>'></noscript>",
        "<template><body><p>not yet</p></body></template>",
    ];
    let pages: Vec<String> = heads
        .iter()
        .map(|h| format!("<!doctype html><html><head>{h}</head><body id=real><p>x</p></body></html>"))
        .collect();
    let served = pages.clone();
    let origin =
        Origin::start(move |r: &Request| Reply::html(&served[r.target[1..].parse::<usize>().expect("a number")])).await;
    let desk = at_start(&origin).start().await;
    for (number, page) in pages.iter().enumerate() {
        let response = desk.get(&format!("/{number}")).await;
        assert_rewritten_at_start(page, &response.page(), page);
        let at = take_out(&response.page()).notice_at;
        assert!(page[..at].ends_with("<body id=real>"), "after the real body tag: {page}");
    }
}

#[tokio::test]
async fn notice_finds_body_tags_of_every_spelling() {
    for tag in
        ["<BODY>", "<Body\n  class = x\n>", "<body data-a=\"<p>\" data-b='\"'>", "<body/>", "<body\tonload=go()>"]
    {
        let page = format!("<!DOCTYPE html><HTML><HEAD><TITLE>t</TITLE></HEAD>{tag}<p>x</p></body></html>");
        let served = page.clone();
        let origin = Origin::start(move |_: &Request| Reply::html(&served)).await;
        let desk = at_start(&origin).start().await;
        let taken = take_out(&desk.get("/").await.page());
        assert_eq!(taken.rest, page);
        assert_eq!((taken.notices.len(), taken.links.len()), (1, 3), "{tag}");
        assert!(page[..taken.notice_at].ends_with(tag), "right after {tag}, not after {:?}", &page[..taken.notice_at]);
    }
}

#[tokio::test]
async fn notice_where_a_parser_would_open_a_body_that_is_not_written() {
    let page = "<!doctype html><title>Short</title><p>No body tag at all.</p>";
    let origin = Origin::start(move |_: &Request| Reply::html(page)).await;
    let desk = at_start(&origin).start().await;
    let taken = take_out(&desk.get("/").await.page());
    assert_eq!(taken.rest, page);
    assert_eq!(taken.notices.len(), 1);
    assert_eq!(taken.notice_at, page.find("<p>").expect("a paragraph"), "before the paragraph");
}
