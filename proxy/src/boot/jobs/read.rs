//! The background job that crawls the site's pages.

use std::{sync::Arc, time::Duration};

use crate::{jobs::Job, live::Live, reader::Reader};

/// The longest crawl round. A longer one stops, and the pages read so far stay.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Crawls the site every `content.refresh`, and at once after a change of the site.
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
