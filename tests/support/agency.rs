//! A travel agency for the tests of the handshake: its API, and one capability for each kind of answer.

use super::calls::site;
use super::desk::Desk;
use super::handshake::operators_token;
use super::message::Request;
use super::origin::Origin;
use super::reply::{Answer, Reply};
use super::setup::Setup;
use serde_json::json;

/// `flights_search` reads inputs from a question; `stock_check` has one type; `posts_list`, `video_get` and `file_get`
/// have payloads; `hold_make` is an action that needs a scope, and `seat_take` one that needs confirmation; the site
/// answers `report_make` later; a person answers `quote_ask` and the open `question_ask`; `advice` is the agency's own
/// concierge.
const DECLARED: &str = r##"
[[capabilities]]
id = "flights.search"
type = "query"
description = "Searches flights."
risk_level = "low"
auth = "optional"
input_schema = { type = "object", required = ["origin", "destination"], additionalProperties = false, properties = { origin = { type = "string", pattern = "^[A-Z]{3}$" }, destination = { type = "string", pattern = "^[A-Z]{3}$" }, max_price = { type = "number" } } }
output_schema = { type = "object", properties = { results = { type = "array" } } }
upstream = { method = "GET", path = "/api/flights" }
[capabilities.ahp]
response_types = ["application/data", "text/answer"]
accept_fallback = true
extract = { origin = "from ([A-Z]{3})", destination = "to ([A-Z]{3})" }
answer = "{{ data.results | length }} flights from {{ input.origin }}; the cheapest costs {{ data.results[0].price }}."

[[capabilities]]
id = "stock.check"
type = "query"
description = "Says what is left."
risk_level = "low"
auth = "none"
upstream = { method = "GET", path = "/api/stock" }
[capabilities.ahp]
response_types = ["application/data"]

[[capabilities]]
id = "posts.list"
type = "query"
description = "Lists posts."
risk_level = "low"
auth = "none"
upstream = { method = "GET", path = "/api/posts" }
[capabilities.ahp]
response_types = ["application/feed", "text/answer"]
payload = { total = "{data.count}", items = "{data.posts}" }
answer = "{{ data.count }} posts."

[[capabilities]]
id = "video.get"
type = "query"
description = "Gives a video."
risk_level = "low"
auth = "none"
upstream = { method = "GET", path = "/api/video" }
[capabilities.ahp]
response_types = ["media/video"]
accept_fallback = true
payload = { stream_url = "{data.url}", format = "hls", duration_seconds = "{data.seconds}", title = "{data.title}" }
answer = "{{ data.title }}, at {{ data.url }}"

[[capabilities]]
id = "file.get"
type = "query"
description = "Gives a file."
risk_level = "low"
auth = "none"
upstream = { method = "GET", path = "/api/file" }
[capabilities.ahp]
response_types = ["file/download"]
payload = { url = "{data.url}", filename = "{data.name}", mime_type = "application/pdf" }
answer = "The brochure is at {{ data.url }}"

[[capabilities]]
id = "hold.make"
type = "prepare_action"
description = "Holds a fare."
risk_level = "medium"
auth = "required"
required_scopes = ["bookings:hold"]
requires_user_confirmation = false
input_schema = { type = "object", required = ["fare"], properties = { fare = { type = "string", maxLength = 20 } } }
upstream = { method = "POST", path = "/api/hold" }
[capabilities.ahp]
response_types = ["application/action-result", "text/answer"]
answer = "Fare {{ input.fare }} is held."

[[capabilities]]
id = "seat.take"
type = "commit_action"
description = "Takes a seat."
risk_level = "high"
auth = "none"
requires_user_confirmation = true
input_schema = { type = "object", required = ["seat"], properties = { seat = { type = "string" } } }
upstream = { method = "POST", path = "/api/seat" }
[capabilities.confirmation]
summary = "Take seat {{ input.seat }}"
consequence = "Nobody else can have it."

[[capabilities]]
id = "report.make"
type = "query"
description = "Makes a report, which takes its time."
risk_level = "low"
auth = "required"
upstream = { method = "GET", path = "/api/report", timeout = "20s" }
[capabilities.ahp]
action_type = "async"
eta = "90s"
answer = "The report has {{ data.pages }} pages."

[[capabilities]]
id = "quote.ask"
type = "commit_action"
description = "Asks a person for a quote."
risk_level = "medium"
auth = "required"
requires_user_confirmation = false
upstream = { desk = true }
[capabilities.ahp]
action_type = "async"
eta = "2m"

[[capabilities]]
id = "question.ask"
type = "query"
description = "Asks a person a question."
risk_level = "low"
auth = "none"
upstream = { desk = true }
[capabilities.ahp]
action_type = "async"

[[capabilities]]
id = "advice"
type = "query"
description = "Gives advice."
risk_level = "low"
auth = "none"
upstream = { method = "POST", path = "/api/advice" }
[capabilities.ahp]
mode = "MODE2"
response_types = ["text/answer"]
"##;

/// The answers of the agency's API.
pub fn says(request: &Request) -> Answer {
    let path = request.target.split('?').next().unwrap_or_default();
    let told = match path {
        "/api/flights" => json!({ "results": [{ "id": "f1", "price": 682 }, { "id": "f2", "price": 700 }] }),
        "/api/stock" => json!({ "left": 3 }),
        "/api/posts" => json!({ "count": 2, "posts": [
            { "title": "One", "url": "https://site.test/one", "description": "The first." },
            { "title": "Two", "url": "https://site.test/two", "description": null },
        ]}),
        "/api/video" => json!({ "url": "https://cdn.test/tour.m3u8", "seconds": 847, "title": "A tour" }),
        "/api/file" => json!({ "url": "https://site.test/brochure.pdf", "name": "brochure.pdf" }),
        "/api/hold" | "/api/seat" => json!({ "done": "d-1" }),
        "/api/report" => json!({ "pages": 12 }),
        "/api/advice" => json!({
            "response": {
                "answer": "Take the train.",
                "sources": [{ "title": "Trains", "url": "/trains", "relevance": "direct" }],
            },
            "meta": { "tokens_used": 321 },
        }),
        _ => return Reply::new(404).body("nothing here").into(),
    };
    Reply::json(told.to_string()).into()
}

/// A desk in front of it.
pub fn before(origin: &Origin) -> Setup {
    site(origin, DECLARED).set("admin", &operators_token())
}

/// Both, started.
pub async fn open() -> (Origin, Desk) {
    let origin = Origin::start(says).await;
    let desk = before(&origin).start().await;
    (origin, desk)
}
