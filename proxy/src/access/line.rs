//! One line of the access log: its fields, and their JSON form.

use std::{
    io::Write,
    net::IpAddr,
    time::{Duration, Instant},
};

use frontdesk_filters::desk::date;

use crate::{clock::since_1970, engine::Engine, traces::context::Ids};

/// The longest value that comes from a request, in bytes.
pub const LONGEST: usize = 1024;

/// The fields, named by OpenTelemetry's HTTP conventions. There is no query, because it may hold secrets.
pub struct Line<'a> {
    /// The ids of the trace and of the request's span.
    pub trace: Option<Ids>,
    /// The same id as in the audit log, at the site and at the agent. Only for requests to the desk, or if the client
    /// sent one.
    pub request_id: Option<&'a str>,
    /// `None`: the head could not be read.
    pub method: Option<&'a str>,
    pub path: Option<&'a str>,
    pub host: Option<&'a str>,
    /// 0: no response.
    pub status: u16,
    /// `None`: HTTP.
    pub protocol: Option<&'a str>,
    pub version: &'a str,
    pub client: Option<IpAddr>,
    pub user_agent: Option<&'a str>,
    pub request_bytes: usize,
    pub response_bytes: usize,
    pub duration: Duration,
    /// The end of the request.
    pub ended: Instant,
    /// The last upstream, also of a capability call.
    pub upstream: Option<&'a str>,
    /// The time until the head of a proxied response; for capability calls, the total time of all upstream requests.
    pub upstream_duration: Option<Duration>,
    /// The proof of the caller: `none`, `key`, `token` or `signature`.
    pub proof: Option<&'a str>,
    /// The caller's name.
    pub caller: Option<&'a str>,
    /// `pass` or `answer`.
    pub decision: &'a str,
    /// `None`: not HTTP.
    pub engine: Option<Engine>,
    /// Why the fast path left the request to pingora.
    pub engine_reason: Option<&'a str>,
    /// The outcome for the page: `rewritten`, or why it passed unchanged.
    pub page: Option<&'a str>,
    /// Why the request failed, if it did.
    pub error: Option<&'a str>,
    /// The first digits of the configuration's hash.
    pub config: &'a str,
}

/// The bytes before a value.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":").as_bytes()
    };
}

/// Writes a line that ends in a newline.
pub(super) fn render(out: &mut Vec<u8>, line: &Line<'_>) {
    out.extend_from_slice(b"{\"timestamp\":\"");
    timestamp(out, since_1970(line.ended));
    out.extend_from_slice(b"\",\"level\":\"info\"");
    if let Some((trace, span)) = line.trace {
        let _ = write!(out, ",\"trace_id\":\"{trace:032x}\",\"span_id\":\"{span:016x}\"");
    }
    text(out, key!("request_id"), line.request_id);
    text(out, key!("http.request.method"), line.method);
    text(out, key!("url.path"), line.path);
    text(out, key!("server.address"), line.host);
    number(out, key!("http.response.status_code"), line.status.into());
    word(out, key!("network.protocol.name"), line.protocol);
    word(out, key!("network.protocol.version"), Some(line.version));
    if let Some(client) = line.client {
        out.extend_from_slice(key!("client.address"));
        address(out, client);
    }
    text(out, key!("user_agent.original"), line.user_agent);
    number(out, key!("http.request.body.size"), line.request_bytes as u64);
    number(out, key!("http.response.body.size"), line.response_bytes as u64);
    milliseconds(out, key!("duration_ms"), Some(line.duration));
    text(out, key!("upstream.address"), line.upstream);
    milliseconds(out, key!("upstream.duration_ms"), line.upstream_duration);
    word(out, key!("frontdesk.verified"), line.proof);
    text(out, key!("frontdesk.caller"), line.caller);
    word(out, key!("frontdesk.decision"), Some(line.decision));
    word(out, key!("frontdesk.engine"), line.engine.map(Engine::word));
    word(out, key!("frontdesk.engine_reason"), line.engine_reason);
    word(out, key!("frontdesk.page"), line.page);
    word(out, key!("frontdesk.config"), Some(line.config));
    word(out, key!("error.type"), line.error);
    out.extend_from_slice(b"}\n");
}

/// RFC 3339 in UTC, to the millisecond.
fn timestamp(out: &mut Vec<u8>, since_1970: Duration) {
    out.extend_from_slice(&date(since_1970));
    thousandths(out, since_1970.subsec_millis().into());
    out.push(b'Z');
}

fn text(out: &mut Vec<u8>, key: &[u8], value: Option<&str>) {
    let Some(value) = value else { return };
    out.extend_from_slice(key);
    out.push(b'"');
    let value = &value[..value.floor_char_boundary(LONGEST)];
    // A loop without an early exit, so that the compiler can vectorise it.
    let odd = |byte: u8| !matches!(byte, b' '..=b'~') | (byte == b'"') | (byte == b'\\');
    if !value.bytes().fold(false, |found, byte| found | odd(byte)) {
        out.extend_from_slice(value.as_bytes());
    } else {
        escaped(out, value);
    }
    out.push(b'"');
}

/// A word of ours, which needs no escaping.
fn word(out: &mut Vec<u8>, key: &[u8], value: Option<&str>) {
    let Some(value) = value else { return };
    out.extend_from_slice(key);
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

fn address(out: &mut Vec<u8>, address: IpAddr) {
    out.push(b'"');
    match address {
        IpAddr::V4(address) => {
            for (n, octet) in address.octets().into_iter().enumerate() {
                if n > 0 {
                    out.push(b'.');
                }
                out.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
            }
        }
        IpAddr::V6(address) => {
            let _ = write!(out, "{address}");
        }
    }
    out.push(b'"');
}

#[cold]
fn escaped(out: &mut Vec<u8>, value: &str) {
    for c in value.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn number(out: &mut Vec<u8>, key: &[u8], value: u64) {
    out.extend_from_slice(key);
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// With three decimals.
fn milliseconds(out: &mut Vec<u8>, key: &[u8], value: Option<Duration>) {
    if let Some(value) = value {
        let micros = u64::try_from(value.as_micros()).unwrap_or(u64::MAX);
        number(out, key, micros / 1000);
        thousandths(out, micros % 1000);
    }
}

fn thousandths(out: &mut Vec<u8>, value: u64) {
    let digit = |place: u64| b'0' + u8::try_from(value / place % 10).unwrap_or(0);
    out.extend_from_slice(&[b'.', digit(100), digit(10), digit(1)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_the_request_held() {
        let line = Line {
            request_id: None,
            trace: Some((0x4bf9_2f35_u128.into(), 0xb7_u64.into())),
            method: Some("GET"),
            path: Some("/\"\\\u{1}ä\n\u{9f}"),
            host: Some("a"),
            status: 200,
            protocol: None,
            version: "1.1",
            client: Some([127, 0, 0, 1].into()),
            user_agent: Some(&"x".repeat(5000)),
            request_bytes: 0,
            response_bytes: 12,
            duration: Duration::from_micros(1005),
            ended: Instant::now(),
            upstream: None,
            upstream_duration: None,
            proof: Some("none"),
            caller: None,
            decision: "pass",
            engine: Some(Engine::Pingora),
            engine_reason: Some("event_stream"),
            page: None,
            error: None,
            config: "abc",
        };
        let mut made = Vec::new();
        render(&mut made, &line);
        let read: serde_json::Value = serde_json::from_slice(&made).unwrap();
        assert_eq!(read["url.path"].as_str(), line.path);
        assert_eq!(read["client.address"], "127.0.0.1");
        assert_eq!(read["duration_ms"], 1.005);
        assert_eq!(read["trace_id"], "0000000000000000000000004bf92f35");
        assert_eq!(read["span_id"], "00000000000000b7");
        assert_eq!(read["frontdesk.engine"], "pingora");
        assert_eq!(read["frontdesk.engine_reason"], "event_stream");
        assert_eq!(read["user_agent.original"].as_str().unwrap().len(), LONGEST);
    }

    #[test]
    fn dates_are_civil() {
        for (seconds, date) in
            [(0, "1970-01-01T00:00:00"), (951_782_400, "2000-02-29T00:00:00"), (1_795_305_599, "2026-11-21T23:59:59")]
        {
            let mut out = Vec::new();
            timestamp(&mut out, Duration::from_secs(seconds));
            assert_eq!(String::from_utf8(out).unwrap(), format!("{date}.000Z"));
        }
    }
}
