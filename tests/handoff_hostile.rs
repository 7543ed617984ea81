//! Promise: only the files that the manifest lists leave a handoff directory, whatever is requested and whatever lies
//! in it.

use crate::support::handoff::{AT, Handoff, KEY, checksum, get, marks, mkfifo};
use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Via, eventually};
use std::os::unix::fs::symlink;

const SECRET: &str = "what nobody is to see";

async fn served(handoff: &Handoff, lines: &str) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = handoff.served(&origin, lines).await;
    (origin, desk)
}

/// A handoff with something beside it and something in it that is not listed.
fn with_secrets() -> Handoff {
    let handoff = Handoff::genuine();
    std::fs::write(handoff.beside("secret.md"), SECRET).expect("a file");
    std::fs::create_dir(handoff.path().join("below")).expect("a directory");
    for name in ["unlisted.md", ".hidden.md", "below/secret.md", "secret.txt", "HANDOFF.lock.old"] {
        handoff.write(name, SECRET);
    }
    handoff
}

#[tokio::test]
async fn handoff_is_never_left_by_a_spelling() {
    let handoff = with_secrets();
    let (origin, desk) = served(&handoff, "").await;
    for below in [
        "/%2e%2e%2fsecret.md",
        "/%2e%2e/%2e%2e%2fsecret.md",
        "/..%2fsecret.md",
        "/..%2Fsecret.md",
        "/..%5csecret.md",
        "/..\\secret.md",
        "/..;/secret.md",
        "/..%3b/secret.md",
        "/.%2e%2fsecret.md",
        "/%2e.%2fsecret.md",
        "/....//secret.md",
        "/..%00/secret.md",
        "/..%c0%afsecret.md",
        "/%252e%252e%252fsecret.md",
        "/..%252fsecret.md",
        "/STATUS.md/..%2f..%2fsecret.md",
        "/STATUS.md%00.md",
        "/STATUS.md/",
        "/STATUS.md;x",
        "//STATUS.md",
        "/./STATUS.md",
        "/x/../STATUS.md",
        "/%2fetc%2fpasswd",
        "//etc/passwd",
        "/below/secret.md",
        "/below%2fsecret.md",
        "/below",
        "/unlisted.md",
        "/.hidden.md",
        "/.aiignore",
        "/HANDOFF.lock",
        "/HANDOFF.lock.old",
        "/secret.txt",
        "/status.md",
        "/STATUS.md%20",
        "/STATUS.md%0a",
        "/MANIFEST.json%2f..",
        "/%EF%BC%8E%EF%BC%8E/secret.md",
    ] {
        let origin_before = origin.asked().len();
        let answer = get(&desk, below).await;
        let text = answer.text();
        assert!(!text.contains(SECRET) && !text.contains("root:") && !text.contains("harbour"), "{below}: {text}");
        // A spelling that leads out of the path altogether is a path of the site's own.
        if origin.asked().len() == origin_before {
            assert!([400, 404].contains(&answer.status), "{below}: {}", answer.status);
        }
    }
    for direct in ["/../secret.md", "/%2e%2e/secret.md", "/x/../../secret.md"] {
        assert!(!get(&desk, direct).await.text().contains(SECRET), "{direct}");
    }
}

#[tokio::test]
async fn handoff_links_lead_nowhere() {
    let handoff = with_secrets();
    let path = handoff.path();
    symlink(handoff.beside("secret.md"), path.join("link.md")).expect("a link");
    symlink("unlisted.md", path.join("near.md")).expect("a link");
    symlink("below", path.join("folder.md")).expect("a link");
    symlink("/nowhere", path.join("dangling.md")).expect("a link");
    for name in ["link.md", "near.md", "folder.md", "dangling.md"] {
        handoff.list(name, &checksum(SECRET));
    }
    let (_origin, desk) = served(&handoff, "").await;
    for below in ["/link.md", "/near.md", "/folder.md", "/folder.md/secret.md", "/dangling.md"] {
        let answer = get(&desk, below).await;
        assert!(
            answer.status == 404 && !answer.text().contains(SECRET),
            "{below}: {} {}",
            answer.status,
            answer.text()
        );
    }
    let checks = get(&desk, "/?envelope=1").await.json()["checks"].clone();
    assert_eq!((&checks["link.md"], &checks["STATUS.md"]), (&"missing".into(), &"ok".into()));
    // A file that was read becomes a link.
    handoff.remove("LOG.md");
    symlink(handoff.beside("secret.md"), path.join("LOG.md")).expect("a link");
    assert_eq!(get(&desk, "/LOG.md").await.status, 404);
    handoff.remove("MANIFEST.json");
    std::fs::write(handoff.beside("m.json"), handoff.manifest_of(&[("STATUS.md", "x")])).expect("a file");
    symlink(handoff.beside("m.json"), path.join("MANIFEST.json")).expect("a link");
    let index = get(&desk, "/").await;
    assert_eq!((index.status, index.json()["code"].as_str()), (502, Some("handoff_manifest_invalid")));
}

#[tokio::test]
async fn handoff_pipes_directories_and_large_files_hold_nobody_up() {
    let handoff = Handoff::genuine();
    mkfifo(&handoff.path().join("pipe.md"));
    std::fs::create_dir(handoff.path().join("folder.md")).expect("a directory");
    let large = "x".repeat(2 << 20);
    handoff.write("large.md", &large);
    handoff.write("binary.md", b"\xff\xfe\x00");
    for name in ["pipe.md", "folder.md", "gone.md"] {
        handoff.list(name, &checksum(""));
    }
    handoff.list("large.md", &checksum(&large));
    handoff.list("binary.md", &checksum(""));
    let (_origin, desk) = served(&handoff, "").await;
    for (name, status, code) in [
        ("pipe.md", 404, "handoff_file_missing"),
        ("folder.md", 404, "handoff_file_missing"),
        ("gone.md", 404, "handoff_file_missing"),
        ("large.md", 502, "handoff_file_too_large"),
        ("binary.md", 502, "handoff_file_no_text"),
    ] {
        let answer = get(&desk, &format!("/{name}")).await;
        assert_eq!((answer.status, answer.json()["code"].as_str()), (status, Some(code)), "{name}");
    }
    let file = get(&desk, "/STATUS.md").await;
    assert_eq!((file.status, marks(&file)[1]), (200, "verified"), "the others are there");
}

#[tokio::test]
async fn handoff_manifest_that_does_not_conform_serves_nothing() {
    let handoff = with_secrets();
    let (_origin, desk) = served(&handoff, "allow_v1 = true").await;
    let genuine = handoff.read("MANIFEST.json");
    assert_eq!(get(&desk, "/STATUS.md").await.status, 200);
    let mut manifests: Vec<String> = Vec::new();
    manifests.extend([
        String::new(),
        "{".into(),
        "[]".into(),
        "{}".into(),
        "null".into(),
        genuine.replace("\"3.0\"", "3"),
        genuine.replace("sha256:", "md5:"),
        genuine.replacen("\"files\"", "\"Files\"", 1),
        genuine.replacen("\"project\"", "\"project\": \"x\", \"project\"", 1),
        "[".repeat(100_000),
        format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)),
    ]);
    for manifest in manifests {
        handoff.put("MANIFEST.json", &manifest);
        for below in ["", "/?envelope=1", "/STATUS.md", "/LOG.md", "/..%2fsecret.md"] {
            let answer = get(&desk, below).await;
            let what = format!("{below} with {}", &manifest[..manifest.len().min(60)]);
            let text = answer.text();
            assert!(!text.contains(SECRET) && !text.contains("harbour") && !text.contains("root:"), "{what}: {text}");
            if below != "/..%2fsecret.md" {
                assert_eq!(
                    (answer.status, answer.json()["code"].as_str()),
                    (502, Some("handoff_manifest_invalid")),
                    "{what}"
                );
                assert_eq!(answer.header("cache-control"), Some("no-store"));
            }
        }
    }
    handoff.put("MANIFEST.json", &genuine);
    assert_eq!(get(&desk, "/STATUS.md").await.status, 200, "it comes back by itself");
}

#[tokio::test]
async fn handoff_entry_under_a_hostile_name_is_left_out_and_the_rest_is_served() {
    let handoff = with_secrets();
    let (_origin, desk) = served(&handoff, "").await;
    let genuine = handoff.read("MANIFEST.json");
    let hostile = [
        "../secret.md",
        "..\\\\secret.md",
        "/etc/passwd.md",
        "below/secret.md",
        ".hidden.md",
        "a\\u0000.md",
        "a\\n.md",
        "..",
        "secret.txt",
    ];
    for (n, name) in hostile.into_iter().enumerate() {
        handoff.put("MANIFEST.json", genuine.replacen("\"LOG.md\"", &format!("\"{name}\""), 1));
        for (below, status) in
            [("", 200), ("/?envelope=1", 200), ("/?view=core", 200), ("/STATUS.md", 200), ("/LOG.md", 404)]
        {
            let answer = get(&desk, below).await;
            let text = answer.text();
            assert_eq!(answer.status, status, "{below} with {name}: {text}");
            assert!(!text.contains(SECRET) && !text.contains("root:"), "{name}: {text}");
            assert!(!text.contains(&format!("\"{name}\"")), "{below} with {name}: {text}");
            if status == 200 {
                assert!(marks(&answer)[2].contains("entries-refused"), "{below} with {name}: {:?}", answer.headers);
            }
        }
        assert_eq!(get(&desk, "").await.json()["files"]["LOG.md"], serde_json::Value::Null);
        assert_eq!(get(&desk, "/..%2fsecret.md").await.status, 404);
        let counted = desk.metric("frontdesk_rejections_total{reason=\"handoff_name\"}").await;
        assert_eq!(counted, Some((n + 1) as f64), "once for each, however often it was asked for");
    }
    let lines = || desk.stderr().matches("ignoring an entry that is no plain file name").count();
    eventually("a line for each", SOON, async || lines() == hostile.len()).await;
    handoff.put("MANIFEST.json", &genuine);
    let whole = get(&desk, "").await;
    assert!(whole.text() == genuine && !marks(&whole)[2].contains("refused"), "as it is stored");
    assert_eq!(lines(), hostile.len());
}

#[tokio::test]
async fn handoff_without_a_manifest_is_served_only_where_that_is_meant() {
    let handoff = with_secrets();
    handoff.remove("MANIFEST.json");
    let (origin, desk) = served(&handoff, "").await;
    for below in ["", "/STATUS.md", "/?envelope=1"] {
        let answer = get(&desk, below).await;
        assert_eq!(
            (answer.status, marks(&answer)[0], answer.json()["code"].as_str()),
            (404, "v1", Some("handoff_v1")),
            "{below}"
        );
    }
    desk.swap(&handoff.setup(&origin, "allow_v1 = true")).await;
    let index = get(&desk, "/").await;
    let told = index.json();
    assert_eq!((marks(&index)[0], &told["manifest"], &told["state"]), ("v1", &serde_json::Value::Null, &"v1".into()));
    let names: Vec<&String> = told["checks"].as_object().expect("files").keys().collect();
    assert!(names.contains(&&"STATUS.md".to_owned()) && names.contains(&&"unlisted.md".to_owned()), "{names:?}");
    assert!(names.iter().all(|name| name.ends_with(".md") && !name.starts_with('.')), "{names:?}");
    let file = get(&desk, "/STATUS.md").await;
    assert_eq!((file.status, marks(&file), file.header("x-aahp-checksum")), (200, ["v1", "unlisted", "-"], None));
    for below in ["/.hidden.md", "/pii-allowlist.json", "/secret.txt", "/below/secret.md"] {
        assert_eq!(get(&desk, below).await.status, 404, "{below}");
    }
}

#[tokio::test]
async fn handoff_that_is_not_there_yet_says_so() {
    let handoff = Handoff::empty();
    let (_origin, desk) = served(&handoff, "allow_v1 = true").await;
    let nothing = get(&desk, "/").await;
    assert_eq!(
        (nothing.status, marks(&nothing)[0], nothing.json()["code"].as_str()),
        (404, "bootstrap", Some("handoff_empty"))
    );
    std::fs::remove_dir(handoff.path()).expect("removing it");
    assert_eq!(marks(&get(&desk, "/STATUS.md").await)[0], "bootstrap", "nor the directory");
    std::fs::create_dir(handoff.path()).expect("making it");
    handoff.write("STATUS.md", "new\n");
    assert_eq!(get(&desk, "/STATUS.md").await.text(), "new\n");
}

#[tokio::test]
async fn handoff_names_may_need_to_be_encoded() {
    let handoff = Handoff::genuine();
    for name in ["Über uns.md", "a+b (c).md"] {
        handoff.write(name, "text\n");
        handoff.list(name, &checksum("text\n"));
    }
    let (_origin, desk) = served(&handoff, "").await;
    for below in ["/%C3%9Cber%20uns.md", "/a+b%20(c).md"] {
        let file = get(&desk, below).await;
        assert_eq!((file.status, file.text().as_str()), (200, "text\n"), "{below}");
    }
    let page = desk.ask(Via::H1, Ask::get(&format!("{AT}/none.md")).bearer(KEY).accept("text/html")).await;
    assert_eq!((page.status, page.media_type().as_str()), (404, "text/html"), "a person gets a page");
}
