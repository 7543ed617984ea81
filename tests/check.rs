//! Promise: `frontdesk check` finds all mistakes in one run, with their places and the likely intention.

use crate::support::desk::run_to_end;
use crate::support::{Dir, Tls};

pub(crate) struct Checked {
    pub(crate) code: i32,
    pub(crate) said: String,
}

pub(crate) fn check(text: impl AsRef<[u8]>) -> Checked {
    let dir = Dir::new();
    dir.write("frontdesk.toml", text);
    check_in(&dir)
}

fn check_in(dir: &Dir) -> Checked {
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    Checked { code, said: out + &err }
}

pub(crate) const SMALLEST: &str = "[upstream]\nurl = \"http://127.0.0.1:3000\"\n";

#[test]
fn check_passes_the_smallest_file() {
    let checked = check(SMALLEST);
    assert_eq!(checked.code, 0, "{}", checked.said);
    let dir = Dir::new();
    dir.write("frontdesk.toml", SMALLEST);
    for named in [["check", "--config", "frontdesk.toml"], ["check", "-c", "frontdesk.toml"]] {
        assert_eq!(run_to_end(&named, dir.path()).0, 0, "as `run` takes it");
    }
    assert_eq!(run_to_end(&["check"], dir.path()).0, 2, "some file has to be named");
}

#[test]
fn check_finds_every_mistake_in_one_run_with_its_line() {
    let text = "[upstream]\nurl = \"http://127.0.0.1:3000\"\nread_timeot = \"3s\"\n\n[protection]\n\
                idle_timeout = \"soon\"\nmax_header = \"32 parsecs\"\nmax_connections = -4\n\n[discovry]\nnotice = true\n\n\
                [discovery]\naccept = \"sideways\"\nnotice = \"yes\"\n\n[rate_limits]\nanonymous = \"30/fortnight\"\n";
    let checked = check(text);
    assert_eq!(checked.code, 1, "{}", checked.said);
    for (line, key) in [
        (3, "read_timeot"),
        (6, "idle_timeout"),
        (7, "max_header"),
        (8, "max_connections"),
        (10, "discovry"),
        (14, "accept"),
        (15, "notice"),
        (18, "anonymous"),
    ] {
        let place = format!("frontdesk.toml:{line}");
        let found = checked.said.lines().any(|l| l.contains(&place));
        assert!(found && checked.said.contains(key), "{place} ({key}) in:\n{}", checked.said);
    }
    for meant in ["read_timeout", "discovery"] {
        assert!(checked.said.contains(meant), "did you mean {meant}? in:\n{}", checked.said);
    }
    assert!(checked.said.to_lowercase().contains("did you mean"), "{}", checked.said);
}

#[test]
fn check_explains_the_trap_of_verbs_in_paths() {
    let text = format!(
        "{SMALLEST}[[capabilities]]\nid = \"orders.cancel\"\ntype = \"destructive_action\"\n\
         agtp = {{ path = \"/orders/{{id}}/can-cel\" }}\n"
    );
    let checked = check(&text);
    assert_eq!(checked.code, 1, "{}", checked.said);
    let explained = "frontdesk.toml:6: capabilities[0].agtp.path: \"/orders/{id}/can-cel\" has the segment \"can-cel\", \
                     which is the verb CANCEL in another spelling; a path says what, the verb before it what is done; \
                     write path = \"/orders/{id}\" and method = \"CANCEL\" (in capability \"orders.cancel\")";
    assert!(checked.said.contains(explained), "{}", checked.said);
    let shop = check(include_str!("../conf/verbs.toml"));
    assert_eq!(shop.code, 0, "{}", shop.said);
    assert!(shop.said.contains("20 capabilities"), "{}", shop.said);
}

#[test]
fn check_warns_of_a_site_that_is_frontdesk_itself() {
    let said = |listen: &str, url: &str| {
        let checked = check(format!("[listen]\nhttp = \"{listen}\"\n[upstream]\nurl = \"{url}\"\n"));
        assert_eq!(checked.code, 0, "{}", checked.said);
        checked.said.contains("where Frontdesk itself listens")
    };
    for (listen, url) in [
        ("127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("0.0.0.0:3000", "http://127.0.0.1:3000"),
        ("0.0.0.0:3000", "http://localhost:3000"),
        ("[::]:3000", "http://127.0.0.1:3000"),
        ("[::]:3000", "http://[::1]:3000"),
        ("0.0.0.0:80", "http://127.0.0.2"),
        ("10.1.2.3:3000", "http://[::ffff:10.1.2.3]:3000"),
        // The operator's page in front of everybody.
        ("127.0.0.1:8080", "http://127.0.0.1:9901"),
    ] {
        assert!(said(listen, url), "{listen} {url}");
    }
    for (listen, url) in [
        ("127.0.0.1:3000", "http://127.0.0.1:3001"),
        ("127.0.0.1:3000", "http://127.0.0.2:3000"),
        ("0.0.0.0:3000", "http://[::1]:3000"),
        ("0.0.0.0:3000", "http://10.1.2.3:3000"),
        ("0.0.0.0:3000", "http://shop.example:3000"),
    ] {
        assert!(!said(listen, url), "{listen} {url}");
    }
}

#[test]
fn check_and_the_command_line_take_the_same_addresses() {
    let dir = Dir::new();
    dir.write("frontdesk.toml", SMALLEST);
    let (code, _, said) = run_to_end(&["health", "--admin", ":1"], dir.path());
    assert!(code == 1 && said.contains("no answer from http://0.0.0.0:1/"), "{said}");
    let (code, _, said) = run_to_end(&["health", "--admin", "somewhere"], dir.path());
    assert!(code == 2 && said.contains("write \"127.0.0.1:8080\""), "{said}");
}

#[test]
fn check_wants_an_upstream() {
    let checked = check("[listen]\nhttp = \"127.0.0.1:0\"\n");
    assert_eq!(checked.code, 1, "{}", checked.said);
    assert!(checked.said.contains("upstream"), "{}", checked.said);
}

#[test]
fn check_finds_unset_variables_and_missing_files() {
    let text = format!(
        "{SMALLEST}ca = \"not-there.pem\"\n\n[harness]\nurl = \"http://127.0.0.1:1/\"\ntoken = \"${{NOT_SET_ANYWHERE}}\"\n"
    );
    let checked = check(text);
    assert_eq!(checked.code, 1, "{}", checked.said);
    for part in ["not-there.pem", "NOT_SET_ANYWHERE", "frontdesk.toml:3", "frontdesk.toml:7"] {
        assert!(checked.said.contains(part), "{part} in:\n{}", checked.said);
    }
}

#[test]
fn check_takes_defaults_of_variables_and_files() {
    let dir = Dir::new();
    dir.write("secret", "from-a-file\n");
    let secret = dir.join("secret").display().to_string();
    let harness = "[harness]\nurl = \"http://127.0.0.1:1/\"\n";
    dir.write("frontdesk.toml", format!("{SMALLEST}\n{harness}token = \"${{NOT_SET_ANYWHERE:-plain}}\"\n"));
    let checked = check_in(&dir);
    assert_eq!(checked.code, 0, "{}", checked.said);
    dir.write("frontdesk.toml", format!("{SMALLEST}\n{harness}token = \"${{file:{secret}}}\"\n"));
    let checked = check_in(&dir);
    assert_eq!(checked.code, 0, "{}", checked.said);
    assert!(!checked.said.contains("from-a-file"), "a secret is not said");
}

#[test]
fn check_cannot_read_what_is_no_toml() {
    for text in [&b"[upstream\nurl = "[..], b"\xff\xfe\x00\x01", b"url = = 3\n", b"a = 1\na = 2\n"] {
        let checked = check(text);
        assert_eq!(checked.code, 2, "{:?}: {}", String::from_utf8_lossy(text), checked.said);
    }
    let dir = Dir::new();
    assert_eq!(check_in(&dir).code, 2, "no file at all");
    std::fs::create_dir(dir.join("frontdesk.toml")).expect("a directory");
    assert_eq!(check_in(&dir).code, 2, "a directory");
}

#[test]
fn check_refuses_https_without_a_certificate() {
    let checked = check(format!("{SMALLEST}\n[listen]\nhttps = \"127.0.0.1:8443\"\n"));
    assert_eq!(checked.code, 1, "{}", checked.said);
    assert!(checked.said.contains("tls"), "{}", checked.said);
    let dir = Dir::new();
    dir.write("tls.crt", "nonsense");
    dir.write("tls.key", "nonsense");
    let tls = "[listen]\nhttps = \"127.0.0.1:8443\"\n[tls]\ncert = \"tls.crt\"\nkey = \"tls.key\"\n";
    dir.write("frontdesk.toml", format!("{SMALLEST}\n{tls}"));
    let checked = check_in(&dir);
    assert_eq!(checked.code, 1, "PEM that is none is found before it is served: {}", checked.said);
}

#[test]
fn check_warns_of_near_misses_in_open_tables_and_passes() {
    let checked = check(format!("{SMALLEST}\n[site]\nname = \"X\"\ndescripton = \"a near miss\"\nx_own = 1\n"));
    assert_eq!(checked.code, 0, "an open table: {}", checked.said);
    assert!(checked.said.contains("descripton"), "but said: {}", checked.said);
    assert!(!checked.said.contains("x_own"), "what is far from any key is the operator's own: {}", checked.said);
}

#[test]
fn check_refuses_an_unknown_capability_type() {
    let text = format!(
        "{SMALLEST}\n[[capabilities]]\nid = \"a.b\"\ntype = \"quary\"\ndescription = \"x\"\nmethod = \"POST\"\nendpoint = \"/a\"\n"
    );
    let checked = check(text);
    assert_eq!(checked.code, 1, "{}", checked.said);
    assert!(checked.said.contains("quary") && checked.said.contains("query"), "{}", checked.said);
}

#[test]
fn check_prints_no_colour_where_nobody_sees_it() {
    assert!(!check("[upstream]\nurll = \"x\"\n").said.contains('\x1b'));
}

#[test]
fn check_warns_of_actions_that_only_memory_remembers() {
    use crate::support::rates::capability;
    let warned = |store: &str, kind: &str| {
        let checked = check(format!("{SMALLEST}\n[store]\nurl = \"{store}\"\n{}", capability("a.b", kind, "/agent/a")));
        assert_eq!(checked.code, 0, "{store}, {kind}: {}", checked.said);
        checked.said.contains("memory:")
    };
    for kind in ["prepare_action", "commit_action", "destructive_action"] {
        assert!(warned("memory:", kind), "{kind}");
        assert!(!warned("redis://127.0.0.1:6379/0", kind), "{kind} in Redis");
    }
    assert!(!warned("memory:", "query"), "what only reads");
}

#[test]
fn check_finds_mistakes_about_callers_and_stores() {
    let text = "[upstream]\nurl = \"http://127.0.0.1:3000\"\n[store]\nurl = \"postgres://x\"\non_error = \"maybe\"\n\
        [rate_limits]\nactions = \"many\"\n[[auth.api_keys]]\nname = \"a\"\nsha256 = \"abc\"\n\
        rate_limit = \"5/fortnight\"\n";
    let checked = check(text);
    assert_eq!(checked.code, 1, "{}", checked.said);
    for (line, key) in [(4, "store.url"), (5, "on_error"), (7, "actions"), (10, "sha256"), (11, "rate_limit")] {
        let place = format!("frontdesk.toml:{line}");
        let found = checked.said.lines().any(|l| l.contains(&place) && l.contains(key));
        assert!(found, "{place} ({key}) in:\n{}", checked.said);
    }
}

#[test]
fn check_says_what_to_write_into_a_certificates_file() {
    let dir = Dir::new();
    let tls = "[listen]\nhttps = \"127.0.0.1:0\"\n[tls]\ncert = \"tls.crt\"\nkey = \"tls.key\"\n";
    dir.write("frontdesk.toml", format!("{SMALLEST}{tls}"));
    dir.write("tls.key", "none");
    for (held, says) in [
        ("none".to_owned(), "holds no certificate; write it as PEM"),
        (" ".repeat(16 * 1024 * 1024 + 1), "it is longer than 16 MiB"),
    ] {
        dir.write("tls.crt", held);
        let checked = check_in(&dir);
        assert_eq!(checked.code, 1, "{}", checked.said);
        assert!(checked.said.contains("tls.crt: ") && checked.said.contains(says), "{}", checked.said);
    }
}

#[test]
fn check_warns_of_a_certificate_that_ends() {
    let dir = Dir::new();
    let tls = "[listen]\nhttps = \"127.0.0.1:0\"\n[tls]\ncert = \"tls.crt\"\nkey = \"tls.key\"\n";
    dir.write("frontdesk.toml", format!("{SMALLEST}{tls}"));
    Tls::of_the_years(2001, 2002).write(&dir);
    let ended = check_in(&dir);
    assert_eq!(ended.code, 0, "{}", ended.said);
    let warning = "warning: tls.cert: the certificate is not valid any more since 2002-01-01T00:00:00Z";
    assert!(ended.said.contains(warning) && ended.said.contains("1 warning"), "{}", ended.said);
    Tls::of_the_years(2001, 2900).write(&dir);
    assert!(!check_in(&dir).said.contains("tls.cert"));
}

/// The server itself is not asked: it may be out of reach from where a file is checked.
#[test]
fn check_reads_the_url_of_redis_to_its_end() {
    let checked = |url: &str| check(format!("{SMALLEST}[store]\nurl = \"{url}\"\n"));
    for wrong in ["redis://:hunter2@h:port/0", "redis://h:1/first", "rediss://h/#insecure"] {
        let checked = checked(wrong);
        assert_eq!(checked.code, 1, "{wrong}: {}", checked.said);
        assert!(checked.said.contains("store.url: ") && checked.said.contains("host:6379/0\""), "{}", checked.said);
        assert!(!checked.said.contains("hunter2"), "{}", checked.said);
    }
    assert_eq!(checked("redis://127.0.0.1:1/0").code, 0);
}

#[test]
fn check_refuses_an_agents_key_that_can_never_verify() {
    for jwk in [
        "kty = \"OKP\", crv = \"Ed25519\", x = \"short\"",
        "kty = \"OKP\", crv = \"X25519\", x = \"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"",
        "kty = \"RSA\", n = \"AQAB\", e = \"AQAB\"",
        "kty = \"OKP\", crv = \"Ed25519\"",
    ] {
        let entry = format!("[[auth.signed_agents.keys]]\nagent = \"https://bot.example\"\njwk = {{ {jwk} }}\n");
        let checked = check(format!("{SMALLEST}{entry}"));
        assert_eq!(checked.code, 1, "{jwk}: {}", checked.said);
        let place = checked.said.lines().any(|l| (3..=5).any(|n| l.contains(&format!("frontdesk.toml:{n}:"))));
        assert!(place && checked.said.contains("jwk"), "{jwk}: {}", checked.said);
    }
}
