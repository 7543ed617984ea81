//! Writes an entry list as the form's `enctype` says, in the page's own encoding.

use bytes::Bytes;
use encoding_rs::Encoding;
use frontdesk_base::fault::Refusal;
use frontdesk_page::content::css;
use http::Method;

use super::{
    Filled, Inputs,
    again::Before,
    control::Control,
    entry::{Entry, Sent, Source},
    find::FoundForm,
    wrong,
};
use crate::extract::changed;

/// The request that sends a form.
pub(super) fn request(
    form: &FoundForm<'_>,
    submitter: Option<&Control<'_>>,
    declared: &Method,
    entries: Vec<Entry>,
    (inputs, boundary): (&Inputs<'_>, &str),
) -> Result<Filled, Refusal> {
    let of_button = |name: &str| submitter.and_then(|button| css::attribute(&button.element, name));
    let said = |on_button: &str, on_form: &str| {
        of_button(on_button).or_else(|| css::attribute(&form.element, on_form)).unwrap_or_default().to_ascii_lowercase()
    };
    let method = if said("formmethod", "method") == "post" { Method::POST } else { Method::GET };
    if method != *declared {
        return Err(changed("The site's form is now sent with another method than declared. Nothing was sent."));
    }
    let target = form.target(submitter)?;
    let enctype = said("formenctype", "enctype");
    let texts = |source: Source| {
        let texts = entries.iter().filter(move |entry| entry.source == source);
        texts.filter_map(|entry| match &entry.value {
            Sent::Text(text) => Some((entry.name.clone(), text.clone())),
            Sent::File(_) => None,
        })
    };
    let (put_in, hidden): (Vec<_>, Vec<_>) = (texts(Source::Input).collect(), texts(Source::Hidden).collect());
    let before = Before::default();
    if method == Method::POST && enctype == "text/plain" {
        // A line of this body is a field.
        let broken = put_in.iter().find(|(name, text)| [name, text].iter().any(|part| part.contains(['\r', '\n'])));
        if let Some((name, _)) = broken {
            let given = [name.as_str(), name.strip_suffix("[]").unwrap_or(name)];
            let name = given.into_iter().find(|name| inputs.given.contains_key(*name)).unwrap_or(name);
            return Err(wrong(inputs, name, "The site takes one line here."));
        }
    }
    if method == Method::GET {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let query = urlencoded(&entries, form.encoding);
        let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        return Ok(Filled { method, target, content_type: String::new(), body: Bytes::new(), put_in, hidden, before });
    }
    let (content_type, body) = match enctype.as_str() {
        "multipart/form-data" => {
            (format!("multipart/form-data; boundary={boundary}"), multipart(&entries, form.encoding, boundary))
        }
        "text/plain" => ("text/plain".to_owned(), plain(&entries, form.encoding)),
        _ => ("application/x-www-form-urlencoded".to_owned(), urlencoded(&entries, form.encoding).into_bytes()),
    };
    Ok(Filled { method, target, content_type, body: body.into(), put_in, hidden, before })
}

/// Text with the line ends of forms.
fn line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// Bytes in the form's encoding; what it lacks is written as a numbered character.
fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    encoding.encode(&line_ends(text)).0.into_owned()
}

fn urlencoded(entries: &[Entry], encoding: &'static Encoding) -> String {
    let mut out = String::new();
    for Entry { name, value, .. } in entries {
        if !out.is_empty() {
            out.push('&');
        }
        let text = match value {
            Sent::Text(text) => text,
            // Only multipart takes files; elsewhere their name is sent.
            Sent::File(file) => &file.name,
        };
        out.extend(url::form_urlencoded::byte_serialize(&encoded(name, encoding)));
        out.push('=');
        out.extend(url::form_urlencoded::byte_serialize(&encoded(text, encoding)));
    }
    out
}

fn multipart(entries: &[Entry], encoding: &'static Encoding, boundary: &str) -> Vec<u8> {
    let mut out = Vec::new();
    // Within quotes (the HTML standard, "multipart/form-data encoding algorithm").
    let quoted = |text: &str| {
        let text = text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        encoding.encode(&text).0.into_owned()
    };
    for Entry { name, value, .. } in entries {
        out.extend_from_slice(format!("--{boundary}\r\nContent-Disposition: form-data; name=\"").as_bytes());
        out.extend_from_slice(&quoted(&line_ends(name)));
        match value {
            Sent::Text(text) => {
                out.extend_from_slice(b"\"\r\n\r\n");
                out.extend_from_slice(&encoded(text, encoding));
            }
            Sent::File(file) => {
                out.extend_from_slice(b"\"; filename=\"");
                out.extend_from_slice(&quoted(&file.name));
                out.extend_from_slice(format!("\"\r\nContent-Type: {}\r\n\r\n", file.media_type).as_bytes());
                out.extend_from_slice(&file.body);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    out
}

fn plain(entries: &[Entry], encoding: &'static Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    for Entry { name, value, .. } in entries {
        let text = match value {
            Sent::Text(text) => text,
            Sent::File(file) => &file.name,
        };
        out.extend_from_slice(&encoded(name, encoding));
        out.push(b'=');
        out.extend_from_slice(&encoded(text, encoding));
        out.extend_from_slice(b"\r\n");
    }
    out
}
