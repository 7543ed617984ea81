//! Asks the harness for context before a question is answered from the pages: its meaning, and facts.
//!
//! Asked only of a harness that offers it. Without a reply the question is answered as usual. A fact is given with its
//! source, after what the pages say, and never replaces that.

use serde_json::{Value, json};

use super::{approval::blocked, step::Step};
use crate::harness::{Unwanted, kinds::Kind};
use frontdesk_base::fault::Refusal;
use frontdesk_caller::authority_of;

/// Maximum facts in an answer.
const MOST_FACTS: usize = 3;
const LONGEST_FACT: usize = 300;
/// Maximum characters of a hint.
const LONGEST_HINT: usize = 100;

/// What the harness knows about a question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HarnessContext {
    /// More words to search for.
    pub(super) hint: Option<String>,
    pub(super) facts: Vec<Fact>,
}

/// A fact from another source than the site's pages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) content: String,
    pub(super) source: String,
}

impl Step<'_> {
    /// Asks the harness. `None`: it has nothing to add.
    ///
    /// # Errors
    ///
    /// The harness forbids the question.
    pub(super) async fn perceived(&self, query: &str) -> Result<Option<HarnessContext>, Refusal> {
        let Some(harness) = self.desk.harness else { return Ok(None) };
        let offered = [Kind::IntentDetection, Kind::ContextPerception, Kind::MemoryRecall];
        if !offered.into_iter().any(|kind| harness.offers(kind)) {
            return Ok(None);
        }
        // The declared name of the site. The client's Host header is the client's to choose.
        let own = self.desk.compiled.settings.site.origin.as_deref().and_then(authority_of);
        let (caller, site) = (self.ask.caller, own.as_deref().unwrap_or(self.ask.host));
        let intent = json!({ "prompt": query, "workspace": site, "language_hint": self.ask.talk.locale });
        let intent = harness.enrich(Kind::IntentDetection, caller, &intent).await.map_err(|Unwanted| blocked())?;
        let context = json!({
            "intent": "retrieve",
            "target": { "resource": { "name": site, "resource_type": "website" } },
            "context": { "workspace": site, "query": query },
        });
        let context = harness.enrich(Kind::ContextPerception, caller, &context).await.ok().flatten();
        let recall = json!({
            "query": query, "memory_type": "semantic", "max_results": MOST_FACTS, "working_directory": site,
        });
        let recall = harness.enrich(Kind::MemoryRecall, caller, &recall).await.ok().flatten();
        let hint = intent.as_ref().and_then(|intent| intent["target_hints"]["target_name"].as_str());
        let context = context.as_ref().map(|context| &context["injected_context"]["facts"]);
        let recall = recall.as_ref().map(|recall| &recall["injected_facts"]);
        let facts = context.into_iter().chain(recall).filter_map(Value::as_array).flatten();
        let perceived = HarnessContext {
            hint: hint.map(|hint| shown(hint, LONGEST_HINT)),
            facts: facts.filter_map(Fact::read).take(MOST_FACTS).collect(),
        };
        Ok(Some(perceived).filter(|perceived| *perceived != HarnessContext::default()))
    }
}

impl Fact {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(|text| shown(text, LONGEST_FACT)).filter(|t| !t.is_empty());
        Some(Self { content: text("content")?, source: text("source")? })
    }
}

/// The beginning of a text, on one line.
fn shown(text: &str, longest: usize) -> String {
    text.split_whitespace()
        .flat_map(|word| [word, " "])
        .flat_map(str::chars)
        .take(longest)
        .collect::<String>()
        .trim()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_has_a_source_and_stands_on_one_line() {
        let fact = Fact::read(&json!({"content": "Open\n on  Sunday", "source": "hours", "confidence": 1.0})).unwrap();
        assert_eq!((fact.content.as_str(), fact.source.as_str()), ("Open on Sunday", "hours"));
        assert_eq!(Fact::read(&json!({"content": "x"})), None);
        assert_eq!(Fact::read(&json!({"content": " \n", "source": "s"})), None);
        assert_eq!(shown(&"ab ".repeat(500), 10), "ab ab ab a");
    }
}
