//! The real binary as a child process: start, requests, reload, signals. It ends with the test.

mod watched;

use super::SOON;
use super::ask::{Ask, Via};
use super::client::Conn;
use super::client_h2::H2Conn;
use super::dir::Dir;
use super::message::Response;
use super::setup::{Ports, Setup};
use super::tls::Tls;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct Desk {
    pub ports: Ports,
    pub dir: Arc<Dir>,
    pub config: PathBuf,
    pub tls: Option<Tls>,
    child: Child,
    stdout: Captured,
    stderr: Captured,
}

/// How long a desk may take to log its addresses. After that the test assumes that its log level is too low for that.
const LOUD: Duration = Duration::from_secs(3);

type Captured = Arc<Mutex<Vec<u8>>>;

pub use frontdesk_tests::binary;

impl Desk {
    pub async fn with_setup(setup: Setup) -> Desk {
        Desk::started(Some(&setup), |ports, _| (setup.text(ports), config_args())).await
    }

    /// Starts with a literal configuration.
    pub async fn with_config(text: impl Fn(&Ports) -> String) -> Desk {
        Desk::started(None, |ports, _| (text(ports), config_args())).await
    }

    /// Starts `frontdesk run --upstream URL --listen … --admin …`, without a file.
    pub async fn run_upstream(url: &str) -> Desk {
        Desk::with_args(&["run", "--upstream", url]).await
    }

    /// Adds `--listen` and `--admin` to the arguments.
    pub async fn with_args(args: &[&str]) -> Desk {
        let args = |ports: &Ports, _: &Dir| {
            let places = ["--listen".to_owned(), ports.http.to_string(), "--admin".to_owned(), ports.admin.to_string()];
            (String::new(), args.iter().map(|a| (*a).to_owned()).chain(places).collect())
        };
        Desk::started(None, args).await
    }

    /// Starts in a prepared directory with the named configuration in it.
    pub async fn in_dir(dir: Dir, config: &str, ports: Ports) -> Desk {
        let mut program = program(None);
        program.args(["run", "--config", config]);
        let config = dir.join(config);
        let mut desk = Desk::spawn(Arc::new(dir), config, ports, program);
        desk.wait_ready(200).await.unwrap_or_else(|e| panic!("{e}"));
        desk
    }

    async fn started(setup: Option<&Setup>, make: impl Fn(&Ports, &Dir) -> (String, Vec<String>)) -> Desk {
        let mut why = String::new();
        // Another process may take a free port between finding and using it. Retry in that case.
        for _ in 0..3 {
            let (ports, dir) = (Ports::free(), Dir::new());
            let (text, args) = make(&ports, &dir);
            if let Some(setup) = setup {
                setup.write_files(&dir);
            }
            let config = dir.write("frontdesk.toml", text);
            let mut program = program(setup.and_then(|s| s.open_files));
            program.envs(setup.iter().flat_map(|s| s.env.iter().cloned())).args(args);
            let mut desk = Desk::spawn(Arc::new(dir), config, ports, program);
            desk.tls = setup.and_then(|s| s.tls.clone());
            let expected = if setup.is_some_and(|setup| setup.unready) { 503 } else { 200 };
            match desk.wait_ready(expected).await {
                Ok(()) => return desk,
                Err(e) => why = e,
            }
            if !why.to_lowercase().contains("in use") {
                break;
            }
        }
        panic!("{why}");
    }

    fn spawn(dir: Arc<Dir>, config: PathBuf, ports: Ports, mut program: Command) -> Desk {
        let mut child = program
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", binary().display()));
        let stdout = capture(child.stdout.take().expect("a pipe"));
        let stderr = capture(child.stderr.take().expect("a pipe"));
        Desk { ports, dir, config, tls: None, child, stdout, stderr }
    }

    async fn wait_ready(&mut self, expected: u16) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if let Ok(Some(status)) = self.child.try_wait() {
                tokio::time::sleep(Duration::from_millis(50)).await;
                return Err(format!("ended at start with {status}: {}", self.stderr()));
            }
            // If our ports were taken, another test's desk may answer, and ours is about to report the failure.
            let ours = || begun.elapsed() > LOUD || self.stderr().contains(&format!("admin on {}", self.ports.admin));
            if ours()
                && let Ok(response) = self.try_admin(Ask::get("/readyz")).await
                && response.status == expected
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("not ready within 10 s: {}", self.stderr()))
    }

    /// Sends one request on a new connection.
    pub async fn ask(&self, via: Via, ask: Ask) -> Response {
        match via {
            Via::H1 => self.conn().await.ask(&ask).await,
            Via::H1Tls => Conn::open_tls(self.ports.https, self.certificate()).await.ask(&ask).await,
            Via::H2Tls | Via::H2c => self.h2(via).await.ask(&ask).await,
        }
    }

    /// `GET path` over HTTP/1.1.
    pub async fn get(&self, path: &str) -> Response {
        self.ask(Via::H1, Ask::get(path)).await
    }

    pub async fn conn(&self) -> Conn {
        Conn::open(self.ports.http).await
    }

    pub async fn h2(&self, via: Via) -> H2Conn {
        match via {
            Via::H2c => H2Conn::open_cleartext(self.ports.http).await,
            _ => H2Conn::open_tls(self.ports.https, self.certificate()).await,
        }
    }

    /// Sends exact bytes over HTTP/1.1 and returns the response.
    pub async fn raw(&self, request: impl AsRef<[u8]>) -> Response {
        let mut conn = self.conn().await;
        conn.send(request).await;
        conn.response("GET").await
    }

    fn certificate(&self) -> &Tls {
        self.tls.as_ref().expect("a setup with TLS")
    }

    pub async fn admin_get(&self, path: &str) -> Response {
        self.admin(Ask::get(path)).await
    }

    pub async fn admin(&self, ask: Ask) -> Response {
        let what = format!("{} {}", ask.method, ask.target);
        self.try_admin(ask).await.unwrap_or_else(|e| panic!("admin {what}: {e}"))
    }

    async fn try_admin(&self, ask: Ask) -> Result<Response, String> {
        let socket = tokio::net::TcpStream::connect(self.ports.admin).await.map_err(|e| e.to_string())?;
        drop(socket);
        let ask = ask.header("Host", &self.ports.admin.to_string()).header("Connection", "close");
        let mut conn = Conn::open(self.ports.admin).await;
        conn.send(ask.bytes()).await;
        conn.try_response(&ask.method, SOON).await
    }

    /// `POST /reload`.
    pub async fn reload(&self) -> Response {
        self.admin(Ask::post("/reload", "")).await
    }

    /// Replaces the configuration file in one step, without a reload.
    pub fn replace_config(&self, text: &str) {
        let next = self.dir.write("next.tmp", text);
        std::fs::rename(next, &self.config).expect("renaming the configuration");
    }

    /// Replaces the configuration file and reloads it.
    pub async fn swap(&self, setup: &Setup) {
        self.replace_config(&setup.text(&self.ports));
        let answer = self.reload().await;
        assert_eq!(answer.status, 200, "POST /reload: {}", answer.text());
    }

    /// Starts a second process with the same configuration that waits for the listeners.
    pub async fn successor(&self) -> Desk {
        let config = self.config.to_string_lossy().into_owned();
        let mut program = program(None);
        program.args(["run", "--upgrade", "--config", &config]);
        let mut desk = Desk::spawn(self.dir.clone(), self.config.clone(), self.ports, program);
        desk.tls = self.tls.clone();
        desk.says("waiting at").await;
        desk
    }

    /// Hands the listeners to a new process and returns that one. The old process runs on to its end.
    pub async fn upgraded(&self) -> Desk {
        let next = self.successor().await;
        self.signal(libc::SIGQUIT);
        self.says("the new process now serves").await;
        next
    }

    pub fn signal(&self, signal: i32) {
        // The child is not reaped before `wait_exit` or drop, so the pid is still its own.
        let pid = Pid::from_raw(self.child.id().try_into().expect("a pid"));
        kill(pid, Signal::try_from(signal).expect("a signal")).expect("a signal to the child");
    }

    /// Waits for the process's end and returns how long it took.
    pub async fn wait_exit(&mut self, limit: Duration) -> (ExitStatus, Duration) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the child's state") {
                return (status, begun.elapsed());
            }
            assert!(begun.elapsed() < limit, "still running {limit:?} later");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the child's state").is_none()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let (stdout, stderr) = (self.stdout(), self.stderr());
            let from = stdout.len().saturating_sub(4000);
            let tail = String::from_utf8_lossy(&stdout.as_bytes()[from..]).into_owned();
            eprintln!("--- the desk's standard error\n{stderr}\n--- the end of its access log\n{tail}\n---");
        }
    }
}

fn config_args() -> Vec<String> {
    ["run", "--config", "frontdesk.toml"].map(str::to_owned).to_vec()
}

fn capture(mut pipe: impl Read + Send + 'static) -> Captured {
    let into = Captured::default();
    let kept = into.clone();
    std::thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(size) = pipe.read(&mut piece) {
            if size == 0 {
                break;
            }
            into.lock().expect("captured output").extend_from_slice(&piece[..size]);
        }
    });
    kept
}

/// The binary, with a limit on open files, and without the trace settings of the test's own environment.
fn program(open_files: Option<usize>) -> Command {
    let mut program = match open_files {
        None => Command::new(binary()),
        Some(most) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -n {most} && exec \"$0\" \"$@\"")]).arg(binary());
            shell
        }
    };
    std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")).for_each(|(name, _)| {
        program.env_remove(name);
    });
    program
}

/// `frontdesk ARGS`, run to its end.
pub fn run_to_end(args: &[&str], dir: &Path) -> (i32, String, String) {
    let done = Command::new(binary()).args(args).current_dir(dir).stdin(Stdio::null()).output();
    let done = done.unwrap_or_else(|e| panic!("{} does not start: {e}", binary().display()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code().unwrap_or(-1), text(&done.stdout), text(&done.stderr))
}
