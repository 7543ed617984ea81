//! Runs a composition: several capabilities, one after the other, each with the results of the steps before it.
//!
//! Every step runs as a complete call. A step that acts has an idempotency key of its own, so a retry of the whole
//! replays what was done and does not do it twice. What was done before a step failed stays done, and the caller is
//! told so.

mod broken;

use std::{future::Future, mem::take, pin::Pin};

use serde_json::{Map, Value, json};

use self::broken::broken;
use super::{
    Ask, Called, Carried, Done, Outcome, Talk, Told,
    plan::{Composition, Part},
    promised::kept,
    records::{self, Begin, Promises},
    shape::renamed,
    step::{Reached, Step, Stop},
    supervised::{OPEN, may_be_allowed_later},
    trouble::{carried_out_all_the_same, not_kept},
};
use frontdesk_base::fault::{Fault, Refusal};

/// Why a composition stopped.
pub(super) struct Broken {
    pub(super) refusal: Refusal,
    /// The furthest effect that it may have had at the site.
    pub(super) reached: Reached,
}

/// The result of one step.
struct Ended {
    result: Result<Told, Refusal>,
    reached: Reached,
}

/// The progress of a composition.
#[derive(Default)]
struct Progress {
    /// The result of each step, by its index.
    said: Vec<Told>,
    /// The acting steps that were carried out.
    done: Vec<usize>,
    /// An earlier attempt began it, and how far that came is unknown.
    is_resumed: bool,
}

impl Step<'_> {
    /// Runs a composition whose key is reserved, and stores the result.
    pub(super) async fn composed(
        &mut self,
        promises: &Promises<'_>,
        begin: &Begin<'_>,
        all: &Composition,
    ) -> Result<Done, Stop> {
        self.begun();
        let key = match begin.key {
            Some(key) => Ok(key.to_owned()),
            // Without a key of the caller no retry can come; each step gets a key all the same.
            None => records::unguessable(),
        };
        let result = match key {
            Ok(key) => self.parts(all, Some((&key, begin.after.is_some()))).await,
            Err(why) => Err(Broken { refusal: not_kept(why), reached: Reached::Nothing }),
        };
        match result {
            Ok(told) => {
                self.reached = Reached::Done;
                let told = self.shown(told).await.map_err(carried_out_all_the_same);
                let record = match &told {
                    Ok(told) => kept(Ok(&*self.keepable(told).await)),
                    Err(refusal) => self.kept_failure(refusal),
                };
                self.account.unkept |= promises.end(begin, Some(&record)).await.is_err();
                Ok(self.done(told?, None))
            }
            Err(Broken { refusal, reached }) => {
                self.reached = reached;
                let may_go_on = may_be_allowed_later(&refusal);
                self.account.unkept |= match (refusal.fault, reached) {
                    (_, Reached::Nothing) => promises.take_back(begin).await.is_err(),
                    // Another attempt is running and will store the outcome; or a retry follows once a person has
                    // approved the rest.
                    (Fault::InFlight, _) => promises.end(begin, None).await.is_err(),
                    _ if may_go_on => promises.end(begin, None).await.is_err(),
                    _ => promises.end(begin, Some(&self.kept_failure(&refusal))).await.is_err(),
                };
                Err(refusal.into())
            }
        }
    }

    /// Runs the steps in order. `key`: the base for the keys of the acting steps, and whether an earlier attempt began
    /// it; `None` where no step acts.
    pub(super) async fn parts(&mut self, all: &Composition, key: Option<(&str, bool)>) -> Result<Told, Broken> {
        let mut progress = Progress { is_resumed: key.is_some_and(|(_, resumed)| resumed), ..Progress::default() };
        let mut steps = Value::Array(Vec::with_capacity(all.parts.len()));
        for (at, part) in all.parts.iter().enumerate() {
            self.tell_steps(all, at, false);
            let roots = [("input", &self.ask.input), ("steps", &steps)];
            let input = part.input.fill(&|reference| reference.find(&roots).cloned());
            // Only an object holds inputs.
            let input = input.filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()));
            let acts = part.called.capability.kind.is_action();
            let Ended { result, reached } = self.part(part, input, at, key.map(|(key, _)| key)).await;
            let told = match result {
                Ok(told) => told,
                Err(refusal) => {
                    self.tell_steps(all, at, true);
                    return Err(self.broken(all, at, refusal, reached, &progress).await);
                }
            };
            if acts {
                progress.done.push(at);
            }
            if (told.omitted || told.flags.changed()) && part.is_needed {
                let detail = "Its earlier result was not stored unchanged, and later steps need it.";
                let refusal = Refusal::from(Fault::OutcomeUnknown).saying(detail);
                return Err(self.broken(all, at, refusal, Reached::Nothing, &progress).await);
            }
            let data = if part.is_needed { told.data.value().into_owned() } else { Value::Null };
            if let Some(steps) = steps.as_array_mut() {
                steps.push(json!({ "data": data }));
            }
            progress.said.push(told);
        }
        self.tell_steps(all, all.parts.len(), false);
        let Some(Told { status, data, at, fresh, omitted, flags, .. }) = progress.said.pop() else {
            return Err(Broken { refusal: Fault::NotImplemented.into(), reached: Reached::Nothing });
        };
        let data = if all.output.is_empty() { data } else { renamed(data.into_value(), &all.output).into() };
        Ok(Told { status, data, raw: None, at, fresh, omitted, flags, file: None })
    }

    /// Runs one step as a complete call. A confirmation of the composition covers its steps.
    async fn part(&mut self, part: &Part, input: Value, at: usize, key: Option<&str>) -> Ended {
        let capability = &part.called.capability;
        let acts = capability.kind.is_action();
        let own = match key {
            // A caller's key cannot contain a line break, so it cannot equal this one.
            Some(key) if acts => Some(format!("{key}\n{at}")),
            // A step without effects may run again, and its failure says nothing about the next attempt.
            _ if capability.idempotency_required => match records::unguessable() {
                Ok(own) => Some(own),
                Err(why) => return Ended { result: Err(not_kept(why)), reached: Reached::Nothing },
            },
            _ => None,
        };
        let Ask { caller, authority, request_id, dialect, host, unnamed, .. } = self.ask;
        let ask = Ask {
            capability: Called::Composed(&part.called),
            input,
            caller,
            authority,
            confirmation: None,
            idempotency_key: own.as_deref(),
            request_id,
            dialect,
            host,
            talk: Talk::default(),
            beside: Map::new(),
            wish: None,
            begun: None,
            unnamed,
        };
        let mut step = Step::new(self.desk, ask, capability, &part.called.plan);
        step.is_confirmed = self.account.confirmed;
        step.depth = self.depth + 1;
        if frontdesk_config::risk_rank(self.risk) > frontdesk_config::risk_rank(step.risk) {
            step.risk = self.risk;
        }
        let (result, reached, account) = if acts {
            let (Carried { outcome, mut account, .. }, reached) = step.all_of_it().await;
            let result = match outcome {
                Outcome::Done(done) => Ok(done.told),
                Outcome::NeedsConfirmation(asked) => Err(asked.refusal),
                Outcome::Fault(refusal) => Err(*refusal),
            };
            let status = account.upstream_status;
            let within = take(&mut account.steps);
            if result.is_err() {
                // The step's own account counts what the firewall found.
                self.account.told_of(account.flagged.clone());
            }
            self.account.steps.push(*account);
            self.account.steps.extend(within);
            (result, reached, status)
        } else {
            let result = match step.all_steps().await {
                Ok(done) => Ok(done.told),
                Err(Stop::Asked(asked)) => Err(asked.refusal),
                Err(Stop::Refused(refusal) | Stop::Replayed(refusal)) => Err(*refusal),
            };
            self.account.unkept |= step.account.unkept;
            if result.is_err() {
                self.account.flags.merge(&step.account.flags);
                self.account.told_of(take(&mut step.account.flagged));
            }
            step.tell_outcome(result.as_ref().err());
            if step.account.supervision == OPEN {
                // Supervision was skipped for a step, and so for the whole.
                self.account.supervision = OPEN;
            }
            (result, Reached::Nothing, step.account.upstream_status)
        };
        // A failure carries its own upstream status, not that of an earlier step.
        self.account.upstream_status = match &result {
            Ok(_) => account.or(self.account.upstream_status),
            Err(_) => account,
        };
        let result = result.map_err(|refusal| match refusal.fault {
            // The desk made this key, so the caller cannot choose another one.
            Fault::KeyReused => Refusal::from(Fault::OutcomeUnknown)
                .saying("An earlier attempt began it with another input, and its outcome is unknown."),
            _ => refusal,
        });
        Ended { result, reached }
    }

    /// Builds the error that names the failed step, and scans what it quotes from earlier steps.
    async fn broken(
        &mut self,
        all: &Composition,
        at: usize,
        refusal: Refusal,
        reached: Reached,
        progress: &Progress,
    ) -> Broken {
        let needed = progress.done.iter().filter(|at| all.parts.get(**at).is_some_and(|part| part.is_needed));
        // Looked up only where it matters.
        let mut goes_on = true;
        if may_be_allowed_later(&refusal) {
            for at in needed {
                let Some(told) = progress.said.get(*at) else {
                    goes_on = false;
                    break;
                };
                goes_on = self.keeps_whole(told).await;
                if !goes_on {
                    break;
                }
            }
        }
        let Broken { mut refusal, reached } = broken(all, at, refusal, reached, (progress, goes_on));
        // The step's own failure was scanned and counted with the step.
        let within = refusal.details.as_mut().and_then(Value::as_object_mut).and_then(|all| all.remove("details"));
        let mut refusal = self.scrubbed(refusal);
        if let (Some(within), Some(details)) = (within, &mut refusal.details) {
            details["details"] = within;
        }
        Broken { refusal, reached }
    }

    /// Boxes the call, because the future of a call within a call has no fixed size.
    fn all_of_it<'f>(mut self) -> Pin<Box<dyn Future<Output = (Carried, Reached)> + Send + 'f>>
    where
        Self: 'f,
    {
        Box::pin(async move { self.carry_out().await })
    }

    fn all_steps(&mut self) -> Pin<Box<dyn Future<Output = Result<Done, Stop>> + Send + '_>> {
        Box::pin(self.steps())
    }
}

#[cfg(test)]
mod tests;
