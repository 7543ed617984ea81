//! Promise: the PROXY protocol is accepted from trusted proxies only.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Setup};
use std::time::Duration;

async fn desk(trusted: &str) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let listen = format!("proxy_protocol = true\ntrusted_proxies = {trusted}");
    let setup = Setup::before(&origin).set("listen", &listen).set("protection", "header_timeout = \"1s\"");
    (origin, setup.start().await)
}

/// Version 2, PROXY, TCP over IPv4, 203.0.113.7:1234 → 192.0.2.1:80, with a TLV behind it.
fn version_2(command: u8) -> Vec<u8> {
    let addresses = [203, 0, 113, 7, 192, 0, 2, 1, 0x04, 0xd2, 0x00, 0x50];
    let tlv = [0x04, 0x00, 0x03, b'x', b'y', b'z'];
    let length = u8::try_from(addresses.len() + tlv.len()).expect("short");
    let head = [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[0x20 | command, 0x11, 0, length]].concat();
    [&head[..], &addresses, &tlv].concat()
}

#[tokio::test]
async fn proxy_protocol_from_a_trusted_peer_names_the_client() {
    let (origin, desk) = desk("[\"127.0.0.1/32\"]").await;
    let heads = [
        (b"PROXY TCP4 203.0.113.7 192.0.2.1 1234 80\r\n".to_vec(), "203.0.113.7"),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 1234 80\r\n".to_vec(), "2001:db8::7"),
        (version_2(1), "203.0.113.7"),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (version_2(0), "127.0.0.1"),
    ];
    for (head, client) in heads {
        for split in [None, Some(3), Some(head.len())] {
            let mut conn = desk.conn().await;
            if let Some(at) = split {
                conn.send(&head[..at]).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                conn.send([&head[at..], &Ask::get("/").bytes()].concat()).await;
            } else {
                conn.send([&head[..], &Ask::get("/").bytes()].concat()).await;
            }
            assert_eq!(conn.response("GET").await.status, 200);
            assert_eq!(origin.last().headers.all("x-forwarded-for"), [client], "{:?}", String::from_utf8_lossy(&head));
            assert_eq!(conn.ask(&Ask::get("/again")).await.status, 200);
            assert_eq!(origin.last().headers.all("x-forwarded-for"), [client], "the connection keeps its client");
        }
    }
}

#[tokio::test]
async fn proxy_protocol_from_a_stranger_ends_the_connection() {
    let (origin, desk) = desk("[\"192.0.2.0/24\"]").await;
    for head in [b"PROXY TCP4 203.0.113.7 192.0.2.1 1234 80\r\n".to_vec(), version_2(1)] {
        let mut conn = desk.conn().await;
        conn.send([&head[..], &Ask::get("/").bytes()].concat()).await;
        let (said, _) = conn.until_closed(SOON).await;
        assert!(!said.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&said));
    }
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn proxy_protocol_broken_or_slow_ends_the_connection() {
    let (origin, desk) = desk("[\"127.0.0.1/32\"]").await;
    let long = format!("PROXY TCP4 {}\r\n", "1".repeat(200));
    for head in [&b"PROXY TCP4 nonsense\r\n"[..], b"PROXY TCP4 203.0.113.7", &version_2(1)[..14], long.as_bytes()] {
        let mut conn = desk.conn().await;
        conn.send(head).await;
        let (_, after) = conn.until_closed(SOON).await;
        assert!(after < Duration::from_secs(8), "{:?}: {after:?}", String::from_utf8_lossy(head));
    }
    assert!(origin.asked().is_empty());
    assert!(desk.metric("frontdesk_rejections_total").await.is_some_and(|n| n >= 2.0));
}
