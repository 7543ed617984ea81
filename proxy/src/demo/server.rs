//! The HTTP server of the demo site: passes each request to the pure function and sends its response.

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use pingora::{apps::http_app::ServeHttp, protocols::http::ServerSession};

use super::Travel;
use crate::accept::{self, RequestBody};

/// The most bytes of a body. The site itself refuses half of that.
const LONGEST: usize = 128 * 1024;

/// Serves the site.
pub struct Server(pub Travel);

#[async_trait]
impl ServeHttp for Server {
    async fn response(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        if let Some(connection) = accept::connection() {
            connection.head_is_read(RequestBody::of(session.req_header()));
        }
        let mut body = BytesMut::new();
        while let Ok(Some(chunk)) = session.read_request_body().await {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST {
                session.set_keepalive(None);
                break;
            }
        }
        let head = session.req_header();
        let mut request = Request::new(body.freeze());
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        let (parts, body): (_, Bytes) = self.0.respond(&request).into_parts();
        Response::from_parts(parts, body.to_vec())
    }
}
