//! Promise: a frame that violates HTTP/2 ends its stream or its connection, as the RFC says, and nothing else.
//!
//! The tests follow RFC 9113 section by section, as h2spec does; then come floods, which have to be cheap for the
//! process.

mod floods;

use crate::support::frames_h2::{
    COMPRESSION_ERROR, CONTINUATION, DATA, END, END_HEADERS, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, Fate, FramesH2,
    GOAWAY, HAS_PRIORITY, HEADERS, PADDED, PING, PREFACE, PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, RST_STREAM, SETTINGS,
    STREAM_CLOSED, WINDOW_UPDATE, block, frame, get, headed,
};
use crate::support::{Desk, Origin, Reply, Request, SOON, Setup, Tls, soon};
use Want::{Ends, Resets, Serves};
use std::time::Duration;

/// What a server does about it.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// The connection ends, for one of these reasons or for none.
    Ends(&'static [u32]),
    /// The stream ends, for one of these reasons; or the connection does.
    Resets(&'static [u32]),
    /// It goes on as if nothing were.
    Serves,
}

async fn desk() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::json("{\"served\":true}")).await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").tls(&Tls::new()).start().await;
    (origin, desk)
}

fn asks(stream: u32) -> Vec<u8> {
    frame(HEADERS, END | END_HEADERS, stream, get("/frames"))
}

/// The head of a request whose body is to come.
fn begins(stream: u32) -> Vec<u8> {
    let fields =
        [(&b":method"[..], &b"POST"[..]), (b":scheme", b"http"), (b":authority", b"site.test"), (b":path", b"/up")];
    frame(HEADERS, END_HEADERS, stream, block(&fields))
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

fn window(stream: u32, more: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, more.to_be_bytes())
}

async fn all(rows: Vec<(&str, Want, Vec<Vec<u8>>)>) {
    let (_origin, desk) = desk().await;
    for (what, want, frames) in rows {
        let mut conn = FramesH2::open(desk.ports.http).await;
        conn.send(frames.concat()).await;
        match want {
            Ends(codes) => {
                let fate = conn.end(SOON).await;
                let fits = fate == Fate::Closed || codes.iter().any(|code| fate == Fate::GoAway(*code));
                assert!(fits, "{what}: {fate:?}");
            }
            Resets(codes) => {
                let fate = conn.fate(1).await;
                let fits = |code: &u32| fate == Fate::Reset(*code) || fate == Fate::GoAway(*code);
                assert!(fate == Fate::Closed || codes.iter().any(fits), "{what}: {fate:?}");
            }
            Serves => {
                conn.send(asks(99)).await;
                let fate = conn.fate(99).await;
                assert!(matches!(fate, Fate::Answered(200, _)), "{what}: {fate:?}");
            }
        }
        let mut other = FramesH2::open(desk.ports.http).await;
        other.send(asks(1)).await;
        assert!(matches!(other.fate(1).await, Fate::Answered(200, _)), "{what}: the next connection");
    }
}

const P: &[u32] = &[PROTOCOL_ERROR];

#[tokio::test]
async fn frames_h2_belong_to_their_stream() {
    let closed: &[u32] = &[STREAM_CLOSED, PROTOCOL_ERROR];
    all(vec![
        ("DATA of the connection", Ends(P), vec![frame(DATA, END, 0, b"x")]),
        ("HEADERS of the connection", Ends(P), vec![frame(HEADERS, END | END_HEADERS, 0, get("/"))]),
        ("PRIORITY of the connection", Ends(P), vec![frame(PRIORITY, 0, 0, [0, 0, 0, 0, 1])]),
        ("RST_STREAM of the connection", Ends(P), vec![frame(RST_STREAM, 0, 0, [0, 0, 0, 8])]),
        ("CONTINUATION of the connection", Ends(P), vec![frame(CONTINUATION, END_HEADERS, 0, b"")]),
        ("SETTINGS of a stream", Ends(P), vec![frame(SETTINGS, 0, 1, b"")]),
        ("PING of a stream", Ends(P), vec![frame(PING, 0, 1, [0; 8])]),
        ("GOAWAY of a stream", Ends(P), vec![frame(GOAWAY, 0, 1, [0; 8])]),
        ("DATA of an idle stream", Ends(closed), vec![frame(DATA, END, 1, b"x")]),
        ("RST_STREAM of an idle stream", Ends(P), vec![frame(RST_STREAM, 0, 1, [0, 0, 0, 8])]),
        ("WINDOW_UPDATE of an idle stream", Ends(P), vec![window(1, 1)]),
        ("CONTINUATION of an idle stream", Ends(P), vec![frame(CONTINUATION, END_HEADERS, 1, get("/"))]),
        ("a stream of the server's", Ends(P), vec![asks(2)]),
        ("a stream before the last", Ends(closed), vec![asks(5), asks(3)]),
        ("PUSH_PROMISE", Ends(P), vec![frame(PUSH_PROMISE, END_HEADERS, 1, [0, 0, 0, 2])]),
        ("DATA after the end", Resets(closed), vec![begins(1), frame(DATA, END, 1, b"x"), frame(DATA, END, 1, b"x")]),
        ("HEADERS after the end", Resets(closed), vec![begins(1), frame(DATA, END, 1, b"x"), begins(1)]),
        ("HEADERS in the middle that do not end", Resets(P), vec![begins(1), begins(1)]),
    ])
    .await;
}

#[tokio::test]
async fn frames_h2_have_their_size() {
    let size: &[u32] = &[FRAME_SIZE_ERROR, PROTOCOL_ERROR];
    all(vec![
        ("DATA too long", Ends(size), vec![begins(1), frame(DATA, END, 1, vec![0; 16_385])]),
        ("HEADERS too long", Ends(size), vec![frame(HEADERS, END | END_HEADERS, 1, vec![0; 16_385])]),
        ("an unknown frame too long", Ends(size), vec![headed((1 << 24) - 1, 0x42, 0, 0, &[0; 20_000])]),
        ("a short PING", Ends(size), vec![frame(PING, 0, 0, [0; 7])]),
        ("a long PING", Ends(size), vec![frame(PING, 0, 0, [0; 9])]),
        ("half a setting", Ends(size), vec![frame(SETTINGS, 0, 0, [0; 3])]),
        ("an agreement with a payload", Ends(size), vec![frame(SETTINGS, END, 0, [0; 6])]),
        ("a short RST_STREAM", Ends(size), vec![begins(1), frame(RST_STREAM, 0, 1, [0; 3])]),
        ("a short PRIORITY", Resets(size), vec![begins(1), frame(PRIORITY, 0, 1, [0; 4])]),
        ("a short WINDOW_UPDATE", Ends(size), vec![frame(WINDOW_UPDATE, 0, 0, [0; 3])]),
        ("a short GOAWAY", Ends(size), vec![frame(GOAWAY, 0, 0, [0; 7])]),
        ("DATA of more padding than there is", Ends(P), vec![begins(1), frame(DATA, END | PADDED, 1, [9, 0, 0])]),
        ("DATA of nothing that is padded", Ends(size), vec![begins(1), frame(DATA, END | PADDED, 1, b"")]),
        (
            "HEADERS of more padding than there is",
            Ends(P),
            vec![frame(HEADERS, END | END_HEADERS | PADDED, 1, [&[200][..], &get("/")].concat())],
        ),
    ])
    .await;
}

#[tokio::test]
async fn frames_h2_windows_and_settings_have_bounds() {
    // The library says PROTOCOL_ERROR of a setting where the RFC says FLOW_CONTROL_ERROR.
    let flow: &[u32] = &[FLOW_CONTROL_ERROR, PROTOCOL_ERROR];
    let most = (1 << 31) - 1;
    all(vec![
        ("no step for the connection", Ends(P), vec![window(0, 0)]),
        ("no step for a stream", Resets(P), vec![begins(1), window(1, 0)]),
        ("a window beyond all", Ends(flow), vec![window(0, most), window(0, most)]),
        ("a stream's window beyond all", Resets(flow), vec![begins(1), window(1, most), window(1, most)]),
        ("a first window beyond all", Ends(flow), vec![setting(4, 1 << 31)]),
        (
            "a first window that moves one beyond all",
            Ends(flow),
            vec![begins(1), window(1, most - 65_535), setting(4, 65_536)],
        ),
        ("a frame too small", Ends(P), vec![setting(5, 16_383)]),
        ("a frame too large", Ends(P), vec![setting(5, 1 << 24)]),
        ("a push that is neither", Ends(P), vec![setting(2, 2)]),
        (
            "a stream that hangs on itself",
            Resets(P),
            vec![frame(HEADERS, END | END_HEADERS | HAS_PRIORITY, 1, [&[0, 0, 0, 1, 15][..], &get("/")].concat())],
        ),
        ("a stream that comes to hang on itself", Resets(P), vec![begins(1), frame(PRIORITY, 0, 1, [0, 0, 0, 1, 15])]),
    ])
    .await;
}

#[tokio::test]
async fn frames_h2_head_blocks_are_whole_and_sound() {
    let packed: &[u32] = &[COMPRESSION_ERROR, PROTOCOL_ERROR];
    let open = |flags: u8| frame(HEADERS, flags, 1, get("/"));
    let ends = |bytes: &[u8]| vec![frame(HEADERS, END | END_HEADERS, 1, [&get("/")[..], bytes].concat())];
    all(vec![
        ("PING inside", Ends(P), vec![open(END), frame(PING, 0, 0, [0; 8])]),
        ("DATA inside", Ends(P), vec![open(0), frame(DATA, END, 1, b"x")]),
        (
            "an unknown frame inside",
            Ends(P),
            vec![open(END), frame(0x42, 0, 0, b""), frame(CONTINUATION, END_HEADERS, 1, b"")],
        ),
        ("another stream's HEADERS inside", Ends(P), vec![open(END), asks(3)]),
        ("another stream's CONTINUATION", Ends(P), vec![open(END), frame(CONTINUATION, END_HEADERS, 3, b"")]),
        ("CONTINUATION after the end", Ends(P), vec![asks(1), frame(CONTINUATION, END_HEADERS, 1, b"")]),
        ("the index of nothing", Ends(packed), ends(&[0x80])),
        ("an index beyond the table", Ends(packed), ends(&[0xff, 0xff, 0x03])),
        ("an index without an end", Ends(packed), ends(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f])),
        ("half a field", Ends(packed), ends(&[0x00, 0x05, b'x'])),
        ("a code that is padded wrongly", Ends(packed), ends(&[0x00, 0x01, b'x', 0x82, 0x00, 0x00])),
        ("a code of the end", Ends(packed), ends(&[0x00, 0x01, b'x', 0x84, 0xff, 0xff, 0xff, 0xff])),
        (
            "a table larger than agreed",
            Ends(packed),
            vec![frame(HEADERS, END | END_HEADERS, 1, [&[0x3f, 0xe1, 0xff, 0x7f][..], &get("/")].concat())],
        ),
        ("a table's size at the end", Ends(packed), ends(&[0x20])),
    ])
    .await;
}

#[tokio::test]
async fn frames_h2_of_unknown_kinds_and_flags_are_passed_over() {
    all(vec![
        ("an unknown frame", Serves, vec![frame(0x42, 0xff, 0, b"whatever"), frame(0xff, 0, 1, b"")]),
        ("an unknown setting", Serves, vec![setting(0xff, 1)]),
        ("no frame larger than the least", Serves, vec![setting(5, 16_384)]),
        ("a priority of an idle stream", Serves, vec![frame(PRIORITY, 0, 7, [0, 0, 0, 0, 1])]),
        ("an unknown reason", Serves, vec![begins(1), frame(RST_STREAM, 0, 1, [0, 0, 0, 0xff])]),
        ("flags that mean nothing", Serves, vec![frame(PING, 0x16, 0, [0; 8])]),
        (
            "padding",
            Serves,
            vec![frame(HEADERS, END | END_HEADERS | PADDED, 1, [&[3][..], &get("/"), &[0; 3]].concat())],
        ),
        ("a head in many pieces", Serves, {
            let (head, mut frames) = (get("/"), vec![frame(HEADERS, END, 1, b"")]);
            frames.extend(head[..40].chunks(20).map(|piece| frame(CONTINUATION, 0, 1, piece)));
            frames.push(frame(CONTINUATION, END_HEADERS, 1, &head[40..]));
            frames
        }),
        ("the reserved bit", Serves, vec![asks(1 | 1 << 31)]),
    ])
    .await;
    let (_origin, desk) = desk().await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send(frame(PING, 0, 0, b"whatever")).await;
    let pong = conn.next_of(PING).await.expect("an answer");
    assert_eq!((pong.flags, &pong.payload[..]), (END, &b"whatever"[..]));
}

#[tokio::test]
async fn frames_h2_of_a_body_wait_for_the_window() {
    let (_origin, desk) = desk().await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send([setting(4, 0), asks(1)].concat()).await;
    conn.next_of(HEADERS).await.expect("a head");
    assert_eq!(conn.fate_within(1, Duration::from_millis(300)).await, Fate::Silent, "no byte before there is room");
    conn.send(window(1, 1)).await;
    assert_eq!(conn.next_of(DATA).await.expect("a byte").payload, b"{");
    conn.send(window(1, 1 << 16)).await;
    assert_eq!(conn.next_of(DATA).await.expect("the rest").payload, b"\"served\":true}");
}

#[tokio::test]
async fn frames_h2_begin_with_the_preface() {
    let (_origin, desk) = desk().await;
    let tls = desk.tls.clone().expect("TLS");
    for bytes in
        [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", &[0; 24], &PREFACE[..20]]
    {
        let stream = soon("TLS", tls.connect(desk.ports.https, &["h2"])).await.expect("a connection");
        let mut conn = FramesH2::over(stream);
        conn.send(bytes).await;
        if bytes.len() > 23 {
            let fate = conn.end(SOON).await;
            assert!(matches!(fate, Fate::Closed | Fate::GoAway(PROTOCOL_ERROR)), "{bytes:?}: {fate:?}");
        }
    }
}

#[tokio::test]
async fn frames_h2_of_too_many_streams_are_refused() {
    let (origin, desk) = desk().await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send((0..150).flat_map(|n| begins(2 * n + 1)).collect::<Vec<u8>>()).await;
    let refused = conn.fate(2 * 149 + 1).await;
    assert!(matches!(refused, Fate::Reset(7 | PROTOCOL_ERROR) | Fate::GoAway(_) | Fate::Closed), "{refused:?}");
    assert!(origin.connections() <= 101, "{}", origin.connections());
}
