//! Tests of harnesses behind TLS: their certificates are verified, over HTTP and over a WebSocket.

use super::*;
use crate::support::Tls;
use crate::support::supervisor::{reachable, shop};
use tokio::net::{TcpListener, TcpStream};

/// TLS in front of a harness; its URL, by the name in the certificate.
async fn behind(tls: &Tls, url: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (inner, path) = rest.split_once('/').expect("a path");
    let inner = inner.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let acceptor = tls.acceptor();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, inner) = (acceptor.clone(), inner.clone());
            tokio::spawn(async move {
                let Ok(mut outside) = acceptor.accept(socket).await else { return };
                let mut inside = TcpStream::connect(inner).await.expect("the harness");
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    format!("{scheme}s://localhost:{port}/{path}")
}

#[tokio::test]
async fn harness_gateway_reaches_harnesses_behind_tls_that_prove_who_they_are() {
    let (tls, policy) = (Tls::new(), Policy::named("p"));
    let urls = [
        behind(&tls, &over_http(server(&policy, 4, 3)).await).await,
        behind(&tls, &over_websocket(server(&policy, 4, 3)).await).await,
    ];
    assert!(urls[0].starts_with("https://") && urls[1].starts_with("wss://"));
    let origin = shop().await;
    let trusting = before(&origin, &urls).file("ca.pem", &tls.cert_pem).env("SSL_CERT_FILE", "ca.pem").start().await;
    reachable(&trusting).await;
    let client = greeted(&trusting).await;
    let decided = client.send_event_decision(EventType::PreAction, json!({"tool_name": "allow"})).await;
    assert!(matches!(decided, Ok(Decision::Allow { .. })), "{decided:?}");
    assert_eq!(policy.payloads().len(), 2);

    // An untrusted certificate with the same name.
    let stranger = before(&origin, &urls).file("ca.pem", &Tls::new().cert_pem).env("SSL_CERT_FILE", "ca.pem");
    let stranger = stranger.start().await;
    let away = async || {
        let text = stranger.admin_get("/readyz?verbose").await.text();
        text.matches("ertificate").count() >= 2
    };
    eventually("both are away, and why", SOON, away).await;
    let answer = send(&stranger, &message(json!("q"), "ahp/event", event("pre_action", json!({})))).await;
    assert_eq!(answer.json()["result"]["decision"], "block");
    assert_eq!(policy.payloads().len(), 2, "nothing was sent to them");
}
