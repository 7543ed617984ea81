//! What `import site` makes of single pages, without a server. Reads lines of JSON, `{"url": …, "html": …}`, from standard
//! input, and prints a line of JSON for each: the paths of the capabilities, or the import's reason where it has none.

use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
};

use bytes::Bytes;
use frontdesk_tools::site::SiteImport;
use serde_json::{Value, json};

fn main() -> ExitCode {
    match lines() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn lines() -> Result<(), String> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let page: Value = serde_json::from_str(&line).map_err(|error| format!("{line:.80}: {error}"))?;
        let (Some(url), Some(html)) = (page["url"].as_str(), page["html"].as_str()) else {
            return Err(format!("{line:.80}: it needs url and html"));
        };
        writeln!(out, "{}", imported(url, html)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn imported(url: &str, html: &str) -> Value {
    let mut import = match SiteImport::new(url) {
        Ok(import) => import,
        Err(why) => return json!({ "why": why }),
    };
    let Some(at) = import.next_page() else { return json!({ "why": "there is no page to read" }) };
    import.take(&at, "text/html; charset=utf-8", &Bytes::copy_from_slice(html.as_bytes()), None);
    match import.finish() {
        Ok(found) => json!({ "written": found.text }),
        Err(why) => json!({ "why": why }),
    }
}
