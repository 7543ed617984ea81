//! Tests of floods of useless frames: their cost is bounded, and no other client waits for them.

use super::{asks, begins, desk, setting, window};
use crate::support::frames_h2::{
    COMPRESSION_ERROR, CONTINUATION, DATA, END, END_HEADERS, ENHANCE_YOUR_CALM, Fate, FramesH2, HEADERS, PING, PREFACE,
    PRIORITY, PROTOCOL_ERROR, RST_STREAM, block, frame, get,
};
use crate::support::{Desk, SOON, Setup, eventually};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpSocket;

/// The memory it has once it has all it needs to begin with.
async fn settled(desk: &Desk) -> u64 {
    let mut last = 0;
    eventually("settled", SOON, async || {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = std::mem::replace(&mut last, desk.rss_kb());
        last.abs_diff(before) < 500
    })
    .await;
    last
}

/// Sends this again and again, until the other side has enough of it or the megabytes are spent; reads nothing meanwhile.
async fn flood(what: &str, begun: Vec<u8>, mut again: impl FnMut(u32) -> Vec<u8>, calm: &[u32]) {
    let (origin, desk) = desk().await;
    let before = settled(&desk).await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send(begun).await;
    let (mut sent, mut n) = (0, 0);
    while sent < 4 << 20 {
        let piece: Vec<u8> = (0..200)
            .flat_map(|_| {
                n += 1;
                again(n)
            })
            .collect();
        sent += piece.len();
        let taken = tokio::time::timeout(Duration::from_secs(1), conn.send(piece)).await;
        if taken != Ok(true) {
            break;
        }
    }
    assert_eq!(desk.get("/").await.status, 200, "{what}: others are served meanwhile");
    let grown = desk.rss_kb().saturating_sub(before);
    assert!(grown < 40_000, "{what}: {grown} KB for {sent} bytes");
    if !calm.is_empty() {
        let fate = conn.end(SOON).await;
        let fits = fate == Fate::Closed || calm.iter().any(|code| fate == Fate::GoAway(*code));
        assert!(fits && sent < 4 << 20, "{what}: {fate:?} after {sent} bytes");
    }
    drop(conn);
    assert!(origin.connections() < 300, "{what}: {} connections to the site", origin.connections());
    let mut other = FramesH2::open(desk.ports.http).await;
    other.send(asks(1)).await;
    assert!(matches!(other.fate(1).await, Fate::Answered(200, _)), "{what}: the next connection");
}

const CALM: &[u32] = &[ENHANCE_YOUR_CALM, PROTOCOL_ERROR, COMPRESSION_ERROR];

#[tokio::test]
async fn frames_h2_of_a_head_without_end_are_cut_off() {
    let open = || frame(HEADERS, END, 1, get("/"));
    flood("CONTINUATION", open(), |_| frame(CONTINUATION, 0, 1, block(&[(b"x", &[b'y'; 100])])), CALM).await;
    flood("empty CONTINUATION", open(), |_| frame(CONTINUATION, 0, 1, b""), CALM).await;
}

#[tokio::test]
async fn frames_h2_of_streams_that_are_given_up_at_once_are_cut_off() {
    let gone = |n: u32| frame(RST_STREAM, 0, 2 * n + 1, [0, 0, 0, 8]);
    flood("rapid reset", Vec::new(), |n| [asks(2 * n + 1), gone(n)].concat(), CALM).await;
    flood("made to reset", Vec::new(), |n| [begins(2 * n + 1), window(2 * n + 1, 0)].concat(), CALM).await;
}

#[tokio::test]
async fn frames_h2_of_no_use_cost_nobody_else_anything_and_are_cut_off() {
    flood("SETTINGS", Vec::new(), |_| setting(4, 65_535), CALM).await;
    flood("PING", Vec::new(), |n| frame(PING, 0, 0, u64::from(n).to_be_bytes()), CALM).await;
    flood("PRIORITY", Vec::new(), |n| frame(PRIORITY, 0, 2 * n + 1, [0, 0, 0, 0, 1]), CALM).await;
    flood("empty DATA", begins(1), |_| frame(DATA, 0, 1, b""), CALM).await;
    flood("unknown frames", Vec::new(), |_| frame(0x42, 0, 0, [0; 64]), CALM).await;
}

/// A client that asks between its pings is no flood.
#[tokio::test]
async fn frames_h2_of_a_client_that_pings_as_it_asks_are_served() {
    let (_origin, desk) = desk().await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    for n in 0..1200 {
        let stream = 2 * n + 1;
        let pings: Vec<u8> = (0..5).flat_map(|k: u64| frame(PING, 0, 0, k.to_be_bytes())).collect();
        assert!(conn.send([asks(stream), pings].concat()).await, "{n}");
        let fate = conn.fate(stream).await;
        assert!(matches!(fate, Fate::Answered(200, _)), "{n}: {fate:?}");
    }
}

/// One field in the table and thousands of times in the head.
#[tokio::test]
async fn frames_h2_of_a_head_that_swells_are_cut_off() {
    let (origin, desk) = desk().await;
    let before = settled(&desk).await;
    let mut large = vec![0x40, 1, b'x', 127, 0xa1, 0x1e];
    large.extend([b'y'; 4_000]);
    let head = [get("/bomb"), large, vec![0xbe; 12_000]].concat();
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send(frame(HEADERS, END | END_HEADERS, 1, head)).await;
    let fate = conn.fate(1).await;
    assert!(fate.is_no(), "{fate:?}");
    assert!(origin.asked().is_empty(), "{:?}", origin.asked());
    let grown = desk.rss_kb().saturating_sub(before);
    assert!(grown < 40_000, "{grown} KB");
}

/// Sends long answers in pieces that fill no frame, and counts the sent pieces.
fn long_site() -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (at, left) = (listener.local_addr().expect("its address"), Arc::new(AtomicUsize::new(0)));
    let counted = left.clone();
    std::thread::spawn(move || {
        for mut asking in listener.incoming().flatten() {
            let counted = counted.clone();
            std::thread::spawn(move || -> std::io::Result<()> {
                let mut head = [0; 4096];
                let length = asking.read(&mut head)?;
                if !head[..length].starts_with(b"GET /long") {
                    return asking
                        .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                }
                asking.set_nodelay(true)?;
                asking.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                for _ in 0..PIECES {
                    asking.write_all(&[&b"1388\r\n"[..], &[b'x'; 5000], b"\r\n"].concat())?;
                    counted.fetch_add(1, Ordering::Relaxed);
                    // Each by itself.
                    std::thread::sleep(Duration::from_micros(500));
                }
                asking.write_all(b"0\r\n\r\n")
            });
        }
    });
    (at, left)
}

const PIECES: usize = 4000;

/// A connection that waits for its client is woken by the socket, and not by itself over and over.
#[tokio::test]
async fn frames_h2_that_nobody_reads_keep_nobody_busy() {
    let (site, left) = long_site();
    let desk = Setup::before_urls(&[format!("http://{site}")]).set("listen", "h2c = true").start().await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let mut conn = FramesH2::over(socket.connect(desk.ports.http).await.expect("a connection"));
    let all = setting(4, 0x7fff_ffff);
    let long = frame(HEADERS, END | END_HEADERS, 1, get("/long"));
    conn.send([PREFACE, &all, &window(0, 1 << 30), &long].concat()).await;
    let stands = async || {
        let (pieces, ticks) = (left.load(Ordering::Relaxed), desk.cpu_ticks());
        tokio::time::sleep(Duration::from_secs(1)).await;
        (pieces > 0 && pieces == left.load(Ordering::Relaxed)).then(|| desk.cpu_ticks() - ticks)
    };
    // A tick is a hundredth of a second.
    eventually("nobody busy", SOON, async || stands().await.is_some_and(|ticks| ticks < 30)).await;
    assert!(left.load(Ordering::Relaxed) < PIECES, "all of it has found room");
    let fate = conn.fate_within(1, SOON).await;
    assert!(matches!(&fate, Fate::Answered(200, body) if body.len() == PIECES * 5000), "not all of it came");
}
