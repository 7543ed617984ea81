//! The body module: sends the bytes of pages through the rewriter, and passes everything else unchanged.
//!
//! It is a module and not the proxy's own body filter, because only a module sees every way in which a body can end.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::page::{Broken, BrokenWhy, FormMarker, Outcome, Parts, Rewriter, Why};
use http::HeaderMap;
use pingora::{
    Error, ErrorType, Result,
    modules::http::{HttpModule, HttpModuleBuilder, Module},
};

use crate::metrics::Metrics;

/// The number of compressed pages in rewriting, over all connections.
static RECODING: AtomicUsize = AtomicUsize::new(0);

/// A permit to rewrite a compressed page.
pub(super) struct Place;

impl Place {
    /// Takes a permit, if fewer than `bound` are taken.
    pub(super) fn take(bound: usize) -> Option<Self> {
        let taken = RECODING.fetch_add(1, Ordering::Relaxed);
        let place = Self;
        (taken < bound).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        RECODING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The module of one request. Does nothing until it is armed.
#[derive(Default)]
pub struct PageBody {
    armed: Option<Armed>,
    /// What is sent in place of the site's body, until it has been.
    instead: Option<Bytes>,
    replaces: bool,
}

struct Armed {
    rewriter: Rewriter,
    _place: Option<Place>,
    metrics: Arc<Metrics>,
    /// The site's data cannot be decoded further: the next step ends the response.
    broken: Option<String>,
    done: bool,
}

impl PageBody {
    pub(super) fn arm(
        &mut self,
        rewriter: Rewriter,
        forms: Option<FormMarker>,
        place: Option<Place>,
        metrics: Arc<Metrics>,
    ) {
        let rewriter = match forms {
            Some(forms) => rewriter.marking(forms),
            None => rewriter,
        };
        self.armed = Some(Armed { rewriter, _place: place, metrics, broken: None, done: false });
    }

    /// Sends another body in place of the site's.
    pub(super) fn replace(&mut self, body: Bytes) {
        (self.instead, self.replaces) = (Some(body), true);
    }

    /// Takes the next piece of the body and returns the bytes to send. Without a piece, `end` marks the end of the
    /// body.
    pub fn pass(&mut self, body: Option<Bytes>, end: bool) -> Result<Parts> {
        if self.replaces {
            return Ok(self.instead.take().unwrap_or_default().into());
        }
        match &mut self.armed {
            Some(armed) => armed.step(body, end),
            None => Ok(body.unwrap_or_default().into()),
        }
    }

    /// The outcome for the page, in a word; `None` if it was never to be rewritten.
    pub fn outcome(&self) -> Option<&'static str> {
        self.armed.as_ref().map(|a| reason(a.rewriter.outcome()))
    }
}

/// The word for the metric and the access log.
fn reason(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Inserted => "rewritten",
        Outcome::OwnNotice => "own_notice",
        Outcome::Fragment => "fragment",
        Outcome::Frameset => "frameset",
        Outcome::Pending => "unfinished",
        Outcome::GaveUp(why) => match why {
            Why::Limit => "scan_limit",
            Why::HugeMarkup => "huge_markup",
            Why::WideEncoding => "charset",
            Why::Unfinished => "unfinished",
            Why::Doubt => "doubt",
            Why::NotAsDeclared => "not_as_declared",
        },
    }
}

impl Armed {
    fn step(&mut self, body: Option<Bytes>, end: bool) -> Result<Parts> {
        if let Some(why) = &self.broken {
            return Error::e_explain(ErrorType::new("BrokenPage"), why.clone());
        }
        if let (Some(whole), true) = (&body, end)
            && let Some(out) = self.rewriter.at_once(whole)
        {
            // Nothing of it has been sent yet. No page is better than an empty one.
            let out = out.map_err(|broken| Error::explain(ErrorType::new("BrokenPage"), broken.to_string()))?;
            self.over();
            return Ok(out.into());
        }
        let mut out = Parts::default();
        if let Some(chunk) = body {
            out = self.take(|r| r.feed(chunk), end)?;
        }
        if end && !self.done && self.broken.is_none() {
            let last = self.take(|r| r.finish().map(Parts::from), true)?;
            out = out.and(last.joined());
            self.over();
        }
        Ok(out)
    }

    /// The page has been read to its end.
    fn over(&mut self) {
        self.done = true;
        match self.rewriter.outcome() {
            Outcome::Inserted => self.metrics.pages_rewritten.inc(),
            other => self.metrics.pages_untouched.with_label_values(&[reason(other)]).inc(),
        }
    }

    /// Sends the decoded part and then cuts the response, so that no client takes it for complete. At the very end the
    /// decoded part is everything that the site sent, unless more of it could have been decoded.
    fn take(
        &mut self,
        step: impl FnOnce(&mut Rewriter) -> std::result::Result<Parts, Broken>,
        end: bool,
    ) -> Result<Parts> {
        match step(&mut self.rewriter) {
            Ok(parts) => Ok(parts),
            Err(broken) => {
                let why = broken.why.to_string();
                tracing::warn!(reason = why, "the site sent a compressed page that cannot be decoded to its end");
                self.metrics.pages_untouched.with_label_values(&["broken"]).inc();
                self.done = true;
                if end && broken.why == BrokenWhy::Bomb {
                    return Error::e_explain(ErrorType::new("BrokenPage"), why);
                }
                if !end {
                    self.broken = Some(why);
                }
                Ok(broken.sent.into())
            }
        }
    }
}

#[async_trait]
impl HttpModule for PageBody {
    fn response_body_filter(&mut self, body: &mut Option<Bytes>, end: bool) -> Result<()> {
        if self.replaces {
            *body = self.instead.take();
            return Ok(());
        }
        if let Some(armed) = &mut self.armed {
            *body = some(armed.step(body.take(), end)?);
        }
        Ok(())
    }

    fn response_trailer_filter(&mut self, _: &mut Option<Box<HeaderMap>>) -> Result<Option<Bytes>> {
        // Bytes returned here would replace the trailers. There are only bytes for a page that never reached its body,
        // and such a page passes unchanged.
        if let Some(armed) = &mut self.armed {
            let rest = some(armed.step(None, true)?);
            if rest.is_some() {
                return Ok(rest);
            }
        }
        Ok(None)
    }

    fn response_done_filter(&mut self) -> Result<Option<Bytes>> {
        if self.replaces {
            return Ok(self.instead.take());
        }
        match &mut self.armed {
            Some(armed) if !armed.done => armed.step(None, true).map(some),
            _ => Ok(None),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The library's form.
fn some(parts: Parts) -> Option<Bytes> {
    Some(parts.joined()).filter(|bytes| !bytes.is_empty())
}

/// Makes the module for each request.
pub struct PageBodies;

impl HttpModuleBuilder for PageBodies {
    fn init(&self) -> Module {
        Box::new(PageBody::default())
    }
}
