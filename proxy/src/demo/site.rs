//! The routes of the demo site.

use std::{
    borrow::Cow,
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use frontdesk_base::media::essence;
use http::{Method, Request, Response, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{
    assets,
    bookings::Bookings,
    flights::{self, Airport, Search},
    pages::{self, FLIGHTS, PAGES},
    reply::Reply,
};

/// The site's origin, unless the caller sets another.
const ORIGIN: &str = "https://example-travel.com";
/// The largest body the API reads.
const LARGEST_BODY: usize = 64 * 1024;
const READ: &str = "GET, HEAD";

/// Example Travel: its fixed pages, rendered once, and its bookings.
pub struct Travel {
    fixed: HashMap<&'static str, Reply>,
    bookings: Mutex<Bookings>,
}

impl Default for Travel {
    fn default() -> Self {
        Self::new(ORIGIN)
    }
}

impl Travel {
    /// The site at `origin` ("http://127.0.0.1:8080"), which robots.txt and the site map name.
    pub fn new(origin: &str) -> Self {
        let pages = PAGES.iter().map(|page| (page.path, page.reply()));
        let fixed = pages.chain(assets::all(origin.trim_end_matches('/'))).collect();
        Self { fixed, bookings: Mutex::new(Bookings::new()) }
    }

    /// Answers one request. `Content-Length` is set, also on HEAD; the transport adds `Date`.
    pub fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.respond_at(request, now)
    }

    fn respond_at(&self, request: &Request<Bytes>, now: u64) -> Response<Bytes> {
        let reply = match request.uri().path().strip_prefix("/api/") {
            Some(rest) => self.api(request, rest, now).unwrap_or_else(|refusal| refusal),
            None => self.page(request),
        };
        reply.answer(request)
    }

    fn page(&self, request: &Request<Bytes>) -> Reply {
        let path = request.uri().path();
        let exists = |path: &str| path == FLIGHTS || self.fixed.contains_key(path);
        if !exists(path) {
            return match path.strip_suffix('/').filter(|path| exists(path)) {
                Some(path) => moved(path),
                None => pages::not_found(),
            };
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return pages::not_allowed(READ);
        }
        match self.fixed.get(path) {
            Some(reply) => reply.clone(),
            None => flights_page(&Query::of(request)),
        }
    }

    fn api(&self, request: &Request<Bytes>, rest: &str, now: u64) -> Result<Reply, Reply> {
        let segments: Vec<&str> = rest.split('/').collect();
        let allow = match segments[..] {
            ["flights"] | ["holds", _] | ["bookings", _] => READ,
            ["watches", _] => "GET, HEAD, DELETE",
            ["watches" | "holds" | "purchases"] | ["bookings", _, "cancel"] => "POST",
            _ => return Err(Reply::error(StatusCode::NOT_FOUND, "not_found", "There is nothing at this address.")),
        };
        if !allow.split(", ").any(|method| method == request.method().as_str()) {
            let message = format!("This address takes {allow}.");
            let reply = Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &message);
            return Err(reply.allowing(allow));
        }
        if segments == ["flights"] {
            return search(&Query::of(request));
        }
        let ok = |value: Value| Reply::json(StatusCode::OK, &value);
        let input = if *request.method() == Method::POST { json_body(request)? } else { Map::new() };
        let mut office = self.bookings.lock();
        match segments[..] {
            ["watches"] => office.watch(&input, now),
            ["watches", id] if *request.method() == Method::DELETE => office.unwatch(id),
            ["watches", id] => office.watch_status(id).map(ok),
            ["holds"] => office.hold(&input, now),
            ["holds", id] => office.hold_status(id, now).map(ok),
            ["bookings", id] => office.booking(id).map(ok),
            ["bookings", id, _] => office.cancel(id, now).map(ok),
            _ => office.purchase(&input, now),
        }
    }
}

/// A redirect from a page's path with an extra slash.
fn moved(path: &str) -> Reply {
    Reply::new(StatusCode::MOVED_PERMANENTLY, "text/plain; charset=utf-8", "Moved.\n").at(path.to_owned())
}

/// The JSON object in a POST. An empty POST is an empty object, which is enough to cancel.
fn json_body(request: &Request<Bytes>) -> Result<Map<String, Value>, Reply> {
    let body = request.body();
    if body.is_empty() {
        return Ok(Map::new());
    }
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !essence(content_type.unwrap_or_default()).eq_ignore_ascii_case("application/json") {
        let message = "Please send application/json.";
        return Err(Reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
    }
    if body.len() > LARGEST_BODY {
        return Err(Reply::error(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "This is too large."));
    }
    serde_json::from_slice(body)
        .map_err(|_| Reply::error(StatusCode::BAD_REQUEST, "bad_json", "The body is not a JSON object."))
}

/// `GET /api/flights`
fn search(query: &Query) -> Result<Reply, Reply> {
    let mut wrong = Map::new();
    let unreadable = |name: &str| query.get(name).is_some().then(|| (name.to_owned(), json!("This is not valid.")));
    let max_price = query.get("max_price").and_then(|text| price(&text));
    let max_stops = query.get("max_stops").and_then(|text| text.parse().ok());
    let checked_baggage = query.get("checked_baggage").and_then(|text| text.parse().ok());
    wrong.extend(unreadable("max_price").filter(|_| max_price.is_none()));
    wrong.extend(unreadable("max_stops").filter(|_| max_stops.is_none()));
    wrong.extend(unreadable("checked_baggage").filter(|_| checked_baggage.is_none()));
    if !wrong.is_empty() {
        let message = "Please check the fields below.";
        let body = json!({ "error": "validation_failed", "message": message, "fields": wrong });
        return Err(Reply::json(StatusCode::UNPROCESSABLE_ENTITY, &body));
    }
    let airport = |name: &str| query.get(name).map(|text| known_airport(&text)).transpose();
    let (origin, destination) = (airport("from")?, airport("to")?);
    let fares = Search { origin, destination, max_price, max_stops, checked_baggage }.run();
    let list: Vec<Value> = fares.iter().map(|fare| fare.json()).collect();
    let body = json!({ "flights": list, "total": list.len() });
    Ok(Reply::json(StatusCode::OK, &body).cached("public, max-age=60"))
}

fn known_airport(name: &str) -> Result<&'static Airport, Reply> {
    let unknown = || Reply::error(StatusCode::NOT_FOUND, "no_flights", "We do not fly there.");
    flights::airport(name).ok_or_else(unknown)
}

fn price(text: &str) -> Option<f64> {
    text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0)
}

/// `GET /flights`. Ignores invalid fields of the form, as people expect.
fn flights_page(query: &Query) -> Reply {
    let (from, to) = (query.get("from"), query.get("to"));
    let origin = from.as_deref().and_then(flights::airport);
    let destination = to.as_deref().and_then(flights::airport);
    let unknown = from.as_deref().filter(|_| origin.is_none()).or(to.as_deref().filter(|_| destination.is_none()));
    let max_price = query.get("max_price").and_then(|text| price(&text));
    pages::flights(&Search { origin, destination, max_price, ..Search::default() }, unknown)
}

/// The fields of a form in the query.
struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    fn of(request: &'a Request<Bytes>) -> Self {
        Self(request.uri().query().unwrap_or_default())
    }

    /// A field's first value. An empty field counts as missing.
    fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut pairs = url::form_urlencoded::parse(self.0.as_bytes());
        let (_, value) = pairs.find(|(key, _)| key == name)?;
        if value.trim().is_empty() { None } else { Some(value) }
    }
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
