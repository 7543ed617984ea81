//! Measures the firewall on a page beside its conversion to Markdown: 100 KB of HTML, as a client gets it.
//!
//! The firewall should add less than a tenth. `markdown` is the conversion alone, `firewall` the firewall alone on the
//! resulting Markdown; their ratio is the overhead. `manual_…` is the same for a page full of names with underscores,
//! as in a technical manual, whose Markdown has a backslash in nearly every line. `html` is the firewall on the page
//! itself, and `json` on an answer of 100 KB with and without escapes.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frontdesk_filters::{
    content,
    firewall::{Firewall, Form, Mode, Modes},
};

/// A page of 100 KB with these paragraphs.
fn page(paragraph: impl Fn(usize) -> String) -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>A page</title></head><body><main><h1>A page</h1>\n",
    );
    let mut n = 0;
    while page.len() < 100_000 {
        page += &format!("<h2>Section {n}</h2>");
        page += &paragraph(n);
        n += 1;
    }
    page + "</main></body></html>\n"
}

fn prose(n: usize) -> String {
    format!(
        "<p class=\"para\" id=\"p{n}\">Paragraph {n} speaks of <a href=\"/topic/{n}\">a topic</a> at some length, of the year \
         2024, of the key to a good answer, and of what you are told: order 4711-{n} was sent.</p>\n<pre><code \
         class=\"language-sh\">export LEVEL={n}; ./run --key value</code></pre>\n"
    )
}

fn manual(n: usize) -> String {
    format!(
        "<p>Set max_open_files to {n} and session_cache_size to what fits; the access_token of [section_{n}] is read from \
         API_TOKEN_FILE, its key_id is *not* checked, and secret_key_{n} has no default. See also <code>idle_timeout</code>.</p>\n"
    )
}

fn json(text: &str) -> Bytes {
    let items: Vec<_> = (0..800)
        .map(|n| serde_json::json!({ "id": n, "key": format!("item-{n}"), "text": format!("{text} {n} of many, at a price of {n}.50") }))
        .collect();
    serde_json::Value::from(items).to_string().into()
}

fn bench(c: &mut Criterion) {
    let wall = Firewall::new(
        Modes { secrets: Mode::Redact, pii: Mode::Report, injection: Mode::Report },
        ["desk@example.com".to_owned()],
        Vec::new(),
    );
    let at = url::Url::parse("https://a.example/page").expect("a URL");
    let mut group = c.benchmark_group("firewall");
    group.throughput(Throughput::Bytes(100_000));
    for (before, page) in [("", page(prose)), ("manual_", page(manual))] {
        let markdown = Bytes::from(content::read(&page, &at).expect("a page").markdown);
        group.bench_function(format!("{before}markdown"), |b| {
            b.iter(|| black_box(content::read(black_box(&page), &at)));
        });
        group.bench_function(format!("{before}firewall"), |b| {
            b.iter(|| black_box(wall.pass(black_box(markdown.clone()), Form::Text)));
        });
    }
    let html = Bytes::from(page(prose));
    group.bench_function("html", |b| b.iter(|| black_box(wall.pass(black_box(html.clone()), Form::Text))));
    for (name, body) in [("json", json("Something plain")), ("json_escaped", json("Something \"quoted\"\nand broken"))]
    {
        group.bench_function(name, |b| b.iter(|| black_box(wall.pass(black_box(body.clone()), Form::Json))));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
