//! `frontdesk health`: asks a running Frontdesk for its health. The container image has no curl, only this binary.

use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    process::ExitCode,
    time::Duration,
};

/// The time limit for the connect, the write and each read. A container's health check has its own limit too.
const LIMIT: Duration = Duration::from_secs(2);
/// The most bytes to read: more than any answer has.
const LONGEST: u64 = 4096;

/// Exit code 0: it is ready (with `live`: it is alive, perhaps shutting down). 1: it is not, or there is no answer.
pub(super) fn health(admin: SocketAddr, live: bool) -> ExitCode {
    let path = if live { "/livez" } else { "/readyz" };
    match ask(reachable(admin), path) {
        // Another server may answer 200 to every path, so the body counts too.
        Ok((200, said)) if said == "ok" => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Ok((status, said)) => {
            eprintln!("frontdesk: http://{admin}{path} answered {status}: {said}");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("frontdesk: no answer from http://{admin}{path}: {why}; is this listen.admin? (--admin ADDR)");
            ExitCode::FAILURE
        }
    }
}

/// The configured address may be unspecified (0.0.0.0 or ::). Loopback reaches it on this host.
fn reachable(admin: SocketAddr) -> SocketAddr {
    let ip = match admin.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, admin.port())
}

/// The status, and the first line of the body.
fn ask(admin: SocketAddr, path: &str) -> Result<(u16, String), String> {
    let read = || {
        let mut socket = TcpStream::connect_timeout(&admin, LIMIT)?;
        socket.set_read_timeout(Some(LIMIT))?;
        socket.set_write_timeout(Some(LIMIT))?;
        write!(socket, "GET {path} HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        socket.take(LONGEST).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = read().map_err(|e: std::io::Error| e.to_string())?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let said = answer.split_once("\r\n\r\n").and_then(|(_, body)| body.lines().next()).unwrap_or("");
    status.map(|status| (status, said.to_owned())).ok_or_else(|| "the server does not speak HTTP".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_asked_at_loopback() -> Result<(), std::net::AddrParseError> {
        for (admin, asked) in [
            ("0.0.0.0:9901", "127.0.0.1:9901"),
            ("[::]:9901", "[::1]:9901"),
            ("10.0.0.7:1", "10.0.0.7:1"),
            ("[::1]:2", "[::1]:2"),
        ] {
            assert_eq!(reachable(admin.parse()?), asked.parse()?);
        }
        Ok(())
    }
}
