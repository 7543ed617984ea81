//! The command line: its arguments, their help texts, and the dispatch to one module for each command.

#[cfg(feature = "agtp")]
mod catalog;
mod check;
mod check_live;
mod completions;
#[cfg(feature = "demo")]
mod demo;
mod export;
mod firewall;
#[cfg(feature = "handoff")]
mod handoff;
mod health;
mod help_text;
#[cfg(feature = "tools")]
mod import;
#[cfg(feature = "tools")]
mod import_site;
#[cfg(feature = "tools")]
mod inspect;
mod left_out;
mod man;
mod manual;
#[cfg(feature = "tools")]
mod new_file;
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
#[command(name = "frontdesk", version = version::WHOLE, about, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run in front of a site.
    ///
    /// Frontdesk forwards requests to the site and adds a notice for agents to its pages. It
    /// publishes the capabilities of the configuration and executes them. Without a configuration
    /// it only announces the site.
    #[command(verbatim_doc_comment)]
    Run(Run),
    /// Check a configuration, and say what it means to an agent.
    ///
    /// One run shows all mistakes, each with its file, its line and its fix. The file may also be
    /// a contract alone.
    #[command(verbatim_doc_comment)]
    Check {
        /// The file to check.
        #[arg(required_unless_present = "config")]
        file: Option<PathBuf>,
        /// The file to check, as an option like that of `run`.
        #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
        config: Option<PathBuf>,
        /// Also connect to the store, and try every operation that Frontdesk needs.
        #[arg(long)]
        connect: bool,
        /// Also ask the running site for the pages and reads that are declared, and try every selector and form on them.
        ///
        /// It asks by GET alone, with the `examples` and defaults of input_schema, and sends no form.
        #[arg(long)]
        live: bool,
    },
    #[cfg(not(feature = "tools"))]
    #[command(hide = true, disable_help_flag = true)]
    Inspect(left_out::Arguments),
    /// Show what a site offers agents, and what Frontdesk in front of it would add.
    ///
    /// The command reads the page at the URL and documents of the site, about 50 requests in all.
    /// The report ends with the checks of two public graders and the readiness level, 0 to 5.
    /// It calls no action, sends no credential, and follows no redirect to another site.
    #[cfg(feature = "tools")]
    #[command(verbatim_doc_comment)]
    Inspect {
        /// The site: `https://example.com`, or only its name.
        #[arg(value_hint = ValueHint::Url)]
        url: String,
        /// Print JSON for a program.
        #[arg(long)]
        json: bool,
        /// Exit with 1 if the readiness level is below this (0 to 5), and with 0 if it is not.
        #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=5))]
        fail_below: Option<u8>,
    },
    /// Print a document exactly as Frontdesk would publish it.
    ///
    /// The command needs only the configuration and sends no request.
    Export {
        /// The document to print.
        #[arg(value_parser = PossibleValuesParser::new(export::names()))]
        what: String,
        /// The configuration, or a contract alone.
        file: PathBuf,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// Print it in another published form, for tools that read only that one.
        #[arg(long = "as", value_name = "FORM", conflicts_with = "json", value_parser = PossibleValuesParser::new(dialect::forms()))]
        form: Option<String>,
        /// Write to this file instead of standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    #[cfg(not(feature = "tools"))]
    #[command(hide = true, disable_help_flag = true)]
    Import(left_out::Arguments),
    /// Turn a description of the site's interface into a first configuration.
    ///
    /// The output marks each guess with "review:", so that you can check it.
    #[cfg(feature = "tools")]
    Import(Import),
    #[cfg(not(feature = "agtp"))]
    #[command(hide = true, disable_help_flag = true)]
    Catalog(left_out::Arguments),
    /// Compare catalogs of verbs.
    #[cfg(feature = "agtp")]
    #[command(subcommand)]
    Catalog(Catalog),
    #[cfg(not(feature = "handoff"))]
    #[command(hide = true, disable_help_flag = true)]
    Handoff(left_out::Arguments),
    /// Check or update a handoff between agents.
    #[cfg(feature = "handoff")]
    #[command(subcommand)]
    Handoff(handoff::Handoff),
    /// Filter a text as the firewall filters responses to agents.
    ///
    /// The command copies standard input, of any length, to standard output and redacts it. It
    /// reports findings on standard error, by rule and never by value.
    #[command(verbatim_doc_comment)]
    Firewall {
        /// The configuration with the [firewall] section.
        file: PathBuf,
    },
    /// Ask the Frontdesk on this host whether it is ready (exit code 0 or 1). For a container's health check.
    Health {
        /// Its admin address.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9901", value_parser = read_address)]
        admin: SocketAddr,
        /// Ask only whether it is alive; this is true while it shuts down.
        #[arg(long)]
        live: bool,
    },
    #[cfg(not(feature = "demo"))]
    #[command(hide = true, disable_help_flag = true)]
    Demo(left_out::Arguments),
    /// Run in front of a bundled example site.
    ///
    /// The demo starts a travel site with flights and bookings, and Frontdesk in front of it. It
    /// reads a page, asks a question and holds a fare, and prints each with the lines to paste.
    #[cfg(feature = "demo")]
    #[command(verbatim_doc_comment)]
    Demo {
        /// The address to listen on.
        #[arg(long, default_value = "127.0.0.1:8080", value_parser = read_address)]
        listen: SocketAddr,
        /// The admin address.
        #[arg(long, default_value = "127.0.0.1:9901", value_parser = read_address)]
        admin: SocketAddr,
        /// End after what is shown.
        #[arg(long)]
        tour: bool,
    },
    /// Say what a reason, an alert, a metric or a log message means, and what to do about it.
    Explain {
        /// The word as a response, a metric or an alert has it; or some words of a log message.
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
    },
    /// Print the help of a command, or a page of the manual.
    Help {
        /// The command or the page; without one, the list of both.
        #[arg(value_name = "COMMAND|PAGE")]
        words: Vec<String>,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print a page of the manual, or write all of them.
    Man {
        /// The command; without one, the page of `frontdesk` itself.
        #[arg(value_name = "COMMAND", conflicts_with = "dir")]
        command: Vec<String>,
        /// Write all pages into this directory.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

#[cfg(feature = "agtp")]
#[derive(Subcommand)]
enum Catalog {
    /// Show the differences of two catalogs, and what they would break in your configurations.
    Diff {
        /// The current catalog.
        old: PathBuf,
        /// The new catalog.
        new: PathBuf,
        /// Check every .toml file below this directory for verbs that would break.
        #[arg(long, value_name = "DIR")]
        against: Option<PathBuf>,
        /// Print JSON for a program.
        #[arg(long)]
        json: bool,
    },
}

#[cfg(feature = "tools")]
#[derive(Args)]
struct Import {
    /// What there is: an OpenAPI document, a GraphQL server, or a site's own pages and forms.
    #[arg(value_parser = PossibleValuesParser::new(import::formats()))]
    format: String,
    /// The document: a file, or an http or https URL. With `site`: the URL of the site.
    #[arg(value_name = "FILE|URL")]
    from: String,
    /// Write the configuration to this file instead of standard output.
    #[arg(short, long, visible_alias = "write", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long, requires = "out")]
    force: bool,
    /// Include deprecated operations.
    #[arg(long)]
    deprecated: bool,
    /// Include only operations with this id or path, with * for anything: listPets, "/pets/*", "GET /pets/*". May be
    /// repeated, or a list with commas.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Include only operations with this tag, with * for anything. May be repeated, or a list with commas.
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tag: Vec<String>,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    what: What,
    /// The address to listen on; overrides the configuration.
    #[arg(long, value_name = "ADDR", value_parser = read_address)]
    listen: Option<SocketAddr>,
    /// The admin address; overrides the configuration.
    #[arg(long, value_name = "ADDR", value_parser = read_address)]
    admin: Option<SocketAddr>,
    /// Take over the listeners of the running process: wait at `listen.upgrade_socket` until that process gets SIGQUIT.
    #[arg(long)]
    upgrade: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The configuration file.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The site's URL, to run without a configuration file.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    upstream: Option<String>,
}

/// The whole command line, with examples and exit codes in its help.
fn command() -> clap::Command {
    help_text::taught(Cli::command())
}

/// Parses the command line and runs the command.
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
        Command::Check { file, config, connect, live } => {
            check::check(file.or(config).unwrap_or_default(), connect, live)
        }
        #[cfg(feature = "tools")]
        Command::Inspect { url, json, fail_below } => inspect::inspect(&url, json, fail_below),
        #[cfg(not(feature = "tools"))]
        Command::Inspect(_) => left_out::refuse("frontdesk inspect", "tools"),
        Command::Export { what, file, json, form, out } => export::export(&what, file, json, form.as_deref(), out),
        #[cfg(feature = "tools")]
        Command::Import(args) => import::import(args),
        #[cfg(not(feature = "tools"))]
        Command::Import(_) => left_out::refuse("frontdesk import", "tools"),
        #[cfg(not(feature = "agtp"))]
        Command::Catalog(_) => left_out::refuse("frontdesk catalog", "agtp"),
        #[cfg(feature = "agtp")]
        Command::Catalog(Catalog::Diff { old, new, against, json }) => {
            catalog::diff(&old, &new, against.as_deref(), json)
        }
        #[cfg(feature = "handoff")]
        Command::Handoff(what) => handoff::handoff(what),
        #[cfg(not(feature = "handoff"))]
        Command::Handoff(_) => left_out::refuse("frontdesk handoff", "handoff"),
        Command::Firewall { file } => firewall::firewall(file),
        Command::Health { admin, live } => health::health(admin, live),
        #[cfg(feature = "demo")]
        Command::Demo { listen, admin, tour } => demo::demo(listen, admin, tour),
        #[cfg(not(feature = "demo"))]
        Command::Demo(_) => left_out::refuse("frontdesk demo", "demo"),
        Command::Explain { words } => manual::explain(&words),
        Command::Help { words } => manual::help(&words, command()),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man { command, dir } => man::man(&command, dir.as_deref()),
    }
}

/// Replaces the panic of `println!` on a closed or full standard output with an error message.
fn tell_of_output() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match panic.payload_as_str() {
        // The reader has closed the pipe, as `head` does: this is no failure.
        Some(text) if text.starts_with(UNPRINTED) && text.contains("Broken pipe") => std::process::exit(0),
        Some(text) if text.starts_with(UNPRINTED) => {
            let why = text.split_once(": ").map_or("", |(_, why)| why);
            eprintln!("frontdesk: standard output cannot be written: {why}");
            std::process::exit(2)
        }
        _ => usual(panic),
    }));
}

/// The beginning of the standard library's panic message in that case.
const UNPRINTED: &str = "failed printing to stdout";

/// Prints a finished document.
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
            "frontdesk inspect https://a.example --fail-below 4",
            "frontdesk check a.toml",
            "frontdesk check a.toml --connect",
            "frontdesk export WHAT a.toml --json --out b.json",
            "frontdesk catalog diff a.json b.json --against sites --json",
            "frontdesk handoff lint .ai/handoff",
            "frontdesk firewall a.toml",
            "frontdesk explain store_away",
            "frontdesk help errors",
            "frontdesk handoff manifest .ai/handoff --agent a --session-id s --phase fix --duration 5 --commit c --locked",
        ] {
            if left_out::is_left_out(line.trim_start_matches("frontdesk ")) {
                continue;
            }
            let what = dialect::exports().next().unwrap_or_default();
            let line = line.replace("WHAT", what);
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        let refused = Cli::try_parse_from(["frontdesk", "export", "nothing", "a.toml"]).err().map(|e| e.to_string());
        assert!(refused.is_some_and(|said| said.contains("possible values")));
    }
}
