//! The site's pages: a table of fixed ones, the common frame, and the flights page, which is rendered for each search.

use frontdesk_base::text::escaped;
use http::StatusCode;

use super::{
    flights::{AIRPORTS, CURRENCY, Fare, Search},
    reply::Reply,
};

/// A page that never changes while the site runs. Its text is a file in `content/`.
pub struct Page {
    pub path: &'static str,
    title: &'static str,
    description: &'static str,
    content: &'static str,
}

/// The path of the flight search.
pub const FLIGHTS: &str = "/flights";
const HTML: &str = "text/html; charset=utf-8";
const SITE: &str = "Example Travel";

macro_rules! pages {
    ($($path:literal $file:literal $title:literal $description:literal;)*) => {
        &[$(Page {
            path: $path,
            title: $title,
            description: $description,
            content: include_str!(concat!("content/", $file)),
        }),*]
    };
}

/// Every fixed page. The site map lists them in this order.
pub const PAGES: &[Page] = pages! {
    "/" "home.html" "Flights between seven cities"
        "Search, hold and book flights between Berlin, Lisbon, London, Madrid, New York, Paris and Tokyo.";
    "/destinations" "destinations.html" "Destinations" "Four cities we know well, and how to get there.";
    "/destinations/madrid" "madrid.html" "Madrid" "When to visit Madrid, the way from the airport, and flights.";
    "/destinations/tokyo" "tokyo.html" "Tokyo" "When to visit Tokyo, the way from the airport, and flights.";
    "/destinations/lisbon" "lisbon.html" "Lisbon" "When to visit Lisbon, the way from the airport, and flights.";
    "/destinations/new-york" "new-york.html" "New York" "When to visit New York, how to enter, and flights.";
    "/help/baggage" "baggage.html" "Baggage" "Cabin bags, checked bags, extra bags and what they cost.";
    "/help/changes" "changes.html" "Changes and cancellations" "Holding, cancelling and refunds.";
    "/about" "about.html" "About us" "Who we are and how to reach us.";
    "/terms" "terms.html" "Terms of use" "The terms that apply to every booking.";
};

/// The navigation on every page.
const NAVIGATION: [(&str, &str); 5] = [
    (FLIGHTS, "Flights"),
    ("/destinations", "Destinations"),
    ("/help/baggage", "Baggage"),
    ("/help/changes", "Changes"),
    ("/about", "About"),
];

impl Page {
    /// The whole page.
    pub fn reply(&self) -> Reply {
        let html = frame(self.path, self.title, self.description, self.content);
        Reply::new(StatusCode::OK, HTML, html).fixed("public, max-age=300")
    }
}

/// The page for an unknown path.
pub fn not_found() -> Reply {
    let html = frame("", "Page not found", "This page does not exist.", include_str!("content/not-found.html"));
    Reply::new(StatusCode::NOT_FOUND, HTML, html)
}

/// The page for a method that is not allowed.
pub fn not_allowed(allow: &'static str) -> Reply {
    let main = "<h1>That does not work here</h1>\n<p>This address can only be read.</p>\n";
    let html = frame("", "Not allowed", "This address can only be read.", main);
    Reply::new(StatusCode::METHOD_NOT_ALLOWED, HTML, html).allowing(allow)
}

/// The results of a search, or every flight without criteria. `unknown`: a place that the site does not fly to.
pub fn flights(search: &Search, unknown: Option<&str>) -> Reply {
    let route = match (search.origin, search.destination) {
        (Some(from), Some(to)) => format!("Flights from {} to {}", from.city, to.city),
        (Some(from), None) => format!("Flights from {}", from.city),
        (None, Some(to)) => format!("Flights to {}", to.city),
        (None, None) => "All flights".to_owned(),
    };
    let found = if unknown.is_some() { Vec::new() } else { search.run() };
    let results = match (unknown, found.is_empty()) {
        (Some(name), _) => {
            format!("<p>We do not know the airport “{}”. Try a city such as Madrid or Tokyo.</p>\n", escaped(name))
        }
        (None, true) => "<p>No flights match. Try another city or a higher price.</p>\n".to_owned(),
        (None, false) => table(&route, &found),
    };
    let description = "Flights with their times, baggage and final price.";
    let main = format!("<h1>{route}</h1>\n{}{results}", form(search));
    Reply::new(StatusCode::OK, HTML, frame(FLIGHTS, &route, description, &main)).cached("public, max-age=60")
}

fn form(search: &Search) -> String {
    let code = |airport: Option<&super::flights::Airport>| airport.map_or("", |airport| airport.code);
    let price = search.max_price.map(|price| price.to_string()).unwrap_or_default();
    let options: String =
        AIRPORTS.iter().map(|a| format!("<option value=\"{}\">{}</option>", a.code, a.city)).collect();
    format!(
        "<form action=\"{FLIGHTS}\" method=\"get\" role=\"search\" aria-label=\"Search flights\">\n\
         <p><label for=\"from\">From</label> <input id=\"from\" name=\"from\" list=\"airports\" value=\"{}\"></p>\n\
         <p><label for=\"to\">To</label> <input id=\"to\" name=\"to\" list=\"airports\" value=\"{}\"></p>\n\
         <p><label for=\"max_price\">Up to ({CURRENCY})</label> \
         <input id=\"max_price\" name=\"max_price\" type=\"number\" min=\"1\" value=\"{price}\"></p>\n\
         <p><button type=\"submit\">Search flights</button></p>\n\
         <datalist id=\"airports\">{options}</datalist>\n</form>\n",
        code(search.origin),
        code(search.destination),
    )
}

fn table(route: &str, fares: &[&Fare]) -> String {
    let rows: String = fares.iter().map(|fare| row(fare)).collect();
    format!(
        "<table>\n<caption>{route}: {} found, cheapest first. Times are local.</caption>\n<thead><tr>\
         <th scope=\"col\">Route</th><th scope=\"col\">Departure</th><th scope=\"col\">Arrival</th>\
         <th scope=\"col\">Airline</th><th scope=\"col\">Stops</th><th scope=\"col\">Duration</th>\
         <th scope=\"col\">Checked bag</th><th scope=\"col\">Price</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n",
        fares.len()
    )
}

fn row(fare: &Fare) -> String {
    let time = |text: &str| format!("<time datetime=\"{text}\">{} {}</time>", &text[..10], &text[11..16]);
    format!(
        "<tr id=\"{}\"><th scope=\"row\">{} → {}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{} h {:02} min</td><td>{}</td><td class=\"price\">{} {CURRENCY}</td></tr>\n",
        fare.id,
        fare.origin,
        fare.destination,
        time(fare.departure),
        time(fare.arrival),
        fare.airline,
        if fare.stops == 0 { "direct".to_owned() } else { fare.stops.to_string() },
        fare.minutes / 60,
        fare.minutes % 60,
        if fare.checked_baggage { "included" } else { "extra" },
        fare.euros,
    )
}

/// The frame around a page's content. The content is HTML; title and description are text.
fn frame(path: &str, title: &str, description: &str, main: &str) -> String {
    let links: String = NAVIGATION
        .iter()
        .map(|(to, label)| {
            let current = if *to == path { " aria-current=\"page\"" } else { "" };
            format!("<li><a href=\"{to}\"{current}>{label}</a></li>")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} | {SITE}</title>\n<meta name=\"description\" content=\"{description}\">\n\
         <link rel=\"icon\" href=\"/logo.png\" type=\"image/png\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n\
         <style>\n  body {{ margin: 0; font: 100%/1.5 system-ui, sans-serif; }}\n  \
         .skip:not(:focus) {{ position: absolute; left: -100vw; }}\n</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to content</a>\n\
         <header>\n<a href=\"/\"><img src=\"/logo.png\" alt=\"{SITE}\" width=\"32\" height=\"32\"></a>\n\
         <nav aria-label=\"Main\"><ul>{links}</ul></nav>\n</header>\n\
         <main id=\"main\">\n{main}</main>\n\
         <footer>\n<p>© {SITE} GmbH · <a href=\"/terms\">Terms of use</a> · \
         <a href=\"mailto:hello@example-travel.com\">hello@example-travel.com</a></p>\n</footer>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(reply: &Reply) -> &str {
        std::str::from_utf8(&reply.body).unwrap()
    }

    #[test]
    fn every_page_is_whole() {
        let everything = flights(&Search::default(), None);
        for reply in PAGES.iter().map(Page::reply).chain([not_found(), everything, not_allowed("GET, HEAD")]) {
            let html = html(&reply);
            assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"));
            for part in ["<head>", "<title>", "<style>", "<body>", "<nav ", "<main ", "<footer>", "</html>"] {
                assert_eq!(html.matches(part).count(), 1, "{part} in {html}");
            }
            assert_eq!(html.matches("<h1>").count(), 1);
            assert_eq!(html.matches("<p>").count(), html.matches("</p>").count());
        }
    }

    #[test]
    fn links_lead_somewhere() {
        let known = |path: &str| path == FLIGHTS || PAGES.iter().any(|page| page.path == path);
        for reply in PAGES.iter().map(Page::reply).chain([not_found()]) {
            for link in html(&reply).split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let path = link.split('?').next().unwrap_or_default();
                assert!(known(path) || link.starts_with("mailto:"), "{link}");
            }
        }
    }

    #[test]
    fn what_a_visitor_typed_is_never_markup() {
        let reply = flights(&Search::default(), Some("<script>\"'&"));
        assert!(html(&reply).contains("“&lt;script&gt;&quot;&#39;&amp;”"));
        assert!(!html(&reply).contains("<script>"));
    }
}
