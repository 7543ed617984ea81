//! The operator's models: a chat endpoint that writes answers, and an embeddings endpoint for the meaning of passages and
//! questions, both in OpenAI's form.
//!
//! Whatever goes wrong, an answer is found by words and quoted. The log says once what went wrong, and never what was asked.

mod chat;
mod daily_tokens;
mod embeddings;
#[cfg(feature = "semantic")]
mod in_process;
#[cfg(feature = "semantic")]
mod local;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use frontdesk_filters::{
    concierge::{Draft, Embeddings, Later},
    desk::Models,
    limits::tokens,
    site::{ChatModel, SemanticModel},
};
use http::{HeaderValue, Request, header};
use tokio::sync::Semaphore;

use super::Outbound;
use daily_tokens::Budget;
use embeddings::Endpoint;

/// How long a question waits for its vector.
const VECTOR: Duration = Duration::from_secs(2);
/// The largest answer of an endpoint, in bytes.
const ANSWER: usize = 16 * 1024 * 1024;
/// Chat requests under way at a time; further answers are quotations.
const AT_ONCE: usize = 16;

/// What the models have been asked.
pub(super) struct Asked {
    budget: Budget,
    under_way: Semaphore,
    /// The last request to it failed, and the log says so.
    chat_is_away: AtomicBool,
    embeddings_are_away: AtomicBool,
    #[cfg(feature = "semantic")]
    loaded: in_process::Loaded,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            under_way: Semaphore::new(AT_ONCE),
            chat_is_away: AtomicBool::default(),
            embeddings_are_away: AtomicBool::default(),
            #[cfg(feature = "semantic")]
            loaded: in_process::Loaded::default(),
        }
    }
}

impl Models for Outbound {
    fn vector<'a>(&'a self, question: &'a str) -> Later<'a, Option<Vec<f32>>> {
        Box::pin(async move {
            let running = self.running()?;
            let semantic = running.snapshot.settings.content.semantic.as_ref()?;
            let asked = async { self.embeddings(semantic).await?.question(question).await };
            let made = tokio::time::timeout(VECTOR, asked).await;
            let made = made.unwrap_or_else(|_| Err(format!("no answer within {VECTOR:?}")));
            let away = &self.asked_models.embeddings_are_away;
            match &made {
                Ok(_) if away.swap(false, Ordering::Relaxed) => {
                    tracing::info!("questions have vectors again");
                }
                Err(why) if !away.swap(true, Ordering::Relaxed) => {
                    tracing::warn!(why, "a question got no vector from content.semantic; only words are searched");
                }
                _ => {}
            }
            made.ok()
        })
    }

    fn writes(&self) -> bool {
        self.running().is_some_and(|running| running.snapshot.settings.content.model.is_some())
    }

    fn write<'a>(&'a self, draft: &'a Draft) -> Later<'a, Option<String>> {
        Box::pin(async move {
            let process = self.process.get()?;
            let running = (process.current)();
            let model = running.snapshot.settings.content.model.as_ref()?;
            let (result, written) = self.written(model, draft).await;
            process.metrics.model_answers.with_label_values(&[result]).inc();
            written
        })
    }
}

impl Outbound {
    /// The model that makes vectors.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub async fn embeddings<'a>(&'a self, semantic: &'a SemanticModel) -> Result<Box<dyn Embeddings + 'a>, String> {
        match &semantic.model {
            #[cfg(feature = "semantic")]
            Some(dir) => Ok(Box::new(self.asked_models.loaded.get(dir).await?)),
            #[cfg(not(feature = "semantic"))]
            Some(_) => {
                Err("this build of Frontdesk runs no model: build it with the feature `semantic`, or name an endpoint \
                            in content.semantic.url"
                    .into())
            }
            None => {
                let endpoint = Endpoint::of(self, semantic).ok_or("content.semantic names no endpoint")?;
                Ok(Box::new(endpoint))
            }
        }
    }

    /// What became of a request to the chat model, in a word, and its words.
    async fn written(&self, model: &ChatModel, draft: &Draft) -> (&'static str, Option<String>) {
        let Asked { budget, under_way, chat_is_away, .. } = &self.asked_models;
        let Ok(_place) = under_way.try_acquire() else { return ("busy", None) };
        let most = u64::from(tokens::count(&draft.system)) + u64::from(tokens::count(&draft.user)) + draft.most as u64;
        let Some(taken) = budget.take(most, model.tokens_per_day, today()) else {
            return ("limit", None);
        };
        let asked = chat::request(model, draft);
        let posted = match asked {
            Ok(request) => self.post(request, ANSWER, model.timeout).await,
            Err(why) => Err(why),
        };
        let read = posted.and_then(|whole| chat::read(&whole));
        match read {
            Ok(chat::Reply { text, used }) => {
                budget.settle(taken, used.unwrap_or(most));
                if chat_is_away.swap(false, Ordering::Relaxed) {
                    tracing::info!("the model of content.model answers again");
                }
                match text {
                    Some(text) => ("written", Some(text)),
                    None => ("refused", None),
                }
            }
            Err(why) => {
                // Whether an endpoint that failed has read the question is not known: it may be paid for.
                if !chat_is_away.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        why,
                        "the model of content.model did not answer; answers are quotations until it does"
                    );
                }
                ("failed", None)
            }
        }
    }
}

/// What tells the vectors of a model from those of another.
pub fn model_name(semantic: &SemanticModel) -> String {
    match &semantic.model {
        Some(model) => model.display().to_string(),
        None => format!("{} {}", semantic.url.as_deref().unwrap_or_default(), semantic.name),
    }
}

/// A POST of JSON to an endpoint, below its base address.
fn post(base: &str, path: &str, key: &str, body: &serde_json::Value) -> Result<Request<Bytes>, String> {
    let base = base.trim_end_matches('/');
    let url = if base.ends_with(path) { base.to_owned() } else { format!("{base}{path}") };
    let mut request = Request::post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, concat!("frontdesk/", env!("CARGO_PKG_VERSION")));
    if !key.is_empty() {
        let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|e| e.to_string())?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Bytes::from(body.to_string())).map_err(|e| e.to_string())
}

/// Days since 1970, in UTC.
fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400
}
