//! The same over HTTP/2: contents of a frame that an HTTP/1.1 line cannot hold, on their way into one.

use super::judge::Is::{self, Broken, Either, Passed, Refused};
use super::judge::{BODY, Court, PLACES, Verdicts};
use crate::support::SOON;
use crate::support::frames_h2::{DATA, END, END_HEADERS, Fate, FramesH2, HEADERS, block, frame};

/// What it is, what becomes of it, its fields and its body.
///
/// Fields are NAME=VALUE, between bars; ^ stands for the four that every request begins with, ~ for those but its path.
type Row = (&'static str, Is, &'static str, &'static str);

#[rustfmt::skip]
const FRAMING: &[Row] = &[
    ("a true length", Passed, "^|content-length=%n", "%b"),
    ("no length", Passed, "^", "%b"),
    ("a length too small", Broken, "^|content-length=5", "%b"),
    // Nothing is what went up before the body came that belies it.
    ("a length of nothing", Either, "^|content-length=0", "%b"),
    ("a length too large", Broken, "^|content-length=900", "%b"),
    ("a length and no body", Broken, "^|content-length=5", ""),
    ("two lengths", Refused, "^|content-length=%n|content-length=5", "%b"),
    ("two equal lengths", Refused, "^|content-length=%n|content-length=%n", "%b"),
    ("a list of equal lengths", Refused, "^|content-length=%n, %n", "%b"),
    ("a plus", Refused, "^|content-length=+%n", "%b"),
    ("hexadecimal", Refused, "^|content-length=0x3c", "%b"),
    ("an empty length", Refused, "^|content-length=", "%b"),
    ("a length of 2^64", Refused, "^|content-length=18446744073709551616", "%b"),
    ("a length of 2^64 - 1", Refused, "^|content-length=18446744073709551615", "%b"),
    ("a line in a length", Refused, "^|content-length=0\r\n\r\nGET /smuggled HTTP/1.1\r\nx: ", "%b"),
    ("chunked", Refused, "^|transfer-encoding=chunked", "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: site.test\r\n\r\n"),
    ("chunked and a length", Refused, "^|transfer-encoding=chunked|content-length=%n", "%b"),
    ("identity", Refused, "^|transfer-encoding=identity", "%b"),
    ("a coding with an underscore", Refused, "^|transfer_encoding=chunked", "0\r\n\r\n"),
    ("a length with an underscore", Refused, "^|content_length=4", "%b"),
    ("a connection", Refused, "^|connection=close", "%b"),
    ("a connection that names a length", Refused, "^|connection=content-length|content-length=%n", "%b"),
    ("keep-alive", Refused, "^|keep-alive=timeout=5", "%b"),
    ("a proxy's connection", Refused, "^|proxy-connection=keep-alive", "%b"),
    ("an upgrade", Refused, "^|upgrade=websocket", "%b"),
    ("TE of chunks", Refused, "^|te=chunked", "%b"),
    ("TE of trailers", Passed, "^|te=trailers", "%b"),
];

#[rustfmt::skip]
const PSEUDO: &[Row] = &[
    ("a path twice", Refused, "^|:path=/smuggled", ""),
    ("a method twice", Refused, "^|:method=GET", ""),
    ("an authority twice", Refused, "^|:authority=other.test", ""),
    ("a scheme twice", Refused, "^|:scheme=https", ""),
    ("a pseudo-header after a field", Refused, ":method=GET|:scheme=http|:authority=site.test|x-a=b|:path=/case", ""),
    ("a pseudo-header that is none", Refused, "^|:host=other.test", ""),
    ("a status", Refused, "^|:status=200", ""),
    ("no path", Refused, "~", ""),
    ("no method", Refused, ":scheme=http|:authority=site.test|:path=/case", ""),
    ("no scheme", Refused, ":method=GET|:authority=site.test|:path=/case", ""),
    ("no authority and no host", Refused, ":method=GET|:scheme=http|:path=/case", ""),
    ("an empty path", Refused, "~|:path=", ""),
    ("a path with a version", Refused, "~|:path=/case HTTP/1.1", ""),
    ("a path with a request", Refused, "~|:path=/case HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled", ""),
    ("a path with a LF", Refused, "~|:path=/case\n", ""),
    ("a path with a CR", Refused, "~|:path=/case\rx", ""),
    ("a path with a NUL", Refused, "~|:path=/case\0", ""),
    ("a path with a tab", Refused, "~|:path=/case\tx", ""),
    ("a path with a DEL", Refused, "~|:path=/case\x7f", ""),
    ("a path without a slash", Refused, "~|:path=case", ""),
    ("a path that is a URL", Refused, "~|:path=http://other.test/case", ""),
    ("a path that is a user's", Refused, "~|:path=@other.test/case", ""),
    ("a path that is a port", Refused, "~|:path=:80/case", ""),
    ("a path of an asterisk", Refused, "~|:path=*", ""),
    ("a path with a fragment", Passed, "~|:path=/case#/smuggled", ""),
    ("a method with a space", Refused, ":method=GET /smuggled HTTP/1.1|:scheme=http|:authority=site.test|:path=/case", ""),
    ("a method with a line", Refused, ":method=GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\nGET|:scheme=http|:authority=site.test|:path=/case", ""),
    ("an empty method", Refused, ":method=|:scheme=http|:authority=site.test|:path=/case", ""),
    ("CONNECT", Refused, ":method=CONNECT|:authority=site.test:80", ""),
    ("CONNECT with a path", Refused, ":method=CONNECT|:scheme=http|:authority=site.test:80|:path=/case", ""),
    ("an authority with a line", Refused, ":method=GET|:scheme=http|:authority=site.test\r\nx: y|:path=/case", ""),
    ("an authority with a space", Refused, ":method=GET|:scheme=http|:authority=site.test x|:path=/case", ""),
    ("an authority with a path", Refused, ":method=GET|:scheme=http|:authority=site.test/smuggled|:path=/case", ""),
    ("an authority with a user", Refused, ":method=GET|:scheme=http|:authority=site.test@other.test|:path=/case", ""),
    ("an authority with two ports", Refused, ":method=GET|:scheme=http|:authority=site.test:80:81|:path=/case", ""),
    ("an empty authority", Refused, ":method=GET|:scheme=http|:authority=|:path=/case", ""),
    ("another host", Refused, "^|host=other.test", ""),
    ("two hosts", Refused, "^|host=site.test|host=site.test", ""),
    ("a host with a line", Refused, ":method=GET|:scheme=http|:path=/case|host=site.test\r\nx: y", ""),
    ("a scheme with a line", Refused, ":method=GET|:scheme=http\r\nx: y|:authority=site.test|:path=/case", ""),
    ("a scheme that is a URL", Refused, ":method=GET|:scheme=http://other.test/|:authority=site.test|:path=/case", ""),
    ("the same host", Passed, "^|host=site.test", ""),
    ("a host and no authority", Passed, ":method=POST|:scheme=http|:path=/case|host=site.test", ""),
    ("two slashes", Passed, "~|:path=//other.test/case", ""),
];

#[rustfmt::skip]
const FIELDS: &[Row] = &[
    ("capitals in a name", Refused, "^|X-One=1", ""),
    ("a colon in a name", Refused, "^|x:one=1", ""),
    ("a length behind a colon", Refused, "^|content-length: 0=1", ""),
    ("a space in a name", Refused, "^|x one=1", ""),
    ("a line in a name", Refused, "^|x: y\r\ntransfer-encoding=chunked", ""),
    ("a LF in a name", Refused, "^|x\ny=1", ""),
    ("a NUL in a name", Refused, "^|x\0y=1", ""),
    ("a letter that is not ASCII in a name", Refused, "^|x\u{e9}=1", ""),
    ("a line in a value", Refused, "^|x-one=1\r\ntransfer-encoding: chunked", ""),
    ("a request in a value", Refused, "^|x-one=1\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: site.test", ""),
    ("a LF in a value", Refused, "^|x-one=1\nx-two: 2", ""),
    ("a CR in a value", Refused, "^|x-one=1\rx-two: 2", ""),
    ("a NUL in a value", Refused, "^|x-one=1\x002", ""),
    ("a line in a cookie", Refused, "^|cookie=a=b\r\nx: y|cookie=c=d", ""),
    ("cookies in crumbs", Passed, "^|cookie=a=b|cookie=c=d", ""),
    ("blanks around a value", Passed, "^|x-one= 1 ", ""),
    ("a name of one hop", Passed, "^|http2-settings=AAMAAABk|trailer=content-length", ""),
    ("an expectation", Passed, "^|expect=100-continue|content-length=%n", "%b"),
];

#[rustfmt::skip]
const TRAILERS: &[Row] = &[
    ("an ordinary trailer", Passed, "x-sum=1", "%b"),
    ("a length in a trailer", Passed, "content-length=5", "%b"),
    ("a coding in a trailer", Broken, "transfer-encoding=chunked", "%b"),
    ("a path in a trailer", Passed, ":path=/smuggled", "%b"),
    ("a line in a trailer", Broken, "x=y\r\n\r\nGET /smuggled HTTP/1.1", "%b"),
];

fn filled(text: &str, place: &str) -> Vec<u8> {
    let base = "~|:path=@".replace('@', place);
    let text = text.replace('^', &base).replace('~', ":method=POST|:scheme=http|:authority=site.test");
    let text = text.replace("%n", &BODY.len().to_string());
    let fields: Vec<(&[u8], &[u8])> = text
        .split('|')
        .map(|field| field.split_once('=').unwrap_or_else(|| panic!("NAME=VALUE: {field:?}")))
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    block(&fields)
}

impl Court {
    /// Sends these frames as the first stream of a connection, and sees that it comes to this.
    async fn hear_frames(&self, what: &str, frames: &[u8], is: Is) {
        let mut conn = FramesH2::open(self.desk.ports.http).await;
        conn.send(frames).await;
        let fate = conn.fate(1).await;
        let what = &format!("{what}, {fate:?}: {:?}", String::from_utf8_lossy(frames));
        match is {
            Is::Passed => assert!(matches!(fate, Fate::Answered(200, _)), "{what}"),
            Is::Either => {}
            Is::Refused | Is::Broken => assert!(fate.is_no(), "{what}"),
        }
        if let (Is::Refused, Fate::Answered(status, _)) = (is, &fate) {
            assert!(*status < 500 || *status == 501, "{what}");
        }
        // The other streams of the connection are served, unless it was ended.
        if !matches!(fate, Fate::GoAway(_) | Fate::Closed) {
            conn.send(frame(HEADERS, END | END_HEADERS, 3, crate::support::frames_h2::get("/next"))).await;
            assert!(matches!(conn.fate_within(3, SOON).await, Fate::Answered(..)), "{what}: the next stream");
        }
        self.judge(what, is).await;
    }

    async fn hear_rows(&self, rows: &[Row], places: &[&str]) {
        let mut verdicts = Verdicts::default();
        for (what, is, fields, body) in rows {
            for place in places {
                let is = if *is == Broken && *place != PLACES[0] { Refused } else { *is };
                let marked = format!("{fields}|x-asked-by=test|content-type=application/json");
                let head = filled(&marked, place);
                let body = body.replace("%b", BODY);
                let frames = if body.is_empty() {
                    frame(HEADERS, END | END_HEADERS, 1, head)
                } else {
                    [frame(HEADERS, END_HEADERS, 1, head), frame(DATA, END, 1, body)].concat()
                };
                verdicts.add(self, self.hear_frames(what, &frames, is)).await;
            }
        }
        verdicts.are_all_right();
    }
}

#[tokio::test]
async fn smuggling_over_http2_by_framing() {
    Court::open().await.hear_rows(FRAMING, &PLACES).await;
}

#[tokio::test]
async fn smuggling_over_http2_by_pseudo_headers() {
    Court::open().await.hear_rows(PSEUDO, &PLACES[..1]).await;
}

#[tokio::test]
async fn smuggling_over_http2_by_fields() {
    let court = Court::open().await;
    court.hear_rows(FIELDS, &PLACES[..1]).await;
    for (what, is, trailers, body) in TRAILERS {
        let head = filled("^|x-asked-by=test", PLACES[0]);
        let body = frame(DATA, 0, 1, body.replace("%b", BODY));
        let trailers = frame(HEADERS, END | END_HEADERS, 1, filled(trailers, ""));
        court.hear_frames(what, &[frame(HEADERS, END_HEADERS, 1, head), body, trailers].concat(), *is).await;
    }
}
