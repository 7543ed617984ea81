//! Formats errors of the proxy library for the log, without the bytes that were read when they occurred.
//!
//! The library puts the data it was reading into its errors: heads with cookies and credentials, and bodies. None of
//! that may reach a log.

use std::{borrow::Cow, fmt};

use pingora::Error;

/// The texts that the library puts before bytes of a client or a site.
const BEFORE_BYTES: [&str; 6] = ["buf: ", "header value: ", "header value ", "from host ", "(b\"", ", b\""];
const NOT_SHOWN: &str = "(what was read is not shown)";

/// An error for the log.
pub struct ErrorText<'e>(pub &'e Error);

impl fmt::Display for ErrorText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut next = Some(self.0);
        while let Some(error) = next.take() {
            write!(f, "{} {}", error.esource().as_str(), error.etype().as_str())?;
            if let Some(context) = &error.context {
                write!(f, ": {}", without_bytes(context.as_str()))?;
            }
            let Some(cause) = error.cause.as_deref() else { return Ok(()) };
            f.write_str(", because of ")?;
            match cause.downcast_ref::<Box<Error>>() {
                Some(earlier) => next = Some(earlier),
                None => f.write_str(&without_bytes(&cause.to_string()))?,
            }
        }
        Ok(())
    }
}

/// A text of the library, up to the first bytes from outside.
pub fn without_bytes(text: &str) -> Cow<'_, str> {
    match BEFORE_BYTES.iter().filter_map(|mark| text.find(mark)).min() {
        Some(at) => format!("{}{NOT_SHOWN}", &text[..at]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use pingora::{Error, ErrorType, OrErr};

    use super::*;

    #[test]
    fn an_error_is_told_without_the_bytes_that_were_read() {
        let read = "buf: HTTP/1.1 200 OK\\r\\nSet-Cookie: s=secret";
        let first = Error::because(ErrorType::InvalidHTTPHeader, read, std::io::Error::other("invalid header name"));
        let error = Err::<(), _>(first.into_up()).or_err(ErrorType::ConnectionClosed, "while reading").unwrap_err();
        let told = ErrorText(&error).to_string();
        assert!(!told.contains("secret"), "{told}");
        for part in ["ConnectionClosed: while reading", "Upstream InvalidHTTPHeader", "invalid header name", NOT_SHOWN]
        {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }

    #[test]
    fn what_the_library_says_itself_is_told() {
        for text in ["Response header larger than 65535", "timeout: 10s", "127.0.0.1:80 refused"] {
            assert_eq!(without_bytes(text), text);
        }
        assert_eq!(
            without_bytes("invalid Content-Length header value: secret"),
            format!("invalid Content-Length {NOT_SHOWN}")
        );
        assert_eq!(without_bytes("connection error (b\"secret\")"), format!("connection error {NOT_SHOWN}"));
    }
}
