//! The encoders, at settings that are quick and whose memory is bounded.

use std::{
    cell::RefCell,
    io::{self, Write},
};

use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use libdeflater::{CompressionLvl, Compressor};
use zstd::stream::write::Encoder as ZstdEncoder;

use super::decode::Flavour;

/// What a page gains beyond this is not worth a proxy's time.
const FLATE_LEVEL: u32 = 3;
/// The other encoder's, for what is here as a whole: its first level packs as zlib-ng's third.
const DEFLATE_LEVEL: i32 = 1;
const BROTLI_QUALITY: u32 = 4;
/// 256 KiB; about 1 MB of memory for a page.
const BROTLI_WINDOW_LOG: u32 = 18;
const BROTLI_BUFFER_BYTES: usize = 4096;
const ZSTD_LEVEL: i32 = 2;
/// 256 KiB.
const ZSTD_WINDOW_LOG: u32 = 18;

/// As gzip, what is here as a whole.
pub(super) fn gzip(plain: &[u8]) -> io::Result<Bytes> {
    // One for each thread: its tables take longer to make than to use.
    thread_local!(static COMPRESSOR: RefCell<Compressor> = {
        let level = CompressionLvl::new(DEFLATE_LEVEL).unwrap_or_default();
        RefCell::new(Compressor::new(level))
    });
    COMPRESSOR.with_borrow_mut(|compressor| {
        let mut out = vec![0; compressor.gzip_compress_bound(plain.len())];
        let length = compressor.gzip_compress(plain, &mut out).map_err(io::Error::other)?;
        out.truncate(length);
        Ok(out.into())
    })
}

/// One body being encoded.
pub(super) enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zlib(ZlibEncoder<Vec<u8>>),
    RawDeflate(DeflateEncoder<Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

impl Encoder {
    /// In the flavour the page came in.
    pub fn new(flavour: Flavour) -> io::Result<Encoder> {
        let level = Compression::new(FLATE_LEVEL);
        Ok(match flavour {
            Flavour::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), level)),
            Flavour::Zlib => Encoder::Zlib(ZlibEncoder::new(Vec::new(), level)),
            Flavour::RawDeflate => Encoder::RawDeflate(DeflateEncoder::new(Vec::new(), level)),
            Flavour::Brotli => Encoder::Brotli(Box::new(CompressorWriter::new(
                Vec::new(),
                BROTLI_BUFFER_BYTES,
                BROTLI_QUALITY,
                BROTLI_WINDOW_LOG,
            ))),
            Flavour::Zstd => {
                let mut zstd = ZstdEncoder::new(Vec::new(), ZSTD_LEVEL)?;
                zstd.window_log(ZSTD_WINDOW_LOG)?;
                Encoder::Zstd(zstd)
            }
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer().write_all(bytes)
    }

    /// All that was written, in a form that can be decoded at once.
    pub fn flush(&mut self) -> io::Result<Bytes> {
        self.writer().flush()?;
        Ok(std::mem::take(self.out()).into())
    }

    /// The end of the body.
    pub fn finish(self) -> io::Result<Bytes> {
        Ok(match self {
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zlib(encoder) => encoder.finish()?,
            Encoder::RawDeflate(encoder) => encoder.finish()?,
            Encoder::Brotli(encoder) => encoder.into_inner(),
            Encoder::Zstd(encoder) => encoder.finish()?,
        }
        .into())
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Encoder::Gzip(encoder) => encoder,
            Encoder::Zlib(encoder) => encoder,
            Encoder::RawDeflate(encoder) => encoder,
            Encoder::Brotli(encoder) => encoder.as_mut(),
            Encoder::Zstd(encoder) => encoder,
        }
    }

    fn out(&mut self) -> &mut Vec<u8> {
        match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Zlib(encoder) => encoder.get_mut(),
            Encoder::RawDeflate(encoder) => encoder.get_mut(),
            Encoder::Brotli(encoder) => encoder.get_mut(),
            Encoder::Zstd(encoder) => encoder.get_mut(),
        }
    }
}
