//! Stands in for the module `handoff` in a build without that feature: no directory is ever published.

use std::sync::Arc;

use frontdesk_filters::site;

use crate::metrics::Metrics;

/// A directory that does not exist.
pub enum Handoff {}

/// What a handler of notes would read.
pub type Notes = std::convert::Infallible;

impl Handoff {
    /// No directory: the configuration check refuses `[handoff]` in this build.
    pub fn open(_: Option<&site::Handoff>, _: Option<&Arc<Self>>, _: &Arc<Metrics>) -> Option<Arc<Self>> {
        None
    }

    /// The same for its handler.
    pub fn notes(self: Arc<Self>) -> Notes {
        match *self {}
    }
}
