//! Against a whole HTML parser: the tree of our output, without what we put in, is the tree of the input.

use html5ever::{parse_document, tendril::TendrilSink};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

use super::*;
use crate::page::Why;

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
];

const SECTION: &str = "<section class=\"ours\"><p>mark</p></section>";

fn ours() -> Arc<Insertion> {
    let link = |rel: &str| crate::page::Link {
        rel: rel.to_owned(),
        html: Bytes::from(format!("<link rel=\"{rel}\" href=\"/ours\">")),
    };
    Arc::new(Insertion {
        notice: Bytes::from_static(SECTION.as_bytes()),
        links: vec![link("agent-interface"), link("ahp-manifest")],
        markdown: false,
    })
}

fn parse(page: &[u8]) -> RcDom {
    parse_document(RcDom::default(), Default::default()).from_utf8().one(page)
}

/// The tree as lines, our elements left out and counted by where they stand.
#[derive(Default)]
struct Tree {
    lines: Vec<String>,
    sections: Vec<(String, usize)>,
    links: Vec<String>,
}

impl Tree {
    fn of(dom: &RcDom) -> Tree {
        let mut tree = Tree::default();
        tree.walk(&dom.document, 0, "");
        tree
    }

    fn walk(&mut self, node: &Handle, depth: usize, parent: &str) {
        let children = node.children.borrow();
        let mut text = String::new();
        for (n, child) in children.iter().enumerate() {
            if let NodeData::Text { contents } = &child.data {
                text.push_str(&contents.borrow());
                continue;
            }
            if let NodeData::Element { name, attrs, template_contents, .. } = &child.data {
                let mut attrs: Vec<String> =
                    attrs.borrow().iter().map(|a| format!("{}={:?}", a.name.local, a.value)).collect();
                attrs.sort();
                let line = format!("{}<{:?} {}>", " ".repeat(depth), name.expanded(), attrs.join(" "));
                if line.contains("\"ours\"") {
                    self.sections.push((parent.to_owned(), n));
                    continue;
                }
                if line.contains("\"/ours\"") {
                    self.links.push(parent.to_owned());
                    continue;
                }
                self.text(&mut text, depth);
                self.lines.push(line);
                self.walk(child, depth + 1, &name.local);
                if let Some(contents) = template_contents.borrow().as_ref() {
                    self.walk(contents, depth + 1, "template");
                }
                continue;
            }
            self.text(&mut text, depth);
            match &child.data {
                NodeData::Comment { contents } => self.lines.push(format!("{}<!--{contents}-->", " ".repeat(depth))),
                NodeData::Doctype { name, .. } => self.lines.push(format!("<!doctype {name}>")),
                _ => {}
            }
        }
        self.text(&mut text, depth);
    }

    /// Text around one of ours is one text without it.
    fn text(&mut self, text: &mut String, depth: usize) {
        if !text.is_empty() {
            self.lines.push(format!("{}{:?}", " ".repeat(depth), std::mem::take(text)));
        }
    }
}

/// Does a frameset stand where a body without a tag of its own has already begun? Our text in that body would keep
/// the frameset from replacing it; see the known gaps. The grammar has no frameset for this reason.
fn compare(page: &[u8]) -> Result<(), TestCaseError> {
    let (out, outcome) = run(&ours(), [page]);
    let shown = || format!("{:?}\n{:?}\n{outcome:?}", String::from_utf8_lossy(page), String::from_utf8_lossy(&out));
    let (before, after) = (parse(page), parse(&out));
    let (before, after) = (Tree::of(&before), Tree::of(&after));
    prop_assert_eq!(&before.lines, &after.lines, "{}", shown());
    match outcome {
        Outcome::Inserted => {
            prop_assert_eq!(&after.sections, &vec![("body".to_owned(), 0)], "{}", shown());
            prop_assert_eq!(&after.links, &vec!["head".to_owned(); 2], "{}", shown());
        }
        Outcome::Fragment => prop_assert_eq!(out, page),
        Outcome::GaveUp(Why::Unfinished | Why::Doubt) => prop_assert!(after.sections.is_empty(), "{}", shown()),
        other => prop_assert!(false, "{other:?}"),
    }
    Ok(())
}

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
    fn the_tree_is_the_same_but_for_ours(page in pages()) {
        compare(&page)?;
    }

    #[test]
    fn however_it_is_cut(page in pages(), sizes in prop::collection::vec(1usize..9, 1..20)) {
        let whole = run(&ours(), [&page[..]]);
        prop_assert_eq!(&whole, &run(&ours(), page.chunks(1)), "{:?}", String::from_utf8_lossy(&page));
        let mut pieces = Vec::new();
        let (mut rest, mut sizes) = (&page[..], sizes.iter().cycle());
        while let (false, Some(&size)) = (rest.is_empty(), sizes.next()) {
            let (piece, more) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        prop_assert_eq!(&whole, &run(&ours(), pieces), "{:?}", String::from_utf8_lossy(&page));
    }
}

#[test]
fn a_notice_of_ours_is_recognised_when_it_comes_back() {
    let insertion = Arc::new(Insertion::standard("/a", "/b", true));
    let (once, _) = run(&insertion, [&b"<!doctype html><title>x</title><p>x"[..]]);
    let (twice, outcome) = run(&insertion, once.chunks(1));
    assert_eq!((twice, outcome), (once, Outcome::OwnNotice));
}
