//! The current file and the finished ones: when to rotate, the next file, and deletion after the retention.
//!
//! A file is finished by its size or age, or because an operator moved it. Two processes may decide so at the same
//! time: a lock on the directory lets one of them rename the file, and the other then finds it renamed.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use frontdesk_config::Audit as Settings;

use super::{file::OpenFile, names::Names};

/// How often old files are deleted.
const SWEEP: Duration = Duration::from_secs(3600);
/// How soon a failed rotation is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// The log on its disk.
pub(super) struct Series {
    path: PathBuf,
    names: Names,
    settings: Settings,
    pub(super) file: OpenFile,
    swept: Instant,
    /// The time of the last failed rotation.
    failed: Option<Instant>,
}

impl Series {
    /// Opens the file at the configured path, and deletes files beside it after their retention.
    pub(super) fn open(settings: &Settings) -> Result<Self, String> {
        let shown = settings.path.display();
        let cannot = |error: io::Error| format!("audit.path: {shown} cannot be written: {error}");
        // Rename the target of a symlink, not the link. Links in /proc have no path behind them.
        let link = fs::symlink_metadata(&settings.path).is_ok_and(|found| found.is_symlink());
        let path = if link && fs::metadata(&settings.path).is_ok_and(|found| found.is_file()) {
            fs::canonicalize(&settings.path).map_err(cannot)?
        } else {
            settings.path.clone()
        };
        let names = Names::of(&path).ok_or_else(|| format!("audit.path: {shown} does not name a file"))?;
        if !names.directory.is_dir() {
            let directory = names.directory.display();
            return Err(format!(
                "audit.path: {shown} cannot be written: there is no directory {directory}; create it, and let the \
                 user that runs Frontdesk write in it"
            ));
        }
        let file = OpenFile::open(&path).map_err(cannot)?;
        let series = Self { path, names, settings: settings.clone(), file, swept: Instant::now(), failed: None };
        series.sweep();
        Ok(series)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Switches to the file at the path if ours was moved, once it has room for the reserved lines. Until then lines go
    /// to the old file.
    pub(super) fn follow(&mut self, promised: usize) -> io::Result<()> {
        if !self.file.moved(&self.path)? {
            return Ok(());
        }
        let mut next = OpenFile::open(&self.path)?;
        next.room(promised, 0, false)?;
        std::mem::replace(&mut self.file, next).release();
        tracing::debug!(file = %self.path.display(), "the audit log goes on in a new file");
        Ok(())
    }

    /// Rotates the file if it is old, or would be too large with so many bytes more.
    pub(super) fn rotate_if_due(&mut self, promised: usize, more: usize) {
        if !self.file.on_disk() || self.failed.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        let size = self.file.size().unwrap_or_default();
        let large = size > 0 && size.saturating_add(more as u64) > self.settings.max_size as u64;
        if !large && !self.until_old().is_some_and(|left| left.is_zero()) {
            return;
        }
        let rotated = self.put_aside().and_then(|()| self.follow(promised));
        if let Err(error) = &rotated
            && self.failed.is_none()
        {
            let file = self.path.display();
            tracing::warn!(%file, %error, "the audit log cannot be rotated; the old file stays in use until it can");
        }
        self.failed = rotated.is_err().then(Instant::now);
        self.sweep();
        self.swept = Instant::now();
    }

    fn put_aside(&self) -> io::Result<()> {
        // If directories cannot be locked, other processes do not wait for us either.
        let directory = File::open(&self.names.directory)?;
        if matches!(directory.try_lock(), Err(TryLockError::WouldBlock)) || self.file.moved(&self.path)? {
            return Ok(());
        }
        let now = SystemTime::now();
        for count in 0..u32::MAX {
            let aside = self.names.aside(now, count);
            match fs::symlink_metadata(&aside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::rename(&self.path, aside),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Deletes old files, once an hour.
    pub(super) fn sweep_if_due(&mut self) {
        if self.swept.elapsed() >= SWEEP {
            self.swept = Instant::now();
            self.sweep();
        }
    }

    fn sweep(&self) {
        if let Some(retention) = self.settings.retention
            && self.file.on_disk()
            && let Err(error) = self.names.sweep(SystemTime::now(), retention)
        {
            let directory = self.names.directory.display();
            tracing::warn!(%directory, %error, "old files of the audit log cannot be deleted");
        }
    }

    /// How long until the next task, if nothing is written.
    pub(super) fn idle_for(&self) -> Duration {
        let sweep = SWEEP.saturating_sub(self.swept.elapsed());
        let old = match self.failed {
            Some(at) => Some(AGAIN.saturating_sub(at.elapsed())),
            None => self.until_old(),
        };
        old.unwrap_or(SWEEP).min(sweep).max(Duration::from_millis(50))
    }

    /// How long until the file is old; `None` while it is empty.
    fn until_old(&self) -> Option<Duration> {
        let age = SystemTime::now().duration_since(self.file.begun()?).unwrap_or_default();
        Some(self.settings.max_age.saturating_sub(age))
    }
}
