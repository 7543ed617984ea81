//! The job that reads the site.

use std::{sync::Arc, time::Duration};

use crate::{jobs::Job, live::Live, reader::Reader};

/// A round that takes longer is given up; what it has read by then is known.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Reads the site every `content.refresh`, and at once when there is another one.
pub(super) fn read(live: &Arc<Live>, reader: Arc<Reader>) -> Job {
    let every = reader.clone();
    Job {
        name: "crawl",
        to_the_end: false,
        wake: Some(live.swaps()),
        interval: Box::new(move || every.rest()),
        bound: LONGEST,
        run: Box::new(move || {
            let reader = reader.clone();
            Box::pin(async move { reader.run().await })
        }),
    }
}
