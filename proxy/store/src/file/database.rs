//! Opens a SQLite file safely: private, in WAL mode, and intact. A broken file is moved aside with an error in the log.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// How long a write of records waits for another process's lock.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a write of counters waits. A request waits for it, and could be decided without it.
const BRIEFLY: Duration = Duration::from_millis(100);
/// How often it looks. Another process leaves only moments between its transactions.
const LOOK: Duration = Duration::from_micros(500);
/// The `user_version` of files that this version can read.
const FORMAT: i64 = 1;
/// How often the operator is reminded of a full disk.
const REMINDED: Duration = Duration::from_secs(600);

/// The content of a file, and how durable a commit is.
pub struct Layout {
    /// The name of the file in the store's directory.
    pub name: &'static str,
    /// SQLite's `synchronous`: "NORMAL" survives a crash of the process, "FULL" a loss of power too.
    pub synchronous: &'static str,
    /// Waits for another process's write, [`patiently`] or [`briefly`]. Returns false to stop waiting.
    pub wait: fn(i32) -> bool,
    pub tables: &'static str,
}

/// An open database file.
pub struct Database {
    pub connection: Connection,
    path: PathBuf,
    /// The identity of the files when they were opened: another process may have moved them since. `None` while nothing
    /// is open.
    identity: Option<Identity>,
    /// When the operator was last told that the disk is full.
    told: Option<Instant>,
}

/// Device and inode of the file and of its journal.
type Identity = [(u64, u64); 2];

impl Database {
    /// Opens the file, or creates it. Moves a file that SQLite calls broken aside and creates a new one. The operator
    /// has to fix any other failure.
    pub fn open(directory: &Path, layout: &Layout) -> Result<Self, String> {
        let path = directory.join(layout.name);
        let refuse = |why: String| format!("the store {} cannot be opened: {why}", path.display());
        let _turn = only_opener(directory).map_err(|error| refuse(hint(&error)))?;
        let connection = match sound(&path, layout) {
            Err(Trouble::Broken(why)) => {
                let aside = set_aside(&path).map_err(|error| refuse(hint(&error)))?;
                tracing::error!(
                    "the store {} is broken ({why}): it was moved to {} and a new one is begun; what it held is lost",
                    path.display(),
                    aside.display()
                );
                sound(&path, layout)
            }
            other => other,
        };
        let connection = connection.map_err(|(Trouble::Broken(why) | Trouble::Other(why))| refuse(why))?;
        Ok(Self { connection, identity: identity(&path), path, told: None })
    }

    /// Whether the path no longer leads to the open file or its journal, because another process moved or removed them.
    pub fn is_elsewhere(&self) -> bool {
        self.identity.is_none() || identity(&self.path) != self.identity
    }

    /// Opens the file that the path leads to now. Closes the old one first: connections of one process to one file
    /// share their knowledge of its journal, and a new connection would read the new journal with the knowledge of the
    /// old.
    pub fn open_again(&mut self, directory: &Path, layout: &Layout) -> Result<(), String> {
        self.identity = None;
        self.connection = Connection::open_in_memory().map_err(|error| error.to_string())?;
        *self = Self::open(directory, layout)?;
        Ok(())
    }

    /// Explains an error that undid everything. Opens a broken file again, which moves it aside.
    pub fn explain(&mut self, error: &rusqlite::Error, directory: &Path, layout: &Layout) -> String {
        if is_broken(error)
            && let Err(why) = self.open_again(directory, layout)
        {
            return why;
        }
        error.to_string()
    }

    /// Tells the operator that the disk is full, at most once in ten minutes.
    pub fn tell_that_it_is_full(&mut self) {
        if self.told.is_none_or(|told| told.elapsed() >= REMINDED) {
            self.told = Some(Instant::now());
            tracing::error!(
                "the disk of the store {} is full: nothing more is kept until there is room",
                self.path.display()
            );
        }
    }
}

/// Whether SQLite reports that the file itself is broken. Busy, full and forbidden files are not broken.
fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether SQLite reports a full disk.
pub fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Milliseconds since 1970: the clock that processes share.
pub fn wall() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

enum Trouble {
    Broken(String),
    Other(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            _ if is_broken(&error) => Self::Broken(error.to_string()),
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Other(format!("{error}; {NOT_OURS}"))
            }
            _ => Self::Other(error.to_string()),
        }
    }
}

/// Held while a file is opened, so that only one of two processes moves a broken file aside.
fn only_opener(directory: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // This is none of SQLite's files, so closing it releases none of SQLite's locks.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(directory.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Creates an empty file with private permissions, which SQLite copies to the files beside it. Must not open an
/// existing file: closing it would release all locks that SQLite holds on it in this process for another store (POSIX
/// locks belong to process and file). The next process to close the file would then remove a journal in use.
fn make(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn sound(path: &Path, layout: &Layout) -> Result<Connection, Trouble> {
    make(path).map_err(|error| Trouble::Other(hint(&error)))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(layout.wait))?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Trouble::Other("its file system cannot share a file between processes; use a local disk".into()));
    }
    connection.pragma_update(None, "synchronous", layout.synchronous)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    let format: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if format > FORMAT {
        return Err(Trouble::Other("a newer Frontdesk wrote it; start that one, or name another directory".into()));
    }
    if format < FORMAT {
        let begun = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        begun.execute_batch(layout.tables)?;
        begun.pragma_update(None, "user_version", FORMAT)?;
        begun.commit()?;
    }
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(connection) } else { Err(Trouble::Broken(verdict)) }
}

/// Waits long, for records that must be kept.
pub fn patiently(looks: i32) -> bool {
    wait(looks, PATIENCE)
}

/// Waits shortly, for counts that can be decided without the file.
pub fn briefly(looks: i32) -> bool {
    wait(looks, BRIEFLY)
}

fn wait(looks: i32, patience: Duration) -> bool {
    std::thread::sleep(LOOK);
    LOOK.saturating_mul(looks.unsigned_abs()) < patience
}

/// Renames the file and SQLite's files beside it, so that an operator can still examine them as a whole.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let with = |end: &str| beside(path, end);
    let broken = format!(".broken-{}", wall());
    for end in ["-wal", "-shm"] {
        match fs::rename(with(end), with(&format!("{broken}{end}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, with(&broken))?;
    Ok(with(&broken))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn identity(path: &Path) -> Option<Identity> {
    let of = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    Some([of(path)?, of(&beside(path, "-wal"))?])
}

const NOT_OURS: &str = "give the directory to the user Frontdesk runs as, or name another in store.url";

fn hint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{error}; {NOT_OURS}"),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!("{error}; store.url must name a directory")
        }
        _ => error.to_string(),
    }
}
