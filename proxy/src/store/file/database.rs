//! Opening a database file so that what is promised holds: private, in WAL mode, found sound, or set aside loudly.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// How long a record's write waits for another process's.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a count's does: a request waits for it that could be decided without.
const BRIEFLY: Duration = Duration::from_millis(100);
/// Often, for another process leaves only moments between its transactions.
const LOOK: Duration = Duration::from_micros(500);
/// What `user_version` says of files we can read.
const FORMAT: i64 = 1;
/// How often the operator is reminded that there is no room.
const REMINDED: Duration = Duration::from_secs(600);

/// What is kept in a file, and how safe a commit is.
pub struct Layout {
    /// The name of the file in the store's directory.
    pub name: &'static str,
    /// SQLite's `synchronous`: "NORMAL" survives a crash of the process, "FULL" a loss of power too.
    pub synchronous: &'static str,
    /// Waits for another process's write, [`patiently`] or [`briefly`]; says when no more.
    pub wait: fn(i32) -> bool,
    pub tables: &'static str,
}

/// An open database file.
pub struct Database {
    pub connection: Connection,
    path: PathBuf,
    /// Which files they were when they were opened: another process may have set them aside since. `None` while nothing
    /// is open.
    identity: Option<Identity>,
    /// When the operator was told that there is no room.
    told: Option<Instant>,
}

/// Devices and inodes of a file and of its journal.
type Identity = [(u64, u64); 2];

impl Database {
    /// Opens the file, or begins it. A file that SQLite itself calls broken is set aside and a new one begun; any
    /// other trouble is the operator's to mend.
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

    /// Whether the path no longer leads to the file that is open, or to its journal: somebody set it aside, or removed
    /// it.
    pub fn is_elsewhere(&self) -> bool {
        self.identity.is_none() || identity(&self.path) != self.identity
    }

    /// Opens what the path leads to now. What was open is closed first: connections of one process to one file share
    /// what they know of its journal, and a new one would read the new journal by the knowledge of the old.
    pub fn open_again(&mut self, directory: &Path, layout: &Layout) -> Result<(), String> {
        self.identity = None;
        self.connection = Connection::open_in_memory().map_err(|error| error.to_string())?;
        *self = Self::open(directory, layout)?;
        Ok(())
    }

    /// What to say of an error that undid everything. A file that broke is opened again, which sets it aside.
    pub fn explain(&mut self, error: &rusqlite::Error, directory: &Path, layout: &Layout) -> String {
        if is_broken(error)
            && let Err(why) = self.open_again(directory, layout)
        {
            return why;
        }
        error.to_string()
    }

    /// Tells the operator that there is no room, once in a while.
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

/// Whether SQLite says of an error that the file itself is broken: not that it is busy, full, or not ours to open.
fn is_broken(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether SQLite says of an error that there is no room on the disk.
pub fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Milliseconds since 1970: the one clock that processes share.
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

/// Held while a file is opened, so that of two processes that find it broken only one sets it aside.
fn only_opener(directory: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Not one of SQLite's files, so it may be opened and closed.
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

/// Makes an empty file, for its mode, which SQLite gives the files beside it too. One that is there must not be opened
/// here: closing it would take from this process all the locks that SQLite has on it for another store (POSIX locks
/// belong to process and file), and the next process to close it would remove the journal that is written to.
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

/// For what must be kept.
pub fn patiently(looks: i32) -> bool {
    wait(looks, PATIENCE)
}

/// For what can be decided without.
pub fn briefly(looks: i32) -> bool {
    wait(looks, BRIEFLY)
}

fn wait(looks: i32, patience: Duration) -> bool {
    std::thread::sleep(LOOK);
    LOOK.saturating_mul(looks.unsigned_abs()) < patience
}

/// Renames the file and what SQLite keeps beside it, so that it can still be looked at as a whole.
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
