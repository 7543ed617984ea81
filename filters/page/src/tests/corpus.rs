//! Nasty pages and what becomes of them, whole and byte by byte, with the notice at the start of the body.

use super::*;
use crate::{Coding, Rewriter, Why};

const INSERTED: Outcome = Outcome::Inserted;
const OWN: Outcome = Outcome::OwnNotice;
const FRAGMENT: Outcome = Outcome::Fragment;
const UNFINISHED: Outcome = Outcome::GaveUp(Why::Unfinished);
const DOUBT: Outcome = Outcome::GaveUp(Why::Doubt);

/// The page with `{l}` where the links and `{n}` where the notice is expected, and the outcome.
const PAGES: &[(&str, Outcome)] = &[
    // The plain ones.
    ("<!doctype html><html><head><title>x</title>{l}</head><body>{n}<p>hi</p></body></html>", INSERTED),
    ("<HTML><HEAD>{l}</HEAD><BODY CLASS=x>{n}hi", INSERTED),
    ("\u{feff}<!doctype html><head>{l}</head><body>{n}", INSERTED),
    ("<!doctype html><title>x</title>{l}{n}<p>hi", INSERTED),
    ("<!doctype html><title>x</title> <!-- c --> {l}{n}text", INSERTED),
    ("<!doctype html>{l}{n}", INSERTED),
    ("<!doctype html><html><head><title>x</title>\n{l}{n}", INSERTED),
    ("<html>{l}<body>{n}", INSERTED),
    ("<html>{l}<body/>{n}", INSERTED),
    ("<html><head/>{l}<body\n>{n}", INSERTED),
    ("<html><head>{l}</head>\n<!-- c --><body>{n} <!-- d --> <p>", INSERTED),
    ("<html><head>{l}</head><script>1</script>{n}<p>", INSERTED),
    ("<html><head>{l}</head>{n}</br>", INSERTED),
    ("<html>{l}{n}</html>", INSERTED),
    ("<html></p></div></title>{l}{n}</body>", INSERTED),
    ("<html><head></template></p>{l}{n}<head2>", INSERTED),
    ("<title>x</title>{l}</head>{n}<p>", INSERTED),
    // A body that is none.
    ("<html><script>'<body></head>'</script>{l}<body>{n}", INSERTED),
    ("<html><script></scripty></script-x><body></script >{l}<body>{n}", INSERTED),
    ("<html><script><!-- <script> </script><body> --> <body></script>{l}<body>{n}", INSERTED),
    ("<html><script><!-- <script> </script></script>{l}<body>{n}", INSERTED),
    ("<html><script><!--></script>{l}<body>{n}", INSERTED),
    ("<html><script><!-- --><script></script>{l}<body>{n}", INSERTED),
    ("<html><script><!-<script></script>{l}<body>{n}", INSERTED),
    ("<html><script><!--<scripty></script>{l}<body>{n}", INSERTED),
    ("<html><script><!--<SCRIPT/></SCRIPT\t<body></script>{l}<body>{n}", INSERTED),
    ("<html><script><!--<script>--></script>{l}<body>{n}", INSERTED),
    ("<html><style><body></styles></style/>{l}<body>{n}", INSERTED),
    ("<html><title><body></titl></title\n>{l}<body>{n}", INSERTED),
    ("<html><noscript><body></head></noscript>{l}<body>{n}", INSERTED),
    ("<html><noframes><body></noframes>{l}<body>{n}", INSERTED),
    ("<html><!-- <body> -- > --!x <body> --!>{l}<body>{n}", INSERTED),
    ("<html><!--><title></title><!--->{l}<body>{n}", INSERTED),
    ("<html><!--!><body>--><!---!><body>-->{l}<body>{n}", INSERTED),
    ("<html><!----!><!-- <!-->{l}<body>{n}", INSERTED),
    ("<html><!body ><?body ></ body></><![CDATA[x>{l}<body>{n}", INSERTED),
    ("<html><meta a='<body>' b=\"</head>\" c=<body d='>'>{l}{n}'&gt;", INSERTED),
    ("<html><head><meta a=\"b\"><meta a='\"><body>' b=\"c\">{l}<body>{n}", INSERTED),
    ("<html><meta =\"<body>{l}{n}\" x", INSERTED),
    ("<html><meta = / x = '>' y='a'z>{l}<body>{n}", INSERTED),
    ("<html x='>'><body", UNFINISHED),
    ("<html><head><template><body></head><p>text<template></template></template>{l}</head><body>{n}", INSERTED),
    ("<html><template><style></template></style><!--</template>--></template>{l}<body>{n}", INSERTED),
    ("<html><template><svg><style><g/></style><![CDATA[</template>]]]></svg></template>{l}<body>{n}", INSERTED),
    ("<html><template><svg><template></template><path></template>{l}<body>{n}", INSERTED),
    ("<html><template><svg><title>x</title></svg></template>{l}<body>{n}", INSERTED),
    ("<html><template><svg><title><p></title></svg></template><body>", DOUBT),
    ("<html><template><select><style></template><body>", DOUBT),
    ("<html><template><plaintext></template><body>", DOUBT),
    ("<html><head>{l}</head><template><body></template><body>{n}", INSERTED),
    // White space and references.
    ("<html><head>&#32;&#x0A;&Tab;&NewLine;&#9 <title>x</title>{l}{n}&nbsp;<body>", INSERTED),
    ("<html><head>{l}{n}&#33;<title>x</title>", INSERTED),
    ("<html><head>{l}{n}&#x;", INSERTED),
    ("<html><head>{l}{n}&Tabs;", INSERTED),
    ("<html><head>{l}{n}< body>", INSERTED),
    ("<html><head>{l}{n}<", INSERTED),
    ("<html><head>{l}{n}</", INSERTED),
    ("<html><head>{l}{n}é", INSERTED),
    // Pieces.
    ("", FRAGMENT),
    (" ", FRAGMENT),
    ("<p>hi</p>", FRAGMENT),
    ("hello <body>", FRAGMENT),
    ("<title>x</title><p>", FRAGMENT),
    ("<li>one<li>two", FRAGMENT),
    ("<script>1</script>", FRAGMENT),
    ("\u{feff}{\"json\": 1}", FRAGMENT),
    ("<frameset><frame></frameset>", FRAGMENT),
    // Framesets.
    ("<html>{l}<frameset><frame></frameset>", Outcome::Frameset),
    ("<html><head>{l}</head><frameset>", Outcome::Frameset),
    // Cut off.
    ("<!doctype html><!-- ", UNFINISHED),
    ("<!doctype", UNFINISHED),
    ("<html><title>x", UNFINISHED),
    ("<html><script>x</script", UNFINISHED),
    ("<html><template>", UNFINISHED),
    ("<html>{l}<body>{n}<!-- ", INSERTED),
    ("<html>{l}<body>{n}<di", INSERTED),
    // The site's own.
    ("<html>{l}<body><section class='a ahp-notice b'>x", OWN),
    ("<html>{l}<body> <!-- c -->\n<section aria-label=\"AI Agent Notice\">x", OWN),
    ("<html><head>{l}</head><section class=ahp-notice>x", OWN),
    ("<html>{l}<body class=ahp-notice>x", OWN),
    ("<html>{l}<body>{n}<script>'<p class=ahp-notice>'</script><!-- <p class=ahp-notice> -->", INSERTED),
    ("<html>{l}<body>{n}<p class='my-ahp-notice' title=ahp-notice>", INSERTED),
    ("<html><template><p class=ahp-notice></template>{l}<body>{n}", INSERTED),
    ("<html><link rel='x Agent-Interface'>{m}<body>{n}", INSERTED),
    ("<html><head><link rel=\"icon\" href=\"/\"><link rel=\"x Agent-Interface\" href=\"/\">{m}<body>{n}", INSERTED),
    ("<html><head><meta name=\"a\" content=\"b\">\n<link rel=\"agent-interface\"/>{m}</head><body>{n}", INSERTED),
    ("<html><link rel=ahp-manifest><link rel=\"agent-interface\"><body>{n}", INSERTED),
    ("<html><template><link rel=ahp-manifest></template>{l}<body>{n}", INSERTED),
    ("<html><meta charset=iso-2022-jp><body>", Outcome::GaveUp(Why::WideEncoding)),
    ("<html><head><meta name=\"2\"> <meta content=\"2022, ISO-2022-KR\"><body>", Outcome::GaveUp(Why::WideEncoding)),
    ("<html><head><meta name=\"a\" content=\"in 2022\">{l}<body>{n}", INSERTED),
];

fn page(marked: &str) -> String {
    ["{l}", "{n}", "{m}"].iter().fold(marked.to_owned(), |page, mark| page.replace(mark, ""))
}

#[test]
fn each_page_whole_and_byte_by_byte() {
    for (marked, outcome) in PAGES {
        let page = page(marked);
        let expected = (marked.replace("{l}", "{a}{m}"), *outcome);
        for size in [usize::MAX, 1, 2, 3, 7] {
            let (out, outcome) = run(&marks(Position::Start), page.as_bytes().chunks(size.min(page.len().max(1))));
            assert_eq!((String::from_utf8(out).unwrap(), outcome), expected, "{marked} in pieces of {size}");
        }
        let mut packed = Rewriter::new(Coding::Gzip, marks(Position::Start));
        let out = packed.at_once(&coded::gzip(page.as_bytes())).unwrap().unwrap();
        let out = String::from_utf8(coded::decode("gzip", &out)).unwrap();
        assert_eq!((out, packed.outcome()), expected, "{marked}, packed");
    }
}
