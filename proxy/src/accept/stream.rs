//! The remaining traits that the proxy library requires of a stream. Most methods have little to report.

use std::{os::fd::AsRawFd, sync::Arc};

use async_trait::async_trait;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, TimingDigest, UniqueID,
    UniqueIDType, raw_connect::ProxyDigest,
};
use tokio::io::AsyncWriteExt;

use super::conn::{Conn, Io};

#[async_trait]
impl Shutdown for Conn {
    async fn shutdown(&mut self) {
        let _ = AsyncWriteExt::shutdown(self).await;
    }
}

impl UniqueID for Conn {
    fn id(&self) -> UniqueIDType {
        match &self.io {
            Io::Plain(tcp) => tcp.as_raw_fd(),
            Io::Tls(tls) => tls.get_ref().0.as_raw_fd(),
            Io::Gone => -1,
        }
    }
}

impl Ssl for Conn {}

impl Peek for Conn {}

impl GetTimingDigest for Conn {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for Conn {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for Conn {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        Some(self.digest())
    }
}
