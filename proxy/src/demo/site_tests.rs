//! Tests of the demo site's responses, request by request.

use super::*;

fn get(travel: &Travel, path: &str) -> Response<Bytes> {
    send(travel, "GET", path, None)
}

fn send(travel: &Travel, method: &str, path: &str, body: Option<Value>) -> Response<Bytes> {
    let builder = Request::builder().method(method).uri(path).header("content-type", "application/json; charset=utf-8");
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    travel.respond_at(&builder.body(body.into()).unwrap(), 1_800_000_000)
}

fn body(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

fn text(response: &Response<Bytes>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

#[test]
fn every_address_in_the_site_map_is_there_and_validates() {
    let travel = Travel::new("");
    let map = get(&travel, "/sitemap.xml");
    let paths: Vec<_> = text(&map).split("<loc>").skip(1).filter_map(|rest| rest.split("</loc>").next()).collect();
    assert_eq!(paths.len(), 11);
    for path in paths.into_iter().chain(["/robots.txt", "/sitemap.xml", "/style.css", "/logo.png"]) {
        let response = get(&travel, path);
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert!(
            response.headers().contains_key(header::CONTENT_TYPE) && response.headers().contains_key("cache-control")
        );
        assert_eq!(response.headers().contains_key(header::LAST_MODIFIED), path != FLIGHTS, "{path}");
        let again = Request::get(path).header(header::IF_NONE_MATCH, &response.headers()[header::ETAG]);
        let again = travel.respond(&again.body(Bytes::new()).unwrap());
        assert_eq!((again.status(), again.body().len()), (StatusCode::NOT_MODIFIED, 0), "{path}");
        let head = send(&travel, "HEAD", path, None);
        assert_eq!((head.headers(), head.body().len()), (response.headers(), 0), "{path}");
        let post = send(&travel, "POST", path, None);
        assert_eq!(post.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(post.headers()[header::ALLOW], READ);
    }
    assert_eq!(text(&get(&travel, "/healthz")), "ok\n");
}

#[test]
fn the_site_has_never_heard_of_its_newer_visitors() {
    let travel = Travel::default();
    let unheard = ["agent", "frontdesk", "ahp", "aicp", "aom", "agtp", "mcp", "llm", "artificial", "chatbot"];
    let paths = PAGES.iter().map(|page| page.path).chain([FLIGHTS, "/nowhere", "/style.css", "/sitemap.xml"]);
    for path in paths.chain(["/api/flights", "/api/nowhere", "/api/holds/hold_1"]) {
        let text = text(&get(&travel, path)).to_lowercase();
        let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
        assert!(!words.contains(&"ai") && !unheard.iter().any(|word| text.contains(word)), "{path}");
    }
    assert_eq!(text(&get(&travel, "/robots.txt")).to_lowercase().matches("agent").count(), 1);
}

#[test]
fn searching_in_the_page() {
    let travel = Travel::default();
    let page = get(&travel, "/flights?from=MAD&to=NRT");
    assert!(text(&page).contains("<h1>Flights from Madrid to Tokyo</h1>") && text(&page).contains("682 EUR"));
    assert!(text(&get(&travel, "/flights?from=new+york&to=L%69sbon&max_price=")).contains("fare_152"));
    assert!(text(&get(&travel, "/flights?from=%3Cb%3E&to=NRT")).contains("airport “&lt;b&gt;”"));
    assert!(text(&get(&travel, "/flights?from=BER&to=NRT&max_price=x")).contains("No flights match"));
}

#[test]
fn searching_in_the_api() {
    let travel = Travel::default();
    let found = body(&get(&travel, "/api/flights?from=MAD&to=NRT&max_price=700"));
    assert_eq!((&found["total"], &found["flights"][1]["id"]), (&json!(2), &json!("fare_123")));
    assert_eq!(found["flights"][1]["price"], json!({ "amount": 682, "currency": "EUR" }));
    assert_eq!(body(&get(&travel, "/api/flights?from=BER&to=NRT")), json!({ "flights": [], "total": 0 }));
    assert_eq!(body(&get(&travel, "/api/flights?from=lhr&max_stops=0&checked_baggage=true"))["total"], 1);
    for unknown in ["/api/flights?from=XXX&to=NRT", "/api/flights?to=Atlantis"] {
        let response = get(&travel, unknown);
        assert_eq!((response.status(), &body(&response)["error"]), (StatusCode::NOT_FOUND, &json!("no_flights")));
    }
    for (field, value) in [("max_price", "cheap"), ("max_price", "-1"), ("max_stops", "1.5"), ("checked_baggage", "so")]
    {
        let response = get(&travel, &format!("/api/flights?from=MAD&to=NRT&{field}={value}"));
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(body(&response)["fields"][field].is_string());
    }
}

#[test]
fn from_watch_to_cancellation() {
    let travel = Travel::default();
    let watch = json!({ "fare_id": "fare_123", "threshold": { "amount": 600, "currency": "EUR" } });
    let response = send(&travel, "POST", "/api/watches", Some(watch));
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["location"], "/api/watches/watch_1001");
    assert_eq!(body(&get(&travel, "/api/watches/watch_1001"))["status"], "watching");
    assert_eq!(send(&travel, "DELETE", "/api/watches/watch_1001", None).status(), StatusCode::NO_CONTENT);
    assert_eq!(get(&travel, "/api/watches/watch_1001").status(), StatusCode::NOT_FOUND);

    let hold = body(&send(&travel, "POST", "/api/holds", Some(json!({ "fare_id": "fare_123" }))));
    assert_eq!((&hold["status"], &hold["expires_at"]), (&json!("held"), &json!("2027-01-15T08:30:00Z")));
    assert_eq!(body(&get(&travel, "/api/holds/hold_1001")), hold);
    let mut order = json!({ "hold_id": hold["hold_id"], "payment_token": "tok_1", "full_name": "Ana Ruiz" });
    let incomplete = send(&travel, "POST", "/api/purchases", Some(order.clone()));
    assert_eq!(incomplete.status(), StatusCode::UNPROCESSABLE_ENTITY);
    order["email"] = "ana@example.org".into();
    let booking = send(&travel, "POST", "/api/purchases", Some(order));
    assert_eq!((booking.status(), &body(&booking)["status"]), (StatusCode::CREATED, &json!("ticketed")));
    assert_eq!(body(&get(&travel, "/api/bookings/booking_1001")), body(&booking));
    let cancelled = send(&travel, "POST", "/api/bookings/booking_1001/cancel", None);
    assert_eq!((cancelled.status(), &body(&cancelled)["status"]), (StatusCode::OK, &json!("cancelled")));
    assert!(cancelled.headers()["cache-control"] == "no-store" && !cancelled.headers().contains_key(header::ETAG));
}

#[test]
fn the_api_says_what_is_wrong() {
    let travel = Travel::default();
    let post = |content_type: &str, body: String| {
        let request = Request::post("/api/holds").header("content-type", content_type).body(body.into()).unwrap();
        travel.respond(&request).status().as_u16()
    };
    assert_eq!(post("text/plain", "{}".into()), 415);
    assert_eq!(post("application/json", "{".into()), 400);
    assert_eq!(post("application/json", "[]".into()), 400);
    assert_eq!(post("Application/JSON ;charset=utf-8", "{}".into()), 422);
    assert_eq!(post("application/json", format!("\"{}\"", "x".repeat(LARGEST_BODY))), 413);
    assert_eq!(send(&travel, "POST", "/api/holds", None).status(), StatusCode::UNPROCESSABLE_ENTITY);
    for (method, path, allow) in [
        ("POST", "/api/flights", READ),
        ("GET", "/api/holds", "POST"),
        ("PUT", "/api/watches/watch_1", "GET, HEAD, DELETE"),
        ("GET", "/api/bookings/booking_1/cancel", "POST"),
    ] {
        let response = send(&travel, method, path, None);
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()["allow"], allow);
    }
    assert_eq!(body(&get(&travel, "/api/nothing"))["error"], "not_found");
}

#[test]
fn odd_addresses_do_no_harm() {
    let travel = Travel::default();
    assert_eq!(get(&travel, "/about/").headers()["location"], "/about");
    for path in ["/about//", "//example.org/", "/..", "/api", "/api/", "/%61bout", "*", "/flights/x"] {
        let response = get(&travel, path);
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let query = Query("a=%zz%4&b=100%25+%e2%82%ac%F&c=&d");
    assert_eq!((query.get("a").as_deref(), query.get("b").as_deref()), (Some("%zz%4"), Some("100% €%F")));
    assert_eq!((query.get("c"), query.get("d")), (None, None));
}
