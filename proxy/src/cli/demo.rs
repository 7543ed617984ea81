//! `frontdesk demo`: starts the bundled example site and Frontdesk in front of it, and shows what an agent gets.

mod tour;

use std::{
    collections::HashMap,
    net::SocketAddr,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};
use tokio::sync::watch;

use self::tour::{Stop, Tour};
use crate::{
    accept::{self, Gate, Manner, WithFastPath},
    boot::{self, Beside},
    demo::{Server, Travel},
    live::Live,
    source::Source,
};

const DECLARATION: &str = include_str!("../../../conf/travel.toml");
/// The tour speaks for itself.
const QUIET: &str = "\n[log]\naccess = false\nlevel = \"error\"\n";
/// Connections from Frontdesk to the site.
const CONNECTIONS: usize = 1024;
/// The variable with the hash of the key that may call.
const KEY_HASH: &str = "TRAVEL_KEY_SHA256";

/// Runs until a signal ends it; with `only_tour`, until the tour is over.
pub(super) fn demo(listen: SocketAddr, admin: SocketAddr, only_tour: bool) -> ExitCode {
    // Bind before the runtime exists: the configuration has to name the port.
    let bound = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| {
        l.set_nonblocking(true)?;
        Ok((l.local_addr()?, l))
    });
    let (address, listener) = match bound {
        Ok(bound) => bound,
        Err(e) => return boot::NotStarted(vec![format!("the example site cannot listen: {e}")]).tell(),
    };
    let origin = format!("http://{listen}");
    // One file for each process, so that two demos at once do not mix.
    let audit = std::env::temp_dir().join(format!("frontdesk-demo-{}.jsonl", std::process::id()));
    let mut variables = HashMap::from([
        ("TRAVEL_URL".into(), format!("http://{address}")),
        ("TRAVEL_ORIGIN".into(), origin.clone()),
        ("TRAVEL_AUDIT".into(), audit.to_string_lossy().into_owned()),
    ]);
    let key = match only_tour || std::env::var_os(KEY_HASH).is_none() {
        true => match random_key() {
            Ok(key) => Some(key),
            Err(not_started) => return not_started.tell(),
        },
        false => None,
    };
    if let Some(key) = &key {
        variables.insert(KEY_HASH.into(), hex(digest(&SHA256, key.as_bytes()).as_ref()));
    }
    let text = if only_tour { format!("{DECLARATION}{QUIET}") } else { DECLARATION.to_owned() };
    let source = Source {
        path: "conf/travel.toml".into(),
        text: Some(text),
        variables,
        listen: Some(listen),
        admin: Some(admin),
    };
    let failed = Arc::new(AtomicBool::new(false));
    let told = failed.clone();
    let site: Beside = Box::new(move |live, metrics| {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let (keep, drain) = watch::channel(false);
        let gate = Gate::new(live.clone(), metrics, CONNECTIONS, drain);
        let server = Arc::new(WithFastPath::long(Server(Travel::new(&origin))));
        tokio::spawn(async move {
            let _keep = keep;
            accept::listen(gate, Arc::new(listener), Manner::plain(), server).await;
        });
        tokio::spawn(async move {
            let converse = live.current().snapshot.settings.paths.converse.path.clone();
            eprintln!(
                "\nExample Travel, a site that knows nothing of agents, is at {origin}/ with Frontdesk in front of it."
            );
            if only_tour {
                eprintln!("An agent visits it now. To paste these lines yourself, start: frontdesk demo");
            }
            eprintln!();
            let shown = guide(&Tour::new(origin, converse, key)).await;
            if let Err(why) = &shown {
                eprintln!("frontdesk: the tour broke off: {why}");
            }
            if !only_tour {
                return invite(&live, listen, admin);
            }
            told.store(shown.is_err(), Relaxed);
            eprintln!(
                "That was the tour. Before your own site: frontdesk run --upstream http://127.0.0.1:3000\n\
                 What agents find there today: frontdesk inspect https://example.com   More: frontdesk help getting-started"
            );
            // As from outside. A process may always send itself a signal.
            let _ = kill(Pid::this(), Signal::SIGTERM);
        });
    });
    let ended = boot::run(source, false, Some(site));
    // The process id in the name is of no use after the end. A missing file is no failure.
    let _ = std::fs::remove_file(&audit);
    match ended {
        Ok(()) if failed.load(Relaxed) => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(not_started) => not_started.tell(),
    }
}

/// A key for this process alone.
fn random_key() -> Result<String, boot::NotStarted> {
    let mut bytes = [0; 12];
    let made = SystemRandom::new().fill(&mut bytes);
    made.map_err(|_| boot::NotStarted(vec!["the system gives no random numbers".to_owned()]))?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes the tour, and prints each stop as soon as it is done.
async fn guide(tour: &Tour) -> Result<(), String> {
    show(&tour.read().await?);
    show(&tour.ask().await?);
    show(&tour.hold().await?);
    Ok(())
}

fn show(Stop { title, lines, result }: &Stop) {
    eprintln!("{title}");
    lines.iter().for_each(|line| eprintln!("  {line}"));
    result.lines().for_each(|line| eprintln!("  → {line}"));
    eprintln!();
}

/// Prints what else there is to try, each with what it shows.
fn invite(live: &Live, listen: SocketAddr, admin: SocketAddr) {
    let running = live.current();
    let snapshot = &running.snapshot;
    let mut tries = vec![
        (format!("curl -sI http://{listen}/"), "the Link header that agents look for"),
        (
            format!("curl -s http://{listen}/ | grep -i 'AI Agent Notice'"),
            "the notice in every page, which people do not see",
        ),
    ];
    let documents = snapshot.endpoints.documents();
    let shown = documents.into_iter().filter_map(|path| Some((format!("curl -s http://{listen}{path}"), about(path)?)));
    tries.extend(shown);
    tries.push((format!("curl -s http://{admin}/metrics"), "what Frontdesk counts"));
    if let Some(audit) = &snapshot.settings.audit {
        tries.push((format!("tail -f {}", audit.path.display()), "which agent called what, as it happens"));
    }
    eprintln!("The lines above work in another terminal. So do these:\n");
    let width = tries.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, shows) in tries {
        eprintln!("  {command:width$}  # {shows}");
    }
    eprintln!("\nThe operator's page: http://{admin}/   The manual: frontdesk help");
    eprintln!("Ctrl-C ends it.\n");
}

/// The purpose of a document, for those that show something of their own.
fn about(path: &str) -> Option<&'static str> {
    Some(match path {
        "/.well-known/agent.json" => "the AHP manifest: what agents can ask and call here",
        "/.well-known/agent-interface.toml" => {
            "the AICP contract: each capability, its risk, and what a person confirms"
        }
        "/openapi.json" => "the capabilities as OpenAPI, for GPT Actions and generators of clients",
        "/llms.txt" => "the pages of the site in one list, for language models",
        "/auth.md" => "what needs a credential, and how to get one",
        "/.well-known/ai-catalog.json" => "every other document for agents, with its type",
        _ => return None,
    })
}
