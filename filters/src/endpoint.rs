//! Where agents are answered: every path that is Frontdesk's, whatever its spelling.
//!
//! A request whose canonical path is one of these is never passed to the site (decision 16): it is answered, or told
//! what would be. A path may have `{placeholders}` (AICP §5.5), each for one segment.

use std::collections::HashMap;

use http::{HeaderValue, Method};

use crate::{
    dialect::{Document, Explain, document},
    limits::Counted,
    path,
};

/// One path of ours, or one and all below it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// As it was declared; the only spelling that is answered.
    declared: String,
    /// What is below it belongs to it, not the path itself.
    below: bool,
    /// With other methods than its own it is the site's.
    yields: bool,
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
    method: Method,
    /// It changes something.
    action: bool,
}

impl Endpoint {
    /// A published document.
    pub(crate) fn document(document: Document, explain: Explain) -> Self {
        Self { declared: document.path.clone(), below: false, yields: false, what: What::Document(document), explain }
    }

    /// Something that is called.
    pub(crate) fn call(path: &str, method: Method, action: bool, explain: Explain) -> Self {
        let calls = What::Calls(vec![Call { method, action }]);
        Self { declared: path.to_owned(), below: false, yields: false, what: calls, explain }
    }

    /// The same for whatever is below it, and not for the path itself.
    pub(crate) fn below(mut self) -> Self {
        self.below = true;
        self
    }

    /// The same, but what it does not take goes to the site: nobody knows that there is nothing.
    pub(crate) fn yielding(mut self) -> Self {
        self.yields = true;
        self
    }

    /// The document here, if it is one.
    pub fn published(&self) -> Option<&Document> {
        match &self.what {
            What::Document(document) => Some(document),
            What::Calls(_) => None,
        }
    }

    /// Whether a request spells the path as it was announced.
    pub(crate) fn is_spelled(&self, target: &str, canonical: &str) -> bool {
        let spelled = target.split(['?', '#']).next().unwrap_or(target);
        let one_of_many = self.below || self.declared.contains('{');
        spelled == if one_of_many { canonical } else { self.declared.as_str() }
    }

    /// What a request with this method counts as. A method that is not taken counts as what could be meant.
    pub(crate) fn counted(&self, method: &Method) -> Counted {
        match &self.what {
            What::Document(_) => Counted::Content,
            What::Calls(calls) => Counted::Call { action: calls.iter().any(|c| c.takes(method) && c.action) },
        }
    }

    /// Whether it can be called so.
    pub(crate) fn takes(&self, method: &Method) -> bool {
        match &self.what {
            What::Document(_) => document::takes(method),
            What::Calls(calls) => calls.iter().any(|call| call.takes(method)),
        }
    }

    /// The methods that it takes.
    pub(crate) fn allow(&self) -> HeaderValue {
        let What::Calls(calls) = &self.what else { return HeaderValue::from_static(document::ALLOW) };
        let mut methods: Vec<&str> = Vec::new();
        for call in calls {
            let with_head: &[&str] =
                if call.method == Method::GET { &["GET", "HEAD"] } else { &[call.method.as_str()] };
            methods.extend(with_head);
        }
        methods.push("OPTIONS");
        HeaderValue::try_from(methods.join(", ")).unwrap_or_else(|_| HeaderValue::from_static("OPTIONS"))
    }

    /// How it says that something is refused.
    pub(crate) fn explain(&self) -> Explain {
        self.explain
    }
}

impl Call {
    fn takes(&self, method: &Method) -> bool {
        self.method == *method || self.method == Method::GET && *method == Method::HEAD
    }
}

/// Every endpoint, by canonical path.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    exact: HashMap<String, Endpoint>,
    /// Paths with placeholders.
    templates: Vec<(String, Endpoint)>,
    below: Vec<(String, Endpoint)>,
}

impl Endpoints {
    /// Adds one. A path that is there already is called in one more way; a document stays what it is.
    pub(crate) fn add(&mut self, endpoint: Endpoint) {
        let canonical = path::canonical(&endpoint.declared).into_owned();
        if endpoint.below {
            self.below.push((canonical, endpoint));
            // Of two that fit, the nearer one.
            self.below.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
            return;
        }
        let template = canonical.contains('{');
        let there = match template {
            true => self.templates.iter_mut().find(|(path, _)| *path == canonical).map(|(_, endpoint)| endpoint),
            false => self.exact.get_mut(&canonical),
        };
        match there {
            Some(Endpoint { what: What::Calls(calls), .. }) => {
                if let What::Calls(more) = endpoint.what {
                    calls.extend(more);
                }
            }
            Some(_) => {}
            None if template => self.templates.push((canonical, endpoint)),
            None => drop(self.exact.insert(canonical, endpoint)),
        }
    }

    /// The endpoint that a request with a canonical path belongs to.
    pub(crate) fn find(&self, canonical: &str, method: &Method) -> Option<&Endpoint> {
        let under = |prefix: &str| canonical.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        self.exact
            .get(canonical)
            .or_else(|| self.templates.iter().find(|(template, _)| fits(template, canonical)).map(|(_, e)| e))
            .or_else(|| self.below.iter().find(|(prefix, _)| under(prefix)).map(|(_, e)| e))
            .filter(|endpoint| !endpoint.yields || endpoint.takes(method))
    }

    /// The paths of the documents, in order.
    pub fn documents(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.exact.values().filter_map(|e| Some(e.published()?.path.as_str())).collect();
        paths.sort_unstable();
        paths
    }
}

/// Whether a path is one of those that a template stands for: segment by segment, a placeholder for any but none.
fn fits(template: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let each = template.split('/').all(|wanted| match segments.next() {
        None => false,
        Some(segment) => match wanted.split_once('{').zip(wanted.rsplit_once('}')) {
            None => segment == wanted,
            Some(((before, _), (_, after))) => {
                segment.len() > before.len() + after.len() && segment.starts_with(before) && segment.ends_with(after)
            }
        },
    });
    each && segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stands_for_one_segment() {
        for (template, path, expected) in [
            ("/records/{id}", "/records/1", true),
            ("/records/{id}", "/records", false),
            ("/records/{id}", "/records/1/2", false),
            ("/{a}/x/{b}.json", "/1/x/2.json", true),
            ("/{a}/x/{b}.json", "/1/x/.json", false),
            ("/{a}/x/{b}.json", "/1/y/2.json", false),
        ] {
            assert_eq!(fits(template, path), expected, "{template} {path}");
        }
    }
}
