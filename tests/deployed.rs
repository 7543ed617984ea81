//! Promise: the files in deploy/ work unchanged: each ConfigMap starts a desk, a change of it is reloaded, and the
//! numbers beside it (ports, drain, memory, users) match the configuration.

use crate::support::desk::run_to_end;
use crate::support::dir::Dir;
use crate::support::page::{PAGE, assert_rewritten};
use crate::support::redis::Redis;
use crate::support::setup::dead_address;
use crate::support::{Ask, Desk, Origin, Ports, Reply, Request, SOON, Setup, eventually};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const OVERLAYS: [&str; 3] = ["sidecar", "sidecar-classic", "edge"];
/// What storing the last records and lines may take after `shutdown_timeout`.
const LAST: u64 = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The manifests of an overlay, one after the other.
fn manifests(overlay: &str) -> String {
    let folder = root().join("deploy/kubernetes/overlays").join(overlay);
    let files = std::fs::read_dir(&folder).expect("an overlay").map(|e| e.expect("an entry").path());
    let yaml = files.filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    yaml.map(|path| std::fs::read_to_string(path).expect("a manifest") + "\n---\n").collect()
}

fn config(overlay: &str) -> (String, toml::Table) {
    let text = read(&format!("deploy/kubernetes/overlays/{overlay}/frontdesk.toml"));
    let table = text.parse().unwrap_or_else(|e| panic!("{overlay}: {e}"));
    (text, table)
}

/// The values that stand behind `key:`, in order.
fn values<'t>(yaml: &'t str, key: &str) -> Vec<&'t str> {
    let lines = yaml.lines().map(|line| line.trim().trim_start_matches("- "));
    lines
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .map(str::trim)
        .filter(|v| !v.is_empty())
        .collect()
}

fn numbers(yaml: &str, key: &str) -> Vec<u64> {
    values(yaml, key).iter().map(|v| v.parse().unwrap_or_else(|_| panic!("{key}: {v}"))).collect()
}

fn seconds(config: &toml::Table, key: &str) -> u64 {
    let text = config["protection"][key].as_str().unwrap_or_default();
    text.strip_suffix('s').and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{key} = {text:?} in seconds"))
}

fn port(config: &toml::Table, key: &str) -> u64 {
    let address = config["listen"][key].as_str().unwrap_or_default();
    address.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{key} = {address:?}"))
}

/// With what cannot be the same here put in its place, and nothing else: addresses, each of which must be there once.
fn here(text: &str, places: &[(&str, String)]) -> String {
    places.iter().fold(text.to_owned(), |text, (there, here)| {
        let there = format!("\"{there}\"");
        assert_eq!(text.matches(&there).count(), 1, "{there} in {text}");
        text.replace(&there, &format!("\"{here}\""))
    })
}

fn places(overlay: &str, ports: &Ports, origin: &Origin, redis: &str) -> Vec<(&'static str, String)> {
    let mut places = vec![("0.0.0.0:8080", ports.http.to_string()), ("0.0.0.0:9901", ports.admin.to_string())];
    if overlay == "edge" {
        places.extend([("http://site", origin.url()), ("${REDIS_URL:-redis://redis:6379/0}", redis.to_owned())]);
    } else {
        places.push(("http://127.0.0.1:3000", origin.url()));
    }
    places
}

#[tokio::test]
async fn deployed_each_configmap_starts_a_desk() {
    let redis = Redis::start().await;
    for overlay in OVERLAYS {
        let kustomization = read(&format!("deploy/kubernetes/overlays/{overlay}/kustomization.yaml"));
        assert!(kustomization.contains("files:\n      - frontdesk.toml\n"), "{overlay}: the ConfigMap is the file");
        assert!(kustomization.contains("disableNameSuffixHash: true"), "{overlay}: it changes in place");
        let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
        let (text, table) = config(overlay);
        let desk = Desk::with_config(|ports| here(&text, &places(overlay, ports, &origin, &redis.url()))).await;
        assert_rewritten(PAGE, &desk.get("/").await.page(), overlay);
        assert_eq!(desk.get("/.well-known/agent.json").await.status, 200, "{overlay}");
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(desk.admin_get(path).await.status, 200, "{overlay}: {path}");
        }
        assert_eq!(desk.metric("frontdesk_store_up").await, Some(1.0), "{overlay}");
        let shared = table["store"]["url"].as_str().unwrap_or_default().contains("redis");
        assert_eq!(shared, overlay == "edge", "replicas of {overlay} share what they count");
    }
    assert!(!redis.keys().await.is_empty(), "the edge counts in Redis");
}

#[test]
fn deployed_each_configmap_is_fine_as_it_stands() {
    for overlay in OVERLAYS {
        let file = format!("deploy/kubernetes/overlays/{overlay}/frontdesk.toml");
        let (code, out, err) = run_to_end(&["check", &file], &root());
        assert_eq!(code, 0, "{err}");
        // That there is no token yet is the one thing left to say.
        assert_eq!(err.matches("warning").count(), 1, "{file}: {err}");
        assert!(err.contains("admin.token_sha256"), "{file}: {err}");
        assert!(out.contains("is fine"), "{out}");
    }
}

#[tokio::test]
async fn deployed_a_changed_configmap_is_taken_over() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let (text, _) = config("sidecar");
    let (dir, ports) = (Dir::new(), Ports::free());
    let first = here(&text, &places("sidecar", &ports, &origin, ""));
    let (second, broken) = (format!("{first}\n[site]\nname = \"Second\"\n"), first.replace("[upstream]", "[upstrem]"));
    // As the kubelet does it: files in a directory of their own, a link that is swapped by renaming, links through it.
    let root = dir.path().to_owned();
    let put = |name: &str, text: &str| {
        std::fs::create_dir(root.join(name)).expect("a directory");
        std::fs::write(root.join(name).join("frontdesk.toml"), text).expect("a file");
        symlink(name, root.join("..data_tmp")).expect("a link");
        std::fs::rename(root.join("..data_tmp"), root.join("..data")).expect("renaming");
    };
    put("..first", &first);
    symlink("..data/frontdesk.toml", root.join("frontdesk.toml")).expect("a link");
    let desk = Desk::in_dir(dir, "frontdesk.toml", ports).await;
    put("..second", &second);
    std::fs::remove_dir_all(root.join("..first")).expect("the old directory goes");
    let manifest = async || desk.get("/.well-known/agent.json").await.text();
    eventually("the second is in use", SOON, async || manifest().await.contains("Second")).await;
    put("..third", &broken);
    let taken = "frontdesk_config_last_reload_successful";
    eventually("mistakes are told", SOON, async || desk.metric(taken).await == Some(0.0)).await;
    assert!(manifest().await.contains("Second"), "and the second goes on");
    assert_eq!(desk.admin_get("/readyz").await.status, 200);
}

#[test]
fn deployed_drain_fits_into_the_grace_period() {
    for overlay in OVERLAYS {
        let (yaml, (_, config)) = (manifests(overlay), config(overlay));
        let (delay, limit) = (seconds(&config, "shutdown_delay"), seconds(&config, "shutdown_timeout"));
        let grace = numbers(&yaml, "terminationGracePeriodSeconds");
        assert_eq!(grace.len(), 1, "{overlay}");
        let slept = match overlay {
            "sidecar" => numbers(&yaml, "seconds"),
            "sidecar-classic" => {
                let command = values(&yaml, "command").concat();
                vec![command.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("command: [\"sleep\", \"22\"]")]
            }
            _ => vec![0],
        };
        assert_eq!(slept.len(), 1, "{overlay}: how long the site waits before it ends");
        match overlay {
            // One after the other: the site's wait, its own end (of which at least 10 s are left), Frontdesk's.
            "sidecar" => {
                assert_eq!(delay, 0, "the site has ended by then");
                assert!(slept[0] >= 5, "the endpoints take a while");
                assert!(slept[0] + 10 + limit + LAST <= grace[0], "{overlay}: {} s", grace[0]);
            }
            // Beside one another: the site outlives Frontdesk, and has 10 s of its own.
            "sidecar-classic" => {
                assert!(delay >= 5, "the endpoints take a while");
                assert!(slept[0] > delay + limit, "the site is there to the end");
                assert!(slept[0] + 10 <= grace[0] && delay + limit + LAST <= grace[0]);
            }
            _ => {
                assert!(delay >= 5, "the endpoints take a while");
                assert!(delay + limit + LAST <= grace[0], "{overlay}: {delay} + {limit} + {LAST} > {}", grace[0]);
            }
        }
    }
    let unit = read("deploy/systemd/frontdesk.service");
    let stop = unit.lines().find_map(|l| l.strip_prefix("TimeoutStopSec=")?.parse::<u64>().ok()).expect("a timeout");
    let defaults: toml::Table = read("conf/frontdesk.toml").parse().expect("the defaults");
    assert!(seconds(&defaults, "shutdown_delay") + seconds(&defaults, "shutdown_timeout") + LAST <= stop);
}

#[test]
fn deployed_sockets_of_systemd_are_the_addresses_of_the_configuration() {
    let held: Vec<String> = read("deploy/systemd/frontdesk.socket")
        .lines()
        .filter_map(|l| l.strip_prefix("ListenStream="))
        .map(str::to_owned)
        .collect();
    let defaults: toml::Table = read("conf/frontdesk.toml").parse().expect("the defaults");
    let listen = |key: &str| defaults["listen"][key].as_str().expect("an address").to_owned();
    assert_eq!(held, [listen("http"), listen("admin")]);
}

#[test]
fn deployed_ports_are_those_of_the_configuration() {
    for overlay in OVERLAYS {
        let (yaml, (_, config)) = (manifests(overlay), config(overlay));
        let (http, admin) = (port(&config, "http"), port(&config, "admin"));
        assert!(http >= 1024 && admin >= 1024, "no capability is needed");
        for key in ["http", "admin"] {
            let address = config["listen"][key].as_str().unwrap_or_default();
            assert!(address.starts_with("0.0.0.0:"), "{overlay}: kubelet and Service come to the pod's address");
        }
        assert_eq!(numbers(&yaml, "containerPort"), [http, admin], "{overlay}");
        // The site itself is probed through Frontdesk, where it is beside it.
        let targets = numbers(&yaml, "targetPort");
        assert!(targets.contains(&http) && targets.contains(&admin), "{overlay}: {targets:?}");
        assert!(targets.iter().all(|p| [http, admin].contains(p)), "{overlay}: {targets:?}");
        let site = read("deploy/kubernetes/base/deployment.yaml");
        let sites = numbers(&site, "containerPort")[0];
        let known = [http, admin, 80, sites];
        assert!(numbers(&yaml, "port").iter().all(|p| known.contains(p)), "{overlay}: {:?}", numbers(&yaml, "port"));
        let upstream = config["upstream"]["url"].as_str().unwrap_or_default();
        match overlay {
            "edge" => assert_eq!(upstream, "http://site", "the site's Service"),
            _ => assert_eq!(upstream, format!("http://127.0.0.1:{sites}"), "the site beside it"),
        }
        for path in ["/readyz", "/livez"] {
            assert!(values(&yaml, "path").contains(&path), "{overlay} probes {path}");
        }
        // The index of the site's pages takes what 64Mi do not have.
        let concierge = config["content"]["concierge"].as_bool().expect("said");
        let memory = values(&yaml, "memory");
        assert_eq!(memory.last(), Some(if concierge { &"256Mi" } else { &"64Mi" }), "{overlay}: {memory:?}");
    }
}

/// What a `COPY ${NAME:-FILE}` copies if the build argument is not given.
fn without_argument(source: &str) -> &str {
    let default = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')?.split_once(":-"));
    default.map_or(source, |(_, file)| file)
}

#[test]
fn deployed_container_holds_what_the_build_needs_and_runs_as_nobody() {
    let text = read("deploy/container/Containerfile");
    let copied: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY ").filter(|rest| !rest.starts_with("--from")))
        .flat_map(|rest| rest.split(' ').rev().skip(1))
        .map(without_argument)
        .collect();
    let ignored = read("deploy/container/Containerfile.dockerignore");
    for source in &copied {
        assert!(root().join(source).exists(), "COPY {source}");
        assert!(ignored.lines().any(|line| line.strip_prefix('!') == Some(source)), "{source} is ignored");
    }
    // Cargo reads the manifest of every member, whatever it builds.
    let workspace: toml::Table = read("Cargo.toml").parse().expect("TOML");
    for member in workspace["workspace"]["members"].as_array().expect("members") {
        let manifest = format!("{}/Cargo.toml", member.as_str().expect("a folder"));
        assert!(copied.iter().any(|source| Path::new(&manifest).starts_with(source)), "{manifest} is not copied");
    }
    // What the sources take in from elsewhere is copied too.
    for folder in ["filters", "proxy"] {
        let mut folders = vec![(root().join(folder), 1)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder").map(|e| e.expect("an entry").path()) {
                if entry.is_dir() {
                    folders.push((entry, depth + 1));
                    continue;
                }
                let code = std::fs::read_to_string(&entry).unwrap_or_default();
                for taken in code.split("include_").skip(1).filter_map(|rest| rest.split('"').nth(1)) {
                    let Some(outside) = taken.strip_prefix(&"../".repeat(depth)) else { continue };
                    let covered = copied.iter().any(|source| outside.starts_with(&format!("{source}/")));
                    assert!(covered, "{} takes in {outside}", entry.display());
                }
            }
        }
    }
    let last =
        |word: &str| text.lines().rev().find_map(|line| line.strip_prefix(word)).expect("said").trim().to_owned();
    let user = last("USER ");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "runAsNonRoot wants a number: {user}");
    for overlay in OVERLAYS {
        let (id, yaml) = (user.split(':').next().expect("a user").to_owned(), manifests(overlay));
        assert!(values(&yaml, "runAsUser").contains(&id.as_str()), "{overlay} runs as {id}");
        let args = values(&yaml, "args").concat();
        assert_eq!(args, last("CMD "), "{overlay}");
    }
}

#[tokio::test]
async fn deployed_health_check_tells_ready_from_alive_from_gone() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let mut desk = Setup::before(&origin).set("protection", "shutdown_delay = \"4s\"").start().await;
    let admin = desk.ports.admin.to_string();
    let health = |more: &[&str]| {
        let args: Vec<&str> = ["health", "--admin", &admin].iter().chain(more).copied().collect();
        run_to_end(&args, &root())
    };
    assert_eq!(health(&[]), (0, "ok\n".into(), String::new()));
    desk.signal(libc::SIGTERM);
    eventually("it drains", SOON, async || desk.admin(Ask::get("/readyz")).await.status == 503).await;
    let (code, _, err) = health(&[]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("503: draining"), "{err}");
    assert_eq!(health(&["--live"]).0, 0, "alive to its end");
    desk.wait_exit(SOON).await;
    let (code, _, err) = run_to_end(&["health", "--admin", &dead_address().to_string()], &root());
    assert_eq!(code, 1);
    assert!(err.contains("no answer from") && err.contains("--admin"), "{err}");
}
