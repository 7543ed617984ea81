//! Frontdesk's own endpoints, recognised in every spelling of their paths.
//!
//! A request whose path a site could take for one of these never passes to the site
//! (docs/decisions/0016-path-spellings.md). It is answered if it is spelled exactly as declared, and is 404 otherwise.
//! A path may have `{placeholders}` (AICP §5.5), each within one segment.

mod handlers;
mod overrides;
mod routes;
mod tree;

use std::sync::Arc;

use http::{HeaderValue, Method};

use crate::{
    document::{self, Document},
    explain::Explain,
    serve::Serve,
};
use frontdesk_base::path;
use frontdesk_caller::limits::Counted;
use handlers::Reach;
pub use routes::Endpoints;

/// A path of ours, or a path with all paths below it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The declared path, which is the only spelling that is answered.
    declared: String,
    /// It covers the paths below, and not the path itself.
    below: bool,
    /// A trailing slash is allowed.
    slashed: bool,
    /// Requests with other methods pass to the site.
    yields: bool,
    /// A credential may come in the body.
    later: bool,
    /// What a request counts as depends on its body, so the handler counts it.
    counts_messages: bool,
    /// People open it in a browser, and prove who they are to the site.
    for_people: bool,
    what: What,
    explain: Explain,
}

#[derive(Debug, Clone)]
enum What {
    Document(Document),
    Calls(Vec<Call>),
}

/// One method of an endpoint.
#[derive(Debug, Clone)]
struct Call {
    /// The path with this method's own placeholder names.
    declared: String,
    method: Method,
    /// It changes something.
    action: bool,
    /// HEAD is allowed.
    heads: bool,
    /// The site has a handler at this path, and Frontdesk requires a credential for it.
    guards: bool,
    /// `None`: not implemented.
    serve: Option<Arc<dyn Serve>>,
    explain: Explain,
}

impl Endpoint {
    /// A published document.
    pub fn document(document: Document, explain: Explain) -> Self {
        Self {
            declared: document.path.clone(),
            below: false,
            slashed: false,
            yields: false,
            later: false,
            counts_messages: false,
            for_people: false,
            what: What::Document(document),
            explain,
        }
    }

    /// An endpoint that is called.
    pub fn call(path: &str, method: Method, action: bool, explain: Explain) -> Self {
        let heads = method == Method::GET && !action;
        let calls =
            vec![Call { declared: path.to_owned(), method, action, heads, guards: false, serve: None, explain }];
        let (declared, calls) = (path.to_owned(), What::Calls(calls));
        Self {
            declared,
            below: false,
            slashed: false,
            yields: false,
            later: false,
            counts_messages: false,
            for_people: false,
            what: calls,
            explain,
        }
    }

    /// The same without HEAD, because a call changes something although it counts as no action.
    pub fn headless(mut self) -> Self {
        if let What::Calls(calls) = &mut self.what {
            calls.iter_mut().for_each(|call| call.heads = false);
        }
        self
    }

    /// The same with its handler.
    pub fn served(mut self, serve: Arc<dyn Serve>) -> Self {
        if let What::Calls(calls) = &mut self.what {
            calls.iter_mut().for_each(|call| call.serve = Some(serve.clone()));
        }
        self
    }

    /// The same for all paths below, and not for the path itself.
    pub fn below(mut self) -> Self {
        self.below = true;
        self
    }

    /// The same, with an optional trailing slash: a directory.
    pub fn slashed(mut self) -> Self {
        self.slashed = true;
        self
    }

    /// The same, except that other methods pass to the site, which may have something there.
    pub fn yielding(mut self) -> Self {
        self.yields = true;
        self
    }

    /// The same, where a credential may come in the body; the handler checks for one.
    pub fn proving_later(mut self) -> Self {
        self.later = true;
        self
    }

    /// The same, where the handler counts each message.
    pub fn counting_messages(mut self) -> Self {
        self.counts_messages = true;
        self
    }

    /// The same, for people with a browser: no agent's credential or signature is asked of them.
    pub fn for_people(mut self) -> Self {
        self.for_people = true;
        self
    }

    /// Whether people open it in a browser.
    pub fn is_for_people(&self) -> bool {
        self.for_people
    }

    /// Whether the server counts each message by itself.
    pub fn counts_messages(&self) -> bool {
        self.counts_messages
    }

    /// The same, where the site's own handler has this path and a credential is needed here: it is not to be reached at
    /// another address either.
    pub fn guarding(mut self) -> Self {
        if let What::Calls(calls) = &mut self.what {
            calls.iter_mut().for_each(|call| call.guards = true);
        }
        self
    }

    /// Whether it guards a handler of the site, for any method.
    fn guards_something(&self) -> bool {
        matches!(&self.what, What::Calls(calls) if calls.iter().any(|call| call.guards))
    }

    /// Whether a request at another address of a guarded handler is refused. `overridden`: the site may see another
    /// method than the request's.
    fn guards(&self, method: &Method, overridden: bool, reach: Reach) -> bool {
        let What::Calls(calls) = &self.what else { return false };
        let guarded = |method: &Method| calls.iter().any(|call| call.guards && call.method == *method);
        if overridden {
            return self.guards_something();
        }
        // Another representation of a page gives no access to what only other methods do.
        if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) && reach == Reach::Form {
            return guarded(&Method::GET) || guarded(&Method::HEAD);
        }
        let called = calls.iter().find(|call| call.takes(method));
        called.map_or_else(|| self.guards_something(), |call| call.guards)
    }

    /// Whether somebody without a credential in the head may have one in the body.
    pub fn may_be_proven_later(&self) -> bool {
        self.later
    }

    /// The path as it was declared.
    pub fn declared(&self) -> &str {
        &self.declared
    }

    /// The document here, if it is one.
    pub fn published(&self) -> Option<&Document> {
        match &self.what {
            What::Document(document) => Some(document),
            What::Calls(_) => None,
        }
    }

    /// The values of the path's placeholders, where a request spells the path as announced.
    pub fn spelled(&self, method: &Method, target: &str, canonical: &str) -> Option<Vec<(String, String)>> {
        let declared = match &self.what {
            What::Calls(calls) => calls.iter().find(|call| call.takes(method)).map_or(&self.declared, |c| &c.declared),
            What::Document(_) => &self.declared,
        };
        let spelled = target.split(['?', '#']).next().unwrap_or(target);
        if self.below {
            let is_below = || canonical.strip_prefix(&*path::canonical(&self.declared))?.strip_prefix('/');
            return (spelled == canonical && is_below().is_some()).then(Vec::new);
        }
        if !declared.contains('{') {
            let plain = spelled.strip_suffix('/').filter(|_| self.slashed).unwrap_or(spelled);
            return (plain == declared).then(Vec::new);
        }
        let (mut values, mut segments) = (Vec::new(), spelled.split('/'));
        for wanted in declared.split('/') {
            let segment = segments.next()?;
            match place(wanted) {
                None => (segment == wanted).then_some(())?,
                Some((before, name, after)) => {
                    let value = segment.strip_prefix(before)?.strip_suffix(after)?;
                    values.push((name.to_owned(), path::value(value)?));
                }
            }
        }
        segments.next().is_none().then_some(values)
    }

    /// What a request with this method counts as. An unsupported method counts as the one that was probably meant.
    pub fn counted(&self, method: &Method) -> Counted {
        match &self.what {
            What::Document(_) => Counted::Content,
            // A request that never reaches the handler calls nothing.
            What::Calls(_) if self.counts_messages => Counted::Content,
            What::Calls(calls) => Counted::Call { action: calls.iter().any(|c| c.takes(method) && c.action) },
        }
    }

    /// Whether it has this method.
    pub fn takes(&self, method: &Method) -> bool {
        match &self.what {
            What::Document(_) => document::takes(method),
            What::Calls(calls) => calls.iter().any(|call| call.takes(method)),
        }
    }

    /// The handler of this method; `None` inside where it is not implemented.
    pub fn server(&self, method: &Method) -> Option<Option<Arc<dyn Serve>>> {
        match &self.what {
            What::Document(_) => None,
            What::Calls(calls) => calls.iter().find(|call| call.takes(method)).map(|call| call.serve.clone()),
        }
    }

    /// The methods that it has.
    pub fn allow(&self) -> HeaderValue {
        let What::Calls(calls) = &self.what else { return HeaderValue::from_static(document::ALLOW) };
        let mut methods: Vec<&str> = Vec::new();
        for call in calls {
            let with_head: &[&str] = if call.heads { &["GET", "HEAD"] } else { &[call.method.as_str()] };
            methods.extend(with_head);
        }
        methods.push("OPTIONS");
        HeaderValue::try_from(methods.join(", ")).unwrap_or_else(|_| HeaderValue::from_static("OPTIONS"))
    }

    /// How it words a refusal of a request with this method.
    pub fn explain(&self, method: &Method) -> Explain {
        match &self.what {
            What::Calls(calls) => {
                calls.iter().find(|call| call.takes(method)).map_or(self.explain, |call| call.explain)
            }
            What::Document(_) => self.explain,
        }
    }
}

impl Call {
    /// HEAD must not change anything.
    fn takes(&self, method: &Method) -> bool {
        self.method == *method || self.heads && *method == Method::HEAD
    }
}

/// A segment with a placeholder: the text before it, its name, and the text after it.
fn place(segment: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = segment.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_a_head_alone_has_nothing_done() {
        let at = |action| Endpoint::call("/a", Method::GET, action, crate::problem::reply);
        let said = |endpoint: Endpoint| (endpoint.takes(&Method::HEAD), endpoint.allow());
        assert_eq!(said(at(false)), (true, HeaderValue::from_static("GET, HEAD, OPTIONS")));
        assert_eq!(said(at(true)), (false, HeaderValue::from_static("GET, OPTIONS")));
        assert_eq!(said(at(false).headless()), (false, HeaderValue::from_static("GET, OPTIONS")));
    }

    #[test]
    fn places_are_filled_only_by_the_declared_spelling() {
        let endpoint = Endpoint::call("/r/{id}/x/{v}.json", Method::GET, false, crate::problem::reply);
        let spelled = |target: &str| endpoint.spelled(&Method::GET, target, "");
        let values = |a: &str, b: &str| Some(vec![("id".to_owned(), a.to_owned()), ("v".to_owned(), b.to_owned())]);
        assert_eq!(spelled("/r/1/x/2.json?q=3"), values("1", "2"));
        assert_eq!(spelled("/r/a%20b%2Fc/x/%C3%BC.json"), values("a b/c", "ü"));
        for target in [
            "/r/1/x/.json",
            "/r//x/2.json",
            "/R/1/x/2.json",
            "/r/1;a/x/2.json",
            "/r/../x/2.json",
            "/r/%2e%2e/x/2.json",
            "/r/1/x/2.json/",
            "/r/%FF/x/2.json",
            "/r/%zz/x/2.json",
            "/r/a%00/x/2.json",
            "//r/1/x/2.json",
            "/r/a\\b/x/2.json",
        ] {
            assert_eq!(spelled(target), None, "{target}");
        }
    }
}
