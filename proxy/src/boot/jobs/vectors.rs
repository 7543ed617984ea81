//! The background job that makes vectors of passages.

use std::{sync::Arc, time::Duration};

use crate::{jobs::Job, reader::Reader};

/// How often the job looks for passages without a vector.
const EVERY: Duration = Duration::from_secs(2);
/// The longest that all vectors of a site may take.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Makes the vectors of the passages that have none, with the model of `[content.semantic]`.
pub(super) fn make(reader: Arc<Reader>) -> Job {
    Job {
        name: "vectors",
        to_the_end: false,
        wake: None,
        interval: Box::new(|| EVERY),
        bound: LONGEST,
        run: Box::new(move || {
            let reader = reader.clone();
            Box::pin(async move { reader.make_vectors().await })
        }),
    }
}
