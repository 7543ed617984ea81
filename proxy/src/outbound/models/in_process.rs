//! The model that runs in the process: read once, asked on threads that may block.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use frontdesk_filters::concierge::{Embeddings, Later};
use tokio::sync::Mutex;

use super::local::Local;

/// The model that was read last, with its directory.
#[derive(Default)]
pub(super) struct Loaded(Mutex<Option<(PathBuf, Arc<Local>)>>);

pub(super) struct InProcess {
    name: String,
    model: Arc<Local>,
}

impl Loaded {
    /// The model of a directory.
    pub(super) async fn get(&self, dir: &Path) -> Result<InProcess, String> {
        let name = dir.display().to_string();
        let mut loaded = self.0.lock().await;
        if let Some((_, model)) = loaded.as_ref().filter(|(known, _)| known == dir) {
            return Ok(InProcess { name, model: model.clone() });
        }
        let wanted = dir.to_owned();
        let read = tokio::task::spawn_blocking(move || Local::load(&wanted));
        let model = Arc::new(read.await.map_err(|e| e.to_string())?.map_err(|why| format!("{name}: {why}"))?);
        *loaded = Some((dir.to_owned(), model.clone()));
        Ok(InProcess { name, model })
    }
}

impl InProcess {
    async fn embed(&self, texts: Vec<String>, before: &'static str) -> Result<Vec<Vec<f32>>, String> {
        let model = self.model.clone();
        tokio::task::spawn_blocking(move || model.embed(&texts, before)).await.map_err(|e| e.to_string())?
    }
}

impl Embeddings for InProcess {
    fn name(&self) -> &str {
        &self.name
    }

    fn passages<'a>(&'a self, texts: &'a [String]) -> Later<'a, Result<Vec<Vec<f32>>, String>> {
        Box::pin(self.embed(texts.to_vec(), "passage: "))
    }

    fn question<'a>(&'a self, text: &'a str) -> Later<'a, Result<Vec<f32>, String>> {
        Box::pin(async move {
            let mut vectors = self.embed(vec![text.to_owned()], "query: ").await?;
            vectors.pop().ok_or_else(|| "the model made no vector".to_owned())
        })
    }
}
