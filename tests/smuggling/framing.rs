//! Two conflicting body lengths, and all malformed ways to state one.
//!
//! In the tables %n is the body's length, %x the same in hexadecimal, %b the body itself.

use super::judge::Is::{self, Broken, Passed, Refused};
use super::judge::{BODY, Court, HIDDEN, PLACES, Verdicts};
use crate::support::SOON;
use std::time::Duration;

/// What it is, what becomes of it, the lines that frame it, and what follows the head.
type Row = (&'static str, Is, &'static str, &'static str);

#[rustfmt::skip]
const LENGTHS: &[Row] = &[
    ("CL.TE", Refused, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ("TE.CL", Refused, "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("TE.CL of nothing", Refused, "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", "0\r\n\r\n"),
    ("CL.TE that is identity", Refused, "Content-Length: %n\r\nTransfer-Encoding: identity\r\n", "%b"),
    ("CL.TE behind a bare LF", Refused, "Content-Length: %n\r\nX: y\nTransfer-Encoding: chunked\r\n", "%b"),
    ("CL.TE behind a bare CR", Refused, "Content-Length: %n\r\nX: y\rTransfer-Encoding: chunked\r\n", "%b"),
    ("CL.TE folded into a value", Refused, "Content-Length: %n\r\nX: y\r\n Transfer-Encoding: chunked\r\n", "%b"),
    ("CL.TE with an underscore", Refused, "Content-Length: %n\r\nTransfer_Encoding: chunked\r\n", "%b"),
    ("TE.CL with an underscore", Refused, "Transfer-Encoding: chunked\r\nContent_Length: 4\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("two lengths", Refused, "Content-Length: %n\r\nContent-Length: 5\r\n", "%b"),
    ("two lengths, the first of nothing", Refused, "Content-Length: 0\r\nContent-Length: %n\r\n", "%b"),
    ("two equal lengths", Refused, "Content-Length: %n\r\nContent-Length: %n\r\n", "%b"),
    ("a list of equal lengths", Refused, "Content-Length: %n, %n\r\n", "%b"),
    ("a list of lengths", Refused, "Content-Length: 5, %n\r\n", "%b"),
    ("a list of one", Refused, "Content-Length: %n,\r\n", "%b"),
    ("two spellings of it", Refused, "Content-Length: %n\r\ncontent_length: 5\r\n", "%b"),
    ("a plus", Refused, "Content-Length: +%n\r\n", "%b"),
    ("a minus", Refused, "Content-Length: -%n\r\n", "%b"),
    ("minus nothing", Refused, "Content-Length: -0\r\n", ""),
    ("hexadecimal", Refused, "Content-Length: 0x%x\r\n", "%b"),
    ("a fraction", Refused, "Content-Length: %n.0\r\n", "%b"),
    ("an exponent", Refused, "Content-Length: 1e1\r\n", "%b"),
    ("a space inside", Refused, "Content-Length: 1 2\r\n", "%b"),
    ("two numbers", Refused, "Content-Length: %n %n\r\n", "%b"),
    ("a parameter", Refused, "Content-Length: %n;x\r\n", "%b"),
    ("quoted", Refused, "Content-Length: \"%n\"\r\n", "%b"),
    ("no number", Refused, "Content-Length:\r\n", ""),
    ("a NUL after it", Refused, "Content-Length: %n\0\r\n", "%b"),
    ("a CR after it", Refused, "Content-Length: %n\r\r\n", "%b"),
    ("a vertical tab before it", Refused, "Content-Length: \x0b%n\r\n", "%b"),
    ("digits of another script", Refused, "Content-Length: \u{661}\u{662}\r\n", "%b"),
    ("2^64", Refused, "Content-Length: 18446744073709551616\r\n", "%b"),
    ("2^64 + the length", Refused, "Content-Length: 18446744073709551676\r\n", "%b"),
    ("2^63", Refused, "Content-Length: 9223372036854775808\r\n", "%b"),
    ("2^63 - 1", Refused, "Content-Length: 9223372036854775807\r\n", "%b"),
    ("very many zeros", Refused, "Content-Length: 00000000000000000000%n\r\n", "%b"),
    ("very many digits", Refused, "Content-Length: 99999999999999999999999999999999999999999\r\n", "%b"),
    ("a space before the colon", Refused, "Content-Length : %n\r\n", "%b"),
    ("a tab before the colon", Refused, "Content-Length\t: %n\r\n", "%b"),
    ("a value on the next line", Refused, "Content-Length:\r\n %n\r\n", "%b"),
    // What frames the request is not taken away from it: it goes up in chunks.
    ("a length of one hop", Passed, "Connection: Content-Length\r\nContent-Length: %n\r\n", "%b"),
    ("a length of one hop, in a list", Passed, "Connection: close, content-length\r\nContent-Length: %n\r\n", "%b"),
    ("blanks around it", Passed, "Content-Length: \t %n \t\r\n", "%b"),
    ("no blank before it", Passed, "content-length:%n\r\n", "%b"),
    ("a length and a trailer's name", Passed, "Content-Length: %n\r\nTrailer: Transfer-Encoding\r\n", "%b"),
    ("a length and TE", Passed, "Content-Length: %n\r\nTE: chunked\r\n", "%b"),
    ("a length and h2c", Passed, "Content-Length: %n\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n", "%b"),
];

#[rustfmt::skip]
const CODINGS: &[Row] = &[
    ("another word", Refused, "Transfer-Encoding: xchunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("half a word", Refused, "Transfer-Encoding: chunk\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("identity", Refused, "Transfer-Encoding: identity\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("chunked, identity", Refused, "Transfer-Encoding: chunked, identity\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("identity, chunked", Refused, "Transfer-Encoding: identity, chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("gzip, chunked", Refused, "Transfer-Encoding: gzip, chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("chunked twice in a line", Refused, "Transfer-Encoding: chunked, chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("chunked twice", Refused, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("chunked, then another", Refused, "Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("another, then chunked", Refused, "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("both spellings", Refused, "Transfer-Encoding: chunked\r\ntransfer_encoding: identity\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("an empty member", Refused, "Transfer-Encoding: chunked,\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("an empty member first", Refused, "Transfer-Encoding: ,chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a parameter", Refused, "Transfer-Encoding: chunked;q=1\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("double quotes", Refused, "Transfer-Encoding: \"chunked\"\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("single quotes", Refused, "Transfer-Encoding: 'chunked'\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a vertical tab before it", Refused, "Transfer-Encoding: \x0bchunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a form feed after it", Refused, "Transfer-Encoding: chunked\x0c\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a NUL after it", Refused, "Transfer-Encoding: chunked\0\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a CR after it", Refused, "Transfer-Encoding: chunked\r\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a blank that is not ASCII", Refused, "Transfer-Encoding: \u{a0}chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("nothing", Refused, "Transfer-Encoding:\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a space before the colon", Refused, "Transfer-Encoding : chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a vertical tab before the colon", Refused, "Transfer-Encoding\x0b: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a space before the name", Refused, " Transfer-Encoding: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a value on the next line", Refused, "Transfer-Encoding:\r\n chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a colon on the next line", Refused, "Transfer-Encoding\r\n: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a letter that is not ASCII", Refused, "Transfer-Enc\u{43e}ding: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a NUL in the name", Refused, "Transfer-Encoding\0: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("a coding of one hop", Passed, "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("no blank, all capitals", Passed, "TRANSFER-ENCODING:CHUNKED\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
    ("blanks around it", Passed, "Transfer-Encoding: \t chunked \t\r\n", "%x\r\n%b\r\n0\r\n\r\n"),
];

#[rustfmt::skip]
const CHUNKS: &[Row] = &[
    ("an extension", Passed, "", "%x;a=b\r\n%b\r\n0;c\r\n\r\n"),
    ("an extension of a request", Passed, "", "%x;GET /smuggled HTTP/1.1\r\n%b\r\n0\r\n\r\n"),
    ("a quoted end of line in an extension", Broken, "", "%x;a=\"\r\n\"\r\n%b\r\n0\r\n\r\n"),
    ("a bare LF in an extension", Broken, "", "%x;\n%b\r\n0\r\n\r\n"),
    ("a bare CR in an extension", Broken, "", "%x;a\rb\r\n%b\r\n0\r\n\r\n"),
    ("two CR after a size", Broken, "", "%x\r\r\n%b\r\n0\r\n\r\n"),
    ("a bare LF after a size", Broken, "", "%x\n%b\r\n0\r\n\r\n"),
    ("a bare CR after a size", Broken, "", "%x\r%b\r\n0\r\n\r\n"),
    ("0x before a size", Broken, "", "0x%x\r\n%b\r\n0\r\n\r\n"),
    ("a plus", Broken, "", "+%x\r\n%b\r\n0\r\n\r\n"),
    ("a minus", Broken, "", "-1\r\n%b\r\n0\r\n\r\n"),
    // The library takes no digit for none, and the rest for trailers.
    ("no size", Broken, "", "\r\n%b\r\n0\r\n\r\n"),
    ("no size, at an end", Broken, "", "\r\n\r\n"),
    ("only an extension", Broken, "", ";x\r\n%b\r\n0\r\n\r\n"),
    ("only an extension, at an end", Broken, "", ";a\r\n\r\n"),
    ("only a blank", Broken, "", " \r\n\r\n"),
    ("a blank before a size", Broken, "", " %x\r\n%b\r\n0\r\n\r\n"),
    ("no size behind a chunk", Broken, "", "%x\r\n%b\r\n\r\n\r\n"),
    ("a bare LF before the data", Broken, "", "2;\nxx\r\n4c\r\n0\r\n\r\n"),
    ("a NUL in an extension", Broken, "", "%x;\0\r\n%b\r\n0\r\n\r\n"),
    ("control characters in an extension", Broken, "", "%x;\x01\x7f\r\n%b\r\n0\r\n\r\n"),
    ("a NUL in an extension of the last chunk", Broken, "", "%x\r\n%b\r\n0;\0\r\n\r\n"),
    ("no digit", Broken, "", "g\r\n%b\r\n0\r\n\r\n"),
    ("an underscore", Broken, "", "0_%x\r\n%b\r\n0\r\n\r\n"),
    ("a space inside a size", Broken, "", "0 %x\r\n%b\r\n0\r\n\r\n"),
    ("a NUL after a size", Broken, "", "%x\0\r\n%b\r\n0\r\n\r\n"),
    ("a size of 16 digits", Broken, "", "fffffffffffffff0\r\n%b\r\n0\r\n\r\n"),
    ("a size of 2^64", Broken, "", "10000000000000000\r\n%b\r\n0\r\n\r\n"),
    ("a size of 2^64 + the size", Broken, "", "1000000000000003c\r\n%b\r\n0\r\n\r\n"),
    ("a size of 2^32 + 5", Broken, "", "100000005\r\n%b\r\n0\r\n\r\n"),
    ("no end after data", Broken, "", "%x\r\n%b0\r\n\r\n"),
    ("something else after data", Broken, "", "%x\r\n%bXX0\r\n\r\n"),
    ("a bare LF after data", Broken, "", "%x\r\n%b\n0\r\n\r\n"),
    ("data longer than its size", Broken, "", "1\r\n%b\r\n0\r\n\r\n"),
    ("bare LF only", Broken, "", "%x\n%b\n0\n\n"),
    ("a bare LF after the last chunk", Broken, "", "%x\r\n%b\r\n0\n\r\n"),
    ("a bare LF at the end", Broken, "", "%x\r\n%b\r\n0\r\n\n"),
    ("a bare LF in a trailer", Broken, "", "%x\r\n%b\r\n0\r\nX: y\nZ: 1\r\n\r\n"),
    ("trailers that frame", Passed, "", "%x\r\n%b\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("a trailer without a name", Broken, "", "%x\r\n%b\r\n0\r\n: y\r\n\r\n"),
    ("a folded trailer", Broken, "", "%x\r\n%b\r\n0\r\nX: y\r\n z\r\n\r\n"),
    ("a blank before a trailer's colon", Broken, "", "%x\r\n%b\r\n0\r\nX : y\r\n\r\n"),
    ("a NUL in a trailer", Broken, "", "%x\r\n%b\r\n0\r\nX: \0\r\n\r\n"),
    ("a trailer", Passed, "", "%x\r\n%b\r\n0\r\nX-Y: z\r\n\r\n"),
    ("a request for a trailer", Broken, "", "%x\r\n%b\r\n0\r\nGET /smuggled HTTP/1.1\r\nHost: site.test\r\n\r\n"),
    ("zeros before the size", Passed, "", "000%x\r\n%b\r\n000\r\n\r\n"),
    ("capitals and a blank", Passed, "", "%X \r\n%b\r\n0 \r\n\r\n"),
    ("one line more at the end", Passed, "", "%x\r\n%b\r\n0\r\n\r\n\r\n"),
];

fn filled(text: &str) -> String {
    let n = BODY.len();
    let text = text.replace("%n", &n.to_string()).replace("%x", &format!("{n:x}")).replace("%X", &format!("{n:X}"));
    text.replace("%b", BODY)
}

/// Each of them at each place. Behind each refused part stands a request that no server may see.
async fn hear_all(rows: &[Row], more: &str) {
    let (court, mut verdicts) = (Court::open().await, Verdicts::default());
    for (what, is, lines, body) in rows {
        for place in PLACES {
            // The desk reads a body whole before it does anything.
            let is = if *is == Broken && place != PLACES[0] { Refused } else { *is };
            let head = "Host: site.test\r\nX-Asked-By: test\r\nContent-Type: application/json\r\n";
            let hidden = if matches!(is, Refused | Broken) { HIDDEN } else { "" };
            let bytes = format!("POST {place} HTTP/1.1\r\n{head}{more}{}\r\n{}{hidden}", filled(lines), filled(body));
            verdicts.add(&court, court.hear(what, bytes.as_bytes(), is)).await;
        }
    }
    verdicts.are_all_right();
}

#[tokio::test]
async fn smuggling_by_lengths() {
    hear_all(LENGTHS, "").await;
}

#[tokio::test]
async fn smuggling_by_codings() {
    hear_all(CODINGS, "").await;
}

#[tokio::test]
async fn smuggling_by_chunks() {
    hear_all(CHUNKS, "Transfer-Encoding: chunked\r\n").await;
}

/// More than anybody has to keep in mind.
#[tokio::test]
async fn smuggling_by_chunks_without_bounds() {
    let court = Court::open().await;
    let head = "POST /case HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (what, body) in [
        ("a long extension", format!("1;{}\r\nx\r\n0\r\n\r\n", "x".repeat(100_000))),
        ("a long size", format!("{}1\r\nx\r\n0\r\n\r\n", "0".repeat(100_000))),
        ("many trailers", format!("1\r\nx\r\n0\r\n{}\r\n", "X-Y: z\r\n".repeat(20_000))),
        ("many extensions", format!("{}0\r\n\r\n", format!("1;{}\r\nx\r\n", "x".repeat(3_000)).repeat(200))),
        ("small extensions without end", format!("{}0\r\n\r\n", "1;x\r\nx\r\n".repeat(20_000))),
    ] {
        court.hear(what, format!("{head}{body}{HIDDEN}").as_bytes(), Broken).await;
    }
}

/// Who frames a body so that it could be read in two ways is told, wherever it was to go, and however the bytes come.
#[tokio::test]
async fn smuggling_by_chunks_is_told_400() {
    let court = Court::open().await;
    for body in [
        "\r\n",
        ";a\r\n",
        " \r\n",
        "2;\nxx\r\n4c\r\n0\r\n\r\n",
        "5;\0\r\nhello\r\n0\r\n\r\n",
        "5;\x01\x7f\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nno field\r\n\r\n",
        "5\r\nhello\r\n\r\n",
    ] {
        for place in PLACES {
            for at_once in [true, false] {
                let head = format!(
                    "POST {place} HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                );
                let mut conn = court.desk.conn().await;
                if at_once {
                    conn.send(format!("{head}{body}\r\n{HIDDEN}")).await;
                } else {
                    conn.send(head).await;
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    conn.send(format!("{body}\r\n{HIDDEN}")).await;
                }
                let what = format!("{body:?} to {place}, at once: {at_once}");
                let told = conn.try_response("POST", SOON).await.unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(told.status, 400, "{what}: {}", told.text());
                assert!(conn.try_response("GET", SOON).await.is_err(), "{what}: nothing more is answered");
            }
        }
    }
    court.judge("all of them", Broken).await;
}
