//! The command line.

mod catalog;
mod check;
mod completions;
mod demo;
mod export;
mod firewall;
mod handoff;
mod health;
mod import;
mod inspect;
mod lessons;
mod man;
mod run;

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;
use frontdesk_filters::{dialect, site::read_address};

use crate::version;

/// Stands in front of an existing site and makes it legible, callable and safe for AI agents.
#[derive(Parser)]
#[command(name = "frontdesk", version = version::WHOLE, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run in front of a site.
    ///
    /// Everything that is asked goes on to the site, and its pages come back with a notice for
    /// agents; what the configuration declares is announced, and carried out. Without a
    /// configuration the site is announced, and nothing more.
    #[command(verbatim_doc_comment)]
    Run(Run),
    /// Check a configuration, and say what it means to an agent.
    ///
    /// Every mistake is shown in one run, with its file, its line and what to do. A contract on
    /// its own may be checked too.
    #[command(verbatim_doc_comment)]
    Check {
        /// The file to check.
        #[arg(required_unless_present = "config")]
        file: Option<PathBuf>,
        /// The same, as `run` takes it.
        #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
        config: Option<PathBuf>,
        /// Connect to the store as well, and try out everything that is needed of it.
        #[arg(long)]
        connect: bool,
    },
    /// See what a site has for agents, and what it would have with Frontdesk in front of it.
    ///
    /// Documents and the page at the URL are read, some 15 requests in all. Nothing is called, no
    /// credential is shown, and no redirect to another site is followed.
    #[command(verbatim_doc_comment)]
    Inspect {
        /// The site: `https://example.com`, or only its name.
        #[arg(value_hint = ValueHint::Url)]
        url: String,
        /// For a program.
        #[arg(long)]
        json: bool,
    },
    /// Print what would be published, exactly as it would be.
    ///
    /// Nobody is asked: the document is made of the configuration alone.
    Export {
        /// What to print.
        #[arg(value_parser = PossibleValuesParser::new(dialect::exports()))]
        what: String,
        /// The configuration, or a contract on its own.
        file: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// In the form of another, for whoever knows only that one.
        #[arg(long = "as", value_name = "FORM", conflicts_with = "json", value_parser = PossibleValuesParser::new(dialect::forms()))]
        form: Option<String>,
        /// Where to write it; standard output otherwise.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Turn a document about the site's interface into a configuration to start from.
    ///
    /// What had to be guessed is marked with "review:", so that you can look at it.
    Import(Import),
    /// Look into catalogs of verbs.
    #[command(subcommand)]
    Catalog(Catalog),
    /// Look after a handoff between agents.
    #[command(subcommand)]
    Handoff(handoff::Handoff),
    /// Look a text through as everything is that leaves for an agent.
    ///
    /// Standard input goes to standard output, with what has to go replaced; what was found, by
    /// rule and never by value, to standard error. Of any length.
    #[command(verbatim_doc_comment)]
    Firewall {
        /// The configuration, with its [firewall].
        file: PathBuf,
    },
    /// Ask the one that runs here whether it takes requests: 0 it does, 1 it does not. For a container's health check.
    Health {
        /// Where its operator's address is.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9901", value_parser = read_address)]
        admin: SocketAddr,
        /// Only whether it is alive, which it is to its very end.
        #[arg(long)]
        live: bool,
    },
    /// Run in front of a bundled example site.
    ///
    /// A travel site with flights and bookings, its declaration, and Frontdesk between it and you.
    /// It says what to try.
    #[command(verbatim_doc_comment)]
    Demo {
        /// Where to listen.
        #[arg(long, default_value = "127.0.0.1:8080", value_parser = read_address)]
        listen: SocketAddr,
        /// Where the operator's address is.
        #[arg(long, default_value = "127.0.0.1:9901", value_parser = read_address)]
        admin: SocketAddr,
    },
    /// Print what a shell needs to complete what you type.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print a page of the manual, or write all of them.
    Man {
        /// The command it is of; `frontdesk` itself without one.
        #[arg(value_name = "COMMAND", conflicts_with = "dir")]
        command: Vec<String>,
        /// Write all pages into this directory.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
enum Catalog {
    /// See what is different between two, and what of yours it would break.
    Diff {
        /// The catalog that is used.
        old: PathBuf,
        /// The one that is to be.
        new: PathBuf,
        /// Look in every .toml below for what would break.
        #[arg(long, value_name = "DIR")]
        against: Option<PathBuf>,
        /// For a program.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Import {
    /// What the document is written in.
    #[arg(value_parser = PossibleValuesParser::new(import::formats()))]
    format: String,
    /// The document: a file, or an http or https URL.
    #[arg(value_name = "FILE|URL")]
    from: String,
    /// Where to write the configuration; without it, to standard output.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a file that is there.
    #[arg(long, requires = "out")]
    force: bool,
    /// Take what the document calls deprecated too.
    #[arg(long)]
    deprecated: bool,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    what: What,
    /// Where to listen; wins over the configuration.
    #[arg(long, value_name = "ADDR", value_parser = read_address)]
    listen: Option<SocketAddr>,
    /// Where the operator's address is; wins over the configuration.
    #[arg(long, value_name = "ADDR", value_parser = read_address)]
    admin: Option<SocketAddr>,
    /// Take the listeners over from the process that runs: waits at `listen.upgrade_socket` until that one gets SIGQUIT.
    #[arg(long)]
    upgrade: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The configuration.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The site to stand in front of, without a configuration.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    upstream: Option<String>,
}

/// The whole command line, with what its help teaches.
fn command() -> clap::Command {
    lessons::taught(Cli::command())
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let asked = Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|e| e.exit()).command;
    if !matches!(asked, Command::Run(_) | Command::Demo { .. } | Command::Inspect { .. } | Command::Import(_)) {
        crate::sys::end_with_the_reader();
    }
    if !matches!(asked, Command::Run(_) | Command::Demo { .. }) {
        tell_of_output();
    }
    match asked {
        Command::Run(args) => run::run(args),
        Command::Check { file, config, connect } => check::check(file.or(config).unwrap_or_default(), connect),
        Command::Inspect { url, json } => inspect::inspect(&url, json),
        Command::Export { what, file, json, form, out } => export::export(&what, file, json, form.as_deref(), out),
        Command::Import(args) => import::import(args),
        Command::Catalog(Catalog::Diff { old, new, against, json }) => {
            catalog::diff(&old, &new, against.as_deref(), json)
        }
        Command::Handoff(what) => handoff::handoff(what),
        Command::Firewall { file } => firewall::firewall(file),
        Command::Health { admin, live } => health::health(admin, live),
        Command::Demo { listen, admin } => demo::demo(listen, admin),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man { command, dir } => man::man(&command, dir.as_deref()),
    }
}

/// What cannot be printed is told in a sentence: `println!` knows nothing better than to panic.
fn tell_of_output() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match panic.payload_as_str() {
        // Whoever reads has read enough.
        Some(text) if text.starts_with(UNPRINTED) && text.contains("Broken pipe") => std::process::exit(0),
        Some(text) if text.starts_with(UNPRINTED) => {
            let why = text.split_once(": ").map_or("", |(_, why)| why);
            eprintln!("frontdesk: standard output cannot be written: {why}");
            std::process::exit(2)
        }
        _ => usual(panic),
    }));
}

/// What the standard library says then.
const UNPRINTED: &str = "failed printing to stdout";

/// Prints something that was made as a whole.
fn said(bytes: &[u8]) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("frontdesk: standard output cannot be written: {e}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_as_it_is_documented() {
        command().debug_assert();
        for line in [
            "frontdesk inspect https://a.example --json",
            "frontdesk check a.toml",
            "frontdesk check a.toml --connect",
            "frontdesk export WHAT a.toml --json --out b.json",
            "frontdesk catalog diff a.json b.json --against sites --json",
            "frontdesk handoff lint .ai/handoff",
            "frontdesk firewall a.toml",
            "frontdesk handoff manifest .ai/handoff --agent a --session-id s --phase fix --duration 5 --commit c --locked",
        ] {
            let what = dialect::exports().next().unwrap_or_default();
            let line = line.replace("WHAT", what);
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        let refused = Cli::try_parse_from(["frontdesk", "export", "nothing", "a.toml"]).err().map(|e| e.to_string());
        assert!(refused.is_some_and(|said| said.contains("possible values")));
    }
}
