//! The skill that tells how to read and ask a site.

use std::fmt::Write;

use frontdesk_config::Settings;

use super::LlmsAddresses;

/// What a site can be read and asked by.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    name: String,
    about: Option<String>,
    markdown: bool,
    /// Questions are answered from the pages.
    answers: bool,
    anonymous: bool,
    ways: LlmsAddresses,
}

impl Reading {
    pub(super) fn new(settings: &Settings, ways: &LlmsAddresses) -> Self {
        Self {
            name: settings.site.name.clone().unwrap_or_else(|| "this site".to_owned()),
            about: settings.site.description.clone().filter(|about| !about.is_empty()),
            markdown: settings.content.markdown,
            answers: settings.built_in.iter().any(|capability| capability.id == "content_search"),
            anonymous: settings.policies.anonymous_access,
            ways: ways.clone(),
        }
    }

    pub(super) fn description(&self) -> String {
        let Self { name, about, .. } = self;
        let about = about.as_deref().map(|about| format!(" {about}")).unwrap_or_default();
        format!("How to read {name} and ask it questions.{about} Use it to find out what its pages say.")
    }

    pub(super) fn render(&self, origin: &str) -> String {
        let Self { name, about, markdown, answers, anonymous, ways } = self;
        let mut out = format!("# Read and ask {name}\n");
        if let Some(about) = about {
            let _ = write!(out, "\n{about}\n");
        }
        if *markdown || ways.llms.is_some() {
            out.push_str("\n## Read\n\n");
        }
        if let Some(llms) = &ways.llms {
            let _ = writeln!(out, "- `{origin}{llms}` lists the pages.");
        }
        if *markdown {
            let _ = writeln!(
                out,
                "- Each page is Markdown for `Accept: text/markdown`, and at its own address with `.md` at the end \
                 (`/index.md` for the start page).\n\n```sh\ncurl -s -H 'Accept: text/markdown' {origin}/\n```"
            );
        }
        if let (true, Some(converse)) = (*answers, &ways.converse) {
            let _ = write!(
                out,
                "\n## Ask\n\nA question is answered from the pages, with their addresses:\n\n```sh\ncurl -s \
                 {origin}{converse} -H 'Content-Type: application/json' \\\n  -d '{{\"capability\": \
                 \"content_search\", \"query\": \"What is this site about?\"}}'\n```\n\nSend the `session_id` of the \
                 answer along with the next question, so that it is understood in its context.\n"
            );
        }
        if let Some(mcp) = &ways.mcp {
            let _ =
                write!(out, "\n## MCP\n\nThe same is at `{origin}{mcp}`, by Streamable HTTP: tools and resources.\n");
        }
        if let Some(manifest) = &ways.manifest {
            let _ = write!(out, "\nEverything that can be called here, with limits and terms: `{origin}{manifest}`.\n");
        }
        match (anonymous, &ways.auth_md) {
            (true, _) => out.push_str("\nReading and asking need no credential.\n"),
            (false, Some(at)) => {
                let _ = write!(out, "\nAsking needs a credential; `{origin}{at}` says how to get one.\n");
            }
            (false, None) => out.push_str("\nAsking needs a credential.\n"),
        }
        out.push_str("\nAfter 429, wait as long as `Retry-After` says.\n");
        out
    }
}
