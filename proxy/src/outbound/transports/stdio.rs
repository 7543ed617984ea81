//! Messages to and from a local program over its standard input and output. The program lives as long as the
//! connection.

use std::{
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use frontdesk_filters::harness::{HarnessConnection, HarnessTransport, Lost};
use tokio::net::unix::pipe;

use super::{
    shared::Shared,
    text::{Lines, Sheet},
};

/// The environment variables that a program inherits.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH"];

/// The way to a program.
pub(super) struct Program {
    /// The program, then its arguments.
    words: Vec<String>,
}

impl Program {
    pub(super) fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// Starts it. Its standard error goes to ours.
    fn start(&self) -> Result<(pipe::Receiver, pipe::Sender, Running), String> {
        let (program, arguments) = self.words.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // Our environment may hold secrets of the configuration, which are none of the program's business.
        command.env_clear().envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        // A Ctrl-C at the terminal is for us alone: we still need the program while we shut down.
        command.process_group(0);
        let mut running = Running(Some(command.spawn().map_err(|e| format!("{program}: {e}"))?));
        let child = running.0.as_mut().ok_or("no program")?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program}: no pipes to it"));
        };
        let from = pipe::Receiver::from_owned_fd(OwnedFd::from(from)).map_err(|e| e.to_string())?;
        let to = pipe::Sender::from_owned_fd(OwnedFd::from(to)).map_err(|e| e.to_string())?;
        Ok((from, to, running))
    }
}

#[async_trait]
impl HarnessTransport for Program {
    async fn open(&self, _within: Duration) -> Result<Arc<dyn HarnessConnection>, Lost> {
        let (from, to, running) = self.start().map_err(Lost)?;
        Ok(Shared::start(Lines::new(from), Sheet(to), running))
    }
}

/// A running program. Dropping it kills the program and reaps the process.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        let _ = child.kill();
        if matches!(child.try_wait(), Ok(None)) {
            // It dies in a moment, and a thread of its own waits for that.
            let _ = std::thread::Builder::new().name("reaper".into()).spawn(move || child.wait());
        }
    }
}
