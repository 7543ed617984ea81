//! The command line.

mod catalog;
mod check;
mod demo;
mod export;
mod handoff;
mod import;
mod inspect;
mod run;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};
use frontdesk_filters::dialect;

/// Stands in front of an existing site and makes it legible, callable and safe for AI agents.
#[derive(Parser)]
#[command(name = "frontdesk", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run in front of a site.
    Run(Run),
    /// Check a configuration: 0 it is fine, 1 it has mistakes, 2 it cannot be read.
    Check {
        /// The file to check.
        file: PathBuf,
    },
    /// See what a site has for agents: 0 a valid contract, 1 one with mistakes, 2 none.
    Inspect {
        /// The site: `https://example.com`, or only its name.
        url: String,
        /// For a program.
        #[arg(long)]
        json: bool,
    },
    /// Print what would be published, exactly as it would be: 0 here it is, 1 the file has mistakes, 2 it cannot be read.
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
    /// Turn a document about the site's interface into a configuration to start from: 0 it is written, 1 the document
    /// has mistakes, 2 it cannot be read.
    Import(Import),
    /// Look into catalogs of verbs.
    #[command(subcommand)]
    Catalog(Catalog),
    /// Look after a handoff between agents.
    #[command(subcommand)]
    Handoff(handoff::Handoff),
    /// Run in front of a bundled example site.
    Demo {
        /// Where to listen.
        #[arg(long, default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        /// Where the operator's address is.
        #[arg(long, default_value = "127.0.0.1:9901")]
        admin: SocketAddr,
    },
}

#[derive(Subcommand)]
enum Catalog {
    /// See what is different between two: 0 nothing breaks, 1 something would, 2 one cannot be read.
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
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Where the operator's address is; wins over the configuration.
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The configuration.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The site to stand in front of, without a configuration.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::run(args),
        Command::Check { file } => check::check(file),
        Command::Inspect { url, json } => inspect::inspect(&url, json),
        Command::Export { what, file, json, form, out } => export::export(&what, file, json, form.as_deref(), out),
        Command::Import(args) => import::import(args),
        Command::Catalog(Catalog::Diff { old, new, against, json }) => {
            catalog::diff(&old, &new, against.as_deref(), json)
        }
        Command::Handoff(what) => handoff::handoff(what),
        Command::Demo { listen, admin } => demo::demo(listen, admin),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_as_it_is_documented() {
        Cli::command().debug_assert();
        for line in [
            "frontdesk inspect https://a.example --json",
            "frontdesk check a.toml",
            "frontdesk export WHAT a.toml --json --out b.json",
            "frontdesk catalog diff a.json b.json --against sites --json",
            "frontdesk handoff lint .ai/handoff",
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
