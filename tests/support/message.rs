//! A request as the origin received it, and a response as the client did: headers in order and unmerged.

/// Header lines in the order received. Names keep their case; lookups ignore it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str()).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All values of a list header, joined as in RFC 9110. Empty if there is none.
    pub fn joined(&self, name: &str) -> String {
        self.all(name).join(", ")
    }

    /// The tokens of a list header, lower case.
    pub fn tokens(&self, name: &str) -> Vec<String> {
        let list = self.joined(name).to_ascii_lowercase();
        list.split(',').map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect()
    }

    /// The header lines of a head without its first line.
    pub fn parse(lines: &str) -> Headers {
        let pairs = lines.split("\r\n").filter(|line| !line.is_empty()).map(|line| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name.to_owned(), value.trim().to_owned())
        });
        Headers(pairs.collect())
    }

    pub fn of(map: &http::HeaderMap) -> Headers {
        let text = |v: &http::HeaderValue| String::from_utf8_lossy(v.as_bytes()).into_owned();
        Headers(map.iter().map(|(n, v)| (n.as_str().to_owned(), text(v))).collect())
    }
}

#[derive(Clone, Debug)]
pub struct Request {
    pub version: String,
    pub method: String,
    pub target: String,
    /// Over HTTP/2 the authority appears here as `host`.
    pub headers: Headers,
    pub body: Vec<u8>,
    pub trailers: Headers,
    /// The exact bytes of the head; empty over HTTP/2.
    pub raw_head: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }
}

/// How a body was delimited.
#[derive(Clone, Debug, PartialEq)]
pub enum Framing {
    Length(usize),
    /// The sizes of the chunks.
    Chunked(Vec<usize>),
    /// By the end of the connection.
    Close,
    /// No body: HEAD, 1xx, 204, 304.
    Nothing,
    H2,
}

#[derive(Clone, Debug)]
pub struct Response {
    pub version: String,
    pub status: u16,
    pub headers: Headers,
    pub body: Vec<u8>,
    pub framing: Framing,
    pub trailers: Headers,
    /// Earlier interim responses.
    pub informational: Vec<(u16, Headers)>,
    /// False if the connection ended before the framing allowed it.
    pub complete: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body without its content coding.
    pub fn decoded(&self) -> Vec<u8> {
        match self.header("content-encoding") {
            None => self.body.clone(),
            Some(name) => super::Coding::named(name).decode(&self.body),
        }
    }

    /// The decoded body as text.
    pub fn page(&self) -> String {
        String::from_utf8_lossy(&self.decoded()).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", self.text()))
    }

    /// The media type without parameters, lower case.
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

/// Status codes that never carry a body.
pub fn bodiless(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}
