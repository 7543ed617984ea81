//! Where the body of a nasty page ends, and what becomes of the page there, whole and byte by byte.

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
    ("<!doctype html><html><head><title>x</title>{l}</head><body><p>hi</p>{n}</body></html>", INSERTED),
    ("<HTML><HEAD>{l}</HEAD><BODY CLASS=x>hi{n}</BODY></HTML>", INSERTED),
    ("<!doctype html><title>x</title>{l}<p>hi{n}</body>", INSERTED),
    ("<html>{l}<body>hi{n}</body\n class='</html>' ></html>", INSERTED),
    ("<html>{l}<body>hi{n}</body/>", INSERTED),
    ("<html><head>{l}</head><body>\n{n}</body>\n</html>\n<!-- cached -->\n", INSERTED),
    // No tag for it: the end of the page.
    ("<html>{l}<body>hi{n}</html>", INSERTED),
    ("<html>{l}<body>hi{n}", INSERTED),
    ("<html>{l}<body>{n}", INSERTED),
    ("<!doctype html>{l}{n}", INSERTED),
    ("<!doctype html><title>x</title>{l}<p>hi{n}", INSERTED),
    ("<html>{l}{n}</body>", INSERTED),
    ("<html>{l}{n}</html><p>x", INSERTED),
    ("<html>{l}<body>1 {n}<", INSERTED),
    ("<html>{l}<body>1 {n}</", INSERTED),
    ("<html>{l}<body>1 &lt; 2 < 3 <4 {n}", INSERTED),
    // The first of several; what follows belongs to the body too.
    ("<html>{l}<body>a{n}</body>b</body>c</html></body>", INSERTED),
    ("<html>{l}<body>a{n}</html>b</body>", INSERTED),
    // What is no end.
    ("<html>{l}<body><script>'</body></html>'</script>{n}</body>", INSERTED),
    ("<html>{l}<body><script><!-- <script> </script></body> --> </body></script>{n}</body>", INSERTED),
    ("<html>{l}<body><SCRIPT></scripty></body></script >{n}</body>", INSERTED),
    ("<html>{l}<body><style></body></styles></style/>{n}</body>", INSERTED),
    ("<html>{l}<body><textarea></body></textarea>{n}</body>", INSERTED),
    ("<html>{l}<body><title></body></title>{n}</body>", INSERTED),
    ("<html>{l}<body><xmp></body></xmp><iframe></body></iframe>{n}</body>", INSERTED),
    ("<html>{l}<body><noembed></body></noembed><noframes></body></noframes>{n}</body>", INSERTED),
    ("<html>{l}<body><noscript></body></noscript>{n}</body>", INSERTED),
    ("<html>{l}<body><!-- </body> --!x </body> --!>{n}</body>", INSERTED),
    ("<html>{l}<body><!----><!--><!---></p><!--!></body>-->{n}</body>", INSERTED),
    ("<html>{l}<body><!x </body><?y </body></ z </body></>{n}</body>", INSERTED),
    ("<html>{l}<body><![CDATA[ </body>{n}</body> ]]>", INSERTED),
    ("<html>{l}<body></bodyx></htm></htmlx></ body>{n}</body>", INSERTED),
    ("<html>{l}<body><p title='</body>' class=\"</html>\">x</p>{n}</body>", INSERTED),
    ("<html>{l}<body><p title=</body>x</p>{n}</body>", INSERTED),
    ("<html>{l}<body><p title='<svg>' x=\"<script>\"><i></i></p>{n}</body>", INSERTED),
    ("<html>{l}<body><p title = \"a > b\"></p>x=\" <b>\"</b>{n}</body>\"", INSERTED),
    ("<html>{l}<body><p title='it'>it's</p>='{n}</body>'", INSERTED),
    ("<html>{l}<body><strong></strong><section></section><main></main><time></time>{n}</body>", INSERTED),
    // Elements in which a parser ignores it.
    ("<html>{l}<body><template><p></body></html></template>{n}</body>", INSERTED),
    ("<html>{l}<body><template><template></template></body></template>{n}</body>", INSERTED),
    ("<html>{l}<body><template><svg></template>{n}</body>", INSERTED),
    ("<html>{l}<body><table><tr><td><html><body>x</body></html></td></tr></table>y{n}</body>", INSERTED),
    ("<html>{l}<body><table><tr><td><table></body></table></body></table>{n}</body>", INSERTED),
    ("<html>{l}<body><table></body></template></body></table>{n}</body>", INSERTED),
    ("<html>{l}<body><table><template></table></body></template></body></table>{n}</body>", INSERTED),
    ("<html>{l}<body><table><tr><td><object></table>{n}</body>", INSERTED),
    ("<html>{l}<body><object></body><applet></object></applet><marquee></body></marquee></object>{n}</body>", INSERTED),
    ("<html>{l}<body><select><option></body></select>{n}</body>", INSERTED),
    ("<html>{l}<body><select><option><select>{n}</body>", INSERTED),
    ("<html>{l}<body><select><script></select></body></script></select>{n}</body>", INSERTED),
    ("<html>{l}<body></table></select></object></template></svg>{n}</body>", INSERTED),
    // Never closed: the end of the page is the end of the body.
    ("<html>{l}<body><table><tr><td>x</body></html>\n{n}", INSERTED),
    ("<html>{l}<body><object></body></html>\n{n}", INSERTED),
    ("<html>{l}<body><select><option></body>", UNFINISHED),
    ("<html>{l}<body><template></body>", UNFINISHED),
    // SVG and MathML.
    ("<html>{l}<body><svg><style></svg>{n}</body></style>", INSERTED),
    ("<html>{l}<body><svg><style/><path d='</body>'/><g></g></svg>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><![CDATA[ </svg></body> ]]></svg>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><title></body></title><![CDATA[</body>]]></svg>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><title><![CDATA[</title>]]></title></svg></body>", DOUBT),
    ("<html>{l}<body><svg><foreignObject><style></svg></body></style></foreignObject></svg>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><foreignObject/><g>{n}</body>", INSERTED),
    // While HTML is open in them, a parser ignores their end tags.
    ("<html>{l}<body><svg><foreignObject><div><p>x<p>y<br></div></foreignObject><style></svg>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><foreignObject><TABLE><td><b></table></foreignObject></svg>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><title><t></title><style></body></style></svg></body>", DOUBT),
    ("<html>{l}<body><svg><title><t></svg></body>", DOUBT),
    ("<html>{l}<body><svg><title><svg></title></svg></body>", DOUBT),
    ("<html>{l}<body><svg><foreignObject><b><i></b></i></foreignObject></svg></body>", DOUBT),
    ("<html>{l}<body><svg><g>{n}</body>", INSERTED),
    ("<html>{l}<body><table><tr><td><svg><g></td><textarea></svg></body>", DOUBT),
    ("<html>{l}<body><div><svg><g></div><textarea></svg></body>", DOUBT),
    ("<html>{l}<body><svg><svg></svg><![CDATA[>]]></svg><![CDATA[>{n}</body>]]>", INSERTED),
    ("<html>{l}<body><svg/><![CDATA[>{n}</body>]]>", INSERTED),
    ("<html>{l}<body><svg><p><style></svg></body></style>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><font><style></font>{n}</body>", INSERTED),
    ("<html>{l}<body><svg><font color=red><style></body></style>{n}</body>", INSERTED),
    ("<html>{l}<body><math><mi></body></mi><title>{n}</body></title></math></body>", INSERTED),
    ("<html>{l}<body><math><annotation-xml></math>{n}</body>", INSERTED),
    ("<html>{l}<body><math><annotation-xml encoding='Text/HTML'></body></annotation-xml></math>{n}</body>", INSERTED),
    ("<html>{l}<body><math><svg><title></body></title></svg></math></body>", DOUBT),
    ("<html>{l}<body><svg><math><mi></body></mi></math></svg></body>", DOUBT),
    // What would take a parser.
    ("<html>{l}<body><plaintext></body>", DOUBT),
    ("<html>{l}<body><select><style></body></style></select></body>", DOUBT),
    ("<html>{l}<p><frameset></frameset></html>", DOUBT),
    ("<html>{l}<body><frameset>{n}</body>", INSERTED),
    // Pieces of pages, and framesets.
    ("", FRAGMENT),
    ("<p>hi</p></body>", FRAGMENT),
    ("<html>{l}<frameset><frame></frameset></body>", Outcome::Frameset),
    // Cut off within something.
    ("<html>{l}<body><!-- </body>", UNFINISHED),
    ("<html>{l}<body><script></body>", UNFINISHED),
    ("<html>{l}<body><textarea></body>", UNFINISHED),
    ("<html>{l}<body><di", UNFINISHED),
    ("<html>{l}<body>x</bod", UNFINISHED),
    ("<html>{l}<body>x</body", UNFINISHED),
    ("<html>{l}<body><?x", UNFINISHED),
    ("<html>{l}<body><!", UNFINISHED),
    ("<html>{l}<body>x{n}</body ", INSERTED),
    // The site's own, wherever it stands.
    ("<html>{l}<body><p>x</p><section class='a ahp-notice b'>y</section></body>", OWN),
    ("<html>{l}<body><p>x</p><section aria-label=\"AI Agent Notice\">y</section></body>", OWN),
    ("<html>{l}<body class=ahp-notice>x</body>", OWN),
    ("<html><head>{l}</head><section class=ahp-notice>x", OWN),
    ("<html>{l}<body><table><tr><td><svg><p class=ahp-notice></table></body>", OWN),
    ("<html>{l}<body><!-- ahp-notice --><p title='ahp-notice'>ahp-notice, AI Agent Notice</p>{n}</body>", INSERTED),
    ("<html>{l}<body><script>'<p class=ahp-notice>'</script>{n}</body>", INSERTED),
    ("<html>{l}<body><i title='<p class=ahp-notice>'></i>{n}</body>", INSERTED),
    ("<html>{l}<body><template><p class=ahp-notice></template>{n}</body>", INSERTED),
    ("<html>{l}<body><select><option class=ahp-notice></select>{n}</body>", INSERTED),
    ("<html>{l}<body><p>a notice, my-ahp-notice</p><body class=ahp-notice>{n}</body>", INSERTED),
    ("<html>{l}<body>x{n}</body><p class=ahp-notice>", INSERTED),
];

fn page(marked: &str) -> String {
    ["{l}", "{n}"].iter().fold(marked.to_owned(), |page, mark| page.replace(mark, ""))
}

#[test]
fn each_page_whole_and_byte_by_byte() {
    let mut wrong = Vec::new();
    for (marked, outcome) in PAGES {
        let page = page(marked);
        let expected = (marked.replace("{l}", "{a}{m}"), *outcome);
        for size in [usize::MAX, 1, 2, 3, 7, 20] {
            let (out, outcome) = run(&marks(Position::End), page.as_bytes().chunks(size.min(page.len().max(1))));
            let got = (String::from_utf8(out).unwrap(), outcome);
            if got != expected {
                wrong.push(format!("{marked} in pieces of {size}: {got:?}"));
            }
        }
        let mut packed = Rewriter::new(Coding::Gzip, marks(Position::End));
        let out = packed.at_once(&coded::gzip(page.as_bytes())).unwrap().unwrap();
        let got = (String::from_utf8(coded::decode("gzip", &out)).unwrap(), packed.outcome());
        if got != expected {
            wrong.push(format!("{marked}, packed: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_page_cut_in_two_at_every_byte() {
    for (marked, outcome) in PAGES {
        let page = page(marked);
        let expected = (marked.replace("{l}", "{a}{m}"), *outcome);
        for at in 0..page.len() {
            let (out, outcome) = run(&marks(Position::End), [&page.as_bytes()[..at], &page.as_bytes()[at..]]);
            assert_eq!((String::from_utf8(out).unwrap(), outcome), expected, "{marked} cut at {at}");
        }
    }
}

#[test]
fn only_what_may_begin_the_end_of_the_body_waits() {
    let mut inserter = Inserter::new(marks(Position::End));
    for (piece, out) in [
        ("<!doctype html><html><head></head><body><p>te", "<!doctype html><html><head>{a}{m}</head><body><p>te"),
        ("xt</p><a hre", "xt</p><a hre"),
        ("f='x'>y</", "f='x'>y"),
        ("a> 1 <", "</a> 1 "),
        (" 2</b", "< 2"),
        ("o", ""),
        ("ld></body", "</bold>"),
        ("x></BODY", "</bodyx>"),
        ("\n></html>", "{n}</BODY\n></html>"),
        ("</bo", "</bo"),
    ] {
        assert_eq!(inserter.feed(Bytes::from_static(piece.as_bytes())).joined(), out, "after {piece}");
    }
    assert_eq!((inserter.finish(), inserter.outcome()), (Bytes::new(), Outcome::Inserted));
}

#[test]
fn nothing_is_copied_but_what_stands_around_the_notice() {
    let page = format!("<html><head></head><body>{}</body></html>\n", "<p>text</p>".repeat(5000));
    let page = Bytes::from(page);
    let mut inserter = Inserter::new(marks(Position::End));
    let parts = inserter.feed(page.clone());
    assert!(parts.made.len() < 50 && parts.after.len() < 50, "{} {}", parts.made.len(), parts.after.len());
    let at = page.len() - b"</body></html>\n".len() - parts.rest.len();
    assert_eq!(parts.rest.as_ptr(), page[at..].as_ptr());

    let mut inserter = Inserter::new(marks(Position::End));
    inserter.feed(page.slice(..1000));
    let middle = page.slice(1000..30_000);
    assert_eq!(inserter.feed(middle.clone()).joined().as_ptr(), middle.as_ptr());
}

#[test]
fn a_cut_page_gets_no_notice() {
    for (page, left) in [("<html><body><p>te", ""), ("<html><body><p>text</bo", "</bo"), ("<html><body", "<body")] {
        let mut inserter = Inserter::new(marks(Position::End));
        let mut out = inserter.feed(Bytes::from_static(page.as_bytes())).joined().to_vec();
        let cut = inserter.cut();
        assert_eq!((&cut[..], inserter.outcome()), (left.as_bytes(), Outcome::Pending), "{page}");
        out.extend_from_slice(&cut);
        assert!(!out.windows(3).any(|bytes| bytes == b"{n}"), "{page}");
    }
}

#[test]
fn long_tags_are_read_through() {
    for len in [100, 2000, 2048, 5000, 100_000] {
        let value = "</body> > ' <svg> ".repeat(len / 18 + 1);
        for tag in ["img", "script", "svg", "table", "/p", "/body"] {
            let (end, is_end) = match tag {
                "script" | "svg" => (format!("</body ></{tag}>"), false),
                "table" => ("<tr></body></table>".to_owned(), false),
                "/body" => (String::new(), true),
                _ => (String::new(), false),
            };
            // In SVG it is the end; the notice breaks out of it.
            let in_svg = tag == "svg";
            let page = match is_end {
                true => format!("<html><body>{{n}}<{tag} data=\"{value}\">x"),
                false if in_svg => format!("<html><body><{tag} data=\"{value}\">{{n}}{end}</body>"),
                false => format!("<html><body><{tag} data=\"{value}\">{end}{{n}}</body>"),
            };
            let expected = page.replacen("<body>", "{a}{m}<body>", 1);
            let page = page.replace("{n}", "");
            for size in [usize::MAX, 1000, 64, 7] {
                let (out, outcome) = run(&marks(Position::End), page.as_bytes().chunks(size.min(page.len())));
                assert_eq!(outcome, Outcome::Inserted, "{tag} of {len} in pieces of {size}");
                assert!(out == expected.as_bytes(), "{tag} of {len} in pieces of {size}");
            }
        }
    }
}

#[test]
fn a_page_of_too_many_open_elements_is_in_doubt() {
    for (depth, outcome) in [(200, Outcome::Inserted), (300, DOUBT)] {
        let tables = "<table><td>".repeat(depth) + &"</table>".repeat(depth);
        let of_html = format!("<svg><desc>{}{}</desc></svg>", "<i>".repeat(depth), "</i>".repeat(depth));
        for body in [tables, of_html] {
            let page = format!("<html><body>{body}</body>");
            assert_eq!(run(&marks(Position::End), page.as_bytes().chunks(1000)).1, outcome, "{depth}");
        }
    }
}
