//! Guarantees of the import as a whole: for any document, the result is a valid declaration.

mod hostile;
mod many;
mod operations;
mod schemas;

use std::{
    io,
    path::{Path, PathBuf},
};

use frontdesk_filters::site::{Declaration, Outside, declare_text};
use serde_json::{Value, json};

use crate::import::{Asked, Imported, Unusable};

/// An `Outside` that has everything; the import must never ask it.
struct Leaking;

impl Outside for Leaking {
    fn var(&self, _: &str) -> Option<String> {
        Some("LEAKED".into())
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(b"LEAKED".to_vec())
    }

    fn is_dir(&self, _: &Path) -> bool {
        true
    }
}

fn import(document: &Value) -> Result<Imported, Unusable> {
    import_text(&document.to_string())
}

fn import_text(text: &str) -> Result<Imported, Unusable> {
    super::import(text.as_bytes(), &asked("api.json"), &mut |_, _| {})
}

fn asked(from: &str) -> Asked<'_> {
    Asked { from, deprecated: false, only: Vec::new(), tags: Vec::new() }
}

/// The result of `frontdesk check` on the file: no mistake, and no value from outside.
#[track_caller]
fn declared(imported: &Imported) -> Declaration {
    let declaration = declare_text(Path::new("/conf/imported.toml"), &imported.text, &Leaking)
        .unwrap_or_else(|refused| panic!("{refused}\n{}", imported.text));
    assert_eq!(declaration.references, Vec::<PathBuf>::new());
    assert!(!format!("{:?}", declaration.contract).contains("LEAKED"), "{}", imported.text);
    assert_eq!(imported.capabilities, declaration.settings.capabilities.len());
    assert_eq!(imported.text.matches("# review: ").count(), imported.reviews);
    assert!(imported.text.chars().all(|c| c == '\n' || !crate::lines::is_unseen(c)));
    declaration
}

/// The text and the contract of a document.
#[track_caller]
fn contract(document: &Value) -> (String, Value) {
    let imported = import(document).unwrap_or_else(|refused| panic!("{refused}"));
    let contract = declared(&imported).contract.to_json();
    (imported.text, contract)
}

/// The one capability of a document with one operation.
#[track_caller]
fn one(version: &str, path: &str, method: &str, operation: Value) -> (String, Value) {
    let (text, mut contract) = contract(&document(version, json!({path: {method: operation}}), json!({})));
    assert_eq!(contract["capabilities"].as_array().map(Vec::len), Some(1), "{text}");
    (text, contract["capabilities"][0].take())
}

fn document(version: &str, paths: Value, schemas: Value) -> Value {
    let info = json!({"title": "Pets", "version": "1"});
    json!({"openapi": version, "info": info, "paths": paths, "components": {"schemas": schemas}})
}

/// An operation that takes a body and returns the same.
fn with_body(schema: Value) -> Value {
    let content = json!({"application/json": {"schema": schema}});
    json!({"requestBody": {"content": content}, "responses": {"200": {"description": "", "content": content}}})
}

#[track_caller]
fn refused(document: &Value, words: &str) {
    let refused = import(document).unwrap_err();
    assert!(refused.to_string().contains(words), "{refused}");
    assert_eq!(refused.exit_code(), 1);
}
