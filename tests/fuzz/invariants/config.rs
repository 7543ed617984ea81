//! What holds of a declaration, whatever is written in it: it is refused with the place of every mistake, or it can be
//! run; what came from outside is never shown; and where something stands changes nothing but the lines that are told.
//! One list, for the fuzzer and for the tests.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    Learned, Snapshot,
    dice::Dice,
    site::{Declaration, Outline, Outside, Refused, declare_text, outline},
};

/// Whole declarations, of which a fuzzer changes a few lines.
const WHOLE: [&str; 4] = [
    include_str!("../../../conf/frontdesk.toml"),
    include_str!("../../../conf/minimal.toml"),
    include_str!("../../../conf/travel.toml"),
    include_str!("../../../conf/verbs.toml"),
];

/// What a value is replaced with: words of other keys, and what is at the edge of being one.
const VALUES: [&str; 44] = [
    "true",
    "false",
    "0",
    "1",
    "-1",
    "65536",
    "9223372036854775807",
    "1e308",
    "nan",
    "-inf",
    "1979-05-27T07:32:00Z",
    "[]",
    "{}",
    "[{}]",
    "[[1], \"a\"]",
    "{ a = 1, b = { c = [] } }",
    "\"\"",
    "\" \"",
    "\"\\u0000\"",
    "\"ä\u{1f980}\u{202e}\"",
    "\"a\\nb\"",
    "\"/\"",
    "\"//\"",
    "\"/{id}\"",
    "\"/{id}/{id}\"",
    "\"/agent/converse\"",
    "\"/%2e%2e/\"",
    "\"http://127.0.0.1:3000\"",
    "\"https://[::1]\"",
    "\"127.0.0.1:0\"",
    "\"0.0.0.0/0\"",
    "\"0s\"",
    "\"18446744073709551615d\"",
    "\"99999999999999GB\"",
    "\"0/second\"",
    "\"18446744073709551615/day\"",
    "\"${SECRET}\"",
    "\"${NUMBER}\"",
    "\"${UNSET:-${NUMBER}}\"",
    "\"${file:secret}\"",
    "\"${{ x }}\"",
    "\"flights.search\"",
    "\"(a+)+$\"",
    "\"{{ data.x }}{% for a in b %}\"",
];

/// A secret that no message may repeat.
const SECRET: &str = "9c1185a5c5e9fc54612808977ee8f548b2258d31";

/// Variables and files whose contents are secret, or of use.
struct Around;

impl Outside for Around {
    fn var(&self, name: &str) -> Option<String> {
        match name {
            "UNSET" => None,
            "NUMBER" => Some("30".to_owned()),
            _ => Some(SECRET.to_owned()),
        }
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") if path.ends_with("jwks.json") => {
                let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
                Ok(format!("{{\"keys\":[{jwk}]}}").into_bytes())
            }
            Some("json") => Ok(format!("{{\"type\":\"object\",\"properties\":{{\"{SECRET}\":true}}}}").into_bytes()),
            Some("toml") => Err(io::ErrorKind::NotFound.into()),
            Some("pem") => Ok(b"-----BEGIN PRIVATE KEY-----\n\
                MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
                .to_vec()),
            _ => Ok(SECRET.into()),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.extension().is_none()
    }
}

/// One file with this text, and what is around it.
struct File<'a>(&'a str);

impl Outside for File<'_> {
    fn var(&self, name: &str) -> Option<String> {
        Around.var(name)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == here() { Ok(self.0.into()) } else { Around.read(path) }
    }

    fn is_dir(&self, path: &Path) -> bool {
        Around.is_dir(path)
    }
}

fn here() -> PathBuf {
    PathBuf::from("/conf/site.toml")
}

/// Panics where one of them does not hold. The first byte says whether the rest is a declaration, or which lines of one
/// are changed.
pub fn hold(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 8 {
        0..=3 => holds(&changed(WHOLE[usize::from(choice % 4)], &mut Dice(rest))),
        _ => drop(std::str::from_utf8(rest).map(holds)),
    }
}

fn changed(whole: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    while !dice.0.is_empty() && lines.len() > 1 {
        let how = dice.byte();
        let at = usize::from(u16::from_be_bytes([dice.byte(), dice.byte()])) % lines.len();
        let line = lines[at].trim_start_matches("# ").to_owned();
        match how % 6 {
            0 => drop(lines.remove(at)),
            1 => lines[at] = line,
            2 => lines.insert(dice.below(256) % lines.len(), line),
            3 => {
                let end = (at + 1 + dice.below(64)).min(lines.len());
                lines.drain(at..end);
            }
            _ => {
                let Some((key, _)) = line.split_once('=') else { continue };
                lines[at] = format!("{key}= {}", dice.of(&VALUES));
            }
        }
    }
    lines.join("\n")
}

fn declared(text: &str) -> Result<Declaration, Refused> {
    declare_text(&here(), text, &Around)
}

/// What is said of it, whatever comes of it.
fn said(outcome: &Result<Declaration, Refused>) -> Vec<String> {
    let mistakes = match outcome {
        Ok(declaration) => &declaration.warnings,
        Err(refused) => refused.mistakes(),
    };
    mistakes.iter().map(ToString::to_string).collect()
}

fn holds(text: &str) {
    if text.contains(&SECRET[..8]) {
        return;
    }
    let outcome = declared(text);
    let all = said(&outcome);
    assert!(all.iter().all(|line| !line.contains(SECRET)), "{all:#?}");
    match &outcome {
        Ok(declaration) => runs(text, declaration),
        Err(refused) => is_told(text, refused),
    }
    // A comment before it moves the lines and nothing else; nor does a byte order mark, of which the parser takes several.
    let below = declared(&format!("\u{feff}# a comment\n\n{}", text.trim_start_matches('\u{feff}')));
    let moved: Vec<String> = all.iter().map(|line| shifted(line, 2)).collect();
    assert_eq!(said(&below).iter().map(|line| shifted(line, 0)).collect::<Vec<_>>(), moved);
    assert_eq!(outcome.is_ok(), below.is_ok());
}

/// A finding of so many lines further down. Which other line it names is left out.
fn shifted(said: &str, by: usize) -> String {
    let mut parts = said.split(", line ");
    let first = parts.next().unwrap_or_default();
    let rest: String = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect();
    let place = first.strip_prefix("/conf/site.toml:").and_then(|place| place.split_once(": "));
    match place.and_then(|(line, what)| Some((line.parse::<usize>().ok()?, what))) {
        Some((line, what)) => format!("/conf/site.toml:{}: {what}{rest}", line + by),
        None => format!("{first}{rest}"),
    }
}

fn is_told(text: &str, refused: &Refused) {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').count();
    let mistakes = refused.mistakes();
    assert!(mistakes.iter().any(|mistake| mistake.is_fatal()));
    assert!(mistakes.is_sorted_by_key(|mistake| mistake.line));
    for mistake in mistakes {
        assert!(mistake.line <= lines && !mistake.what.is_empty(), "{mistake}");
        // Where no line is to blame, at least a key is, or it is about the whole file.
        assert!(!mistake.to_string().contains(['\n', '\r', '\0', '\u{1b}']), "{:?}", mistake.to_string());
    }
    // Who cannot be read is told where; who can be read as TOML is.
    let table = text.strip_prefix('\u{feff}').unwrap_or(text).parse::<toml::Table>();
    match refused {
        Refused::Unreadable(mistakes) => assert!(mistakes.iter().all(|mistake| mistake.line > 0), "{refused}"),
        Refused::Mistakes(_) => assert!(table.is_ok(), "{refused}"),
    }
}

fn runs(text: &str, declaration: &Declaration) {
    assert!(!declaration.tables.contains(SECRET), "{}", declaration.tables);
    assert!(serde_json::from_str::<serde_json::Value>(&declaration.tables).is_ok_and(|tables| tables.is_object()));
    assert!(declaration.warnings.iter().all(|warning| !warning.is_fatal()));
    let again = declared(text).expect("the same again");
    assert_eq!((&again.hash, &again.tables), (&declaration.hash, &declaration.tables));
    // What runs and what the file says do not differ.
    let of_file = outline(&here(), &File(text)).expect("a file that is there");
    assert_eq!(Outline::of(&declaration.tables).differences(&of_file), []);
    let snapshot = Snapshot::compile(declaration, &Learned::default());
    assert_eq!(snapshot.hash, declaration.hash);
    assert!(snapshot.problems().iter().all(|problem| !problem.contains(SECRET)));
    if let Some((insertion, _)) = &snapshot.insertion {
        assert!(insertion.notice.starts_with(b"<div") && insertion.notice.ends_with(b"</div>"));
    }
}
