//! Makes the vectors of the site's passages in the background, with the model of `[content.semantic]`, and keeps them with
//! the index on disk.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::concierge::{Library, Vectors};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::{Reader, disk};
use crate::{outbound::model_name, running::Running};

/// Passages in one request.
const BATCH: usize = 32;
/// Passages between two looks at the library, which may be another one meanwhile.
const STRETCH: usize = 1_024;
/// How long the job waits after a failure, so that an endpoint in trouble is not asked again and again.
const PAUSE: Duration = Duration::from_secs(20);
/// Where the vectors of a model do not fit together, its name stands for several models.
const MISFIT: &str = "the vectors of content.semantic differ in size";

/// The vectors of the model that was used last.
#[derive(Default, Clone)]
pub(super) struct Known(Arc<Mutex<Option<Arc<Vectors>>>>);

impl Known {
    /// The library with the vectors that its passages have so far; as it is where there is no model. Blocks.
    pub(super) fn given_to(&self, library: Library, running: &Running) -> Library {
        match self.of(running) {
            Some(vectors) => library.with_vectors(vectors),
            None => library,
        }
    }

    /// The vectors of the model in use: those that are known, else those on disk.
    fn of(&self, running: &Running) -> Option<Arc<Vectors>> {
        let content = &running.snapshot.settings.content;
        let name = model_name(content.semantic.as_ref()?);
        let mut known = self.0.lock();
        if let Some(vectors) = known.as_ref().filter(|vectors| vectors.name() == name) {
            return Some(vectors.clone());
        }
        let saved = content.index.as_deref().and_then(|dir| disk::file(&dir.join("vectors")).ok().flatten());
        let restored = saved.and_then(|saved| Vectors::restored(&name, &saved));
        let vectors = Arc::new(restored.unwrap_or_else(|| Vectors::new(&name)));
        *known = Some(vectors.clone());
        Some(vectors)
    }
}

impl Reader {
    /// Makes the vectors that are missing. To be called again and again.
    ///
    /// # Errors
    ///
    /// Why the model made none.
    pub async fn make_vectors(&self) -> Result<(), String> {
        let made = self.make_missing().await;
        if made.is_err() {
            sleep(PAUSE).await;
        }
        made
    }

    /// Counts for the library in use, which may be a newer one than that whose vectors are made.
    pub(super) fn count_without_vector(&self) {
        self.metrics.passages_without_vector(self.live.library().count_without_vector());
    }

    async fn make_missing(&self) -> Result<(), String> {
        let mut made = 0;
        loop {
            let running = self.live.current();
            let content = &running.snapshot.settings.content;
            let Some(semantic) = &content.semantic else { return Ok(()) };
            let library = self.live.library();
            let Some(vectors) = library.vectors().filter(|vectors| vectors.name() == model_name(semantic)).cloned()
            else {
                return Ok(());
            };
            self.count_without_vector();
            let texts = {
                let library = library.clone();
                let texts = tokio::task::spawn_blocking(move || library.without_vector(STRETCH));
                texts.await.map_err(|e| e.to_string())?
            };
            if texts.is_empty() {
                if made > 0 {
                    let dir = content.index.clone();
                    finish(vectors, library, dir).await?;
                }
                return Ok(());
            }
            let model = self.outbound.embeddings(semantic).await?;
            if let Some(questions) = vectors.wanted() {
                vectors.learn(&model.passages(&questions).await?);
            }
            for batch in texts.chunks(BATCH) {
                if *self.drain.borrow() {
                    return Ok(());
                }
                let begun = Instant::now();
                let found = model.passages(batch).await?;
                if vectors.add(batch, &found) > 0 {
                    return Err(MISFIT.into());
                }
                made += batch.len();
                self.count_without_vector();
                // A model in the process leaves half of the time to visitors.
                if semantic.model.is_some() {
                    sleep(begun.elapsed()).await;
                }
            }
            let measured = vectors.clone();
            tokio::task::spawn_blocking(move || measured.measure()).await.map_err(|e| e.to_string())?;
        }
    }
}

async fn finish(vectors: Arc<Vectors>, library: Arc<Library>, dir: Option<std::path::PathBuf>) -> Result<(), String> {
    let count = library.passages();
    let written = tokio::task::spawn_blocking(move || -> io::Result<()> {
        vectors.keep_only(&library);
        match dir {
            Some(dir) => {
                std::fs::create_dir_all(&dir)?;
                disk::replace(&dir, "vectors", &[&vectors.saved()])
            }
            None => Ok(()),
        }
    });
    written
        .await
        .map_err(|e| e.to_string())?
        .map_err(|e| format!("the vectors cannot be written to content.index: {e}"))?;
    tracing::info!(passages = count, "every passage has a vector of content.semantic");
    Ok(())
}
