//! A request of a test, and the ways to send it.

use super::origin::MARK;

/// How a client reaches the desk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Via {
    H1,
    H1Tls,
    H2Tls,
    H2c,
}

#[derive(Clone, Debug)]
pub struct Ask {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub trailers: Vec<(String, String)>,
}

impl Ask {
    pub fn new(method: &str, target: &str) -> Ask {
        let headers = vec![(MARK.to_owned(), "test".to_owned())];
        Ask { method: method.into(), target: target.into(), headers, body: None, trailers: Vec::new() }
    }

    pub fn get(target: &str) -> Ask {
        Ask::new("GET", target)
    }

    pub fn head(target: &str) -> Ask {
        Ask::new("HEAD", target)
    }

    pub fn post(target: &str, body: impl AsRef<[u8]>) -> Ask {
        Ask::new("POST", target).body(body)
    }

    pub fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn accept(self, types: &str) -> Ask {
        self.header("Accept", types)
    }

    pub fn body(mut self, bytes: impl AsRef<[u8]>) -> Ask {
        self.body = Some(bytes.as_ref().to_vec());
        self
    }

    /// A trailer, over HTTP/2 only.
    pub fn trailer(mut self, name: &str, value: &str) -> Ask {
        self.trailers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
    }

    /// The request as HTTP/1.1 bytes, with `Host: site.test` unless it has one.
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.has("host") {
            head.push_str("Host: site.test\r\n");
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body
            && !self.has("transfer-encoding")
            && !self.has("content-length")
        {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), self.body.as_deref().unwrap_or_default()].concat()
    }
}
