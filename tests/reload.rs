//! Promise: a changed file is reloaded by itself or on demand; one with mistakes changes nothing but is reported
//! everywhere.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Dir, Origin, Ports, Reply, Request, Setup, eventually};
use std::time::{Duration, Instant};

/// The promise is 2 s; the rest is for a busy machine.
const NOTICED: Duration = Duration::from_secs(5);

async fn site() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

fn quiet(setup: &Setup) -> Setup {
    setup.clone().set("discovery", "notice = false")
}

async fn has_notice(desk: &Desk) -> bool {
    desk.get("/").await.page().contains("ahp-notice")
}

async fn loses_its_notice(desk: &Desk, how: &str) {
    eventually(how, NOTICED, async || !has_notice(desk).await).await;
}

#[tokio::test]
async fn reload_on_a_plain_write() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    assert!(has_notice(&desk).await);
    std::fs::write(&desk.config, quiet(&setup).text(&desk.ports)).expect("writing");
    loses_its_notice(&desk, "a plain write").await;
    std::fs::write(&desk.config, setup.text(&desk.ports)).expect("writing");
    eventually("the second write", NOTICED, async || has_notice(&desk).await).await;
}

#[tokio::test]
async fn reload_on_an_atomic_rename() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    for _ in 0..2 {
        desk.replace_config(&quiet(&setup).text(&desk.ports));
        loses_its_notice(&desk, "a rename").await;
        desk.replace_config(&setup.text(&desk.ports));
        eventually("the rename back", NOTICED, async || has_notice(&desk).await).await;
    }
}

#[tokio::test]
async fn reload_on_a_configmap_swap() {
    use std::os::unix::fs::symlink;
    let origin = site().await;
    let (dir, ports, setup) = (Dir::new(), Ports::free(), Setup::before(&origin));
    let root = dir.path().to_owned();
    let put = |name: &str, text: &str| {
        std::fs::create_dir(root.join(name)).expect("a version's directory");
        std::fs::write(root.join(name).join("frontdesk.toml"), text).expect("writing");
        symlink(name, root.join("..data_tmp")).expect("a link");
        std::fs::rename(root.join("..data_tmp"), root.join("..data")).expect("the swap");
    };
    put("..2026_1", &setup.text(&ports));
    symlink("..data/frontdesk.toml", dir.join("frontdesk.toml")).expect("a link");
    let desk = Desk::in_dir(dir, "frontdesk.toml", ports).await;
    assert!(has_notice(&desk).await);
    put("..2026_2", &quiet(&setup).text(&ports));
    std::fs::remove_dir_all(root.join("..2026_1")).expect("the old version");
    loses_its_notice(&desk, "a ConfigMap's swap").await;
}

#[tokio::test]
async fn reload_on_sighup() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let mut desk = setup.clone().start().await;
    desk.replace_config(&quiet(&setup).text(&desk.ports));
    desk.signal(libc::SIGHUP);
    loses_its_notice(&desk, "SIGHUP").await;
    desk.signal(libc::SIGHUP);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(desk.is_running(), "SIGHUP never ends it");
}

#[tokio::test]
async fn reload_by_post_is_done_when_it_is_answered() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    for _ in 0..10 {
        desk.swap(&quiet(&setup)).await;
        assert!(!has_notice(&desk).await, "swapped in before the 200");
        desk.swap(&setup).await;
        assert!(has_notice(&desk).await);
    }
    assert_eq!(desk.admin_get("/reload").await.status, 405, "GET changes nothing");
}

#[tokio::test]
async fn reload_of_a_bad_file_keeps_the_running_one_and_is_seen_everywhere() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    assert_eq!(desk.metric("frontdesk_config_last_reload_successful").await, Some(1.0));
    let bad = setup.clone().set("discovery", "notise = false").set("protection", "idle_timeout = \"soon\"");
    desk.replace_config(&bad.text(&desk.ports));
    let answer = desk.reload().await;
    assert_eq!(answer.status, 422);
    let mistakes = answer.text();
    for part in ["notise", "notice", "idle_timeout", "frontdesk.toml:"] {
        assert!(mistakes.contains(part), "{part} in {mistakes}");
    }
    assert!(has_notice(&desk).await, "the running one stays");
    assert_eq!(desk.metric("frontdesk_config_last_reload_successful").await, Some(0.0));
    assert!(desk.metric("frontdesk_config_reloads_total{result=\"failure\"}").await.is_some_and(|n| n >= 1.0));
    assert!(desk.admin_get("/config").await.text().contains("notise"), "/config shows the last error");
    let ready = desk.admin_get("/readyz?verbose").await;
    assert_eq!(ready.status, 200, "still ready");
    assert!(ready.text().contains("notise"), "and says so: {}", ready.text());
    eventually("the log says so", NOTICED, async || desk.stderr().contains("notise")).await;
    desk.swap(&setup).await;
    assert_eq!(desk.metric("frontdesk_config_last_reload_successful").await, Some(1.0));
    assert!(!desk.admin_get("/config").await.text().contains("notise"), "mended");
}

#[tokio::test]
async fn reload_of_a_bad_file_tells_warnings_apart() {
    let origin = site().await;
    let desk = Setup::before(&origin).start().await;
    // A table that is published may have any key, so that one is only worth a look.
    let odd = Setup::before(&origin).set("site", "origins = \"https://site.test\"");
    let bad = odd.set("discovery", "notise = false");
    desk.replace_config(&bad.text(&desk.ports));
    let answer = desk.reload().await;
    assert_eq!(answer.status, 422);
    for told in [answer.json(), desk.admin_get("/config").await.json()["last_error"].clone()] {
        let one = |name: &str, what: &str| {
            let lines = told[name].as_array().unwrap_or_else(|| panic!("{name} of {told}"));
            assert!(lines.len() == 1 && lines[0].as_str().is_some_and(|l| l.contains(what)), "{name} of {told}");
        };
        one("mistakes", "notise");
        one("warnings", "warning: site.origins: ");
    }
    let ready = desk.admin_get("/readyz?verbose").await.text();
    assert!(ready.contains("notise") && !ready.contains("warning: "), "{ready}");
    desk.says("was not taken into use").await;
    let said = desk.stderr();
    let line = |what: &str| said.lines().find(|l| l.contains(what)).unwrap_or_else(|| panic!("{what} in {said}"));
    assert!(line("warning: site.origins: ").contains("WARN"), "{said}");
    assert!(line("notise").contains("ERROR") && line("was not taken into use").contains("mistakes=1"), "{said}");
}

#[tokio::test]
async fn reload_of_a_bad_file_noticed_by_itself_is_seen_too() {
    let origin = site().await;
    let desk = Setup::before(&origin).start().await;
    std::fs::write(&desk.config, "[upstream\nurl = ").expect("writing");
    eventually("the metric falls", NOTICED, async || {
        desk.metric("frontdesk_config_last_reload_successful").await == Some(0.0)
    })
    .await;
    assert!(has_notice(&desk).await);
}

#[tokio::test]
async fn reload_says_what_cannot_be_swapped() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    let moved = Ports { http: crate::support::setup::dead_address(), ..desk.ports };
    desk.replace_config(&setup.text(&moved));
    let answer = desk.reload().await;
    let said = answer.text() + &desk.stderr() + &desk.admin_get("/readyz?verbose").await.text();
    assert!(said.contains("listen"), "a changed address is said, not ignored: {said}");
    assert_eq!(desk.get("/").await.status, 200, "the old address goes on");
}

#[tokio::test]
async fn reload_changes_the_upstream() {
    let (first, second) =
        (Origin::start(|_: &Request| Reply::json("1")).await, Origin::start(|_: &Request| Reply::json("2")).await);
    let desk = Setup::before(&first).start().await;
    let mut conn = desk.conn().await;
    assert_eq!(conn.ask(&Ask::get("/")).await.text(), "1");
    desk.swap(&Setup::before(&second)).await;
    assert_eq!(conn.ask(&Ask::get("/")).await.text(), "2", "on the same connection");
}

#[tokio::test]
async fn reload_changes_manifests_and_their_tags() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().set("site", "name = \"Before\"").start().await;
    let before = desk.get("/.well-known/agent.json").await;
    desk.swap(&setup.clone().set("site", "name = \"After\"")).await;
    let tag = before.header("etag").expect("a tag");
    let after =
        desk.ask(crate::support::Via::H1, Ask::get("/.well-known/agent.json").header("If-None-Match", tag)).await;
    assert_eq!((after.status, after.json()["name"].as_str()), (200, Some("After")));
    desk.swap(&setup.set("site", "name = \"Before\"")).await;
    let again = desk.get("/.well-known/agent.json").await;
    assert_eq!(again.header("etag"), Some(tag), "the same document has the same tag");
}

#[tokio::test]
async fn reload_of_a_key_that_does_not_fit_fails_once_and_recovers() {
    use crate::support::Tls;
    const FAILURES: &str = "frontdesk_config_reloads_total{result=\"failure\"}";
    let origin = site().await;
    let (old, new) = (Tls::new(), Tls::new());
    let desk = Setup::before(&origin).tls(&old).start().await;
    assert!(desk.metric("frontdesk_certificate_valid_until_timestamp_seconds").await.is_some_and(|end| end > 2e9));
    for what in ["a certificate before its key", "a wrong key for it"] {
        let before = desk.metric(FAILURES).await.unwrap_or(0.0);
        desk.dir.write("tls.crt", &new.cert_pem);
        desk.dir.write("tls.key", &old.key_pem);
        eventually("it is noticed", Duration::from_secs(10), async || {
            desk.metric(FAILURES).await.unwrap_or(0.0) > before
        })
        .await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        let failed = desk.metric(FAILURES).await.unwrap_or(0.0) - before;
        assert!(failed <= 2.0, "{what}: {failed} failures of one mistake");
        assert_eq!(desk.metric("frontdesk_config_last_reload_successful").await, Some(0.0));
        desk.dir.write("tls.key", &new.key_pem);
        eventually("it recovers", Duration::from_secs(10), async || {
            desk.metric("frontdesk_config_last_reload_successful").await == Some(1.0)
        })
        .await;
        assert!(new.connect(desk.ports.https, &[]).await.is_ok(), "{what}: with the new certificate");
    }
    let said = desk.stderr().matches("was not taken into use").count();
    assert!(said <= 4, "said {said} times for two mistakes");
    // One that has ended is taken: the site without it would be away for everybody, and the operator is warned.
    let ended = Tls::of_the_years(2001, 2002);
    ended.write(&desk.dir);
    eventually("the end is reported", Duration::from_secs(10), async || {
        let end = desk.metric("frontdesk_certificate_valid_until_timestamp_seconds").await;
        end == Some(1_009_843_200.0) && desk.stderr().contains("not valid any more since 2002-01-01T00:00:00Z")
    })
    .await;
}

#[tokio::test]
async fn reload_never_takes_half_a_file() {
    use std::io::Write;
    let origin = site().await;
    // The first half of a file is a whole one, of a site with a notice.
    let half = |name: &str| Setup::before(&origin).set("site", &format!("name = \"{name}\""));
    let whole = |name: &str| half(name).tail("[discovery]\nnotice = false\n");
    let desk = whole("0").start().await;
    for round in 1..=6u64 {
        let name = round.to_string();
        let (first, all) = (half(&name).text(&desk.ports), whole(&name).text(&desk.ports));
        assert!(all.starts_with(&first));
        // Wherever in its own rhythm the desk is when the writing begins.
        tokio::time::sleep(Duration::from_millis(90 * round)).await;
        let (path, rest) = (desk.config.clone(), all[first.len()..].to_owned());
        let writer = std::thread::spawn(move || {
            std::fs::write(&path, &first).expect("the first half");
            let begun = Instant::now();
            std::thread::sleep(Duration::from_millis(300));
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("the file");
            file.write_all(rest.as_bytes()).expect("the second half");
            begun.elapsed()
        });
        let mut half_in_use = false;
        eventually("the whole file is in use", Duration::from_secs(10), async || {
            half_in_use |= has_notice(&desk).await;
            desk.get("/.well-known/agent.json").await.json()["name"] == name.as_str() && !has_notice(&desk).await
        })
        .await;
        let gap = writer.join().expect("the writer");
        // A machine that stops for long in mid-file makes half a file look finished.
        assert!(
            !half_in_use || gap > Duration::from_millis(450),
            "half of file {round} was in use; halves {gap:?} apart"
        );
    }
}

#[tokio::test]
async fn reload_waits_for_no_pipe_and_reads_no_end_of_bytes() {
    let origin = site().await;
    let setup = Setup::before(&origin).file("name", "Tea");
    let named = |file: &str| setup.clone().set("site", &format!("name = \"${{file:{file}}}\""));
    let desk = named("name").start().await;
    let made = std::process::Command::new("mkfifo").arg(desk.dir.join("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let long = std::fs::File::create(desk.dir.join("long")).expect("a file");
    long.set_len(17 * 1024 * 1024).expect("a long file");
    for (file, why) in [("pipe", "it is no regular file"), ("long", "it is longer than 16 MiB")] {
        desk.replace_config(&named(file).text(&desk.ports));
        let refused = desk.reload().await;
        assert!(refused.status == 422 && refused.text().contains(why), "{file}: {}", refused.text());
    }
    desk.swap(&named("name")).await;
}

#[tokio::test]
async fn reload_says_what_it_cannot_follow_and_what_it_forgets() {
    let origin = site().await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().start().await;
    desk.replace_config(&setup.clone().set("runtime", "threads = 7").text(&desk.ports));
    let told = desk.reload().await.json();
    assert!(told["not_swapped"].to_string().contains("runtime.threads has changed"), "{told}");
    let elsewhere = format!("\"{}\"", crate::support::setup::dead_address());
    let moved = setup.text(&desk.ports).replacen(&format!("\"{}\"", desk.ports.http), &elsewhere, 1);
    desk.replace_config(&moved);
    assert!(desk.reload().await.json()["not_swapped"].to_string().contains("listen.http has changed"));
    let shown = desk.admin_get("/config").await.json();
    assert_eq!(shown["listening"]["http"], serde_json::json!([desk.ports.http.to_string()]), "where it does listen");
    let home = desk.dir.join("kept");
    desk.swap(&setup.set("store", &format!("url = \"file:{}\"", home.display()))).await;
    desk.says("names another store").await;
}
