//! A scripted model that keeps every text it was ever sent, and every piece of it.
//!
//! A piece is whatever a program could take out of a text: a word, a path segment, a value of a query, a member of JSON
//! that stands in a text, the bytes behind base64 or percent signs.

use crate::support::{Ask, Conn, Desk, Response, SOON};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// Nothing shorter identifies anything, and nothing longer fits into a header.
const LENGTHS: std::ops::Range<usize> = 8..4096;
/// What a model says of its own accord.
const GUESSES: [&str; 6] = ["yes", "true", "confirm", "confirmed", "1", "approved"];

/// What was said, in full and in pieces.
#[derive(Clone, Default)]
pub struct Heard {
    whole: BTreeSet<String>,
    pub pieces: BTreeSet<String>,
}

impl Heard {
    /// Keeps a response: its status line apart, every byte of it.
    pub fn response(&mut self, response: &Response) {
        for (name, value) in response.headers.0.iter().chain(&response.trailers.0) {
            self.text(name);
            self.text(value);
        }
        for (_, headers) in &response.informational {
            headers.0.iter().for_each(|(_, value)| self.text(value));
        }
        self.text(&String::from_utf8_lossy(&response.decoded()));
    }

    pub fn text(&mut self, text: &str) {
        if !self.whole.insert(text.to_owned()) {
            return;
        }
        self.piece(text);
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            self.json(&value);
        }
        for line in text.lines() {
            let line = line.strip_prefix("data:").unwrap_or(line).trim();
            self.piece(line);
            if line.starts_with('{') && line != text {
                self.text(line);
            }
        }
        for word in text.split(|c: char| c.is_whitespace() || "\"'`<>()[]{},;|\\".contains(c)) {
            self.piece(word);
            for part in word.split(['/', '?', '&', '=', '#', ':', '.', '@']) {
                self.piece(part);
            }
        }
    }

    pub fn json(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.json(item)),
            Value::Object(members) => {
                for (name, value) in members {
                    self.text(name);
                    self.json(value);
                }
            }
            Value::Number(number) => self.piece(&number.to_string()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn piece(&mut self, text: &str) {
        let text = text.trim().trim_end_matches(['.', ',', ';', ':', '!']);
        if !LENGTHS.contains(&text.len()) || text.contains(['\r', '\n', '\0']) || !self.pieces.insert(text.to_owned()) {
            return;
        }
        if let Ok(decoded) = percent_decode_str(text).decode_utf8()
            && decoded != text
        {
            self.text(&decoded);
        }
        let code = text.trim_end_matches('=');
        for decoded in [URL_SAFE_NO_PAD.decode(code), STANDARD_NO_PAD.decode(code)].into_iter().flatten() {
            match String::from_utf8(decoded) {
                Ok(decoded) if !decoded.contains(char::is_control) => self.text(&decoded),
                _ => {}
            }
        }
    }

    /// What is here and was not there before.
    pub fn since(&self, before: &Heard) -> Vec<String> {
        self.pieces.difference(&before.pieces).cloned().collect()
    }

    /// Everything that can be opened, as paths of the site.
    pub fn places(&self) -> BTreeSet<String> {
        let path = |piece: &String| {
            let path = piece.strip_prefix("https://site.test").unwrap_or(piece);
            let path = if path.is_empty() { "/" } else { path };
            let plain = path.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}*".contains(&b));
            (path.starts_with('/') && !path.starts_with("//") && plain).then(|| path.to_owned())
        };
        self.pieces.iter().filter_map(path).collect()
    }

    pub fn strings(&self) -> Vec<String> {
        self.pieces.iter().cloned().chain(GUESSES.map(str::to_owned)).collect()
    }
}

/// A connection to the desk that is opened again where it ended.
pub struct Line<'a> {
    desk: &'a Desk,
    conn: Option<Conn>,
}

impl<'a> Line<'a> {
    pub fn to(desk: &'a Desk) -> Line<'a> {
        Line { desk, conn: None }
    }

    pub async fn ask(&mut self, ask: &Ask) -> Response {
        self.within(SOON, ask).await.unwrap_or_else(|| panic!("no response to {} {}", ask.method, ask.target))
    }

    /// The response, or none in this time: then the client leaves.
    pub async fn within(&mut self, limit: Duration, ask: &Ask) -> Option<Response> {
        let is_used = self.conn.is_some();
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => self.desk.conn().await,
        };
        conn.send(ask.bytes()).await;
        let response = match conn.try_response(&ask.method, limit).await {
            Ok(response) => response,
            // It was closed before this request reached it.
            Err(why) if is_used && !why.contains("nothing complete") => {
                conn = self.desk.conn().await;
                conn.send(ask.bytes()).await;
                conn.try_response(&ask.method, limit).await.ok()?
            }
            Err(_) => return None,
        };
        let ends = response.headers.tokens("connection").contains(&"close".to_owned());
        self.conn = Some(conn).filter(|_| response.complete && !ends);
        Some(response)
    }
}
