//! Guarantees of the declaration as a whole; each form and unit is tested beside its own code.

mod calls;
mod contract;
mod corpus;
mod example;
#[cfg(feature = "handoff")]
mod handoff;
#[cfg(feature = "agtp")]
mod identity;
mod mistakes;
mod outside;
mod policy;
mod recipes;
#[cfg(all(feature = "agtp", feature = "handoff", feature = "harness-gateway"))]
mod reference;
mod rules;
#[cfg(feature = "agtp")]
mod verbs;

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

use crate::site::*;

const FRONTDESK: &str = include_str!("../../../conf/frontdesk.toml");
const MINIMAL: &str = include_str!("../../../conf/minimal.toml");
const UPSTREAM: &str = "[upstream]\nurl = \"http://127.0.0.1:3000\"\n";

/// An `Outside` with only what a test adds.
#[derive(Default)]
struct Pretended {
    vars: HashMap<&'static str, &'static str>,
    files: HashMap<PathBuf, &'static str>,
}

impl Pretended {
    fn var(mut self, name: &'static str, value: &'static str) -> Self {
        self.vars.insert(name, value);
        self
    }

    fn file(mut self, path: &str, content: &'static str) -> Self {
        self.files.insert(path.into(), content);
        self
    }

    /// With the files that `make demo` generates beside the example.
    fn with_keys() -> Self {
        const JWKS: &str =
            r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
        const SIGNING: &str = "-----BEGIN PRIVATE KEY-----\n\
            MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
        ["tls.crt", "tls.key", "upstream-ca.pem"]
            .iter()
            .fold(Self::default(), |outside, name| outside.file(&format!("/conf/keys/{name}"), "{}"))
            .file("/conf/keys/jwks.json", JWKS)
            .file("/conf/keys/signing-key.pem", SIGNING)
    }
}

impl Outside for Pretended {
    fn var(&self, name: &str) -> Option<String> {
        self.vars.get(name).map(|value| value.to_string())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(path).map(|text| text.as_bytes().to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.files.keys().any(|file| file.starts_with(path) && file != path)
    }
}

fn declare_in(text: &str, outside: &Pretended) -> Result<Declaration, Refused> {
    declare_text(Path::new("/conf/frontdesk.toml"), text, outside)
}

fn declare_here(text: &str) -> Result<Declaration, Refused> {
    declare_in(text, &Pretended::default())
}

/// The mistakes, one line each, without the file's name.
fn refused(text: &str) -> Vec<String> {
    refused_in(text, &Pretended::default())
}

fn refused_in(text: &str, outside: &Pretended) -> Vec<String> {
    match declare_in(text, outside) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.mistakes().iter().filter(|mistake| mistake.is_fatal()).map(line).collect(),
    }
}

fn warned(text: &str) -> Vec<String> {
    declare_here(text).unwrap_or_else(|refused| panic!("{refused}")).warnings.iter().map(line).collect()
}

fn line(mistake: &Mistake) -> String {
    mistake.to_string().replace("/conf/frontdesk.toml", "")
}

/// With an upstream, so that only what the test adds is wrong. The test's first line is line 3.
fn with_upstream(text: &str) -> String {
    format!("{UPSTREAM}{text}")
}

/// One finding that contains these words.
#[track_caller]
fn refuses(text: &str, words: &str) {
    let refused = refused(&with_upstream(text));
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert!(refused[0].contains(words), "{refused:#?}");
}

#[track_caller]
fn warns(text: &str, words: &str) {
    let warned = warned(&with_upstream(text));
    assert!(warned.iter().any(|line| line.contains(words)), "{warned:#?}");
}

#[track_caller]
fn accepts(text: &str) {
    assert_eq!(refused(&with_upstream(text)), Vec::<String>::new());
}

/// A capability without warnings, with more keys.
fn capability(more: &str) -> String {
    format!("[[capabilities]]\nid = 'a.b'\ntype = 'query'\nrisk_level = 'low'\nendpoint = '/a'\nmethod = 'GET'\n{more}")
}
