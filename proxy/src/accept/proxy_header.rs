//! The PROXY protocol, v1 and v2: a trusted proxy in front of us states the client address.
//!
//! It reads exactly the header and nothing after it, because a TLS handshake may follow.

use std::{io, net::SocketAddr};

use proxy_header::{ParseConfig, ProxyHeader};
use tokio::{io::AsyncReadExt, net::TcpStream};

/// The longest accepted header. A v1 header has at most 107 bytes, a v2 header with addresses 52 and extensions.
const LONGEST: usize = 1024;
/// Enough bytes to tell v1 from v2; at most the shortest header of either.
const START: usize = 13;
/// The fixed part of a v2 header. Its last two bytes are the length of the rest.
const V2_FIXED: usize = 16;

/// Reads the header. Returns the client address; `None` for a health check of the proxy itself.
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
