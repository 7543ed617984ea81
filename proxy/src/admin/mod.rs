//! The admin address: probes, metrics, the running configuration, reload, and the log level.
//!
//! Everything but the probes is for the operator. On loopback every client counts as the operator; elsewhere a token is
//! needed. A web page in the operator's browser must not use the address (DNS rebinding), so Host and Origin are
//! checked.

mod attempts;
mod body;
mod desk;
mod guard;
mod links;
mod manual;
mod page;
mod state;

pub use attempts::Attempts;
pub use page::Page;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use async_trait::async_trait;
use http::{Method, Response, StatusCode, header};
use pingora::{apps::http_app::ServeHttp, http::RequestHeader, protocols::http::ServerSession};
use serde_json::json;
use tokio::sync::Notify;

use crate::{
    accept::{self, RequestBody},
    live::{Live, on_config_thread},
    logs::Logs,
    metrics::Metrics,
    outbound::Outbound,
    process::Processes,
};

/// The application at `listen.admin`.
pub struct Admin {
    pub live: Arc<Live>,
    pub metrics: Arc<Metrics>,
    pub logs: Logs,
    pub outbound: Arc<Outbound>,
    pub processes: Arc<Processes>,
    /// Set while the process shuts down: it is alive but not ready.
    pub draining: Arc<AtomicBool>,
    /// Starts the shutdown, as SIGTERM does.
    pub stop: Arc<Notify>,
    pub page: Page,
    /// The count of wrong tokens.
    pub attempts: Attempts,
}

type Answer = Response<Vec<u8>>;

#[async_trait]
impl ServeHttp for Admin {
    async fn response(&self, session: &mut ServerSession) -> Answer {
        if let Some(connection) = accept::connection() {
            connection.head_is_read(RequestBody::of(session.req_header()));
        }
        let request = session.req_header();
        let mut answer = match guard::check_browser(request, &self.live).and_then(|()| self.may_try(request)) {
            Ok(()) => {
                let tries = tries(request);
                let answer = self.route(session).await;
                if tries && answer.status() == StatusCode::UNAUTHORIZED {
                    let from = peer_address();
                    self.attempts.failed(from, Instant::now());
                    if self.attempts.may_try(from, Instant::now()).is_err() {
                        tracing::warn!(address = %from, "too many wrong tokens from this address; it has to wait");
                    }
                }
                answer
            }
            Err(refusal) => *refusal,
        };
        let length = answer.body().len();
        answer.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        answer.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
        answer
    }
}

/// Whether a request carries a token, valid or not.
fn tries(request: &RequestHeader) -> bool {
    let logs_in = request.method == Method::POST && request.uri.path() == "/page/login";
    logs_in || request.headers.contains_key(header::AUTHORIZATION)
}

/// The address of the peer.
fn peer_address() -> IpAddr {
    accept::connection().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |connection| connection.client.ip())
}

impl Admin {
    /// Refuses an address that has sent too many wrong tokens for a while, even with the right token: otherwise each
    /// response would confirm or rule out one more guess.
    fn may_try(&self, request: &RequestHeader) -> Result<(), Box<Answer>> {
        if !tries(request) {
            return Ok(());
        }
        self.attempts.may_try(peer_address(), Instant::now()).map_err(|left| {
            self.metrics.rejected("too_many_admin_tokens");
            let detail = "Too many wrong tokens came from this address. Retry after the time in Retry-After.";
            let mut refusal = problem(StatusCode::TOO_MANY_REQUESTS, detail);
            refusal.headers_mut().insert(header::RETRY_AFTER, (left.as_secs() + 1).into());
            Box::new(refusal)
        })
    }

    async fn route(&self, session: &mut ServerSession) -> Answer {
        let id = session.req_header().uri.path().strip_prefix("/desk/").map(str::to_owned);
        if let Some(id) = id {
            return self.decide(session, &id).await;
        }
        if session.req_header().uri.path() == "/links/end" {
            return self.end_links(session).await;
        }
        let below = session.req_header().uri.path().strip_prefix("/page/").map(str::to_owned);
        if let Some(path) = below {
            return self.page(session, &path).await;
        }
        let request = session.req_header();
        let (path, query) = (request.uri.path(), request.uri.query().unwrap_or(""));
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        if let Some(answer) = manual::answer(path) {
            return if reads { answer } else { not_allowed("GET, HEAD") };
        }
        let operator = || guard::check_operator(request, &self.live);
        match (path, reads, &request.method) {
            ("/livez" | "/healthz" | "/live", true, _) => text(StatusCode::OK, "ok\n"),
            ("/readyz" | "/ready", true, _) if is_verbose(query) => match operator() {
                Ok(()) => self.ready(true),
                Err(refusal) => *refusal,
            },
            ("/readyz" | "/ready", true, _) => self.ready(false),
            ("/metrics", true, _) => {
                let mut answer = Response::new(self.metrics.text());
                let kind = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                answer.headers_mut().insert(header::CONTENT_TYPE, kind);
                answer
            }
            ("/config", true, _) => {
                operator().map_or_else(|r| *r, |()| json_answer(StatusCode::OK, &state::config(&self.live)))
            }
            ("/desk", true, _) => match operator() {
                Ok(()) => self.asked().await,
                Err(refusal) => *refusal,
            },
            ("/reload", _, &Method::POST) => match operator() {
                Ok(()) => self.reload().await,
                Err(refusal) => *refusal,
            },
            ("/shutdown", _, &Method::POST) => {
                guard::check_token(request, &self.live).map_or_else(|r| *r, |()| self.shut_down())
            }
            ("/log", _, &Method::PUT | &Method::POST) => operator().map_or_else(|r| *r, |()| self.set_level(query)),
            ("/", true, _) if page::is_wanted(request) => self.front_page(request).await,
            ("/", true, _) => text(StatusCode::OK, INDEX),
            (
                "/livez" | "/healthz" | "/live" | "/readyz" | "/ready" | "/metrics" | "/config" | "/desk" | "/",
                false,
                _,
            ) => not_allowed("GET, HEAD"),
            ("/reload" | "/shutdown", ..) => not_allowed("POST"),
            ("/log", ..) => not_allowed("PUT, POST"),
            _ => problem(StatusCode::NOT_FOUND, "There is nothing here. GET / lists what there is."),
        }
    }

    fn ready(&self, verbose: bool) -> Answer {
        let draining = self.draining.load(Ordering::Relaxed);
        let refused = self.live.look(|running| running.store.unready().is_some());
        let status = if draining || refused { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        if verbose {
            return text(status, &state::readiness(&self.live, draining));
        }
        let said = match (draining, refused) {
            (true, _) => "draining\n",
            (false, true) => "the store was never reached; /readyz?verbose says why\n",
            (false, false) => "ok\n",
        };
        text(status, said)
    }

    async fn reload(&self) -> Answer {
        let live = self.live.clone();
        // Reloading reads files, so it runs on another thread.
        let reloaded = on_config_thread(move || live.reload()).await;
        match reloaded {
            Ok(Ok(())) => {
                let running = self.live.current();
                let body = json!({
                    "hash": running.snapshot.hash,
                    "warnings": running.warnings(),
                    "not_swapped": self.live.not_swapped(),
                });
                json_answer(StatusCode::OK, &body)
            }
            Ok(Err(failure)) => {
                let body = json!({
                    "title": "The configuration was not taken into use; the running one stays.",
                    "mistakes": failure.mistakes,
                    "warnings": failure.warnings,
                });
                json_answer(StatusCode::UNPROCESSABLE_ENTITY, &body)
            }
            Err(e) => {
                tracing::error!(error = %e, "reloading failed");
                problem(StatusCode::INTERNAL_SERVER_ERROR, "Reloading failed; the log says why.")
            }
        }
    }

    fn shut_down(&self) -> Answer {
        self.stop.notify_one();
        let protection = &self.live.current().snapshot.settings.protection;
        let body = json!({
            "ending": true,
            "shutdown_delay_seconds": protection.shutdown_delay.as_secs_f64(),
            "shutdown_timeout_seconds": protection.shutdown_timeout.as_secs_f64(),
        });
        json_answer(StatusCode::ACCEPTED, &body)
    }

    fn set_level(&self, query: &str) -> Answer {
        let level = query.split('&').find_map(|p| p.strip_prefix("level=")).unwrap_or("");
        match self.logs.set_level(level) {
            Ok(()) => json_answer(StatusCode::OK, &json!({ "level": level })),
            Err(why) => problem(StatusCode::BAD_REQUEST, &why),
        }
    }
}

const INDEX: &str = "frontdesk: the operator's address\n\n\
    GET  /                 the operator's page, in a browser\n\
    GET  /livez            the process is alive\n\
    GET  /readyz[?verbose] it takes requests\n\
    GET  /metrics          for Prometheus\n\
    GET  /config           what is running, and why the last reload failed\n\
    GET  /manual[/PAGE]    the manual\n\
    GET  /explain/WORD     what a reason, an alert, a metric or a log line means, and what to do\n\
    GET  /desk             what agents have asked a person, and wait for\n\
    POST /desk/ID          the person's answer\n\
    POST /links/end        end all that people have allowed an agent: client=ID; needs the operator's token\n\
    POST /reload           read the configuration anew\n\
    POST /shutdown         end, as SIGTERM does; needs the operator's token\n\
    PUT  /log?level=debug  change the log's level\n";

fn is_verbose(query: &str) -> bool {
    query.split('&').any(|p| p.split('=').next() == Some("verbose"))
}

fn with_type(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    answer
}

fn text(status: StatusCode, body: &str) -> Answer {
    with_type(status, "text/plain; charset=utf-8", body.as_bytes().to_vec())
}

fn json_answer(status: StatusCode, body: &serde_json::Value) -> Answer {
    let mut text = serde_json::to_vec_pretty(body).unwrap_or_default();
    text.push(b'\n');
    with_type(status, "application/json", text)
}

fn problem(status: StatusCode, detail: &str) -> Answer {
    let title = status.canonical_reason().unwrap_or("Error");
    let body = json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail });
    with_type(status, "application/problem+json", body.to_string().into_bytes())
}

fn not_allowed(allow: &'static str) -> Answer {
    let mut answer = problem(StatusCode::METHOD_NOT_ALLOWED, "This address does not take this method; see Allow.");
    answer.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allow));
    answer
}
