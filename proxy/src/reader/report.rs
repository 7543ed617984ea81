//! Logs a crawl: each request at debug, and the first of each result that gave no page at info.

use std::{collections::HashSet, time::Duration};

use frontdesk_filters::content::crawl::{Ask, Fetched, LeftOut, NotFollowed, Outcome, WhyLeftOut, without_values};
use http::header;
use url::Url;

use crate::live::shown;

/// The report of one crawl.
#[derive(Default)]
pub(super) struct Report {
    told: HashSet<&'static str>,
    pub(super) asked: usize,
    /// Links that were not followed.
    pub(super) left_out: usize,
    /// The most informative answer without a page, and its rank.
    other: Option<(u8, String)>,
    /// The origin to which the site redirects.
    pub(super) elsewhere: Option<String>,
}

/// One answer, before it is classified.
pub(super) struct Heard {
    address: String,
    status: Option<u16>,
    location: Option<String>,
    error: Option<String>,
    took: Duration,
}

impl Heard {
    pub(super) fn of(ask: &Ask, answer: &Result<Fetched, String>, took: Duration) -> Self {
        let fetched = answer.as_ref().ok();
        let redirects = fetched.filter(|fetched| fetched.status.is_redirection());
        let location = redirects.and_then(|fetched| fetched.headers.get(header::LOCATION)?.to_str().ok());
        Self {
            // A query may hold private data, so its values are removed.
            address: without_values(&ask.target),
            status: fetched.map(|fetched| fetched.status.as_u16()),
            location: location.map(|location| shown(&without_values(location))),
            error: answer.as_ref().err().map(|why| shown(why)),
            took,
        }
    }

    /// The outcome in words.
    fn said(&self, outcome: Outcome) -> String {
        let Self { address, status, location, error, .. } = self;
        match (location, error, status) {
            (Some(location), ..) => format!("{address} moved to {location}"),
            (_, Some(error), _) => format!("{address}: {error}"),
            (_, _, Some(status)) => format!("{address}: {status}, {}", outcome.label()),
            _ => format!("{address}: {}", outcome.label()),
        }
    }
}

impl Report {
    /// Records an answer and its outcome.
    pub(super) fn heard(&mut self, heard: &Heard, outcome: Outcome) {
        self.asked += 1;
        let Heard { address, status, location, error, took } = heard;
        let (result, status) = (outcome.label(), status.map(tracing::field::display));
        let (location, error) = (location.as_deref(), error.as_deref());
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(address, status, result, location, error, took_ms, "the crawler requested an address");
        if matches!(outcome, Outcome::OffSite | Outcome::Moved) && self.elsewhere.is_none() {
            self.elsewhere = location.and_then(origin);
        }
        let Some(telling) = telling(outcome) else { return };
        if self.other.as_ref().is_none_or(|(known, _)| *known < telling) {
            self.other = Some((telling, heard.said(outcome)));
        }
        if self.told.insert(result) {
            let meaning = outcome.meaning();
            tracing::info!(address, status, result, location, error, "the crawler got no page here: {meaning}");
        }
    }

    /// The most informative answer without a page.
    pub(super) fn other(&self) -> Option<String> {
        self.other.as_ref().map(|(_, said)| said.clone())
    }
}

/// The origin of an absolute URL.
fn origin(location: &str) -> Option<String> {
    let url = Url::parse(location).ok()?;
    Some(url.origin().ascii_serialization()).filter(|_| matches!(url.scheme(), "http" | "https"))
}

/// How much an outcome explains missing pages; `None` if it is a page, or no page was expected.
fn telling(outcome: Outcome) -> Option<u8> {
    Some(match outcome {
        Outcome::Robots | Outcome::List | Outcome::Page | Outcome::Unchanged => return None,
        Outcome::Gone => 0,
        Outcome::Duplicate | Outcome::Other => 1,
        Outcome::Moved | Outcome::Acts | Outcome::CameBack => 2,
        Outcome::Hidden | Outcome::Full => 3,
        Outcome::Failed => 4,
        Outcome::OffSite => 5,
    })
}

/// Logs the first links that were not followed.
pub(super) fn tell_left_out(left: &LeftOut) {
    for NotFollowed { link, page, why } in &left.first {
        let advice = match why {
            WhyLeftOut::Acts => {
                "a link was not followed because it may act: name it in content.start to have it read, and set \
                 rel=\"nofollow\" on links that act"
            }
            WhyLeftOut::Unlisted => {
                "a link was not followed because nothing shows that it leads to a document: list it in the sitemap, or \
                 name its path in content.follow (and set content.follow_queries = true if it has a query)"
            }
        };
        let (link, page) = (without_values(link), without_values(page));
        tracing::info!(%link, %page, "{advice}");
    }
}
