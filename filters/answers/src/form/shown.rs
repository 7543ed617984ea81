//! Addresses and pages as an agent may see them: what a form has hidden is between the site and its form.

use bytes::Bytes;
use memchr::memmem;
use url::form_urlencoded;

use super::{
    Filled,
    mask::{MASK, SECRET},
};

/// The name of a hidden field says that its value is a secret between the site and its form.
const SECRET_NAMES: [&str; 9] =
    ["csrf", "xsrf", "token", "nonce", "authenticity", "verification", "viewstate", "session", "signature"];
/// A hidden value of so many bytes, with letters and digits, is such a secret whatever its name is.
const LONG_SECRET: usize = 20;
/// How many secrets are looked for in a page. Forms have one or two.
const MOST_SECRETS: usize = 64;

impl Filled {
    /// The page that answers the form, without secrets of the form. Other hidden values may be what the page is about,
    /// such as the name of a product.
    pub fn without_secrets(&self, page: Bytes) -> Bytes {
        let mut secrets: Vec<&str> = self.hidden.iter().filter(|hidden| is_secret(hidden)).map(|(_, v)| &**v).collect();
        secrets.retain(|secret| self.put_in.iter().all(|(_, value)| value != secret));
        secrets.truncate(MOST_SECRETS);
        let forms = secrets.into_iter().flat_map(|secret| {
            let coded: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            [secret.to_owned(), coded]
        });
        forms.fold(page, |page, secret| match memmem::find(&page, secret.as_bytes()) {
            None => page,
            Some(_) => replaced(&page, secret.as_bytes()),
        })
    }

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

fn is_secret((name, value): &(String, String)) -> bool {
    let name = name.to_ascii_lowercase();
    let is_named = value.len() >= SECRET && SECRET_NAMES.iter().any(|word| name.contains(word));
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    is_named
        || value.len() >= LONG_SECRET
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && !has(u8::is_ascii_whitespace)
}

fn replaced(page: &[u8], secret: &[u8]) -> Bytes {
    let (mut shown, mut from) = (Vec::with_capacity(page.len()), 0);
    for at in memmem::find_iter(page, secret) {
        shown.extend_from_slice(&page[from..at]);
        shown.extend_from_slice(MASK.as_bytes());
        from = at + secret.len();
    }
    shown.extend_from_slice(&page[from..]);
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_form_are_not_in_the_page_after_it() {
        let hidden = [
            ("csrf", "TOKEN+12345"),
            ("state", "9f8e7d6c5b4a39281706"),
            ("sku", "ABC-12345"),
            ("next", "/thanks for all"),
        ];
        let hidden = hidden.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let (method, content_type, body, before) = Default::default();
        let put_in = vec![("token_name".to_owned(), "own".to_owned())];
        let form = Filled { method, target: String::new(), content_type, body, put_in, hidden, before };
        let page =
            "<p>ABC-12345 <a href='/no?csrf=TOKEN%2B12345'>Cancel</a> TOKEN+12345 9f8e7d6c5b4a39281706 /thanks for all";
        let shown = form.without_secrets(Bytes::from(page));
        assert_eq!(
            std::str::from_utf8(&shown).unwrap(),
            format!("<p>ABC-12345 <a href='/no?csrf={MASK}'>Cancel</a> {MASK} {MASK} /thanks for all")
        );
    }

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
