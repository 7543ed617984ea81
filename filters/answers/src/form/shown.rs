//! Addresses as an agent may see them: what a form has hidden is between the site and its form.

use url::form_urlencoded;

use super::Filled;

/// A hidden value of at least so many bytes is a secret wherever it turns up. A shorter one may be any number.
pub(super) const SECRET: usize = 8;

impl Filled {
    /// An address that the form led to, without what the form had hidden.
    pub fn shown(&self, target: &str) -> String {
        let (rest, fragment) = target.split_once('#').map_or((target, None), |(rest, after)| (rest, Some(after)));
        let Some((path, query)) = rest.split_once('?') else { return target.to_owned() };
        let kept: Vec<&str> = query.split('&').filter(|pair| !self.is_hidden(pair)).collect();
        let mut shown = if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) };
        if let Some(fragment) = fragment.filter(|_| kept.len() == query.split('&').count()) {
            shown = format!("{shown}#{fragment}");
        }
        shown
    }

    /// Whether a pair of a query says something that the form had hidden.
    fn is_hidden(&self, pair: &str) -> bool {
        let pairs: Vec<_> = form_urlencoded::parse(pair.as_bytes()).collect();
        self.hidden.iter().any(|(name, value)| {
            pairs.iter().any(|(said, what)| said == name && what == value)
                || value.len() >= SECRET && (pair.contains(value) || pairs.iter().any(|(_, what)| what.contains(value)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_had_hidden_is_not_shown() {
        let hidden = [("tok", "SECRET TOKEN"), ("lang", "en"), ("empty", "")];
        let hidden = hidden.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let (method, content_type, body, put_in, before) = Default::default();
        let form = Filled { method, target: String::new(), content_type, body, put_in, hidden, before };
        for (target, shown) in [
            ("/find?tok=SECRET+TOKEN&q=a+b&lang=en", "/find?q=a+b"),
            ("/thanks?t=SECRET%20TOKEN", "/thanks"),
            ("/thanks?next=%2Fx%3Ftok%3DSECRET%20TOKEN&n=1", "/thanks?n=1"),
            ("/thanks?to=en&id=4#end", "/thanks?to=en&id=4#end"),
            ("/thanks?tok=other&empty=x&q=", "/thanks?tok=other&empty=x&q="),
            ("/thanks", "/thanks"),
        ] {
            assert_eq!(form.shown(target), shown, "{target}");
        }
    }
}
