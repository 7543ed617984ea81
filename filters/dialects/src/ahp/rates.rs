//! The rate limits that depend on the question itself, and their headers (AHP §11).

use http::{HeaderName, HeaderValue};

use super::{asking::Asking, question::Question};
use frontdesk_base::fault::Refusal;
use frontdesk_caller::limits::Counted;
use frontdesk_state::Amount;

/// Rate-limit headers of a reply.
type Fields = Vec<(HeaderName, HeaderValue)>;

const REMAINING: &str = "x-ratelimit-remaining";
/// The headers that list every applicable limit.
const LISTS: [&str; 2] = ["ratelimit", "ratelimit-policy"];

impl Asking<'_> {
    /// Applies the limits that depend on the question: on actions, and on the claimed agent (§11.2, §11.3). Returns
    /// their headers if they are tighter than the limit checked before.
    pub(super) async fn within_rates(&self, question: &Question) -> Result<Fields, Box<Refusal>> {
        let Self { desk, request, listed, .. } = self;
        let policies = &desk.compiled.policies;
        let agent = question.context.requesting_agent.as_deref();
        let held = policies.held_beside(listed.is_action, agent, request.caller);
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let beside = match held.take(desk.counters, Amount::ONE).await {
            Ok(taken) if taken.granted.is_none() => {
                // This is another limit than the one checked before.
                let standing = held.fields(&taken);
                return Err(Box::new(Refusal { standing, ..held.exceeded(&taken) }));
            }
            Ok(taken) => held.fields(&taken),
            Err(_) => return Err(frontdesk_caller::limits::store_away().into()),
        };
        let held = policies.held(Counted::Call { action: false }, request.caller);
        let before = match held.take(desk.counters, Amount::NOTHING).await {
            Ok(taken) => held.fields(&taken),
            // Without the counters the earlier headers stay.
            Err(_) => return Ok(Vec::new()),
        };
        Ok(tighter(before, beside))
    }
}

/// Merges the headers of two limits: the tighter one sets the single-value headers, and the lists name both.
fn tighter(before: Fields, beside: Fields) -> Fields {
    let value = |fields: &Fields, name: &str| fields.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    let remaining = |fields: &Fields| value(fields, REMAINING)?.to_str().ok()?.parse::<u64>().ok();
    let (mut told, other) = match (remaining(&before), remaining(&beside)) {
        (_, None) => return Vec::new(),
        (Some(before_left), Some(beside_left)) if before_left < beside_left => (before, beside),
        _ => (beside, before),
    };
    for (name, own) in told.iter_mut().filter(|(name, _)| LISTS.contains(&name.as_str())) {
        let Some(more) = value(&other, name.as_str()) else { continue };
        let both = [own.as_bytes(), more.as_bytes()].join(&b", "[..]);
        *own = HeaderValue::from_bytes(&both).unwrap_or_else(|_| own.clone());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_one_speaks_and_both_are_listed() {
        let fields = |name: &str, left: u64| -> Fields {
            let list = HeaderValue::try_from(format!("\"{name}\";r={left}")).unwrap();
            vec![(HeaderName::from_static(REMAINING), left.into()), (HeaderName::from_static("ratelimit"), list)]
        };
        let told = |before, beside| {
            let told = tighter(before, beside);
            told.into_iter().map(|(_, value)| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(told(fields("a", 100), fields("b", 2)), ["2", "\"b\";r=2, \"a\";r=100"]);
        assert_eq!(told(fields("a", 1), fields("b", 2)), ["1", "\"a\";r=1, \"b\";r=2"]);
        assert_eq!(told(Vec::new(), fields("b", 2)), ["2", "\"b\";r=2"]);
        assert!(told(fields("a", 1), Vec::new()).is_empty(), "what was told before stays");
    }
}
