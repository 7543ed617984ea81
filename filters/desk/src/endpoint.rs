//! Where agents are answered: every path that is Frontdesk's, whatever its spelling.
//!
//! A request whose path a site could take for one of these is never passed to it (decision 16): it is answered where it
//! is spelled exactly, else it is 404. A path may have `{places}` (AICP §5.5), each in one segment.

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

/// One path of ours, or one and all below it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// As it was declared; the only spelling that is answered.
    declared: String,
    /// What is below it belongs to it, not the path itself.
    below: bool,
    /// It may be spelled with a slash at its end.
    slashed: bool,
    /// With other methods than its own it is the site's.
    yields: bool,
    /// Who calls may be proven by what is in the body.
    later: bool,
    /// What a request counts as depends on its body: its server counts it, once the body is read.
    counts_messages: bool,
    what: What,
    explain: Explain,
}

#[derive(Debug, Clone)]
enum What {
    Document(Document),
    Calls(Vec<Call>),
}

/// A way to call an endpoint.
#[derive(Debug, Clone)]
struct Call {
    /// The path, with its own names for the places.
    declared: String,
    method: Method,
    /// It changes something.
    action: bool,
    /// Its head alone may be asked for.
    heads: bool,
    /// The site has a handler at this very path, for which a credential is needed here.
    guards: bool,
    /// `None`: nothing is behind it yet.
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
            what: What::Document(document),
            explain,
        }
    }

    /// Something that is called.
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
            what: calls,
            explain,
        }
    }

    /// The same, but not for its head alone: it counts as no action, and leaves a mark all the same.
    pub fn headless(mut self) -> Self {
        if let What::Calls(calls) = &mut self.what {
            calls.iter_mut().for_each(|call| call.heads = false);
        }
        self
    }

    /// The same, answered.
    pub fn served(mut self, serve: Arc<dyn Serve>) -> Self {
        if let What::Calls(calls) = &mut self.what {
            calls.iter_mut().for_each(|call| call.serve = Some(serve.clone()));
        }
        self
    }

    /// The same for whatever is below it, and not for the path itself.
    pub fn below(mut self) -> Self {
        self.below = true;
        self
    }

    /// The same, also with a slash at its end: a directory.
    pub fn slashed(mut self) -> Self {
        self.slashed = true;
        self
    }

    /// The same, but what it does not take goes to the site: nobody knows that there is nothing.
    pub fn yielding(mut self) -> Self {
        self.yields = true;
        self
    }

    /// The same, where a credential may come in the body: who serves it asks for one.
    pub fn proving_later(mut self) -> Self {
        self.later = true;
        self
    }

    /// The same, where the body says what a request counts as: its handler counts it.
    pub fn counting_messages(mut self) -> Self {
        self.counts_messages = true;
        self
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

    /// Whether a handler of the site's is guarded from requests with any method.
    fn guards_something(&self) -> bool {
        matches!(&self.what, What::Calls(calls) if calls.iter().any(|call| call.guards))
    }

    /// Whether a request at another address of a guarded handler is refused. `overridden`: it may have another method for
    /// the site than its own.
    fn guards(&self, method: &Method, overridden: bool, reach: Reach) -> bool {
        let What::Calls(calls) = &self.what else { return false };
        let guarded = |method: &Method| calls.iter().any(|call| call.guards && call.method == *method);
        if overridden {
            return self.guards_something();
        }
        // A page in another representation is no way to what only other methods do.
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

    /// What stands in the places of the path, where a request spells it as it was announced.
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

    /// What a request with this method counts as. A method that is not taken counts as what could be meant.
    pub fn counted(&self, method: &Method) -> Counted {
        match &self.what {
            What::Document(_) => Counted::Content,
            // A request that never reaches the server calls nothing.
            What::Calls(_) if self.counts_messages => Counted::Content,
            What::Calls(calls) => Counted::Call { action: calls.iter().any(|c| c.takes(method) && c.action) },
        }
    }

    /// Whether it can be called so.
    pub fn takes(&self, method: &Method) -> bool {
        match &self.what {
            What::Document(_) => document::takes(method),
            What::Calls(calls) => calls.iter().any(|call| call.takes(method)),
        }
    }

    /// Who answers a call with this method; `None` inside where nothing is behind it yet.
    pub fn server(&self, method: &Method) -> Option<Option<Arc<dyn Serve>>> {
        match &self.what {
            What::Document(_) => None,
            What::Calls(calls) => calls.iter().find(|call| call.takes(method)).map(|call| call.serve.clone()),
        }
    }

    /// The methods that it takes.
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

    /// How it says that something is refused, to a call with this method.
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
    /// Who asks for a head alone wants nothing done.
    fn takes(&self, method: &Method) -> bool {
        self.method == *method || self.heads && *method == Method::HEAD
    }
}

/// A segment with a place in it: what stands before it, its name, and what stands after it.
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
