//! Several hundred generated spellings of each endpoint: whatever a site could take for it, no site gets a request.

use std::collections::BTreeSet;

use crate::support::calls::{action, declare, site};
use crate::support::{Ask, Desk, Origin, Reply, Request, Via};

const ENDPOINT: &str = "/api/holds";

/// What some site leaves away at the end of a path or of a segment.
const TAILS: [&str; 40] = [
    "/",
    "//",
    "/.",
    "/./",
    ".",
    "..",
    "...",
    "%2e",
    "%252e",
    "%c0%ae",
    "%u002e",
    "%20",
    "%2520",
    ".%20",
    "%20.",
    "%c2%a0",
    "%09",
    "%0a",
    "%0d%0a",
    "%00",
    "%00.html",
    "%2500x",
    ";",
    ";a=b",
    "%3b",
    "%253bx",
    "%3f",
    "%3fa=b",
    "%253f",
    "%23",
    "%2523x",
    "%2f",
    "%252f",
    "%5c",
    "%255c",
    "::$DATA",
    "%3a%3a$data",
    "/x/..",
    "/x/%2e%2e",
    "%e2%80%8b",
];

/// What some site leaves away, or takes back, before it.
const HEADS: [&str; 20] = [
    "/",
    "//",
    "/.",
    "/%2e",
    "/x/..",
    "/x/%2e%2e",
    "/x/%252e%252e",
    "/x/..;a",
    "/%5c",
    "/x%5c..",
    "/x/%c0%ae%c0%ae",
    "/../..",
    "/x/y/../..",
    "/x//..",
    "/x%2f..",
    "/%20",
    "/;a",
    "/x/%u002e.",
    "/%ef%bc%8f",
    "/x/..%5cy/..",
];

/// Every letter of the endpoint in these ways.
fn letters() -> Vec<String> {
    let mut spelled = vec![ENDPOINT.to_uppercase()];
    for (at, letter) in ENDPOINT.char_indices() {
        let code = u32::from(letter);
        let wide = char::from_u32(code - 0x20 + 0xff00).expect("a fullwidth form");
        let encoded = |c: char| c.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let forms = [
            letter.to_uppercase().to_string(),
            format!("%{code:02x}"),
            format!("%{code:02X}"),
            format!("%25{code:02x}"),
            format!("%2525{code:02x}"),
            format!("%%3{:x}{:x}", code >> 4, code & 15),
            format!("%u{code:04x}"),
            format!("%{:02x}%{:02x}", 0xc0 | code >> 6, 0x80 | code & 0x3f),
            format!("%e0%{:02x}%{:02x}", 0x80 | code >> 6, 0x80 | code & 0x3f),
            encoded(wide),
            format!("{letter}%e2%80%8c"),
            format!("{letter}%c2%ad"),
            format!("{letter}%ef%bb%bf"),
            format!("{letter}%ff"),
        ];
        let (before, after) = (&ENDPOINT[..at], &ENDPOINT[at + 1..]);
        spelled.extend(forms.into_iter().map(|form| format!("{before}{form}{after}")));
    }
    spelled
}

fn spellings() -> BTreeSet<String> {
    let letters = letters();
    let tailed = TAILS.iter().flat_map(|tail| [format!("{ENDPOINT}{tail}"), format!("/API/holds{tail}")]);
    let headed = HEADS.iter().map(|head| format!("{head}{ENDPOINT}"));
    let inner = TAILS.iter().filter(|tail| !tail.contains(['?', '#'])).map(|tail| format!("/api{tail}/Holds"));
    let inner =
        inner.filter(|path| !["%3f", "%23", "%253f", "%2523", "%00", "%2500"].iter().any(|end| path.contains(end)));
    // Each with the next tail and the next head, so that every pair of kinds meets somewhere.
    let both = letters.iter().enumerate().map(|(at, path)| format!("{}{path}{}", HEADS[at % 20], TAILS[at * 7 % 40]));
    let climbing = ["/api/..%5cx/../holds", "/api/%2e%2e/../api/holds", "/api//../api/holds", "/api/x%3f/../holds"];
    let all = letters.iter().cloned().chain(both).chain(tailed).chain(headed).chain(inner);
    all.chain(climbing.map(str::to_owned)).filter(|path| path != ENDPOINT).collect()
}

async fn desk() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::json("{\"site\":true}")).await;
    let more = format!("\nendpoint = \"{ENDPOINT}\"\nupstream = {{ method = \"POST\", path = \"/internal\" }}");
    let desk = site(&origin, &action("bookings.hold", &more)).start().await;
    (origin, desk)
}

#[tokio::test]
async fn spellings_of_a_capability_by_the_hundred_never_reach_the_site() {
    let (origin, desk) = desk().await;
    let all = spellings();
    assert!(all.len() > 300, "only {}", all.len());
    for target in &all {
        for method in ["POST", "GET"] {
            let response = desk.ask(Via::H1, Ask::new(method, target).body("{}")).await;
            assert!(response.status >= 400, "{method} {target}: {}", response.status);
            let asked: Vec<String> = origin.asked().iter().map(|r| r.target.clone()).collect();
            assert!(asked.is_empty(), "{method} {target}: the site saw {asked:?}");
        }
    }
    // Only the declared spelling is served.
    assert_eq!(desk.ask(Via::H1, Ask::post(ENDPOINT, "{}")).await.status, 401);
    assert_eq!(desk.ask(Via::H1, Ask::post("/API/holds", "{}")).await.status, 404);
}

#[tokio::test]
async fn spellings_of_the_agents_own_paths_are_no_pages() {
    let (origin, desk) = desk().await;
    for target in ["/Agent/Converse", "/agent/converse%3f", "/MCP", "/mcp.", "/Capabilities/x", "/OpenAPI.json"] {
        let response = desk.ask(Via::H1, Ask::post(target, "{}")).await;
        assert_eq!(response.status, 404, "{target}: {}", response.text());
    }
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn spellings_near_an_endpoint_are_the_sites() {
    let (origin, desk) = desk().await;
    let mut passed = 0;
    for target in [
        "/api",
        "/API",
        "/api/",
        "/api/hold",
        "/api/holdss",
        "/api/holds/1",
        "/api/Holds/1",
        "/api/holds.json",
        "/x/api/holds",
        "/api/holds-2",
        "/api/h%6Fld",
        "/api/x/../hold",
        "/?/api/holds",
        "/api?/holds",
        "/api/%252e/hold",
        "/a%2fpi/hold",
    ] {
        let response = desk.ask(Via::H1, Ask::get(target)).await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        passed += 1;
        assert_eq!((origin.asked().len(), origin.last().target.as_str()), (passed, target));
    }
}

/// Addresses at which web servers and frameworks run what is at the endpoint. The site has it there, and nowhere else is it
/// asked for it without a credential.
#[tokio::test]
async fn spellings_by_which_a_site_runs_the_same_handler_never_reach_it() {
    let origin = Origin::start(|_: &Request| Reply::json("{\"site\":true}")).await;
    let program = action("bookings.program", "\nendpoint = \"/run/hold.php\"");
    let capabilities = action("bookings.hold", &format!("\nendpoint = \"{ENDPOINT}\"")) + &program;
    let desk = site(&origin, &capabilities).start().await;
    for target in [
        "/api/./holds",
        "/api/holds/",
        "/index.php/api/holds",
        "/INDEX.php/api/holds/",
        "/shop/index.php/api/holds",
        "/index.php/x/../api/holds",
        "/cgi-bin/app.cgi/api/holds.xml",
        "/api/holds.json",
        "/api/holds.JSON?a=b",
        "/api/holds%2ejson",
        "/api/holds.php",
        "/api/holds.php/x",
        "/api/holds.html.gz",
        "/api/holds.anything",
        "/api/holds.verylongending",
        "/api/holds.a-b",
        "/api/holds.+json",
        "/api/holds.json;jsessionid=1",
        "/api;jsessionid=1/holds.a.b.c.d.e",
        "/app.wsgi/api/holds",
        "/app.unheard-of/api/holds",
        "/cgi-bin/app/api/holds",
        "/(S(lit3py55t21z5v55vlm25s55))/api/holds",
        "/api/(A(x)S(y))/holds.json",
        "/api/holds/index.html",
        "/api/holds/index.php",
        "/api/h%C3%B6lds",
        "/api%E2%88%95holds",
        "/run/hold",
        "/run/hold.html",
        "/run/hold.php/x",
        "/api.php/holds",
        "/API.php/holds/",
        "/run.php/hold.php",
        "/index/api/holds",
        "/node.unheard-of/api/holds",
    ] {
        let overridden = Ask::get(target).header("X-HTTP-Method-Override", "POST");
        for ask in [Ask::post(target, "{}"), Ask::new("DELETE", target).body("{}"), overridden] {
            let method = ask.method.clone();
            let response = desk.ask(Via::H1, ask).await;
            assert!([404, 405].contains(&response.status), "{method} {target}: {}", response.status);
            let asked: Vec<String> = origin.asked().iter().map(|r| r.target.clone()).collect();
            assert!(asked.is_empty(), "{method} {target}: the site saw {asked:?}");
        }
    }
    assert_eq!(desk.ask(Via::H1, Ask::post("/api/holds.png", "{}")).await.status, 404);
    // A program may do the same for GET.
    for target in ["/index.php/api/holds", "/api/holds.php?item=1", "/run/hold", "/api/holds.json?_method=POST"] {
        assert_eq!(desk.get(target).await.status, 404, "{target}");
        assert!(origin.asked().is_empty(), "{target}");
    }
    let pass = [
        "/api/holds.json",
        "/api/holds.csv",
        "/api/holds.verylongending",
        "/api/holds/index.html",
        "/(S(lit3py55t21z5v55vlm25s55))/api/holds",
        "/api/holds.js",
        "/api/holds.png",
        "/api/holds/7",
        "/v2/api/holds",
        "/index.php",
        "/index.php?r=/api/holds",
    ];
    for (at, target) in pass.iter().enumerate() {
        let response = desk.ask(Via::H1, Ask::get(target)).await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        assert_eq!((origin.asked().len(), origin.last().target.as_str()), (at + 1, *target));
    }
}

/// Beside a guarded GET, other pages of the site are its own: only what common servers take for the handler is refused.
#[tokio::test]
async fn spellings_beside_a_guarded_get_are_pages_unless_a_server_runs_the_handler_there() {
    let origin = Origin::start(|_: &Request| Reply::json("{\"site\":true}")).await;
    let lines = "\nmethod = \"GET\"\nendpoint = \"/records/{id}\"\nrisk_level = \"low\"\nauth = \"required\"";
    let desk = site(&origin, &declare("records.show", "query", lines)).start().await;
    for target in [
        "/index.php/records/7",
        "/records.php/7",
        "/Records.PHP/7",
        "/records.php/7.json",
        "/shop/index.php/records/7",
        "/index/records/7",
        "/app.unheard-of/records/7",
        "/cgi-bin/app/records/7",
    ] {
        assert_eq!(desk.get(target).await.status, 404, "{target}");
        assert!(origin.asked().is_empty(), "{target}");
    }
    for (at, target) in [
        "/node.js/records/7",
        "/socket.io/records/7",
        "/john.doe/records/7",
        "/example.org/records/7",
        "/v1.2/records/7",
        "/default/records/7",
        "/records/7/notes",
        "/records.json/notes/7",
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(desk.get(target).await.status, 200, "{target}");
        assert_eq!((origin.asked().len(), origin.last().target.as_str()), (at + 1, *target));
    }
}

/// The site's front page has other addresses too, also where nothing else is guarded.
#[tokio::test]
async fn spellings_of_a_guarded_root_never_reach_it() {
    for (endpoint, targets) in [("/", ["/index.php", "/index.html"]), ("/index.php", ["/", "/index.php/x"])] {
        let origin = Origin::start(|_: &Request| Reply::json("{\"site\":true}")).await;
        let desk = site(&origin, &action("bookings.hold", &format!("\nendpoint = \"{endpoint}\""))).start().await;
        for target in targets {
            assert_eq!(desk.ask(Via::H1, Ask::post(target, "{}")).await.status, 404, "{endpoint} {target}");
        }
        assert!(origin.asked().is_empty());
        assert_eq!(desk.ask(Via::H1, Ask::post("/contact", "{}")).await.status, 200, "{endpoint}");
        let page = if endpoint == "/" { "/index.html" } else { "/" };
        assert_eq!(desk.get(page).await.status, 200, "{endpoint}: {page} is a page, and only POST is guarded");
    }
}

/// No path of endless ups and downs is followed, for any site behind us.
#[tokio::test]
async fn spellings_that_climb_without_end_are_refused() {
    let (origin, desk) = desk().await;
    let target = format!("{}/page", "/x/..".repeat(80));
    assert_eq!(desk.get(&target).await.status, 404);
    assert!(origin.asked().is_empty());
    assert_eq!(desk.get("/x/../page").await.status, 200);
}
