//! One open file of the log. Lines are appended whole, and room for future lines is reserved beyond its end.
//!
//! Another process may have the same file open for a while. Each process appends a line in one call, and reserves twice
//! what it promised, because both reserve at the same end. Each holds a shared lock while the file is open. A process
//! that gets the exclusive lock may truncate the file, even if only the reserved blocks.

use std::{
    fs::{File, Metadata, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, SystemTime},
};

use frontdesk_desk::audit::LONGEST;
use nix::fcntl::OFlag;

use super::disk::{self, SetAside};

/// The size of one reservation; a large one is rarely repeated.
const CHUNK: u64 = 256 * 1024;
/// A pipe without a reader for so long counts as broken.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for a mere check.
const LOOK: Duration = Duration::from_millis(100);

/// How the file's room is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It is reserved.
    SetAside,
    /// The file system reports its free space.
    Asked,
    /// It is not a file on a disk: a probe shows whether it accepts data.
    Probed,
}

pub(super) struct OpenFile {
    file: File,
    way: Way,
    device_and_inode: (u64, u64),
    /// The end of the reserved blocks.
    set_aside: u64,
    /// The size at the last look.
    seen: u64,
    /// When the first line was written; `None` while the file is empty.
    begun: Option<SystemTime>,
    /// The file ends in an incomplete line.
    torn: bool,
}

impl OpenFile {
    /// Opens or creates the file. Its directory must exist.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Without O_NONBLOCK, opening a pipe waits for a reader. Without O_NOCTTY, a device may become our terminal.
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags.bits()).open(path)?;
        let found = file.metadata()?;
        let (way, torn) = if found.is_file() {
            // A process in the middle of a line has the file open.
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

    /// Whether room is reserved, so that it can be promised without another check.
    pub(super) fn stocks(&self) -> bool {
        self.way == Way::SetAside
    }

    pub(super) fn on_disk(&self) -> bool {
        self.way != Way::Probed
    }

    pub(super) fn begun(&self) -> Option<SystemTime> {
        self.begun
    }

    /// Whether the path now leads to another file, or to none.
    pub(super) fn moved(&self, path: &Path) -> io::Result<bool> {
        match std::fs::metadata(path) {
            Ok(there) => Ok(identity(&there) != self.device_and_inode),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether the file still has a name: a deleted file vanishes when we close it.
    pub(super) fn can_be_found(&self) -> bool {
        !self.on_disk() || self.file.metadata().is_ok_and(|found| found.nlink() > 0)
    }

    /// The current size.
    pub(super) fn size(&mut self) -> io::Result<u64> {
        if !self.on_disk() {
            return Ok(0);
        }
        let size = self.file.metadata()?.len();
        if size < self.seen {
            // Another process truncated the file, and its reserved blocks with it.
            self.set_aside = size;
        }
        if size == 0 {
            self.begun = None;
        }
        self.seen = size;
        Ok(size)
    }

    /// Ensures room for the promised lines and so many bytes more. `fresh`: also for two lines that were not reserved
    /// before, as proof that there is room again.
    pub(super) fn room(&mut self, promised: usize, more: u64, fresh: bool) -> io::Result<()> {
        if !self.on_disk() {
            // A full device reports it even for an empty write.
            let _nothing: usize = self.file.write(&[])?;
            return disk::takes(&self.file, LOOK);
        }
        let size = self.size()?;
        let need = size + more + 2 * (promised * LONGEST) as u64;
        // Reserving ignores the file size limit. Without this check a file at its limit would seem to have room.
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

    /// Appends complete lines in one call. Returns the number of bytes written, and the error if some are missing.
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

    /// Removes an incomplete line at the end of the file, unless another process has the file open.
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

    /// Closes the file and frees reserved blocks, unless another process needs them.
    pub(super) fn release(self) {
        if self.way == Way::SetAside
            && self.file.try_lock().is_ok()
            && let Ok(found) = self.file.metadata()
        {
            // This frees blocks beyond the end although the size stays.
            let _ = self.file.set_len(found.len());
        }
    }
}

/// Shows other processes that the file is open. A process with the exclusive lock is about to close it; on file systems
/// without locks no process ever has it.
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

/// Whether the last line is incomplete, as after a loss of power.
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
