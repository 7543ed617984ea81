//! The error of a composition that stopped: which step failed and why, what the earlier steps returned, what was
//! carried out, and whether a retry can resume.

use serde_json::{Value, json};

use super::{Broken, Progress};
use crate::{Violation, plan::Composition, step::Reached, supervised::may_be_allowed_later};
use frontdesk_base::fault::{Fault, Refusal};

/// Maximum bytes of one step's result in the error of a later step.
const LONGEST_SAID: usize = 2 * 1024;
/// Maximum bytes of all results in that error.
const LONGEST_ALL: usize = 8 * 1024;

/// Builds that error: the failed step and its cause, the earlier results, what was carried out, and whether a retry
/// can resume from what is stored.
pub(super) fn broken(
    all: &Composition,
    at: usize,
    refusal: Refusal,
    reached: Reached,
    (progress, goes_on): (&Progress, bool),
) -> Broken {
    if refusal.fault == Fault::InFlight {
        return Broken { refusal, reached: Reached::Unknown };
    }
    let id = |at: usize| all.parts.get(at).map_or("", |part| part.called.capability.id.as_str());
    let mut detail = format!("Step {at} {} failed: {}", id(at), refusal.detail);
    for done in &progress.done {
        detail.push_str(&format!(" Step {done} {} was carried out.", id(*done)));
    }
    match reached {
        // A nested composition says itself how far it came.
        _ if refusal.fault == Fault::CompositionFailed => {}
        Reached::Unknown => detail.push_str(&format!(" It is unknown whether step {at} {} was.", id(at))),
        Reached::Done => detail.push_str(&format!(" Step {at} {} was still carried out.", id(at))),
        Reached::Nothing | Reached::Refused => {}
    }
    let reached = if progress.done.is_empty() { reached } else { Reached::Done };
    if progress.is_resumed {
        detail.push_str(" This call was begun before, and what was carried out then stays.");
    } else if reached == Reached::Nothing {
        detail.push_str(" Nothing was carried out.");
    }
    let may_be_allowed = may_be_allowed_later(&refusal);
    let may_go_on = may_be_allowed && goes_on;
    if may_go_on && reached != Reached::Nothing {
        detail.push_str(" Repeat the call with the same idempotency key to go on from there.");
    } else if may_be_allowed && !goes_on {
        detail.push_str(
            " It cannot go on from there: of what a step before it said, and later ones need, not everything may be kept. \
             Make the remaining calls one by one.",
        );
    }
    let mut details = details(all, at, &refusal, reached, progress);
    if may_go_on {
        details["may_go_on"] = true.into();
    }
    // Once the outcome is final, waiting does not help.
    let retry_after = refusal.retry_after.filter(|_| may_go_on || reached == Reached::Nothing);
    let refusal = Refusal { details: Some(details), retry_after, ..Fault::CompositionFailed.into() }.saying(detail);
    Broken { refusal, reached }
}

fn details(all: &Composition, at: usize, refusal: &Refusal, reached: Reached, progress: &Progress) -> Value {
    let id = |at: usize| all.parts.get(at).map_or("", |part| part.called.capability.id.as_str());
    let mut room = LONGEST_ALL;
    let said = progress.said.iter().enumerate().map(|(at, told)| {
        let text = told.data.text();
        if text.len() > LONGEST_SAID.min(room) {
            return json!({ "step": at, "capability": id(at), "omitted": true });
        }
        room -= text.len();
        json!({ "step": at, "capability": id(at), "data": told.data.value() })
    });
    let said: Vec<Value> = said.collect();
    let done: Vec<Value> = progress.done.iter().map(|at| json!({ "step": at, "capability": id(*at) })).collect();
    let mut details = json!({
        "recipe": all.name, "version": all.version, "step": at, "capability": id(at),
        "status": refusal.fault.status().as_u16(),
        "reason": refusal.name.as_deref().unwrap_or(refusal.reason),
        "carried_out": done, "steps": said,
    });
    if reached == Reached::Unknown {
        details["outcome"] = "unknown".into();
    }
    if !refusal.violations.is_empty() {
        let violation = |v: &Violation| json!({ "pointer": v.pointer, "message": v.message });
        details["violations"] = refusal.violations.iter().map(violation).collect();
    }
    if let Some(inner) = refusal.details.as_ref().filter(|inner| inner.to_string().len() <= LONGEST_ALL) {
        details["details"] = inner.clone();
    }
    details
}
