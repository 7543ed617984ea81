//! Articles are cut down to their text; whatever else a page is, it stays whole.

use std::time::Instant;

use super::markdown;

const SENTENCE: &str = "The river rose again in the night, and by the morning, the town's engineers said, it had reached \
                        the second mark on the bridge. ";

/// A page with this metadata, an article of this many paragraphs and this after it.
fn page(meta: &str, paragraphs: usize, after: &str) -> String {
    let text: String = (1..=paragraphs).map(|nth| format!("<p>Paragraph {nth}. {}</p>", SENTENCE.repeat(2))).collect();
    format!(
        "<html><head><title>The river | Town News</title>{meta}</head><body><nav><a href=/>Home</a></nav>
         <div id=page><div class=story-body><h1>The river rises</h1>{text}</div>{after}</div></body></html>"
    )
}

const IS_ARTICLE: [&str; 6] = [
    "<meta property='og:type' content='article'>",
    "<script type='application/ld+json'>{\"@context\": \"https://schema.org\", \"@type\": \"NewsArticle\"}</script>",
    "<script type='application/ld+json'>{\"@graph\": [{\"@type\": \"WebPage\"}, {\"@type\": [\"BlogPosting\"]}]}</script>",
    // With a line end in a string, which JSON does not allow.
    "<script type='application/ld+json'>{\"@type\": \"Article\", \"description\": \"a\nb\"}</script>",
    "<div itemscope itemtype='https://schema.org/NewsArticle'></div>",
    "<div class=h-entry></div>",
];

fn comments(count: usize) -> String {
    let comment = "<div class=comment><p>By Ann</p><p>I have never seen it that high, and I have lived here, by the \
                   bridge, for all of my life.</p></div>";
    format!("<section id=comments><h2>Comments</h2>{}</section>", comment.repeat(count))
}

#[test]
fn an_article_is_its_text() {
    let teasers =
        "<div class='related-stories'><h3>More stories</h3><ul><li><a href=/a>A flood in the valley</a></ul></div>
         <div class=newsletter-signup><p>Get our letter in your inbox every day.</p></div>
         <div class=author-bio><p>All words.</p></div><ul class=share-buttons><li>Share this</ul>";
    for meta in IS_ARTICLE {
        let written = markdown(&page(meta, 9, &format!("{teasers}{}", comments(5))));
        assert!(written.starts_with("# The river rises") || written.starts_with("# The river"), "{meta}: {written}");
        assert!(written.contains("Paragraph 1.") && written.contains("Paragraph 9."), "{meta}: {written}");
        for gone in ["Ann", "never seen", "More stories", "valley", "inbox", "Share", "Home"] {
            assert!(!written.contains(gone), "{meta}: {gone} in {written}");
        }
    }
}

#[test]
fn paragraphs_that_are_nothing_but_links_are_teasers_unless_the_page_is_about_them() {
    let meta = IS_ARTICLE[0];
    let teaser = "<p>Read more: <a href=/x>What the engineers knew about the bridge</a></p>";
    let text = |with: &str| page(meta, 9, "").replace("<p>Paragraph 5.", &format!("{with}<p>Paragraph 5."));
    assert!(!markdown(&text(teaser)).contains("knew"));
    assert!(markdown(&text("<p>See <a href=/x>what</a> the engineers knew.</p>")).contains("knew"));
    assert!(markdown(&text("<p><a href='#map'>Down to the map of the river</a></p>")).contains("map of"));
    assert!(markdown(&text(&teaser.repeat(60))).contains("knew"), "links are what it is about");
    let short = page(meta, 3, "").replace("<p>Paragraph 2.", &format!("{teaser}<p>Paragraph 2."));
    assert!(markdown(&short).contains("knew"), "a short text stands on its links");
}

#[test]
fn a_page_that_says_nothing_of_an_article_keeps_everything() {
    for meta in [
        "",
        "<meta property='og:type' content='website'>",
        "<script type='application/ld+json'>{\"@type\": \"WebPage\"}</script>",
        "<div class=hentry></div><div class=hentry></div>",
    ] {
        let written = markdown(&page(meta, 9, &comments(5)));
        assert_eq!(written.matches("never seen").count(), 5, "{meta}: {written}");
    }
}

#[test]
fn discussions_and_collections_keep_everything_even_if_they_call_themselves_articles() {
    for meta in [
        "<script type='application/ld+json'>{\"@type\": \"DiscussionForumPosting\"}</script>",
        "<script type='application/ld+json'>{\"@type\": \"QAPage\"}</script>",
        "<div itemscope itemtype='http://schema.org/QAPage'></div>",
        "<meta name=generator content='Docusaurus v3.1'>",
        "<meta name=generator content='vBulletin 3.8.7'>",
        "<p itemscope itemtype='http://schema.org/Blog'></p><p itemscope itemtype='http://schema.org/Blog'></p>",
    ] {
        let written = markdown(&page(&format!("{}{meta}", IS_ARTICLE[0]), 2, &comments(5)));
        assert_eq!(written.matches("never seen").count(), 5, "{meta}: {written}");
    }
    // A short text above a long discussion, without a word of it in the metadata.
    let short = "<meta property='og:type' content='article'><h1>What do you make of this?</h1><p>The bridge.</p>";
    let written = markdown(&format!("<body><div>{short}</div>{}", comments(12)));
    assert_eq!(written.matches("never seen").count(), 12, "{written}");
}

#[test]
fn an_article_with_code_keeps_all_of_it() {
    let code = "<h2>Install</h2><div class='scroll-box promo'><pre><code class=language-sh>apt install river</code></pre></div>
         <table><tr><th>Option<th>Meaning<tr><td><code>-v</code><td>Say more</table><ul><li><a href=/docs>Manual</a></ul>";
    let html = page(IS_ARTICLE[0], 9, "").replace("<p>Paragraph 5.", &format!("{code}<p>Paragraph 5."));
    let written = markdown(&html);
    assert!(written.contains("```sh\napt install river\n```"), "{written}");
    assert!(written.contains("| `-v` | Say more |"), "{written}");
}

#[test]
fn a_start_page_is_read_as_a_whole() {
    let html = page(IS_ARTICLE[0], 9, &comments(3));
    let at = url::Url::parse("https://shop.example/").unwrap();
    assert!(crate::content::read(&html, &at).unwrap().markdown.contains("never seen"));
}

/// Readability looks at elements again and again: what would take long is read as a whole, within bounds.
#[test]
fn articles_that_mean_harm() {
    let meta = IS_ARTICLE[0];
    let wrapped = format!("{}{}", "<div class=comment>".repeat(70), format!("<p>{SENTENCE}</p>").repeat(2_000));
    let json = format!("<script type='application/ld+json'>{}", "[".repeat(100_000));
    for (name, html) in [
        ("wrapped", wrapped),
        ("branches", "<div><p>a, b, c".repeat(60) + &"<div><span>words, words</span></div>".repeat(4_000)),
        ("links", format!("<p>{}", "<a href=x>y, z</a> ".repeat(25_000))),
        ("breaks", format!("<div>{SENTENCE}{}", "<br>".repeat(29_000))),
        ("breaks and words", format!("<div>{}", "a<br><br>".repeat(14_000))),
        (
            "images",
            "<figure class=lazy><img data-src=a.jpg><noscript><img src=a.jpg></noscript></figure>".repeat(7_000),
        ),
        ("tables", "<table><tr><td>".repeat(30) + &"<p>a, b".repeat(4_000)),
        ("lists", format!("<ul>{}", "<li><a href=x>A list of links, of links</a>".repeat(14_000))),
        ("json", json),
        ("classes", format!("<div class='{}'>{SENTENCE}", "comment ".repeat(200_000))),
    ] {
        let began = Instant::now();
        let page = crate::content::read(&format!("{meta}{html}"), &super::at());
        let took = began.elapsed();
        eprintln!("{name}: {took:?}, {:?}", page.map(|page| page.markdown.len()));
        assert!(took.as_secs() < 20, "{name} took {took:?}");
    }
}
