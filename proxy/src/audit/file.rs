//! One open file of the log: lines are appended whole, and room for those to come is set aside beyond its end.
//!
//! Another process may have the same file open, for a while: each appends in one call, and sets aside twice what it
//! promised, since both take from the same end. Each holds a shared lock as long as it has the file open; who gets it
//! alone may cut the file, be it only the blocks beyond its end.

use std::{
    fs::{File, Metadata, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, SystemTime},
};

use frontdesk_filters::desk::audit::LONGEST;
use nix::fcntl::OFlag;

use super::disk::{self, SetAside};

/// What is set aside ahead of need, so that it is rarely done.
const CHUNK: u64 = 256 * 1024;
/// A pipe that nobody empties for so long is no log.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same, where only a question is asked.
const LOOK: Duration = Duration::from_millis(100);

/// How it is known that there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It is set aside.
    SetAside,
    /// The file system is asked how much it has left.
    Asked,
    /// Not a file on a disk: it is asked whether it would take something.
    Probed,
}

pub(super) struct OpenFile {
    file: File,
    way: Way,
    device_and_inode: (u64, u64),
    /// Up to where blocks are set aside.
    set_aside: u64,
    /// Its size when somebody last looked.
    seen: u64,
    /// When its first line was written; `None` while it is empty.
    begun: Option<SystemTime>,
    /// It ends in a piece of a line.
    torn: bool,
}

impl OpenFile {
    /// Opens the file, or makes it; its directory must be there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Without O_NONBLOCK a pipe is opened when somebody reads it, and a device may become our terminal.
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags.bits()).open(path)?;
        let found = file.metadata()?;
        let (way, torn) = if found.is_file() {
            // Who is in the middle of a line has it open.
            let alone = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            let torn = alone && ends_torn(path);
            share(&file);
            (Way::SetAside, torn)
        } else {
            (Way::Probed, false)
        };
        let begun = (found.is_file() && found.len() > 0).then(|| begun(&found));
        Ok(Self { file, way, device_and_inode: identity(&found), set_aside: 0, seen: found.len(), begun, torn })
    }

    /// Whether room is set aside, so that it can be promised without asking again.
    pub(super) fn stocks(&self) -> bool {
        self.way == Way::SetAside
    }

    pub(super) fn on_disk(&self) -> bool {
        self.way != Way::Probed
    }

    pub(super) fn begun(&self) -> Option<SystemTime> {
        self.begun
    }

    /// Whether the path leads elsewhere by now, or nowhere.
    pub(super) fn moved(&self, path: &Path) -> io::Result<bool> {
        match std::fs::metadata(path) {
            Ok(there) => Ok(identity(&there) != self.device_and_inode),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether what is written can be found: a file that was deleted goes with us.
    pub(super) fn can_be_found(&self) -> bool {
        !self.on_disk() || self.file.metadata().is_ok_and(|found| found.nlink() > 0)
    }

    /// The size, looked up again.
    pub(super) fn size(&mut self) -> io::Result<u64> {
        if !self.on_disk() {
            return Ok(0);
        }
        let size = self.file.metadata()?.len();
        if size < self.seen {
            // Somebody cut it, and what was set aside with it.
            self.set_aside = size;
        }
        if size == 0 {
            self.begun = None;
        }
        self.seen = size;
        Ok(size)
    }

    /// Makes sure that there is room for what is promised, and so many bytes more. `fresh`: and for two lines that were
    /// not set aside before, as proof that there is room again.
    pub(super) fn room(&mut self, promised: usize, more: u64, fresh: bool) -> io::Result<()> {
        if !self.on_disk() {
            // A device that is full says so even if it is given nothing.
            let _nothing: usize = self.file.write(&[])?;
            return disk::takes(&self.file, LOOK);
        }
        let size = self.size()?;
        let need = size + more + 2 * (promised * LONGEST) as u64;
        // Setting aside does not ask whether the file may grow: without this, a file at its limit would look well again.
        disk::may_grow_to(if fresh { need + 2 * LONGEST as u64 } else { need })?;
        if self.way == Way::SetAside {
            let from = self.set_aside.max(size);
            let least = if fresh { need.max(from + 2 * LONGEST as u64) } else { need };
            if least <= from {
                return Ok(());
            }
            match self.set_aside(from, least + CHUNK).or_else(|_| self.set_aside(from, least))? {
                SetAside::Done => return Ok(()),
                SetAside::Unknown => self.way = Way::Asked,
            }
        }
        disk::has_left(&self.file, need - size)
    }

    fn set_aside(&mut self, from: u64, to: u64) -> io::Result<SetAside> {
        let done = disk::set_aside(&self.file, from, to - from)?;
        self.set_aside = to;
        Ok(done)
    }

    /// Appends whole lines in one call. Answers how many bytes are there, and why not all of them.
    pub(super) fn append(&mut self, lines: &[u8]) -> (usize, Option<io::Error>) {
        if lines.is_empty() {
            return (0, None);
        }
        let closed: Vec<u8>;
        let (lead, bytes) = if self.torn {
            closed = [b"\n", lines].concat();
            (1, closed.as_slice())
        } else {
            (0, lines)
        };
        let before = self.seen;
        let (done, error) = self.write(bytes);
        self.seen += done as u64;
        if done > 0 {
            self.begun.get_or_insert_with(SystemTime::now);
            let piece = done - bytes[..done].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.torn = piece > 0 && !self.mend(before + done as u64, piece as u64);
        }
        (done.saturating_sub(lead), error)
    }

    fn write(&mut self, bytes: &[u8]) -> (usize, Option<io::Error>) {
        let mut done = 0;
        while done < bytes.len() {
            let error = match self.file.write(&bytes[done..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(taken) => {
                    done += taken;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match disk::takes(&self.file, PATIENCE) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            return (done, Some(error));
        }
        (done, None)
    }

    /// Cuts off a piece of a line, if it is the end of the file and nobody else has it open.
    fn mend(&mut self, end: u64, piece: u64) -> bool {
        let alone = self.on_disk() && self.file.try_lock().is_ok();
        let mended = alone
            && self.file.metadata().is_ok_and(|found| found.len() == end)
            && self.file.set_len(end - piece).is_ok();
        if mended {
            (self.seen, self.set_aside) = (end - piece, end - piece);
        }
        if self.on_disk() {
            share(&self.file);
        }
        mended
    }

    /// Closes it and gives back what was set aside, unless somebody else needs it.
    pub(super) fn release(self) {
        if self.way == Way::SetAside
            && self.file.try_lock().is_ok()
            && let Ok(found) = self.file.metadata()
        {
            // Blocks beyond the end go, though the size stays.
            let _ = self.file.set_len(found.len());
        }
    }
}

/// Says to others that we have it open. Who has it alone is about to close it; on file systems without locks nobody
/// ever has.
fn share(file: &File) {
    for _ in 0..50 {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn begun(found: &Metadata) -> SystemTime {
    found.created().or_else(|_| found.modified()).unwrap_or_else(|_| SystemTime::now())
}

/// Whether the last line lacks its end, as after a loss of power.
fn ends_torn(path: &Path) -> bool {
    let last = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte).map(|()| byte[0])
    };
    // An empty file has no last byte.
    last().is_ok_and(|byte| byte != b'\n')
}
