//! A real redis-server of its own for each test that needs one, on a free loopback port.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::Directory;

/// A running redis-server, which ends with the test.
pub struct Server {
    child: Child,
    pub port: u16,
    arguments: Vec<String>,
    directory: Directory,
    ahead: i64,
}

impl Server {
    /// Starts one with these additional arguments.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(&arguments.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>(), 0)
    }

    /// Starts one whose clock is so many seconds ahead.
    pub fn start_ahead(seconds: i64) -> Self {
        Self::start_with(&[], seconds)
    }

    /// A free port may be taken by another test between finding and using it: on another one, then.
    fn start_with(arguments: &[String], ahead: i64) -> Self {
        let started = || {
            let (port, directory) = (free_port(), Directory::new());
            fs::create_dir_all(directory.path()).unwrap();
            let child = spawn(port, arguments, &directory, ahead);
            let mut server = Self { child, port, arguments: arguments.to_vec(), directory, ahead };
            server.is_up().then_some(server)
        };
        (0..5).find_map(|_| started()).expect("redis-server starts")
    }

    /// Its URL, with or without a user: `redis://[user:password@]127.0.0.1:port`.
    pub fn url(&self, user: &str) -> String {
        format!("redis://{user}127.0.0.1:{}", self.port)
    }

    /// Sends it a command.
    pub fn ask(&self, words: &[&str]) -> redis::Value {
        let (command, arguments) = words.split_first().unwrap();
        let mut connection = redis::Client::open(self.url("")).unwrap().get_connection().unwrap();
        redis::cmd(command).arg(arguments).query(&mut connection).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// A number from its memory statistics.
    pub fn number(&self, name: &str) -> u64 {
        let info: String = redis::from_redis_value(self.ask(&["INFO", "memory"])).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.trim().parse().unwrap()
    }

    /// Sends it a signal: SIGSTOP, SIGCONT.
    pub fn signal(&self, signal: Signal) {
        // The test has not waited for the child, so the pid is still the child's.
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Kills it, as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again on the same port with other arguments.
    pub fn restart_with(&mut self, arguments: &[&str]) {
        self.arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
        self.restart();
    }

    /// Starts it again on the same port.
    pub fn restart(&mut self) {
        self.child = spawn(self.port, &self.arguments, &self.directory, self.ahead);
        assert!(self.is_up(), "redis-server does not listen on {} again", self.port);
    }

    /// True once it listens; false when it ended instead. The port may be that of another test's server: only
    /// its own socket tells, which it opens after the port.
    fn is_up(&mut self) -> bool {
        let patience = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(own_socket(&self.directory, &self.arguments)).is_err() {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < patience, "redis-server does not listen on {}", self.port);
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The socket that nobody else's server has: where the test wants one, or one beside its files.
fn own_socket(directory: &Directory, arguments: &[String]) -> PathBuf {
    let wanted = arguments.iter().skip_while(|one| *one != "--unixsocket").nth(1);
    wanted.map_or_else(|| directory.path().join("own"), PathBuf::from)
}

fn spawn(port: u16, arguments: &[String], directory: &Directory, ahead: i64) -> Child {
    // One that was killed leaves its socket's name behind.
    let _ = fs::remove_file(own_socket(directory, arguments));
    let mut command = Command::new("redis-server");
    if ahead != 0 {
        // Load the C library's malloc first: the server's own reads the clock before faketime is ready.
        command.env("LD_PRELOAD", format!("{} libc.so.6", faketime())).env("FAKETIME", format!("{ahead:+}s"));
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    }
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--loglevel", "warning", "--dir"])
        .arg(directory.path())
        .args(arguments)
        .arg("--unixsocket")
        .arg(own_socket(directory, arguments))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("redis-server is missing: run deploy/setup ({error})"))
}

/// The path of the `faketime` library.
fn faketime() -> String {
    let said = Command::new("faketime").args(["-m", "-f", "+0s", "printenv", "LD_PRELOAD"]).output();
    let said = said.unwrap_or_else(|_| panic!("faketime is missing: run deploy/setup faketime")).stdout;
    String::from_utf8(said).unwrap().trim().to_owned()
}

/// A port on which no process listens now.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
