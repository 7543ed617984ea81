//! The command line.

mod check;
mod demo;
mod run;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

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
        Command::Demo { listen, admin } => demo::demo(listen, admin),
    }
}
