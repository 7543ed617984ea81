//! The background job that reads the handoff directory. While an agent writes there, clients get the last complete
//! state, so the job has to have read one before.

use std::{sync::Arc, time::Duration};

use frontdesk_filters::handoff::Source;

use crate::{jobs::Job, live::Live};

/// The interval.
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
