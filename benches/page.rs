//! Measures the rewriting of a page of 33 KB with its body tag within the first 4 KB.

use std::{hint::black_box, io::Write, sync::Arc};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frontdesk_page::{Coding, Insertion, Rewriter};

fn page() -> Vec<u8> {
    let mut page =
        String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A page</title>\n");
    for n in 0..12 {
        page += &format!("<link rel=\"stylesheet\" href=\"/assets/style-{n}.css?v=20260811\" media=\"screen\">\n");
        page += &format!("<meta property=\"og:thing{n}\" content=\"Some words about the page, number {n}\">\n");
    }
    page += "<style>\n";
    for n in 0..16 {
        page += &format!(".box-{n} > a {{ color: #12{n}; margin: {n}px auto }}\n");
    }
    page +=
        "</style>\n<script>window.data = [\"<b>\", 1, 2, 3];</script>\n</head>\n<body class=\"home page\">\n<main>\n";
    assert!(page.len() < 4096, "{}", page.len());
    let mut n = 0;
    while page.len() < 33_000 {
        page += &format!(
            "<p class=\"para\" id=\"p{n}\">Paragraph {n} speaks of <a href=\"/topic/{n}\">a topic</a> at some length.</p>\n"
        );
        n += 1;
    }
    page += "</main></body></html>\n";
    page.into_bytes()
}

fn rewrite(coding: Coding, insertion: &Arc<Insertion>, chunks: &[Bytes]) -> usize {
    let mut rewriter = Rewriter::new(coding, insertion.clone());
    let mut len = 0;
    for chunk in chunks {
        len += black_box(rewriter.feed(chunk.clone()))
            .map_or(0, |parts| parts.made.len() + parts.rest.len() + parts.after.len());
    }
    len + rewriter.finish().map_or(0, |bytes| bytes.len())
}

fn chunks(page: &[u8], size: usize) -> Vec<Bytes> {
    let page = Bytes::copy_from_slice(page);
    (0..page.len()).step_by(size).map(|at| page.slice(at..(at + size).min(page.len()))).collect()
}

fn coded(page: &[u8]) -> [(&'static str, Coding, Vec<u8>); 3] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    gzip.write_all(page).expect("memory");
    let mut br = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    br.write_all(page).expect("memory");
    [
        ("gzip", Coding::Gzip, gzip.finish().expect("memory")),
        ("br", Coding::Brotli, br.into_inner()),
        ("zstd", Coding::Zstd, zstd::encode_all(page, 3).expect("memory")),
    ]
}

fn bench(c: &mut Criterion) {
    let page = page();
    let insertion = Arc::new(Insertion::standard("/.well-known/agent.json", "/.well-known/agent-interface.toml", true));
    let mut group = c.benchmark_group("page");
    group.throughput(Throughput::Bytes(page.len() as u64));
    for (name, size) in [("identity, one chunk", page.len()), ("identity, 4 KB chunks", 4096)] {
        let chunks = chunks(&page, size);
        group.bench_function(name, |b| b.iter(|| rewrite(Coding::Identity, &insertion, &chunks)));
    }
    let mut done = Rewriter::new(Coding::Identity, insertion.clone());
    let whole = Bytes::copy_from_slice(&page);
    done.feed(whole.clone()).expect("identity never breaks");
    group.bench_function("a chunk after the insertion", |b| b.iter(|| black_box(done.feed(whole.clone()))));
    let copy = |b: &mut criterion::Bencher<'_>| b.iter(|| Bytes::from(black_box(&page[..]).to_vec()));
    group.bench_function("for scale: one copy of the page", copy);
    for (name, coding, encoded) in coded(&page) {
        let chunks = chunks(&encoded, 4096);
        group.bench_function(format!("{name}, 4 KB chunks"), |b| b.iter(|| rewrite(coding, &insertion, &chunks)));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
