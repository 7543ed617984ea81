//! `frontdesk demo`: starts the bundled example site and Frontdesk in front of it.

use std::{collections::HashMap, net::SocketAddr, process::ExitCode, sync::Arc};

use tokio::sync::watch;

use crate::{
    accept::{self, Gate, Manner, WithFastPath},
    boot::{self, Beside},
    demo::{Server, Travel},
    live::Live,
    source::Source,
};

const DECLARATION: &str = include_str!("../../../conf/travel.toml");
/// Connections from Frontdesk to the site.
const CONNECTIONS: usize = 1024;

pub(super) fn demo(listen: SocketAddr, admin: SocketAddr) -> ExitCode {
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
    let variables = HashMap::from([
        ("TRAVEL_URL".into(), format!("http://{address}")),
        ("TRAVEL_ORIGIN".into(), origin.clone()),
        ("TRAVEL_AUDIT".into(), audit.to_string_lossy().into_owned()),
    ]);
    let source = Source {
        path: "conf/travel.toml".into(),
        text: Some(DECLARATION.into()),
        variables,
        listen: Some(listen),
        admin: Some(admin),
    };
    let site: Beside = Box::new(move |live, metrics| {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let (keep, drain) = watch::channel(false);
        invite(&live, listen, admin);
        let gate = Gate::new(live, metrics, CONNECTIONS, drain);
        let server = Arc::new(WithFastPath::long(Server(Travel::new(&origin))));
        tokio::spawn(async move {
            let _keep = keep;
            accept::listen(gate, Arc::new(listener), Manner::plain(), server).await;
        });
    });
    let ended = boot::run(source, false, Some(site));
    // The process id in the name is of no use after the end. A missing file is no failure.
    let _ = std::fs::remove_file(&audit);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(not_started) => not_started.tell(),
    }
}

/// The comments of commands up to this length start in one column.
const COLUMN: usize = 88;

/// Prints commands to try, each with what it shows.
fn invite(live: &Live, listen: SocketAddr, admin: SocketAddr) {
    let running = live.current();
    let snapshot = &running.snapshot;
    let json = "-H 'Content-Type: application/json' -d";
    let question = r#"{"ahp":"0.1","capability":"content_search","query":"How heavy may a checked bag be?"}"#;
    let converse = &snapshot.settings.paths.converse.path;
    let mut tries = vec![
        (format!("curl -sI http://{listen}/"), "the Link header that agents look for"),
        (
            format!("curl -s  http://{listen}/ | grep -i 'AI Agent Notice'"),
            "the notice in every page, which people do not see",
        ),
        (format!("curl -s  http://{listen}/help/baggage.md"), "a page of the site as Markdown"),
        (
            format!("curl -s  http://{listen}{converse} {json} '{question}'"),
            "a question in plain words, answered from the pages",
        ),
        (
            format!(
                "curl -s  http://{listen}/agent/flights/search {json} '{{\"origin\":\"MAD\",\"destination\":\"NRT\"}}'"
            ),
            "a call of the site's own API, as the contract describes it",
        ),
    ];
    let paths = snapshot.endpoints.documents();
    let shown = paths.into_iter().filter(|path| !is_one_of_many(path));
    tries.extend(shown.map(|path| (format!("curl -s  http://{listen}{path}"), about(path))));
    let instead = snapshot.instead_of_page();
    let shows = "the manifest in the place of any page, for agents that ask for it";
    tries.push((format!("curl -s  http://{listen}/ -H 'Accept: {instead}'"), shows));
    tries.push((format!("curl -s  http://{admin}/metrics"), "what Frontdesk counts"));
    if let Some(audit) = &snapshot.settings.audit {
        tries.push((format!("tail -f {}", audit.path.display()), "which agent called what, as it happens"));
    }
    eprintln!("\nExample Travel is at http://{listen}/ with Frontdesk in front of it. Try, in another terminal:\n");
    let widths = tries.iter().map(|(command, _)| command.len());
    let width = widths.filter(|width| *width <= COLUMN).max().unwrap_or(0);
    for (command, shows) in tries {
        eprintln!("  {command:width$}  # {shows}");
    }
    eprintln!("\nCtrl-C ends it.\n");
}

/// Whether it says what another document of the list says too, or is one that the index of skills leads to.
fn is_one_of_many(path: &str) -> bool {
    path.ends_with("/SKILL.md")
        || matches!(path, "/.well-known/mcp/server-card.json" | "/.well-known/mcp.json")
        || path.starts_with("/.well-known/oauth-protected-resource/")
}

/// The purpose of a document.
fn about(path: &str) -> &'static str {
    match path {
        "/.well-known/agent.json" => "the AHP manifest: what agents can ask and call here",
        "/.well-known/agent-interface.toml" => {
            "the AICP contract: each capability, its risk, and what a person confirms"
        }
        "/.well-known/agent-interface" => "the AICP contract as TOML or JSON, by Accept",
        "/.well-known/agent-interface.sig" => "the signature of the contract",
        "/.well-known/agent-card.json" => "the A2A agent card: where agents of other makers ask and call",
        "/.well-known/agtp" => "where agents that speak AGTP go on",
        "/.well-known/api-catalog" => "a list of all that can be called (RFC 9727)",
        "/openapi.json" => "the capabilities as OpenAPI, for GPT Actions and generators of clients",
        "/llms.txt" => "the pages of the site in one list, for language models",
        "/llms-full.txt" => "all pages of the site in one text",
        "/sitemap.xml" => "all pages of the site with their dates, for crawlers",
        "/auth.md" => "what needs a credential, and how to get one",
        "/.well-known/oauth-protected-resource" => "whose tokens are taken (RFC 9728)",
        "/.well-known/ai-catalog.json" => "all documents for agents with their types",
        "/.well-known/agent-skills/index.json" => "agent skills: how to read, ask and call the site",
        "/.well-known/webmcp.js" => "the script for an agent in the browser",
        "/mcp/server-card" => "the MCP server card: where MCP is, and which versions",
        _ => "a document for agents",
    }
}
