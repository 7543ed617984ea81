//! The scripted origin over HTTP/2, with trailers.

use super::message::{Headers, Request};
use super::origin::State;
use super::reply::{Answer, How, Piece, Reply};
use super::wire::Io;
use bytes::Bytes;
use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub async fn serve(io: impl Io + 'static, state: Arc<State>) -> Result<()> {
    let mut connection = h2::server::handshake(io).await.map_err(Error::other)?;
    while let Some(Ok((request, respond))) = connection.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let _ = stream(request, respond, state).await;
        });
    }
    Ok(())
}

async fn stream(
    incoming: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    state: Arc<State>,
) -> std::result::Result<(), h2::Error> {
    let (parts, mut stream) = incoming.into_parts();
    let mut headers = Headers::of(&parts.headers);
    if let Some(authority) = parts.uri.authority() {
        headers.0.insert(0, ("host".into(), authority.to_string()));
    }
    let target = parts.uri.path_and_query().map_or_else(|| "*".to_owned(), ToString::to_string);
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        state.body_bytes.fetch_add(data.len(), Ordering::Relaxed);
        body.extend_from_slice(&data);
    }
    let trailers = stream.trailers().await?.map(|t| Headers::of(&t)).unwrap_or_default();
    let version = "HTTP/2.0".to_owned();
    let method = parts.method.to_string();
    let request = Request { version, method, target, headers, body, trailers, raw_head: Vec::new() };
    match state.answer(&request) {
        Answer::Reply(reply) => say(&mut respond, &request.method, reply).await,
        Answer::Script(_) => panic!("a script is raw HTTP/1.1; over HTTP/2 use a Reply"),
    }
}

async fn say(
    respond: &mut h2::server::SendResponse<Bytes>,
    method: &str,
    reply: Reply,
) -> std::result::Result<(), h2::Error> {
    let mut head = http::Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        head = head.header(name.to_ascii_lowercase(), value);
    }
    let has_body = reply.has_body(method);
    if reply.how == How::Length && !super::message::bodiless(reply.status) {
        head = head.header("content-length", reply.whole().len());
    }
    let head = head.body(()).expect("a head that HTTP/2 can say");
    let mut send = respond.send_response(head, !has_body)?;
    if !has_body {
        return Ok(());
    }
    for piece in reply.pieces {
        match piece {
            Piece::Bytes(bytes) => send.send_data(bytes, false)?,
            Piece::Pause(time) => tokio::time::sleep(time).await,
            Piece::Wait(gate) => gate.wait().await,
            Piece::HangUp => {
                // Let the data leave before the stream is reset.
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                send.send_reset(h2::Reason::INTERNAL_ERROR);
                return Ok(());
            }
        }
    }
    if reply.trailers.is_empty() {
        return send.send_data(Bytes::new(), true);
    }
    let mut trailers = http::HeaderMap::new();
    for (name, value) in &reply.trailers {
        let name = http::HeaderName::from_bytes(name.as_bytes()).expect("a trailer's name");
        trailers.append(name, value.parse().expect("a trailer's value"));
    }
    send.send_trailers(trailers)
}
