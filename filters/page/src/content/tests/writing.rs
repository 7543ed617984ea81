//! Each construct of a page, by the Markdown that is written and by what a CommonMark parser shows of it.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::markdown;

/// The text that a parser shows, white space aside.
fn shown(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut text = String::new();
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Text(words) | Event::Code(words) => text.push_str(&words),
            Event::SoftBreak | Event::HardBreak | Event::Start(Tag::List(_) | Tag::Item) => text.push(' '),
            Event::InlineHtml(html) if &*html == "<br>" => text.push(' '),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell | TagEnd::CodeBlock,
            ) => text.push(' '),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The page's Markdown is this, and a parser shows this of it.
fn is(html: &str, expected: &str, text: &str) {
    let written = markdown(html);
    assert_eq!(written.trim_end(), expected, "{html}");
    assert_eq!(shown(&written), text, "{html}: {written}");
}

#[test]
fn struck_through_text_is_told_apart() {
    is("<p>Price: <del>100</del> <ins>80</ins> EUR", "Price: ~~100~~ 80 EUR", "Price: 100 80 EUR");
    is("<p><s>a</s> <strike>b</strike>", "~~a~~ ~~b~~", "a b");
    is("<p><span style='color: red; text-decoration: LINE-THROUGH'>was 9</span> 7", "~~was 9~~ 7", "was 9 7");
    is("<p>x<del> 1 </del>y", "x ~~1~~ y", "x 1 y");
}

#[test]
fn superscripts_and_subscripts_do_not_change_numbers() {
    is(
        "<p>10<sup>6</sup> users, 20 m<sup>2</sup>, H<sub>2</sub>O",
        "10<sup>6</sup> users, 20 m<sup>2</sup>, H<sub>2</sub>O",
        "106 users, 20 m2, H2O",
    );
    is("<p>As shown<sup><a href='/n#1'>1</a></sup>.", "As shown[1](https://shop.example/n#1).", "As shown1.");
    is("<p>a<sup> </sup>b", "a b", "a b");
}

#[test]
fn a_heading_with_line_breaks_is_one_heading() {
    is("<h3>NEW YORK<br>MERRILL CO.<br>1907</h3>", "### NEW YORK MERRILL CO. 1907", "NEW YORK MERRILL CO. 1907");
    is("<h2><div>One</div><p>two</p></h2><p>x", "## One two\n\nx", "One two x");
    is("<h2>C #</h2><h3>#</h3>", "## C \\#\n\n### \\#", "C # #");
}

#[test]
fn block_content_in_a_link_keeps_its_blocks() {
    is(
        "<a href='/card'><div><h3>Card title</h3><p>Card text.</p></div></a>",
        "### [Card title](https://shop.example/card)\n\nCard text.",
        "Card title Card text.",
    );
    is(
        "<a href='/c'><div><img src=/i.png alt=Pot></div><div>Title</div><div>Text</div></a>",
        "[![Pot](https://shop.example/i.png)](https://shop.example/c)\n\n[Title](https://shop.example/c)\n\nText",
        "Pot Title Text",
    );
    is("<b><p>a</p><p>b</p></b>", "**a**\n\n**b**", "a b");
}

#[test]
fn a_formula_is_written_once_and_as_tex_where_there_is_some() {
    let mathml = "<math><semantics><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><annotation \
                  encoding='application/x-tex'>a+b</annotation></semantics></math>";
    is(&format!("<p>So {mathml} holds"), "So $a+b$ holds", "So $a+b$ holds");
    let katex = format!(
        "<p><span class=katex><span class=katex-mathml>{mathml}</span><span class=katex-html aria-hidden=true>a+b\
         </span></span> is"
    );
    is(&katex, "$a+b$ is", "$a+b$ is");
    let wikipedia = "<p><span class=mwe-math-element><span class='mwe-math-mathml-inline mwe-math-mathml-a11y' \
         style='display: none;'><math alttext='{\\displaystyle a+b}'><mi>a</mi></math></span><img \
         class=mwe-math-fallback-image-inline aria-hidden=true alt='{\\displaystyle a+b}' src=/x.svg></span> is";
    is(wikipedia, "$a+b$ is", "$a+b$ is");
    is("<p><math display=block alttext='x^2'><mi>x</mi></math>", "$$x^2$$", "$$x^2$$");
    is("<p><script type='math/tex'>a_1</script><span class=MathJax_Preview>a1</span> is", "$a_1$ is", "$a_1$ is");
    is("<p><span class='math notranslate'>\\(a_1\\)</span> is", "$a_1$ is", "$a_1$ is");
    is(
        "<p><math><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mfrac><mn>1</mn><mi>y</mi></mfrac></math>",
        "x^2=1/y",
        "x^2=1/y",
    );
}

#[test]
fn lists_lie_in_lists() {
    is("<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>", "- a\n  - b\n    1. c\n- d", "a b c d");
    is("<ul><li>a</li><ul><li>b</li></ul><li>c</ul>", "- a\n  - b\n- c", "a b c");
    is("<ol start=3><li>a<li value=7>b<li>c</ol>", "3. a\n7. b\n8. c", "a b c");
    is("<ol><li><p>a</p><p>b</p><li><p>c</p></ol>", "1. a\n\n   b\n\n2. c", "a b c");
    is("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b", "a b");
    is("<ul><li><pre>x\n\ny</pre><li></ul>", "- ```\n  x\n\n  y\n  ```\n-", "x y");
    is("<blockquote><ul><li>a</ul><p>b</blockquote>", "> - a\n>\n> b", "a b");
}

#[test]
fn what_is_documented_is_one_code_without_a_link_to_its_source() {
    is(
        "<dl><dt><code>Migration.</code><code>initial</code><a href=/s><span class=viewcode-link>[source]</span></a><dd></dd></dl>\
         <p>x <code>a</code> <code>b</code> <code>git </code><code>add</code>",
        "**`Migration.initial`**\n\nx `a` `b` `git` `add`",
        "Migration.initial x a b git add",
    );
}

#[test]
fn a_list_of_tasks_is_one() {
    is(
        "<ul><li><input type=checkbox checked disabled> done<li><label><input type=checkbox>open</label></ul>",
        "- [x] done\n- [ ] open",
        "done open",
    );
    is("<p><input type=checkbox> I agree", "I agree", "I agree");
}

#[test]
fn nothing_is_escaped_that_no_parser_takes_for_a_mark() {
    for text in [
        "http://example.com/a_b_c?x=1&y_z=2*3",
        "file_name_x.py",
        "2 * 3 * 4",
        "a * b",
        "x[0] and y[1]",
        "5 < 6 > 4",
        "AT&T & co; R&D",
        "~5 min",
        "1.5 is 3/2 - or so",
        "#hashtag",
        "+1",
        "C:\\dir",
        "wow! (really)",
        "__init__",
    ] {
        let html = format!("<p>{}", text.replace('&', "&amp;").replace('<', "&lt;"));
        let written = markdown(&html);
        assert_eq!(shown(&written), text, "{written}");
        let is_needed = shown(text) != text;
        assert_eq!(written.trim_end() != text, is_needed, "{written}");
    }
}

#[test]
fn text_that_looks_like_marks_stays_text() {
    for text in [
        "*not* em",
        "_not_ em",
        "**a** b",
        "~~a~~",
        "`code`",
        "[a](b)",
        "![a](b)",
        "[a]: b",
        "<b>x</b>",
        "&amp;",
        "&#38;",
        "# a",
        "## ",
        "- a",
        "+ a",
        "* a",
        "1. a",
        "12) a",
        "> a",
        "---",
        "***",
        "===",
        "~~~",
        "```",
        "a\\*b*",
        "\\",
        "| a | b |",
        "<!-- a -->",
        "a*b*c",
        "snake_case_ and _x",
        "[[1]](x)",
        "https://a.example/_x_",
        "*",
        "a `` b",
        "!",
    ] {
        let html = format!("<p>{}", text.replace('&', "&amp;").replace('<', "&lt;"));
        let written = markdown(&html);
        assert_eq!(shown(&written), text.trim_end(), "{written}");
        let after_break = markdown(&html.replace("<p>", "<p>x<br>"));
        assert_eq!(shown(&after_break), format!("x {}", text.trim_end()), "{after_break}");
    }
    is("<p>Look!<a href=/x>here</a>", "Look\\![here](https://shop.example/x)", "Look!here");
}

#[test]
fn marks_are_understood_beside_letters_punctuation_and_no_break_spaces() {
    is("<p><b>dot.</b>next", "<strong>dot.</strong>next", "dot.next");
    is("<p><b>\u{300c}強調\u{300d}</b>後", "<strong>「強調」</strong>後", "「強調」後");
    is("<p>前<b>強調</b>後", "前**強調**後", "前強調後");
    is("<p>a<b>&nbsp;b&nbsp;</b>c", "a\u{a0}**b**\u{a0}c", "a b c");
    is("<p>un<i>frigging</i>believable", "un*frigging*believable", "unfriggingbelievable");
    is("<p><b> a </b>b<i></i>", "**a** b", "a b");
    is("<p><b>a</b><b>b</b>", "**ab**", "ab");
    is("<p><b>a</b><i>b</i>", "**a**<em>b</em>", "ab");
    is("<p><b><i>a</i></b> <i>b <b>c</b></i>", "***a*** *b **c***", "a b c");
    is("<p><b>2 * 3*</b> x*", "**2 * 3\\*** x\\*", "2 * 3* x*");
    is("<p><b>a<br></b>b", "**a**  \nb", "a b");
    is("<p>(<b>a</b>)", "(**a**)", "(a)");
    is("<p>$<b>5</b>", "$**5**", "$5");
    // What a parser takes as marks, whatever stands beside them.
    let letters = ["", "a", " ", "&nbsp;", ".", "(", "」", "文", "€", "*", "\\"];
    for (mark, _) in [("b", "**"), ("i", "*"), ("del", "~~")] {
        for before in letters {
            for first in letters {
                for last in letters {
                    for after in letters {
                        let html = format!("<p>{before}<{mark}>{first}x{last}</{mark}>{after}");
                        let text = format!("{before}{first}x{last}{after}").replace("&nbsp;", " ");
                        let expected = text.split_whitespace().collect::<Vec<_>>().join(" ");
                        let written = markdown(&html);
                        assert_eq!(shown(&written), expected, "{html}: {written}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_image_that_loads_late_is_the_image() {
    let expected = "![lazy](https://shop.example/real.jpg)";
    for attributes in [
        "src='data:image/gif;base64,R0lGOD' data-src='/real.jpg'",
        "data-src='/real.jpg'",
        "src='/img/placeholder.png' data-lazy-src='/real.jpg'",
        "src='data:image/gif;base64,R0lGOD' data-srcset='/real.jpg 1x, /big.jpg 2x'",
        "srcset='/real.jpg 300w, /big.jpg 600w'",
        "src='/real.jpg' data-src='/real.jpg'",
    ] {
        is(&format!("<p><img alt=lazy {attributes}>"), expected, "lazy");
    }
    let source = "<picture><source srcset='/real.jpg 1x'><img src='data:image/gif;base64,R0' alt=lazy></picture>";
    is(source, expected, "lazy");
    let noscript = "<img src='data:image/gif;base64,R0' alt=lazy><noscript><img src=/real.jpg></noscript>";
    is(noscript, expected, "lazy");
    is(
        "<figure><img src=/real.jpg alt=lazy><figcaption>A <b>pot</b>.</figcaption></figure>",
        &format!("{expected}\n\nA **pot**."),
        "lazy A pot.",
    );
}

#[test]
fn terms_and_meanings_are_told_apart() {
    is(
        "<dl><dt>Tea<dd>A leaf.<dt>Pot<dd><p>A vessel.</p><p>Of clay.</p></dl>",
        "**Tea**\n\n- A leaf.\n\n**Pot**\n\n- A vessel.\n\n  Of clay.",
        "Tea A leaf. Pot A vessel. Of clay.",
    );
    is("<dl><dt><code>-v</code>, <b>-w</b><dd>Say more</dl>", "`-v`, **-w**\n\n- Say more", "-v, -w Say more");
    is("<details><summary>More</summary><p>Words.</p></details>", "**More**\n\nWords.", "More Words.");
}

#[test]
fn a_table_with_code_in_a_cell_stays_a_table() {
    is(
        "<table><tr><th>Call<th>What<tr><td><pre>f(a|b)\ng()</pre><td><p>One</p><p>two</p><ul><li>x<li>y</ul></table>",
        "| Call | What |\n| --- | --- |\n| `f(a\\|b)`<br>`g()` | One<br>two<br>x<br>y |",
        "Call What f(a|b) g() One two x y",
    );
    is(
        "<table><tr><td>a|b<td><a href='/x?a|b'>c</a><tr><td>*<td><b>d</b></table>",
        "|  |  |\n| --- | --- |\n| a\\|b | [c](https://shop.example/x?a%7Cb) |\n| * | **d** |",
        "a|b c * d",
    );
}

#[test]
fn a_table_that_frames_a_note_is_no_table() {
    let html = r#"<p>Read this.</p><table border="0"><tr><td rowspan="2" width="25"><img src="/w.png"></td><th>Warning</th></tr>
        <tr><td colspan="2"><p>Taxes <em>differ</em>.</p></td></tr></table><p>End.</p>"#;
    let text = markdown(html);
    assert!(text.contains("Read this.\n\n") && text.contains("Warning\n\nTaxes *differ*."), "{text}");
    assert!(!text.contains('|') && text.trim_end().ends_with("End."), "{text}");
    // A picture in each row is a value.
    let tick = "<td><img src='/yes.png' alt='yes'></td>";
    let text = markdown(&format!("<p>x</p><table><tr><td>Wifi</td>{tick}</tr><tr><td>Pool</td>{tick}</tr></table>"));
    assert!(text.contains("| Wifi | ![yes]") && text.contains("| Pool | ![yes]"), "{text}");
    // One column is a list of values, and gaps are part of a table.
    let text = markdown("<p>x</p><table><tr><th>Port</th></tr><tr><td>80</td></tr></table>");
    assert!(text.contains("| Port |\n| --- |\n| 80 |"), "{text}");
    let text = markdown("<p>x</p><table><tr><td>a</td><td>b</td></tr><tr><td></td><td>c</td></tr></table>");
    assert!(text.contains("| a | b |\n|  | c |"), "{text}");
}

#[test]
fn notes_at_the_foot_stay() {
    let html = "<main><p>Tea<a class='footnote-reference brackets' href='#id2'>1</a>.</p><aside class='footnote-list brackets'>
        <aside class='footnote brackets' id=id2 role=doc-footnote><span class=label>1</span><p>A leaf.</p></aside></aside></main>";
    let written = markdown(html);
    assert_eq!(shown(&written), "Tea1. 1 A leaf.", "{written}");
    let back = "<p>Tea.</p><section class=footnotes><ol><li id=fn1><p>A leaf. <a href='#r1'>↩</a></p></ol></section>";
    is(back, "Tea.\n\n1. A leaf.", "Tea. A leaf.");
}

#[test]
fn each_tab_of_documentation_stands_under_its_name() {
    let expected = "**Linux**\n\nUse apt.\n\n**macOS**\n\nUse brew.";
    let text = "Linux Use apt. macOS Use brew.";
    let docusaurus = "<div class=tabs-container><ul role=tablist><li role=tab>Linux</li><li role=tab>macOS</li></ul>
        <div><div role=tabpanel><p>Use apt.</div><div role=tabpanel hidden><p>Use brew.</div></div></div>";
    is(docusaurus, expected, text);
    let material = "<div class='tabbed-set tabbed-alternate'><input type=radio id=a><input type=radio id=b><div class=tabbed-labels>
        <label for=a>Linux</label><label for=b>macOS</label></div><div class=tabbed-content><div class=tabbed-block><p>Use apt.</div>
        <div class=tabbed-block><p>Use brew.</div></div></div>";
    is(material, expected, text);
    let sphinx_tabs = "<div class=sphinx-tabs><div role=tablist><button role=tab id=t1>Linux</button><button role=tab id=t2>macOS</button>
        </div><div role=tabpanel aria-labelledby=t1><p>Use apt.</div><div role=tabpanel aria-labelledby=t2 hidden=true><p>Use brew.</div></div>";
    is(sphinx_tabs, expected, text);
}

#[test]
fn small_things_that_people_see_are_seen() {
    is("<p>He said <q>no</q>.", "He said “no”.", "He said “no”.");
    is("<p>a<br>b<br><br>c", "a  \nb  \n  \nc", "a b c");
    is("<p><a href='https://a.example/x'>https://a.example/x</a>", "<https://a.example/x>", "https://a.example/x");
    is("<p><a href='/x_(y'>a]b</a>", "[a\\]b](https://shop.example/x_%28y)", "a]b");
    is("<p><code>a`b</code> <code> c </code>", "``a`b`` `c`", "a`b c");
    is("<p>a<a href=/x></a>b", "ab", "ab");
    is("<p>x<hr><p>y", "x\n\n---\n\ny", "x y");
    is("<div>a<p>b</p>c<div>d</div></div>", "a\n\nb\n\nc\n\nd", "a b c d");
}

#[test]
fn questions_and_answers_of_markup_are_on_the_page_though_they_are_folded_away() {
    let html = "<title>Help</title><script type='application/ld+json'>{\"@type\": \"FAQPage\", \"mainEntity\": [
        {\"@type\": \"Question\", \"name\": \"Do you ship abroad?\", \"acceptedAnswer\": {\"text\": \"<p>To <b>nine</b> countries.</p>\"}},
        {\"@type\": \"Question\", \"name\": \"Is there a shop?\", \"acceptedAnswer\": {\"text\": \"One in Oslo.\"}}]}</script>
        <main><h1>Help</h1><h2>Is there a shop?</h2><p>One in Oslo.</p>
        <div itemscope itemtype='https://schema.org/Question'><button itemprop=name>Can I return it?</button>
        <div style='display:none' itemprop=acceptedAnswer itemscope itemtype='https://schema.org/Answer'>
        <div itemprop=text>Within 30 days.</div></div></div></main>";
    assert_eq!(
        markdown(html),
        "# Help\n\n## Is there a shop?\n\nOne in Oslo.\n\n**Can I return it?**\n\nWithin 30 days.\n\n## Do you ship \
         abroad?\n\nTo **nine** countries.\n"
    );
}
