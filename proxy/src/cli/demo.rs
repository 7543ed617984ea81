//! `frontdesk demo`: the bundled site, its declaration, and Frontdesk in front.

use std::{collections::HashMap, net::SocketAddr, process::ExitCode, sync::Arc};

use tokio::sync::watch;

use crate::{
    accept::{self, Gate, Manner, Shortened},
    boot::{self, Beside},
    demo::{Server, Travel},
    live::Live,
    source::Source,
};

const DECLARATION: &str = include_str!("../../../conf/travel.toml");
/// Connections from Frontdesk to the site.
const CONNECTIONS: usize = 1024;

pub(super) fn demo(listen: SocketAddr, admin: SocketAddr) -> ExitCode {
    // Bound before the runtime exists, because the declaration has to name the port.
    let bound = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| {
        l.set_nonblocking(true)?;
        Ok((l.local_addr()?, l))
    });
    let (address, listener) = match bound {
        Ok(bound) => bound,
        Err(e) => return boot::NotStarted(vec![format!("the example site cannot listen: {e}")]).tell(),
    };
    let origin = format!("http://{listen}");
    // Of this process alone: who runs an example twice reads each by itself.
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
        let server = Arc::new(Shortened::long(Server(Travel::new(&origin))));
        tokio::spawn(async move {
            let _keep = keep;
            accept::listen(gate, Arc::new(listener), Manner::plain(), server).await;
        });
    });
    let ended = boot::run(source, false, Some(site));
    // Nobody looks for it under the number of a process that is gone. What is not there needs no removing.
    let _ = std::fs::remove_file(&audit);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(not_started) => not_started.tell(),
    }
}

fn invite(live: &Live, listen: SocketAddr, admin: SocketAddr) {
    let running = live.current();
    let mut tries = vec![
        (format!("curl -sI http://{listen}/"), "the Link header that agents look for"),
        (format!("curl -s  http://{listen}/ | grep -i 'AI Agent Notice'"), "the notice that people do not see"),
    ];
    let paths = running.snapshot.endpoints.documents();
    tries.extend(paths.into_iter().map(|path| (format!("curl -s  http://{listen}{path}"), "what is declared")));
    let instead = running.snapshot.instead_of_page();
    tries.push((format!("curl -s  http://{listen}/ -H 'Accept: {instead}'"), "what is declared instead of the page"));
    tries.push((format!("curl -s  http://{admin}/metrics"), "what Frontdesk counts"));
    if let Some(audit) = &running.snapshot.settings.audit {
        tries.push((format!("tail -f {}", audit.path.display()), "what agents did"));
    }
    eprintln!("\nExample Travel is at http://{listen}/ with Frontdesk in front of it. Try, in another terminal:\n");
    let width = tries.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, shows) in tries {
        eprintln!("  {command:width$}  # {shows}");
    }
    eprintln!("\nCtrl-C ends it.\n");
}
