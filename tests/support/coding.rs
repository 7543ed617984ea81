//! Encodes and decodes content codings.

use std::io::{Read, Write};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coding {
    Identity,
    Gzip,
    Br,
    Zstd,
    /// As in RFC 9110: with a zlib wrapper.
    Deflate,
    /// As some servers send it: without a wrapper.
    RawDeflate,
}

impl Coding {
    pub const ALL: [Coding; 6] =
        [Coding::Identity, Coding::Gzip, Coding::Br, Coding::Zstd, Coding::Deflate, Coding::RawDeflate];

    pub fn name(self) -> Option<&'static str> {
        match self {
            Coding::Identity => None,
            Coding::Gzip => Some("gzip"),
            Coding::Br => Some("br"),
            Coding::Zstd => Some("zstd"),
            Coding::Deflate | Coding::RawDeflate => Some("deflate"),
        }
    }

    pub fn named(name: &str) -> Coding {
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "br" => Coding::Br,
            "zstd" => Coding::Zstd,
            "deflate" => Coding::Deflate,
            "identity" => Coding::Identity,
            other => panic!("a coding nobody asked for: {other}"),
        }
    }

    pub fn encode(self, plain: &[u8]) -> Vec<u8> {
        let level = flate2::Compression::default();
        match self {
            Coding::Identity => plain.to_vec(),
            Coding::Gzip => fed(flate2::write::GzEncoder::new(Vec::new(), level), plain, |e| e.finish()),
            Coding::Deflate => fed(flate2::write::ZlibEncoder::new(Vec::new(), level), plain, |e| e.finish()),
            Coding::RawDeflate => fed(flate2::write::DeflateEncoder::new(Vec::new(), level), plain, |e| e.finish()),
            Coding::Zstd => zstd::encode_all(plain, 3).expect("zstd"),
            Coding::Br => {
                let mut out = Vec::new();
                let mut input = plain;
                let settings = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
                brotli::BrotliCompress(&mut input, &mut out, &settings).expect("brotli");
                out
            }
        }
    }

    /// Decodes everything, or fails the test.
    pub fn decode(self, coded: &[u8]) -> Vec<u8> {
        self.try_decode(coded).unwrap_or_else(|e| panic!("{self:?} body of {} bytes does not decode: {e}", coded.len()))
    }

    pub fn try_decode(self, coded: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Coding::Identity => Ok(coded.to_vec()),
            Coding::Gzip => all(flate2::read::MultiGzDecoder::new(coded)),
            Coding::Br => all(brotli::Decompressor::new(coded, 4096)),
            Coding::Zstd => zstd::decode_all(coded),
            Coding::RawDeflate => all(flate2::read::DeflateDecoder::new(coded)),
            Coding::Deflate => {
                all(flate2::read::ZlibDecoder::new(coded)).or_else(|_| all(flate2::read::DeflateDecoder::new(coded)))
            }
        }
    }
}

fn fed<E: Write>(mut encoder: E, plain: &[u8], finish: impl Fn(E) -> std::io::Result<Vec<u8>>) -> Vec<u8> {
    encoder.write_all(plain).and_then(|()| finish(encoder)).expect("compressing in memory")
}

fn all(mut reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.read_to_end(&mut out).map(|_| out)
}
