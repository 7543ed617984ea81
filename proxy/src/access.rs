//! The access log: one JSON line a request, built in one buffer and written by a thread of its own.
//!
//! A full queue drops the line and counts it: a slow disk or a stuck pipe must not stop a worker.

use std::{
    io::Write,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    time::{Duration, SystemTime},
};

use frontdesk_filters::desk::date;

use crate::{admin::metrics::Metrics, traces::Ids};

/// Lines that may wait to be written.
const QUEUE: usize = 8192;
/// The longest value of a request's own that a line holds, in bytes.
pub const LONGEST: usize = 1024;

/// Where finished requests are reported.
pub struct AccessLog {
    lines: SyncSender<Entry>,
    metrics: Arc<Metrics>,
}

enum Entry {
    Line(Vec<u8>),
    /// Everything before it has been written once this is dropped.
    Flushed(Sender<()>),
}

/// What a line says, in the names of OpenTelemetry's HTTP conventions. The query is left out: it may hold secrets.
pub struct Line<'a> {
    /// The trace it belongs to, and its place there.
    pub trace: Option<Ids>,
    pub method: &'a str,
    pub path: &'a str,
    pub host: Option<&'a str>,
    pub status: u16,
    /// `None`: HTTP.
    pub protocol: Option<&'a str>,
    pub version: &'a str,
    pub client: Option<std::net::IpAddr>,
    pub user_agent: Option<&'a str>,
    pub request_bytes: usize,
    pub response_bytes: usize,
    pub duration: Duration,
    pub upstream: Option<&'a str>,
    pub upstream_duration: Option<Duration>,
    /// How the caller proved who it is: `none`, `key`, `token` or `signature`.
    pub proof: Option<&'a str>,
    /// The name that goes with it.
    pub caller: Option<&'a str>,
    /// `pass` or `answer`.
    pub decision: &'a str,
    /// What became of the page: `rewritten`, or why it was left as it is.
    pub page: Option<&'a str>,
    /// Why the request failed, if it did.
    pub error: Option<&'a str>,
    /// The first digits of the configuration's hash.
    pub config: &'a str,
}

impl AccessLog {
    /// Starts the writing thread.
    pub fn start(metrics: Arc<Metrics>) -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel(QUEUE);
        std::thread::Builder::new().name("access-log".into()).spawn(move || write_all(&waiting))?;
        Ok(Self { lines, metrics })
    }

    /// Hands a line to the writer, or counts it as dropped.
    pub fn write(&self, line: &Line<'_>) {
        if self.lines.try_send(Entry::Line(render(line))).is_err() {
            self.metrics.log_dropped.inc();
        }
    }

    /// Returns when every line handed over has been written, or after `patience`: nobody may be reading.
    pub fn flush(&self, patience: Duration) {
        let (flushed, written) = channel();
        if self.lines.try_send(Entry::Flushed(flushed)).is_ok() {
            let _ = written.recv_timeout(patience);
        }
    }
}

fn write_all(waiting: &Receiver<Entry>) {
    let mut out = std::io::BufWriter::with_capacity(64 * 1024, std::io::stdout());
    while let Ok(first) = waiting.recv() {
        let mut next = Some(first);
        let mut flushed = Vec::new();
        while let Some(entry) = next {
            match entry {
                Entry::Line(line) => drop(out.write_all(&line)),
                Entry::Flushed(told) => flushed.push(told),
            }
            next = waiting.try_recv().ok();
        }
        let _ = out.flush();
        drop(flushed);
    }
}

fn render(line: &Line<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    out.extend_from_slice(b"{\"timestamp\":\"");
    timestamp(&mut out, now);
    out.extend_from_slice(b"\",\"level\":\"info\"");
    if let Some((trace, span)) = line.trace {
        let _ = write!(out, ",\"trace_id\":\"{trace:032x}\",\"span_id\":\"{span:016x}\"");
    }
    text(&mut out, "http.request.method", Some(line.method));
    text(&mut out, "url.path", Some(line.path));
    text(&mut out, "server.address", line.host);
    number(&mut out, "http.response.status_code", line.status.into());
    text(&mut out, "network.protocol.name", line.protocol);
    text(&mut out, "network.protocol.version", Some(line.version));
    if let Some(client) = line.client {
        let _ = write!(out, ",\"client.address\":\"{client}\"");
    }
    text(&mut out, "user_agent.original", line.user_agent);
    number(&mut out, "http.request.body.size", line.request_bytes as u64);
    number(&mut out, "http.response.body.size", line.response_bytes as u64);
    milliseconds(&mut out, "duration_ms", Some(line.duration));
    text(&mut out, "upstream.address", line.upstream);
    milliseconds(&mut out, "upstream.duration_ms", line.upstream_duration);
    text(&mut out, "frontdesk.verified", line.proof);
    text(&mut out, "frontdesk.caller", line.caller);
    text(&mut out, "frontdesk.decision", Some(line.decision));
    text(&mut out, "frontdesk.page", line.page);
    text(&mut out, "frontdesk.config", Some(line.config));
    text(&mut out, "error.type", line.error);
    out.extend_from_slice(b"}\n");
    out
}

/// RFC 3339 in UTC, to the millisecond.
fn timestamp(out: &mut Vec<u8>, since_1970: Duration) {
    out.extend_from_slice(&date(since_1970));
    let _ = write!(out, ".{:03}Z", since_1970.subsec_millis());
}

fn text(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    let _ = write!(out, ",\"{key}\":\"");
    let end = (0..=value.len().min(LONGEST)).rev().find(|i| value.is_char_boundary(*i)).unwrap_or(0);
    for c in value[..end].chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

fn number(out: &mut Vec<u8>, key: &str, value: u64) {
    let _ = write!(out, ",\"{key}\":{value}");
}

fn milliseconds(out: &mut Vec<u8>, key: &str, value: Option<Duration>) {
    if let Some(value) = value {
        let _ = write!(out, ",\"{key}\":{:.3}", value.as_secs_f64() * 1000.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_the_request_held() {
        let line = Line {
            trace: Some((0x4bf9_2f35_u128.into(), 0xb7_u64.into())),
            method: "GET",
            path: "/\"\\\u{1}ä\n\u{9f}",
            host: Some("a"),
            status: 200,
            protocol: None,
            version: "1.1",
            client: Some([127, 0, 0, 1].into()),
            user_agent: Some(&"x".repeat(5000)),
            request_bytes: 0,
            response_bytes: 12,
            duration: Duration::from_micros(1500),
            upstream: None,
            upstream_duration: None,
            proof: Some("none"),
            caller: None,
            decision: "pass",
            page: None,
            error: None,
            config: "abc",
        };
        let read: serde_json::Value = serde_json::from_slice(&render(&line)).unwrap();
        assert_eq!(read["url.path"], line.path);
        assert_eq!(read["duration_ms"], 1.5);
        assert_eq!(read["trace_id"], "0000000000000000000000004bf92f35");
        assert_eq!(read["span_id"], "00000000000000b7");
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
