//! Messages as text frames of a WebSocket. Credentials go into a header, never into the URL.

use std::{sync::Arc, time::Duration};

use ::http::{HeaderValue, header};
use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::harness::{HarnessConnection, HarnessTransport, Lost};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use pingora::protocols::Stream;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Message, Utf8Bytes,
        client::IntoClientRequest,
        protocol::{CloseFrame, WebSocketConfig},
    },
};

use super::{
    MOST, Place,
    shared::{Inlet, Outlet, Shared},
};
use crate::outbound::{Outbound, because};

/// A peer that sends nothing for so long, not even a pong, is gone.
const SILENCE: Duration = Duration::from_secs(50);

/// The way to a WebSocket server.
pub(super) struct Socket {
    outbound: Arc<Outbound>,
    place: Place,
    authorization: Option<HeaderValue>,
}

impl Socket {
    pub(super) fn new(outbound: Arc<Outbound>, place: Place, authorization: Option<HeaderValue>) -> Self {
        Self { outbound, place, authorization }
    }

    async fn opened(&self) -> Result<Arc<dyn HarnessConnection>, Lost> {
        let scheme = if self.place.tls { "wss" } else { "ws" };
        let authority = self.place.authority.to_str().unwrap_or_default();
        let url = format!("{scheme}://{authority}{}", self.place.target);
        let mut request = url.into_client_request().map_err(|e| Lost(e.to_string()))?;
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, value.clone());
        }
        let stream = self.connected().await?;
        let config = WebSocketConfig::default().max_message_size(Some(MOST)).max_frame_size(Some(MOST));
        let shaken = client_async_with_config(request, stream, Some(config)).await;
        let (socket, _) = shaken.map_err(|e| Lost(e.to_string()))?;
        let (to, from) = socket.split();
        Ok(Shared::start(Frames(from), Pen(to), ()))
    }

    async fn connected(&self) -> Result<Stream, Lost> {
        let mut why = Lost(String::new());
        for peer in self.place.peers().await? {
            match Box::pin(self.outbound.transport().new_stream(&peer)).await {
                Ok(stream) => return Ok(stream),
                Err(e) => why = Lost(because(&e)),
            }
        }
        Err(why)
    }
}

#[async_trait]
impl HarnessTransport for Socket {
    async fn open(&self, within: Duration) -> Result<Arc<dyn HarnessConnection>, Lost> {
        let opened = timeout(within, self.opened()).await;
        opened.unwrap_or_else(|_| Err(Lost(format!("no connection within {within:?}"))))
    }
}

/// Incoming frames. Reading also answers pings.
struct Frames(SplitStream<WebSocketStream<Stream>>);

#[async_trait]
impl Inlet for Frames {
    async fn next(&mut self) -> Result<Bytes, String> {
        loop {
            match timeout(SILENCE, self.0.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => return Ok(text.into()),
                Ok(Some(Ok(Message::Close(frame)))) => return Err(closed(frame)),
                // A pong only shows that the peer is alive, and binary messages are ignored.
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(e))) => return Err(e.to_string()),
                Ok(None) => return Err("closed by the other side".into()),
                Err(_) => return Err(format!("nothing was heard for {SILENCE:?}")),
            }
        }
    }
}

/// The code of a close frame, without its text, which the peer chose.
fn closed(frame: Option<CloseFrame>) -> String {
    frame.map_or("closed by the other side".into(), |frame| format!("closed by the other side ({})", frame.code))
}

/// Outgoing frames.
struct Pen(SplitSink<WebSocketStream<Stream>, Message>);

#[async_trait]
impl Outlet for Pen {
    async fn put(&mut self, message: Bytes) -> Result<(), String> {
        let text = Utf8Bytes::try_from(message).map_err(|e| e.to_string())?;
        self.0.send(Message::Text(text)).await.map_err(|e| e.to_string())
    }

    async fn ping(&mut self) -> Result<(), String> {
        self.0.send(Message::Ping(Bytes::new())).await.map_err(|e| e.to_string())
    }
}
