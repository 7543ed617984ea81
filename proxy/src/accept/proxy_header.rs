//! The PROXY protocol, v1 and v2: a trusted proxy in front of us says who the client is.
//!
//! Exactly the header's bytes are read, none of what follows it: that may be a TLS handshake.

use std::{io, net::SocketAddr};

use proxy_header::{ParseConfig, ProxyHeader};
use tokio::{io::AsyncReadExt, net::TcpStream};

/// A v1 header has at most 107 bytes, a v2 header with addresses 52 and its extras.
const LONGEST: usize = 1024;
/// Enough to tell v1 from v2, and no longer than the shortest header of either.
const START: usize = 13;
/// The fixed part of a v2 header; its last two bytes are the length of the rest.
const V2_FIXED: usize = 16;

/// Reads the header. The address it names; `None` for a proxy's own health check.
pub(super) async fn read(tcp: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    let mut header = vec![0u8; START];
    tcp.read_exact(&mut header).await?;
    if header.starts_with(b"PROXY") {
        while !header.ends_with(b"\r\n") {
            if header.len() >= LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            header.push(tcp.read_u8().await?);
        }
    } else {
        header.resize(V2_FIXED, 0);
        tcp.read_exact(&mut header[START..]).await?;
        let rest = usize::from(u16::from_be_bytes([header[14], header[15]]));
        if V2_FIXED + rest > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        header.resize(V2_FIXED + rest, 0);
        tcp.read_exact(&mut header[V2_FIXED..]).await?;
    }
    match ProxyHeader::parse(&header, ParseConfig::default()) {
        Ok((parsed, length)) if length == header.len() => Ok(parsed.proxied_address().map(|a| a.source)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
