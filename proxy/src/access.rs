//! The access log: one JSON line for each request, written in batches by a thread of its own.
//!
//! A worker leaves its line in memory and goes on. Lines that a slow disk or a stuck pipe does not take are dropped and
//! counted. Waking the writer costs more than building a line. So a busy writer polls for lines and is woken only when
//! many have come; an idle writer is woken by the first line.

mod line;

use std::{
    cell::RefCell,
    io::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::metrics::Metrics;
use line::render;
pub use line::{LONGEST, Line};

/// The most bytes that wait to be written.
const MOST: usize = 4 * 1024 * 1024;
/// How long a line waits for others, and how long the writer polls without new lines before it sleeps.
const GATHER: Duration = Duration::from_millis(100);
/// With so many bytes waiting, the writer is woken at once.
const MANY: usize = 64 * 1024;

/// The log of finished requests.
pub struct AccessLog {
    lines: Arc<Lines>,
    metrics: Arc<Metrics>,
}

/// The waiting lines, and the signals about them.
#[derive(Default)]
struct Lines {
    waiting: Mutex<Waiting>,
    /// A line came to a sleeping writer, many lines came, or a flush was requested.
    come: Condvar,
    /// All waiting lines have been written.
    written: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The writer is writing lines that it has taken.
    writing: bool,
    /// The writer sleeps until it is woken.
    asleep: bool,
    /// A flush was requested.
    hurry: bool,
}

impl AccessLog {
    /// Starts the writing thread.
    pub fn start(metrics: Arc<Metrics>) -> std::io::Result<Self> {
        let lines = Arc::<Lines>::default();
        let (waiting, counted) = (lines.clone(), metrics.clone());
        let dropped = move |lines| counted.log_dropped.inc_by(lines);
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || waiting.write_all(std::io::stdout(), dropped))?;
        Ok(Self { lines, metrics })
    }

    /// Leaves a line to the writer, or counts it as dropped.
    pub fn write(&self, line: &Line<'_>) {
        thread_local!(static MADE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        let kept = MADE.with_borrow_mut(|made| {
            made.clear();
            render(made, line);
            self.lines.add(made)
        });
        if !kept {
            self.metrics.log_dropped.inc();
        }
    }

    /// Returns when all lines are written, or after `patience`, in case nothing reads them.
    pub fn flush(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut waiting = self.lines.waiting.lock();
        while waiting.writing || !waiting.bytes.is_empty() {
            waiting.hurry = true;
            self.lines.come.notify_one();
            if self.lines.written.wait_until(&mut waiting, until).timed_out() {
                return;
            }
        }
    }
}

impl Lines {
    /// Adds a line. Returns whether there was room.
    fn add(&self, line: &[u8]) -> bool {
        let mut waiting = self.waiting.lock();
        let before = waiting.bytes.len();
        if before + line.len() > MOST {
            return false;
        }
        waiting.bytes.extend_from_slice(line);
        let many = before < MANY && waiting.bytes.len() >= MANY;
        let wakes = std::mem::take(&mut waiting.asleep) || many;
        drop(waiting);
        if wakes {
            self.come.notify_one();
        }
        true
    }

    /// Waits until many lines have come, or for a while.
    fn gather(&self, waiting: &mut MutexGuard<'_, Waiting>) {
        let until = Instant::now() + GATHER;
        while waiting.bytes.len() < MANY && !waiting.hurry {
            if self.come.wait_until(waiting, until).timed_out() {
                return;
            }
        }
    }

    /// `dropped`: called with the number of lines that may be lost after a failed write.
    fn write_all(&self, mut out: impl Write, dropped: impl Fn(u64)) {
        let (mut taken, mut failing) = (Vec::new(), false);
        loop {
            let mut waiting = self.waiting.lock();
            self.gather(&mut waiting);
            if waiting.bytes.is_empty() {
                waiting.asleep = true;
                while waiting.bytes.is_empty() {
                    self.come.wait(&mut waiting);
                }
                self.gather(&mut waiting);
            }
            std::mem::swap(&mut waiting.bytes, &mut taken);
            waiting.writing = true;
            drop(waiting);
            let written = out.write_all(&taken).and_then(|()| out.flush());
            if let Err(error) = &written {
                dropped(taken.iter().filter(|byte| **byte == b'\n').count() as u64);
                if !failing {
                    tracing::error!(%error, "the access log cannot be written: its lines are dropped");
                }
            } else if failing {
                tracing::info!("the access log is written again");
            }
            failing = written.is_err();
            taken.clear();
            // Free the memory of a burst.
            taken.shrink_to(2 * MANY);
            let mut waiting = self.waiting.lock();
            waiting.writing = false;
            if waiting.bytes.is_empty() {
                waiting.hurry = false;
                self.written.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (dropped, counted) = std::sync::mpsc::channel();
        let lines = Arc::<Lines>::default();
        let writer = lines.clone();
        std::thread::spawn(move || writer.write_all(Full, move |lines| dropped.send(lines).unwrap()));
        for line in ["one\n", "two\n", "three\n"] {
            assert!(lines.add(line.as_bytes()));
        }
        let mut lost = 0;
        while lost < 3 {
            lost += counted.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        assert_eq!(lost, 3);
        // Also lines that come to a writer that has gone to sleep.
        while !lines.waiting.lock().asleep {
            std::thread::sleep(GATHER);
        }
        assert!(lines.add(b"four\n"));
        assert_eq!(counted.recv_timeout(Duration::from_secs(20)), Ok(1));
    }

    #[test]
    fn lines_are_written_whole_and_in_order_and_a_stuck_reader_costs_only_lines() {
        struct Pipe(std::sync::mpsc::SyncSender<Vec<u8>>);
        impl Write for Pipe {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.send(bytes.to_vec()).map(|()| bytes.len()).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (pipe, reader) = std::sync::mpsc::sync_channel(0);
        let lines = Arc::<Lines>::default();
        let writer = lines.clone();
        std::thread::spawn(move || writer.write_all(Pipe(pipe), |_| {}));
        let line = |number: usize| format!("{number:0>999}\n").into_bytes();
        // The writer has not started yet.
        let taken = (0..).take_while(|number| lines.add(&line(*number))).count();
        assert!((MOST / 1000..=3 * MOST / 1000).contains(&taken), "{taken}");
        let mut read = Vec::new();
        while read.len() < taken * 1000 {
            read.extend(reader.recv_timeout(Duration::from_secs(20)).unwrap());
        }
        assert!(read.chunks(1000).enumerate().all(|(number, got)| got == line(number)), "whole and in order");
    }
}
