//! The job that looks at the handoff's directory: whoever asks while somebody writes gets what was seen before, so it has
//! to have been seen.

use std::{sync::Arc, time::Duration};

use frontdesk_filters::handoff::Source;

use crate::{jobs::Job, live::Live};

/// How often.
const LOOK: Duration = Duration::from_secs(10);

pub(super) fn look(live: &Arc<Live>) -> Job {
    let live = live.clone();
    Job {
        name: "handoff",
        to_the_end: false,
        wake: Some(live.swaps()),
        interval: Box::new(|| LOOK),
        bound: Duration::from_secs(30),
        run: Box::new(move || {
            let handoff = live.current().handoff.clone();
            Box::pin(async move {
                let Some(handoff) = handoff else { return Ok(()) };
                handoff.view().await.map(drop).map_err(|_| "the directory cannot be looked at".to_owned())
            })
        }),
    }
}
