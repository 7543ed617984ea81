//! Against a whole HTML parser: the fuzzer's list, on its corpus and on what chance makes of nasty pieces.

use frontdesk_base::corpus::holds;
use proptest::prelude::*;

use super::*;
use crate as page;

#[path = "../../../../tests/fuzz/invariants/page.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("page", invariants::hold);
}

/// What a nasty page is made of.
const PIECES: &[&str] = &[
    "<!doctype html>",
    "<html>",
    "<html lang=en>",
    "<head>",
    "<head x='>'>",
    "</head>",
    "<body>",
    "<body class=\"a>b\">",
    "<BODY\n>",
    "</body>",
    "</html>",
    "</br>",
    "</p>",
    "</div>",
    "<title>",
    "</title>",
    "<title>a<body>b</title>",
    "<style>",
    "</style>",
    "<style></styles><body></style >",
    "<script>",
    "</script>",
    "</script x='>'>",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "<!--!>",
    "<!-- <body> -->",
    "<script><!--",
    "<script>-->",
    "<SCRIPT>",
    "<scripty>",
    "<noscript>",
    "</noscript>",
    "<noscript><body></noscript>",
    "<noframes>",
    "</noframes>",
    "<template>",
    "</template>",
    "<template><p>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<g>",
    "<math>",
    "</math>",
    "<mi>",
    "<![CDATA[",
    "]]>",
    "<select>",
    "</select>",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "<iframe>",
    "</iframe>",
    "<noembed>",
    "</noembed>",
    "<plaintext>",
    "<meta charset=utf-8>",
    "<meta a='<body>'>",
    "<link rel=x>",
    // What is skimmed over, and what only looks like it.
    "<meta name=\"a\" content=\"<body>\">",
    "<meta a=\"b\" />",
    "<meta a=\"?b=\">",
    "<meta a=\"",
    "<meta a= \"",
    "<meta a=x=\"b\">",
    "<meta a=b\"c d=\"e>f\">",
    "<meta a='\"' b=\"c\">",
    "<meta a=\"'\">",
    "<meta a='\">",
    "<meta a=\"2022\">",
    "<link rel=\"icon\" href=\"/\">",
    "<link rel=\"icon\">\n  <meta a=\"b\">\n",
    "<link rel=\"\"b=\"",
    "<link rel=\"icon\" a='\">",
    "<base>",
    "<bgsound>",
    "<p>",
    "<div a=\"",
    "\">",
    "'>",
    "<i =\"<body>\">",
    "<a b=c/d>",
    "<a/ =x>",
    "text",
    " ",
    "\n",
    "\t",
    "\u{c}",
    "&nbsp;",
    "&#32;",
    "&#x9;",
    "&Tab;",
    "&#",
    "&",
    "<",
    "</",
    "<!",
    "<?x",
    "</ x",
    "</>",
    "<>",
    ">",
    "=",
    "/",
    "-",
    "\0",
    "é",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<col>",
    "<colgroup>",
    "<caption>",
    "<form>",
    "<input type=hidden>",
    "<option>",
    "<font color=x>",
    "<foreignObject>",
    "<desc>",
    "<annotation-xml>",
    "<br>",
    "<hr>",
    "<h1>",
    "<li>",
    "<button>",
    // What ends a body, and what hides that.
    "</BODY\n>",
    "</body x='>'>",
    "</html >",
    "</bodyx>",
    "x</body",
    "</foreignObject>",
    "</desc>",
    "</mi>",
    "</annotation-xml>",
    "<annotation-xml encoding=text/html>",
    "</td>",
    "<object>",
    "</object>",
    "<marquee>",
    "</marquee>",
    "<svg><title></body></title>",
    "<svg><style></body>",
    "<table><tr><td></body>",
    "<template></body>",
    "<select><option></body>",
    "<a b=\"</body>\">",
    "<a b='<svg>",
    "<a b=\"it's",
    "it's",
    "=\"",
    "<body class=ahp-notice>",
    "<p class=\"x ahp-notice\">",
    "<p aria-label='AI Agent Notice'>",
];

/// What a body is made of that leaves nothing open.
const WHOLE: &[&str] = &[
    "<p>text</p>",
    "<P CLASS='a>b'>it's \"so\"</P\n>",
    "<!-- </body> -->",
    "<script>'</body></html>'</script>",
    "<script><!-- <script></script></body>--></script>",
    "<style></body></style>",
    "<textarea></body></textarea>",
    "<title></html></title>",
    "<noscript></body></noscript>",
    "<iframe></body></iframe>",
    "<template><p></body></template>",
    "<table><tr><td></body><td></html></table>",
    "<table><tr><td><table><tr><td></body></table></body></table>",
    "<select><option></body></select>",
    "<object></body></object>",
    "<svg><title></body></title><style><g></body.x></g></style></svg>",
    "<svg><foreignObject><div><style></body></style></div></foreignObject></svg>",
    "<svg viewBox='0 0 1 1'><path d=\"M0\"/><![CDATA[</body>]]></svg>",
    "<math><mi></body></mi><mo>=</mo></math>",
    "<a href=\"</body>\" title='</html>'>x</a>",
    "<a title=\"<script>\">x</a>",
    "<img alt='x > y' src=x>",
    "<br/><hr>",
    "<ul><li>a<li>b</ul>",
    "<div><section>a</section><main>b</main></div>",
    "</bodyx></htm>",
    "<?x </body></ y></>",
    "1 < 2 &lt; 3",
    "\n",
    "\u{a0}\u{20ac}",
];

/// How a page ends.
const ENDINGS: &[&str] =
    &["</body></html>", "</BODY\n></HTML>\n", "</body>", "</html>", "", "\n</body>\n<!-- x --></html>\n"];

fn pages() -> impl Strategy<Value = Vec<u8>> {
    let start =
        prop::sample::select(vec!["", "<!doctype html>", "<!doctype html><html><head>", "<html>", "<head></head>"]);
    let end =
        prop::sample::select(vec!["", "<body>", "</head><body>x", "--></script></title></template></head><body>"]);
    (start, prop::collection::vec(prop::sample::select(PIECES), 0..14), end)
        .prop_map(|(start, pieces, end)| [start, &pieces.concat(), end].concat().into_bytes())
}

fn cases() -> u32 {
    std::env::var("PAGE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_whole_page_has_the_notice_as_the_last_element_of_its_body(
        size: u8,
        start in prop::sample::select(vec!["<!doctype html><title>x</title>", "<html><head></head><body id=x>"]),
        pieces in prop::collection::vec(prop::sample::select(WHOLE), 0..12),
        ending in prop::sample::select(ENDINGS),
    ) {
        // What opens a body that has no tag has to be in it.
        let page = [start, "<p>text</p>", &pieces.concat(), " ", ending].concat();
        invariants::hold(&[&[size], page.as_bytes()].concat());
        invariants::stands_last(page.as_bytes());
    }

    #[test]
    fn the_tree_is_the_same_but_for_ours_however_it_is_cut(size: u8, page in pages()) {
        invariants::hold(&[&[size], &page[..]].concat());
    }
}

#[test]
fn a_notice_of_ours_is_recognised_when_it_comes_back() {
    let insertion = Arc::new(Insertion::standard("/a", "/b", true));
    let (once, _) = run(&insertion, [&b"<!doctype html><title>x</title><p>x"[..]]);
    let (twice, outcome) = run(&insertion, once.chunks(1));
    assert_eq!((twice, outcome), (once, Outcome::OwnNotice));
}
