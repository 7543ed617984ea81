//! Remarks about promises in the contract that Frontdesk does not enforce, and about contradictions.
//!
//! They do not prevent the start and would be noise at every start and reload, so only `frontdesk check` prints them.
//! Of two contradicting policies the more restrictive counts (AICP §6.10), and the remark says which one that is.

use std::collections::HashSet;

use super::{
    CapabilityKind, Settings,
    extension::Keys,
    keys::ROOT,
    lower_capability::capability_kind,
    mistake::Findings,
    raw::{Item, Value},
};

/// The enforced keys of `[policies]`. The others are left to the agents that read them.
const ENFORCED: [&str; 3] = ["anonymous_access", "automated_monitoring", "cache"];
/// The advice where two published values disagree that only agents apply.
const BOTH: &str = "agents are told both, and are to keep to the stricter one; say the same in both";
/// The sensitivities of personal data and above.
const PERSONAL: [&str; 4] = ["personal", "confidential", "special_category", "regulated"];

/// Whether the file is a contract only: a site's publication that does not say where the site is.
pub(super) fn is_contract_alone(root: &Item, keys: Keys) -> bool {
    let private = |name: &str| keys.key(&ROOT, name).is_some_and(|key| key.private);
    let called = |item: &Item| item.get("upstream").is_some();
    root.get("aicp_version").is_some()
        && !root.entries().iter().any(|entry| private(&entry.key))
        && !root.get("capabilities").map(Item::items).unwrap_or_default().iter().any(called)
}

/// All remarks. `settings`: the effective ones, with the restrictions from recipes.
pub(super) fn remarks(root: &Item, settings: &Settings, alone: bool, found: &mut Findings) {
    let every = root.get("capabilities").map(Item::items).unwrap_or_default();
    let published: Vec<Published> = every.iter().filter_map(Published::of).collect();
    versions(root, found);
    not_enforced(root, &published, found);
    anonymous_access(root, &published, found);
    monitoring(root, &published, found);
    caching(root, &published, found);
    if !alone {
        signals(root, found);
    }
    for capability in &published {
        scopes(capability, found);
        sensitivity(capability, found);
        personal_data(root, capability, found);
        never_cached(capability, settings, found);
        idempotency(capability, settings, found);
        next_actions(every, capability, found);
    }
    freshness(&published, found);
}

/// A capability that agents can see, with its safe defaults.
struct Published<'a> {
    item: &'a Item<'a>,
    id: &'a str,
    kind: CapabilityKind,
}

impl<'a> Published<'a> {
    fn of(item: &'a Item<'a>) -> Option<Self> {
        if item.get("exposed").and_then(Item::bool) == Some(false) {
            return None;
        }
        Some(Self { item, id: item.get("id")?.str()?, kind: capability_kind(item.get("type")?.str()?)? })
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.item.get(key).and_then(Item::str)
    }

    /// Whether it says that every caller may call it.
    fn open(&self) -> bool {
        matches!(self.text("auth"), Some("none" | "optional"))
    }

    fn line(&self, key: &str) -> usize {
        self.item.get(key).unwrap_or(self.item).line
    }
}

/// A protocol version in comparable form (AICP §6.5), `MAJOR.MINOR`; `None` for other texts.
pub fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Remarks on protocol versions, which readers of a contract compare.
fn versions(root: &Item, found: &mut Findings) {
    let is_version = |text: &str| {
        let (major, minor) = text.split_once('.').unwrap_or(("", ""));
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let of = |key: &'static str| root.get(key).into_iter().map(move |item| (key, item));
    let each = ["aicp_version", "min_supported_version", "recommended_version"].into_iter().flat_map(of);
    let listed = root.get("supported_versions").map(Item::items).unwrap_or_default();
    let listed = listed.iter().map(|item| ("supported_versions", item));
    for (key, item) in each.chain(listed).filter(|(_, item)| item.str().is_some_and(|text| !is_version(text))) {
        found.warning(item.line, key, format!("{} is no version", item.shown())).hint("versions are like \"0.1\"");
    }
    let number = |item: &Item| version(item.str()?);
    let own = root.get("aicp_version").and_then(number);
    if let (Some(own), Some(item)) = (own, root.get("supported_versions"))
        && !item.items().is_empty()
        && item.items().iter().all(|item| number(item) != Some(own))
    {
        found
            .warning(item.line, "supported_versions", "leaves out aicp_version")
            .hint("the contract's own is one of them");
    }
    if let (Some(own), Some(item)) = (own, root.get("min_supported_version"))
        && number(item).is_some_and(|least| least > own)
    {
        found.warning(item.line, "min_supported_version", "is higher than aicp_version");
    }
    if let Some(item) = root.get("supported_versions").filter(|item| item.items().is_empty()) {
        found.warning(item.line, "supported_versions", "empty: no agent supports an offered version");
    }
}

/// One remark for all of them, since a contract may contain many.
fn not_enforced(root: &Item, published: &[Published], found: &mut Findings) {
    let policies = root.get("policies").map(Item::entries).unwrap_or_default();
    let mut said: Vec<String> = policies
        .iter()
        .filter(|entry| !ENFORCED.contains(&&*entry.key))
        .map(|entry| format!("policies.{}", entry.key.escape_debug()))
        .collect();
    if root.at(&["rate_limits", "commercial"]).is_some() {
        said.push("rate_limits.commercial".into());
    }
    let of_any = |path: &[&str]| published.iter().any(|capability| capability.item.at(path).is_some());
    for (word, here) in [
        ("retention", root.at(&["data_processing", "retention"]).is_some() || of_any(&["privacy", "retention"])),
        (
            "third-party sharing",
            root.at(&["data_processing", "sharing"]).is_some()
                || root.at(&["privacy", "roles", "third_party_sharing"]).is_some()
                || of_any(&["privacy", "third_party_sharing"]),
        ),
        ("decisioning", of_any(&["decisioning"])),
    ] {
        if here {
            said.push(word.into());
        }
    }
    if !said.is_empty() {
        found.warning(0, "", format!("published, but nothing that Frontdesk can enforce: {}", said.join(", ")));
    }
}

fn anonymous_access(root: &Item, published: &[Published], found: &mut Findings) {
    let Some(item) = root.at(&["policies", "anonymous_access"]).filter(|item| item.bool() == Some(false)) else {
        return;
    };
    let open = ids(published.iter().filter(|capability| capability.open()));
    if let Some(open) = open {
        let what = format!("false, but auth says that anyone may call {open}");
        found.warning(item.line, "policies.anonymous_access", what).hint("the policy holds: a credential is asked for");
    }
}

fn monitoring(root: &Item, published: &[Published], found: &mut Findings) {
    let Some(item) = root.at(&["policies", "automated_monitoring"]) else { return };
    let monitors = published.iter().filter(|capability| capability.kind == CapabilityKind::Monitor);
    let (against, what, holds) = match item.str() {
        Some("disallowed") => (
            ids(monitors),
            "disallowed, and yet there is".to_owned(),
            "the policy holds: monitoring capabilities are closed",
        ),
        Some(word @ ("requires_auth" | "allowed_with_auth")) => (
            ids(monitors.filter(|capability| capability.open())),
            format!("{word}, but auth says that anyone may call"),
            "the policy holds: a credential is asked for",
        ),
        _ => return,
    };
    if let Some(against) = against {
        found.warning(item.line, "policies.automated_monitoring", format!("{what} {against}")).hint(holds);
    }
}

fn caching(root: &Item, published: &[Published], found: &mut Findings) {
    let Some(cache) = root.at(&["policies", "cache"]) else { return };
    let forbidden = cache.get("allowed").filter(|item| item.bool() == Some(false));
    let longest = cache.get("max_ttl_seconds");
    for capability in published {
        let Some(ttl) = capability.item.get("cache_ttl_seconds").and_then(whole).filter(|ttl| *ttl > 0) else {
            continue;
        };
        let id = capability.id.escape_debug();
        if let Some(item) = forbidden {
            let what = format!("false, but an answer of {id} may be cached for {ttl} s");
            found.warning(item.line, "policies.cache.allowed", what).hint("the policy holds: nothing is cached");
        } else if let Some((item, most)) = longest.and_then(|item| Some((item, whole(item)?)))
            && most < ttl
        {
            let what = format!("{most}, but an answer of {id} may be cached for {ttl} s");
            found.warning(item.line, "policies.cache.max_ttl_seconds", what).hint(format!("{most} s holds"));
        }
    }
}

/// The same question answered in `[policies]` and `[content_signals]`, whose defaults are published too. Of training
/// nothing is said by default.
fn signals(root: &Item, found: &mut Findings) {
    let policy = |key| root.at(&["policies", key]);
    let said = |key, default: Option<bool>| root.at(&["content_signals", key]).and_then(Item::bool).or(default);
    for (key, signal, default) in [("training_use", "ai_train", None), ("summarization", "ai_input", Some(true))] {
        let allowed = match policy(key).and_then(Item::str) {
            Some("allowed") => true,
            Some("disallowed") => false,
            _ => continue,
        };
        if said(signal, default) == Some(!allowed) {
            let line = policy(key).map_or(0, |item| item.line);
            let what = format!(
                "{}, but content_signals.{signal} is {}",
                if allowed { "allowed" } else { "disallowed" },
                !allowed
            );
            found.warning(line, format_args!("policies.{key}"), what).hint(BOTH);
        }
    }
    if let Some(item) = policy("citation_required").filter(|item| item.bool() == Some(true))
        && said("attribution_required", Some(true)) == Some(false)
    {
        let what = "true, but content_signals.attribution_required is false";
        found.warning(item.line, "policies.citation_required", what).hint(BOTH);
    }
}

fn scopes(capability: &Published, found: &mut Findings) {
    let wanted = capability.item.get("required_scopes").is_some_and(|item| !item.items().is_empty());
    if wanted && capability.text("auth") == Some("none") {
        let what = format!("{} has auth = \"none\" and required_scopes", capability.id.escape_debug());
        found.warning(capability.line("auth"), "", what).hint("the scopes hold; write auth = \"required\"");
    }
}

/// Remarks on two sensitivities that disagree; the stricter one counts.
fn sensitivity(capability: &Published, found: &mut Findings) {
    let (own, of_privacy) = (capability.text("data_sensitivity"), capability.item.at(&["privacy", "data_sensitivity"]));
    if let (Some(own), Some(item)) = (own, of_privacy)
        && item.str() != Some(own)
    {
        let what = format!("{}, and data_sensitivity is \"{}\"", item.shown(), own.escape_debug());
        found.warning(item.line, "privacy.data_sensitivity", what).hint("the stricter one holds; say the same in both");
    }
}

fn personal_data(root: &Item, capability: &Published, found: &mut Findings) {
    let Some(word) = capability.text("data_sensitivity").filter(|word| PERSONAL.contains(word)) else { return };
    let mut missing = Vec::new();
    if capability.item.at(&["privacy", "purpose"]).is_none() {
        missing.push("privacy.purpose");
    }
    // A site may declare one retention for all capabilities.
    if capability.item.at(&["privacy", "retention"]).is_none() && root.at(&["data_processing", "retention"]).is_none() {
        missing.push("privacy.retention");
    }
    if !missing.is_empty() {
        let what = format!("{} handles {word} data without {}", capability.id.escape_debug(), missing.join(" or "));
        found.warning(capability.line("data_sensitivity"), "", what);
    }
}

/// A declared cache time that can never apply.
fn never_cached(capability: &Published, settings: &Settings, found: &mut Findings) {
    let written = capability.item.get("cache_ttl_seconds").filter(|item| whole(item).is_some_and(|ttl| ttl > 0));
    let holds = settings.capabilities.iter().find(|holds| holds.id == capability.id);
    let (Some(item), Some(holds)) = (written, holds) else { return };
    let (why, hint) = if !holds.kind.is_read() {
        ("only answers of reads are cached".to_owned(), "leave it out")
    } else if holds.is_confirmed() {
        ("a person confirms each call".to_owned(), "leave it out")
    } else if holds.is_unkept() {
        let privacy = [("purpose", &holds.privacy.purpose), ("retention", &holds.privacy.retention)];
        let missing = privacy.iter().filter(|(_, said)| said.is_none());
        let missing: Vec<String> = missing.map(|(name, _)| format!("privacy.{name}")).collect();
        let word = holds.data_sensitivity.as_deref().unwrap_or("personal");
        let why = format!("its data are {}, and {} is missing", word.escape_debug(), missing.join(" and "));
        (why, "write it in [capabilities.privacy]; or data_sensitivity = \"public\", if they are about nobody")
    } else {
        return;
    };
    let what = format!("an answer of {} is never cached: {why}", capability.id.escape_debug());
    found.warning(item.line, "cache_ttl_seconds", what).hint(hint);
}

/// Uses the effective, published values and not the written ones: a recipe is as strict as its steps.
fn idempotency(capability: &Published, settings: &Settings, found: &mut Findings) {
    let Some(holds) = settings.capabilities.iter().find(|holds| holds.id == capability.id) else { return };
    let risk = holds.risk();
    if holds.kind.is_action() && matches!(risk, "high" | "critical") && !holds.idempotency_required {
        let what = format!("{} is a {risk}-risk action without idempotency_required", capability.id.escape_debug());
        let line = capability.line("idempotency_required");
        found.warning(line, "", what).hint("a retry could carry it out twice");
    }
}

/// Checks that the next actions of an answer exist and have an endpoint.
fn next_actions(every: &[Item], capability: &Published, found: &mut Findings) {
    for item in capability.item.at(&["aom", "actions"]).map(Item::items).unwrap_or_default() {
        let Some((item, id)) = item.get("id").and_then(|item| Some((item, item.str()?))) else { continue };
        // An action that does not exist is a mistake and was reported.
        let Some(target) = every.iter().find(|other| other.get("id").and_then(Item::str) == Some(id)) else { continue };
        let why = if target.get("exposed").and_then(Item::bool) == Some(false) {
            "is not exposed"
        } else if target.get("endpoint").is_none() {
            "has no endpoint"
        } else {
            continue;
        };
        let what = format!("{} offers {} next, which {why}", capability.id.escape_debug(), id.escape_debug());
        found.warning(item.line, "", what);
    }
}

/// An agent that commits to something should know whether what it saw is still valid (AICP §8.12, Appendix E).
fn freshness(published: &[Published], found: &mut Findings) {
    let rule = |capability: &&Published| {
        let path = ["aom", "freshness", "revalidation_required_before_commit"];
        capability.item.at(&path).and_then(Item::bool) == Some(true)
    };
    let mut ruled: HashSet<&str> = HashSet::new();
    for capability in published.iter().filter(rule) {
        let actions = capability.item.at(&["aom", "actions"]).map(Item::items).unwrap_or_default();
        ruled.extend(actions.iter().filter_map(|action| action.get("id")?.str()));
        ruled.insert(capability.id);
    }
    // A person's answer involves no data that could be stale.
    let desk = |capability: &Published| capability.item.at(&["upstream", "desk"]).and_then(Item::bool) == Some(true);
    for capability in published.iter().filter(|capability| !ruled.contains(capability.id) && !desk(capability)) {
        if matches!(capability.kind, CapabilityKind::CommitAction | CapabilityKind::DestructiveAction) {
            found.warning(0, "", format!("{} has no freshness revalidation rule.", capability.id.escape_debug()));
        }
    }
}

/// The ids, for a sentence; `None` where there are none.
fn ids<'a>(capabilities: impl Iterator<Item = &'a Published<'a>>) -> Option<String> {
    let ids: Vec<String> = capabilities.map(|capability| capability.id.escape_debug().to_string()).collect();
    (!ids.is_empty()).then(|| ids.join(", "))
}

fn whole(item: &Item) -> Option<i64> {
    match item.value {
        Value::Integer(number) => Some(number),
        _ => None,
    }
}
