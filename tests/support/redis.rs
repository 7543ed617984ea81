//! A real, empty Redis for one test, on its own port. It ends with the test.

use super::desk::Desk;
use super::dir::Dir;
use super::message::Request;
use super::origin::Origin;
use super::page::PAGE;
use super::reply::Reply;
use super::setup::{Setup, dead_address};
use super::wire::Wire;
use super::{SOON, eventually, soon};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::Result;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};

pub struct Redis {
    pub addr: SocketAddr,
    dir: Dir,
    child: Child,
    password: Option<String>,
}

impl Redis {
    pub async fn start() -> Redis {
        Redis::with_config("").await
    }

    /// With lines of redis.conf.
    pub async fn with_config(lines: &str) -> Redis {
        // Another process may take a free port between finding and using it. Retry in that case.
        for _ in 0..3 {
            let mut redis = Redis::at(dead_address(), Dir::new(), lines);
            if redis.is_up().await {
                return redis;
            }
        }
        panic!("redis-server does not start");
    }

    fn at(addr: SocketAddr, dir: Dir, lines: &str) -> Redis {
        let standing = "bind 127.0.0.1\nsave \"\"\nappendonly no\ndaemonize no\nmaxmemory 64mb\n\
            maxmemory-policy noeviction\nclient-output-buffer-limit normal 0 0 0";
        let own = format!("port {}\ndir {}\nunixsocket own\n", addr.port(), dir.path().display());
        dir.write("redis.conf", format!("{standing}\n{own}{lines}\n"));
        let child = Redis::spawn(&dir);
        Redis { addr, dir, child, password: None }
    }

    fn spawn(dir: &Dir) -> Child {
        // One that was killed leaves its socket's name behind.
        let _ = std::fs::remove_file(dir.join("own"));
        let log = || File::options().create(true).append(true).open(dir.join("redis.log")).expect("a log");
        Command::new("redis-server")
            .arg(dir.join("redis.conf"))
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .unwrap_or_else(|_| panic!("redis-server is missing: run deploy/setup"))
    }

    /// True when it answers; false when it ended instead. The port may be that of another test's server: only
    /// its own socket tells, which it opens after the port.
    async fn is_up(&mut self) -> bool {
        for _ in 0..500 {
            if self.child.try_wait().expect("its state").is_some() {
                return false;
            }
            if UnixStream::connect(self.dir.join("own")).await.is_ok()
                && let Ok(Ok(said)) = tokio::time::timeout(Duration::from_secs(1), self.try_command(&["PING"])).await
                && (said == ["PONG"] || said.iter().any(|s| s.contains("NOAUTH")))
            {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    /// The URL of the first database.
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.addr)
    }

    /// Kills it as `kill -9` does. Its data is lost.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts a new one on the same port.
    pub async fn again(&mut self) {
        self.kill();
        self.child = Redis::spawn(&self.dir);
        let log = std::fs::read_to_string(self.dir.join("redis.log")).unwrap_or_default();
        assert!(self.is_up().await, "redis-server does not come back: {log}");
    }

    /// Stops it: connections stay open without answers.
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        // The child is not reaped before `kill` or drop, so the pid is still its own.
        let pid = Pid::from_raw(self.child.id().try_into().expect("a pid"));
        kill(pid, signal).expect("a signal to the child");
    }

    /// The password of the default user, for `command`.
    pub fn password(mut self, password: &str) -> Redis {
        self.password = Some(password.to_owned());
        self
    }

    /// Sends a command and returns the whole answer, arrays flattened.
    pub async fn command(&self, words: &[&str]) -> Vec<String> {
        soon("an answer of Redis", self.try_command(words)).await.expect("an answer of Redis")
    }

    /// All keys.
    pub async fn keys(&self) -> Vec<String> {
        self.command(&["KEYS", "*"]).await
    }

    async fn try_command(&self, words: &[&str]) -> Result<Vec<String>> {
        let mut wire = Wire::new(TcpStream::connect(self.addr).await?);
        if let Some(password) = &self.password {
            exchange(&mut wire, &["AUTH", password]).await?;
        }
        exchange(&mut wire, words).await
    }
}

/// A site with one page.
pub async fn site() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

/// A desk that counts in this store, with this rate for anonymous callers.
pub fn setup(origin: &Origin, url: &str, anonymous: &str) -> Setup {
    Setup::before(origin).limits(&[("anonymous", anonymous)]).set("store", &format!("url = \"{url}\""))
}

/// Two desks that share their counts.
pub async fn two_desks(setup: &Setup) -> (Desk, Desk) {
    (connected(setup).await, connected(setup).await)
}

/// A desk that is connected to its Redis.
pub async fn connected(setup: &Setup) -> Desk {
    let desk = setup.clone().start().await;
    eventually("Redis is reached", SOON, async || desk.metric("frontdesk_store_up").await == Some(1.0)).await;
    desk
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn exchange(wire: &mut Wire, words: &[&str]) -> Result<Vec<String>> {
    let parts: String = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len())).collect();
    wire.write(format!("*{}\r\n{parts}", words.len()).as_bytes()).await?;
    let (mut said, mut left) = (Vec::new(), 1);
    while left > 0 {
        left -= 1;
        let line = wire.until(b"\r\n").await?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        let (kind, rest) = line.split_at(1);
        let count = rest.parse::<i64>().unwrap_or(0).max(0);
        match kind {
            "*" => left += count,
            "$" => {
                let mut value = Vec::new();
                let length = usize::try_from(count).expect("a length");
                wire.exactly(length, &mut value, &|_| {}).await?;
                if !rest.starts_with('-') {
                    wire.until(b"\r\n").await?;
                }
                said.push(String::from_utf8_lossy(&value).into_owned());
            }
            _ => said.push(rest.to_owned()),
        }
    }
    Ok(said)
}
