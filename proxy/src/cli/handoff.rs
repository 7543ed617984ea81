//! `frontdesk handoff`: what is wrong with a directory, and a manifest made anew.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::SystemTime,
};

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use frontdesk_filters::handoff::{self, LOCK, MANIFEST, Session, lint};

use crate::handoff::{Links, Opened, replace};

#[derive(Subcommand)]
pub(super) enum Handoff {
    /// See what is wrong with a handoff.
    Lint {
        /// The directory, usually .ai/handoff.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Make MANIFEST.json anew from the files; tasks stay as they are.
    Manifest(Manifest),
}

#[derive(Args)]
pub(super) struct Manifest {
    /// The directory, usually .ai/handoff.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Who hands over.
    #[arg(long, value_name = "NAME", default_value = "frontdesk")]
    agent: String,
    /// The session's name; one is made up otherwise.
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// What the session was about.
    #[arg(long, default_value = "idle", value_parser = PossibleValuesParser::new(handoff::phases()))]
    phase: String,
    /// Where things stand, in a sentence or two; made of the files otherwise.
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// How long the session took, in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 0)]
    duration: u64,
    /// The commit that it ended with.
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// The lock that is there is mine.
    #[arg(long)]
    locked: bool,
}

pub(super) fn handoff(what: Handoff) -> ExitCode {
    match what {
        Handoff::Lint { dir } => look(&dir),
        Handoff::Manifest(args) => make(args),
    }
}

fn open(dir: &Path) -> Result<Opened, ExitCode> {
    Opened::open(dir, Links::Refused).map_err(|why| {
        eprintln!("frontdesk: {}: {why}", dir.display());
        ExitCode::from(2)
    })
}

fn look(dir: &Path) -> ExitCode {
    let opened = match open(dir) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    match lint::lint(&opened, dir, SystemTime::now()) {
        Ok(found) => {
            for finding in &found {
                println!("{finding}");
            }
            let count = found.len();
            match count {
                0 => println!("{}: nothing is wrong", dir.display()),
                1 => println!("1 finding"),
                _ => println!("{count} findings"),
            }
            ExitCode::from(u8::from(count > 0))
        }
        Err(why) => {
            eprintln!("frontdesk: {why}");
            ExitCode::from(2)
        }
    }
}

fn make(args: Manifest) -> ExitCode {
    let Manifest { dir, agent, session_id, phase, context, duration, commit, locked } = args;
    let opened = match open(&dir) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let session = Session {
        agent,
        id: session_id,
        phase,
        context,
        minutes: duration,
        commit,
        project: project(&dir),
        despite_lock: locked,
    };
    let generated = match handoff::generate(&opened, &session, SystemTime::now()) {
        Ok(generated) => generated,
        Err(why) => {
            eprintln!("frontdesk: {}: {why}", dir.display());
            return ExitCode::from(1);
        }
    };
    for note in &generated.notes {
        eprintln!("frontdesk: {note}");
    }
    // Somebody may have begun to write meanwhile.
    if !locked && !handoff::is_free(&opened) {
        eprintln!("frontdesk: {}: {LOCK} has just been set", dir.display());
        return ExitCode::from(1);
    }
    match replace(&opened, MANIFEST, &generated.manifest) {
        Ok(()) => {
            println!("{}: lists {} files", dir.join(MANIFEST).display(), generated.files);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("frontdesk: {} cannot be written: {why}", dir.join(MANIFEST).display());
            ExitCode::from(2)
        }
    }
}

/// The name of the directory that the project is in: above `.ai/handoff`, where it is there.
fn project(dir: &Path) -> String {
    let whole = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let root = if whole.ends_with(".ai/handoff") { whole.ancestors().nth(2) } else { Some(whole.as_path()) };
    let name = root.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "project".to_owned())
}
