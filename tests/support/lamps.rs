//! A lamp shop without knowledge of AGTP, and its declarations for agents: one capability for each kind of rule.

use super::contract::key_pem;
use super::desk::Desk;
use super::handshake::operators_token;
use super::message::Request;
use super::origin::Origin;
use super::rates::api_key;
use super::reply::{Answer, Reply, Step};
use super::setup::Setup;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A key with every scope of the shop.
pub const FULL: &str = "sesame-of-the-customer";
/// A key with no scope at all.
pub const BARE: &str = "sesame-of-a-stranger";
/// A key of an operator of the server.
pub const STAFF: &str = "sesame-of-the-staff";

/// The hosted agent: its identity, its Genesis as in the file, and its public key.
pub const HOSTED: &str = "b60496b3254b0a6872b15eab65ede1e0a59e4a3197579fee509440fd3d54af10";
pub const GENESIS: &str = concat!(
    r#"{"agent_id":"b60496b3254b0a6872b15eab65ede1e0a59e4a3197579fee509440fd3d54af10","archetype":"assistant","#,
    r#""governance_zone":"zone:test","issued_at":"2026-06-01T00:00:00Z","#,
    r#""issuer_public_key":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","owner":"owner:example.test","#,
    r#""scope":["documents:query"],"#,
    r#""signature":"Ua1nMh-R2PyL1yW4-NTCkP6llcHfgh5V7XTJS9vLb7QV4F3thBKc3AfPhi6ZWgpSWHb56QJuFQtHYzB9ahxNAA","#,
    r#""trust_tier":2,"verification_path":"org-asserted"}"#,
);

/// `/catalog` is public, the other reads need an agent; `/hours` needs a scope but no credential, `/vouchers` a
/// credential because of a scope; `hold` needs confirmation and a key, `/basket` only a key, `/wishes` nothing;
/// `/lanterns` is deprecated, a person answers `/people`, and `/stock` is no endpoint.
const DECLARED: &str = concat!(
    r##"
[[capabilities]]
id = "lamps.search"
type = "query"
description = "Lists the lamps of a category."
risk_level = "low"
auth = "none"
input_schema = { type = "object", properties = { category = { type = "string" }, max_price = { type = "number" }, count = { type = "integer" }, in_stock = { type = "boolean" } } }
output_schema = { type = "object", required = ["items"], properties = { items = { type = "array" } } }
upstream = { method = "GET", path = "/api/items", errors = { "404" = "no_such_category" }, headers = { X-Shop-Secret = "hush-hush" } }
agtp = { method = "QUERY", path = "/catalog", confidence = 0.95, outcome = "The lamps and their prices are known." }

"##,
    include_str!("../data/capabilities/lamp.toml"),
    r##"
[[capabilities]]
id = "lamps.featured"
type = "resource"
description = "Describes the lamp of the month."
risk_level = "low"
auth = "none"
upstream = { method = "GET", path = "/api/featured" }
agtp = { method = "FETCH", path = "/lamps/featured" }

[[capabilities]]
id = "lamps.part"
type = "resource"
description = "Describes a part of a lamp."
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["lamp_id", "part_id"], properties = { lamp_id = { type = "string" }, part_id = { type = "string" } } }
upstream = { method = "GET", path = "/api/items/{lamp_id}/{part_id}" }
agtp = { method = "FETCH", path = "/lamps/{lamp_id}/parts/{part_id}" }

[[capabilities]]
id = "lamps.bulb"
type = "resource"
description = "Describes the bulb of a lamp."
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["lamp_id"], properties = { lamp_id = { type = "string" } } }
upstream = { method = "GET", path = "/api/bulbs/{lamp_id}" }
agtp = { method = "FETCH", path = "/lamps/{lamp_id}/parts/bulb" }

[[capabilities]]
id = "lamps.hold"
type = "prepare_action"
description = "Holds a lamp until the evening."
risk_level = "medium"
auth = "required"
required_scopes = ["shop:hold"]
requires_user_confirmation = true
idempotency_required = true
input_schema = { type = "object", required = ["lamp_id"], properties = { lamp_id = { type = "string" } } }
upstream = { method = "POST", path = "/api/holds" }
agtp = { method = "RESERVE", path = "/lamps/{lamp_id}/hold" }
[capabilities.confirmation]
summary = "Hold lamp {{ input.lamp_id }}"
consequence = "Nobody else can buy it today."

[[capabilities]]
id = "basket.pay"
type = "commit_action"
description = "Buys a lamp."
risk_level = "medium"
auth = "required"
required_scopes = ["shop:buy"]
requires_user_confirmation = false
idempotency_required = true
input_schema = { type = "object", required = ["lamp_id"], properties = { lamp_id = { type = "string" }, note = { type = "string" } } }
upstream = { method = "POST", path = "/api/orders", errors = { "409" = "sold_out" } }
agtp = { method = "PURCHASE", path = "/basket" }

[[capabilities]]
id = "wishes.add"
type = "prepare_action"
description = "Puts a lamp on a list of wishes."
risk_level = "low"
auth = "optional"
requires_user_confirmation = false
input_schema = { type = "object", required = ["lamp_id"], properties = { lamp_id = { type = "string" }, note = { type = "string" } } }
upstream = { method = "POST", path = "/api/wishes" }
agtp = { method = "CREATE", path = "/wishes" }

[[capabilities]]
id = "vouchers.redeem"
type = "commit_action"
description = "Redeems a voucher."
risk_level = "low"
auth = "optional"
required_scopes = ["shop:gift"]
requires_user_confirmation = false
input_schema = { type = "object", required = ["number"], properties = { number = { type = "string" } } }
upstream = { method = "POST", path = "/api/vouchers" }
agtp = { method = "REDEEM", path = "/vouchers" }

[[capabilities]]
id = "hours.read"
type = "resource"
description = "Says when the shop is open."
risk_level = "low"
auth = "none"
required_scopes = ["hours:read"]
upstream = { method = "GET", path = "/api/hours" }
agtp = { method = "FETCH", path = "/hours" }

[[capabilities]]
id = "old.find"
type = "query"
description = "Lists lamps as it used to."
risk_level = "low"
auth = "none"
input_schema = { type = "object", properties = { category = { type = "string" } } }
upstream = { method = "GET", path = "/api/items" }
agtp = { method = "FIND", path = "/lanterns", deprecated = { deprecated_in = "1.0", removed_in = "2.0", successor = { method = "QUERY", path = "/catalog" } } }

[[capabilities]]
id = "people.ask"
type = "commit_action"
description = "Asks a person of the shop."
risk_level = "low"
auth = "optional"
requires_user_confirmation = false
input_schema = { type = "object", required = ["question"], properties = { question = { type = "string" } } }
upstream = { desk = true }
agtp = { method = "REQUEST", path = "/people" }

"##,
    include_str!("../data/capabilities/stock.toml"),
);

/// Every endpoint of the shop, as METHOD /path.
pub const ENDPOINTS: [&str; 12] = [
    "CREATE /wishes",
    "FETCH /hours",
    "FETCH /lamps/featured",
    "FETCH /lamps/{lamp_id}",
    "FETCH /lamps/{lamp_id}/parts/bulb",
    "FETCH /lamps/{lamp_id}/parts/{part_id}",
    "FIND /lanterns",
    "PURCHASE /basket",
    "QUERY /catalog",
    "REDEEM /vouchers",
    "REQUEST /people",
    "RESERVE /lamps/{lamp_id}/hold",
];

/// A recipe of two steps: finds the first lamp of a category and describes it.
pub const RECIPE: &str = r##"
[[agtp.recipes]]
name = "first-of"
version = "1"
method = "FIND"
path = "/cheapest"
steps = [
  { capability = "lamps.search", input = { category = "{input.category}" } },
  { capability = "lamps.read", input = { lamp_id = "{steps.0.data.items.0.id}" } },
]
"##;

/// An endpoint for that recipe.
pub const COMPOSED: &str = r##"
[[capabilities]]
id = "lamps.first"
type = "query"
description = "Describes the first lamp of a category."
risk_level = "low"
auth = "optional"
input_schema = { type = "object", required = ["category"], properties = { category = { type = "string" } } }
upstream = { recipe = "first-of" }
agtp = { method = "FIND", path = "/first-lamp" }
"##;

/// A public read: `pair` is METHOD /path, `upstream` the content of its braces.
pub fn lookup(id: &str, pair: &str, upstream: &str, more: &str) -> String {
    let (method, path) = pair.split_once(' ').expect("METHOD /path");
    format!(
        "\n[[capabilities]]\nid = \"{id}\"\ntype = \"query\"\ndescription = \"Looks up {id}.\"\nrisk_level = \"low\"\n\
         auth = \"none\"\nupstream = {{ method = \"GET\", {upstream} }}\n\
         agtp = {{ method = \"{method}\", path = \"{path}\"{more} }}\n"
    )
}

/// The shop's answers. Each order, hold, wish and voucher has its own number.
pub fn says() -> impl Fn(&Request) -> Answer + Send + Sync + 'static {
    let number = AtomicUsize::new(1);
    move |request| {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let made = |name: &str| {
            let told = json!({ name: format!("{name}-{}", number.fetch_add(1, Ordering::Relaxed)) });
            Reply::new(201).header("Content-Type", "application/json").body(told.to_string())
        };
        let status: Option<u16> = path.strip_prefix("/api/status/").and_then(|s| s.parse().ok());
        if let Some(status) = status {
            return Reply::new(status).header("Content-Type", "application/json").body("{\"is\":\"a status\"}").into();
        }
        match path {
            "/api/items" if query.contains("category=chairs") => Reply::new(404).body("no chairs").into(),
            "/api/items" => Reply::json(r#"{"items":[{"id":"L1","name":"Desk lamp"}],"extra":true}"#).into(),
            "/api/orders" => made("order").into(),
            "/api/holds" => made("hold").into(),
            "/api/wishes" => made("wish").into(),
            "/api/vouchers" => made("voucher").into(),
            "/api/hours" => Reply::json(r#"{"open":"9 to 17"}"#).into(),
            "/api/stock" => Reply::json(r#"{"left":3}"#).into(),
            "/api/empty" => Reply::new(204).into(),
            "/api/page" => Reply::html("<h1>Lamps</h1>").into(),
            "/api/never" => vec![Step::Stall].into(),
            _ if path.starts_with("/api/") => Reply::json(json!({ "path": path, "query": query }).to_string()).into(),
            _ => Reply::html("<html><body>The shop.</body></html>").header("X-From", "the-site").into(),
        }
    }
}

/// The desk in front of it, over HTTP and on the AGTP socket.
pub fn before(origin: &Origin) -> Setup {
    declared(Setup::before(origin))
}

/// The desk without a site, for `frontdesk check`.
pub fn alone() -> Setup {
    declared(Setup::before_urls(&["http://127.0.0.1:3000".to_owned()]))
}

fn declared(setup: Setup) -> Setup {
    let all = "scopes = [\"shop:hold\", \"shop:buy\", \"shop:gift\", \"hours:read\", \"rcns:negotiate\"]";
    let staff = "scopes = [\"agtp:operate\", \"inspect:all\"]";
    let keys = api_key("full", FULL, all) + &api_key("bare", BARE, "scopes = []") + &api_key("staff", STAFF, staff);
    setup
        .set("site", "name = \"Lamp Shop\"\norigin = \"https://site.test\"\ndescription = \"Lamps.\"")
        .set("admin", &operators_token())
        .set("agtp", "server_id = \"shop.test\"")
        .agtp()
        .tail(&(keys + DECLARED))
}

/// Both, started.
pub async fn open() -> (Origin, Desk) {
    with(|setup| setup).await
}

/// Both, with a changed setup.
pub async fn with(change: impl FnOnce(Setup) -> Setup) -> (Origin, Desk) {
    let origin = Origin::start(says()).await;
    let desk = change(before(&origin)).start().await;
    (origin, desk)
}

/// Hosts the agent and signs records.
pub fn hosting(setup: Setup) -> Setup {
    signing(setup).set("agtp", "agent = \"agent.genesis.json\"").file("agent.genesis.json", GENESIS)
}

/// Signs records.
pub fn signing(setup: Setup) -> Setup {
    let lines = "key = \"signing-key.pem\"\nkey_id = \"k1\"";
    setup.set("integrity", lines).file("signing-key.pem", &key_pem())
}

/// Negotiates endpoints on request.
pub fn synthesising(setup: Setup) -> Setup {
    setup.set("agtp.policies", "synthesis_enabled = true").tail(RECIPE)
}

/// Also negotiates endpoints without a request, for callers of any tier, with these lines.
pub fn negotiating(setup: Setup, lines: &str) -> Setup {
    let all = format!(
        "enabled = true\n{}{lines}",
        if lines.contains("min_trust_tier") { "" } else { "min_trust_tier = 2\n" }
    );
    synthesising(setup).set("agtp.policies.rcns", &all)
}
