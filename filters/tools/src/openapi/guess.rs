//! Guesses a capability's type and risk from an operation's method and name.
//!
//! It is marked as a guess. Where two readings are possible the more careful one is taken.

/// A guess and its basis.
#[derive(Debug, PartialEq)]
pub(super) struct Guess {
    pub(super) kind: &'static str,
    pub(super) risk: &'static str,
    pub(super) why: String,
}

const DESTROYS: &[&str] = &["delete", "purge", "erase", "destroy", "wipe"];
const ENDS: &[&str] = &["cancel", "remove", "revoke", "terminate"];
const PAYS: &[&str] = &["pay", "payment", "purchase", "buy", "charge", "refund", "withdraw"];
/// Words that are as often nouns as verbs.
const BINDS: &[&str] = &["order", "orders", "checkout", "transfer", "transfers"];
const ASKS: &[&str] = &["search", "query", "find", "list", "lookup", "filter", "count", "paginate"];
/// Words that ask at the beginning of a path's last segment.
const READS: &[&str] = &["get", "read", "fetch"];
const COMPARES: &[&str] = &["compare", "comparison", "diff"];
const PREPARES: &[&str] = &["hold", "draft", "quote", "preview", "prepare", "reserve", "estimate"];
const WATCHES: &[&str] = &["watch", "subscribe", "alert", "monitor"];

/// Guesses from the method, the identifier and the path.
pub(super) fn guess(method: &str, id: &str, path: &str) -> Guess {
    let words: Vec<&str> = id.split(['.', '_']).filter(|word| !word.is_empty()).collect();
    let segment = path.rsplit('/').find(|segment| !segment.is_empty()).unwrap_or_default();
    let of_path = super::name::snake(if segment.contains('{') { "" } else { segment });
    let of_path: Vec<&str> = of_path.split('_').filter(|word| !word.is_empty()).collect();
    let edges = [words.first(), words.last(), of_path.first(), of_path.last()];

    let at_edge = |list: &[&str]| edges.into_iter().flatten().find(|word| list.contains(word)).copied();
    let anywhere = |list: &[&str]| words.iter().chain(&of_path).find(|word| list.contains(word)).copied();
    let named = |kind, risk, word: &str| Guess { kind, risk, why: format!("{method} and \"{word}\"") };
    let plain = |kind, risk| Guess { kind, risk, why: method.to_owned() };

    if matches!(method, "GET" | "HEAD") {
        // A GET that changes something is a mistake of the site, but it happens.
        let first = |list: &[&str]| words.first().or(of_path.first()).filter(|word| list.contains(word)).copied();
        if let Some(word) = first(DESTROYS).or(first(ENDS)) {
            return named("destructive_action", "high", word);
        }
        return match at_edge(COMPARES) {
            Some(word) => named("compare", "low", word),
            None if segment.contains('{') => plain("resource", "low"),
            None => plain("query", "low"),
        };
    }
    if method == "DELETE" {
        return plain("destructive_action", "critical");
    }
    if let Some(word) = anywhere(DESTROYS) {
        return named("destructive_action", "critical", word);
    }
    if let Some(word) = anywhere(ENDS) {
        return named("destructive_action", "high", word);
    }
    if let Some(word) = anywhere(PAYS) {
        return named("commit_action", "high", word);
    }
    if method == "POST" {
        let kinds = [
            (ASKS, "query", "low"),
            (COMPARES, "compare", "low"),
            (PREPARES, "prepare_action", "medium"),
            (WATCHES, "monitor", "low"),
        ];
        if let Some((kind, risk, word)) =
            kinds.into_iter().find_map(|(list, kind, risk)| Some((kind, risk, at_edge(list)?)))
        {
            return named(kind, risk, word);
        }
        if let Some(word) = of_path.first().filter(|word| of_path.len() > 1 && READS.contains(word)) {
            return named("query", "low", word);
        }
    }
    match anywhere(BINDS) {
        Some(word) => named("commit_action", "high", word),
        None => plain("commit_action", "medium"),
    }
}

/// Whether it has effects that cannot simply be forgotten.
pub(super) fn is_action(kind: &str) -> bool {
    kind.ends_with("_action")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_names_tell() {
        for (method, id, path, kind, risk) in [
            ("GET", "list_pets", "/pets", "query", "low"),
            ("GET", "get_pet", "/pets/{petId}", "resource", "low"),
            ("GET", "compare_pets", "/pets/compare", "compare", "low"),
            ("GET", "list_orders", "/orders", "query", "low"),
            ("GET", "delete_pet", "/pets/{id}/delete", "destructive_action", "high"),
            ("POST", "search_pets", "/pets/search", "query", "low"),
            ("POST", "search_orders", "/orders/search", "query", "low"),
            ("POST", "count_flows", "/flows/count", "query", "low"),
            ("POST", "x", "/pools/{name}/get_scheduled_runs", "query", "low"),
            ("POST", "get_token", "/token", "commit_action", "medium"),
            ("POST", "add_pet", "/pets", "commit_action", "medium"),
            ("POST", "create_order", "/orders", "commit_action", "high"),
            ("POST", "order_quote", "/quote", "prepare_action", "medium"),
            ("POST", "seats.hold", "/seats/{id}/hold", "prepare_action", "medium"),
            ("POST", "create_price_alert", "/alerts", "monitor", "low"),
            ("POST", "post_booking", "/bookings/{id}/cancel", "destructive_action", "high"),
            ("POST", "search_and_buy", "/buy", "commit_action", "high"),
            ("PUT", "replace_pet", "/pets/{id}", "commit_action", "medium"),
            ("PATCH", "update_order", "/orders/{id}", "commit_action", "high"),
            ("DELETE", "find_pet", "/pets/{id}", "destructive_action", "critical"),
            ("POST", "purge_cache", "/cache", "destructive_action", "critical"),
        ] {
            let guess = guess(method, id, path);
            assert_eq!((guess.kind, guess.risk), (kind, risk), "{method} {id} {path}: {}", guess.why);
        }
    }
}
