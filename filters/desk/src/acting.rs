//! Runs a side-effecting call: reserve the idempotency key, check confirmation and approval, call the site, store the
//! result, reply.

use std::mem::take;

use http::StatusCode;
use serde_json::json;

use super::{
    Call, Done, Failed, Told,
    audit::NotWritten,
    call::CallPlan,
    exchange::Exchanged,
    promised::kept,
    records::{self, Began, Begin, KeyNames, Known, Promises, START_WITHIN},
    shape::{self, Ending},
    step::{Doing, Reached, Step, Stop},
    ticket::{NotOpened, State, Tickets},
    trouble::{NOBODY_KNOWS, carried_out_all_the_same, failed, not_kept, not_written, started_too_late},
};
use frontdesk_base::fault::{Fault, Refusal};

impl<'a> Step<'a> {
    /// Runs a side-effecting call from its idempotency key to its audit line.
    pub(super) async fn act(&mut self, doing: Doing<'a>) -> Result<Done, Stop> {
        let promises = Promises { records: self.desk.records, holders: self.desk.holders };
        let now = self.desk.records.now();
        let holder = self.ask.caller.holder();
        let input = self.ask.input.to_string();
        let input = match &doing {
            // Another version of a recipe is another call.
            Doing::Composition(all) => {
                records::fingerprint(&[input.as_bytes(), all.name.as_bytes(), all.version.as_bytes()])
            }
            _ => records::fingerprint(&[input.as_bytes()]),
        };
        if self.capability.idempotency_required && self.ask.idempotency_key.is_none() {
            return Err(Fault::KeyRequired.into());
        }
        // A read can safely run again. If its answer must not be stored, it does run again: a key would store the
        // answer.
        let keeps = !(self.capability.kind.is_read() && self.capability.is_unkept());
        let key = self.ask.idempotency_key.filter(|_| keeps);
        let of = (self.capability.id.as_str(), self.conversation());
        let names = key.map(|key| KeyNames::of(holder, self.ask.host, of, key));

        // Does a record of this key exist?
        let (mut key, mut after) = (None, None);
        if let Some(names) = names {
            let token = self.ask.confirmation.filter(|_| self.capability.is_confirmed() && !self.is_confirmed);
            let found = promises.find(names, token, &input, now).await.map_err(not_kept)?;
            self.seen = found.seen;
            key = Some(found.key);
            match found.known {
                Known::Nothing => {}
                Known::Unknown(version) if doing.may_be_repeated() => after = Some(version),
                known => return self.known(known),
            }
        }

        // Did a person confirm it? A retry needs no second confirmation.
        let (mut token, mut unconfirmed) = (None, None);
        if self.capability.is_confirmed() && after.is_none() && !self.is_confirmed {
            match self.confirmed(&promises, &input, now).await {
                Ok(confirmed) => token = Some(confirmed),
                Err(Stop::Asked(asked)) if asked.refusal.fault == Fault::ConfirmationInvalid => {
                    // A concurrent equal call may just have taken the same key and token.
                    if let Some(key) = &key {
                        let known = promises.look(key, &input, now).await.map_err(not_kept)?;
                        if !matches!(known, Known::Nothing) {
                            self.ask.input = asked.input;
                            return self.known(known);
                        }
                    }
                    if self.supervisor().is_none() {
                        return Err(Stop::Asked(asked));
                    }
                    // Or the confirmation is for the arguments that the harness puts in place of these.
                    self.ask.input = asked.input.clone();
                    unconfirmed = Some(asked);
                }
                Err(stop) => return Err(stop),
            }
        }

        // Ask for supervision. A confirmation of the original arguments does not cover changed ones.
        let (doing, changed) = match (self.allowed(doing).await, unconfirmed) {
            (Ok((doing, true)), _) => (doing, true),
            // The call was not confirmed, and supervision changed nothing that could have been confirmed instead.
            (_, Some(asked)) => return Err(Stop::Asked(asked)),
            (allowed, None) => allowed?,
        };
        if changed && (self.capability.is_confirmed() || self.is_confirmed) {
            token = Some(self.confirmed_anew(&promises, now).await?);
        }
        self.permitted().await?;
        let mut doing = doing;
        Box::pin(self.with_exchanged_token(&mut doing)).await?;
        let before = self.is_confirmed || after.is_some();
        self.account.confirmed = token.is_some() || before && self.capability.is_confirmed();

        if let Some(audit) = self.desk.audit.filter(|_| !self.capability.kind.is_read()) {
            self.place = Some(audit.reserve().await.map_err(|NotWritten| not_written())?);
        }
        let (now, at) = (self.desk.records.now(), self.desk.holders.clock());
        let permissions = take(&mut self.permissions);
        let mut begin = Begin {
            key: key.as_deref(),
            after,
            input: &input,
            token: token.as_ref(),
            permissions: &permissions,
            limit: doing.limit(),
            now,
            at,
            version: 0,
        };
        match promises.begin(&begin).await.map_err(not_kept)? {
            Began::Yes(version) => begin.version = version,
            Began::No => return self.beaten(&promises, &begin).await,
        }
        if promises.is_too_late(&begin) {
            self.account.unkept |= promises.take_back(&begin).await.is_err();
            return Err(started_too_late().into());
        }
        match doing {
            Doing::Call(plan, call) => self.carried(&promises, &begin, plan, call).await,
            Doing::Composition(all) => self.composed(&promises, &begin, all).await,
            Doing::Person => self.handed_over(&promises, &begin).await,
        }
    }

    /// Hands the call to a person, and stores the ticket that will hold their answer.
    async fn handed_over(&mut self, promises: &Promises<'_>, begin: &Begin<'_>) -> Result<Done, Stop> {
        let tickets = Tickets::of(self.desk);
        let opened = match self.ask.wish {
            Some(wish) => tickets.open(&self.ask, wish, State::Waiting).await,
            None => Err(NotOpened::NoWish),
        };
        match opened {
            Ok(id) => {
                let data = json!({ "ticket": id });
                let told = Told::of(StatusCode::ACCEPTED, data.into());
                self.account.unkept |= promises.end(begin, Some(&kept(Ok(&told)))).await.is_err();
                Ok(self.done(told, None))
            }
            Err(why) => {
                self.account.unkept |= promises.take_back(begin).await.is_err();
                Err(why.refusal().into())
            }
        }
    }

    /// Calls the site and stores its answer.
    async fn carried(
        &mut self,
        promises: &Promises<'_>,
        begin: &Begin<'_>,
        plan: &CallPlan,
        mut call: Call<'_>,
    ) -> Result<Done, Stop> {
        self.begun();
        self.reached = Reached::Unknown;
        call.send_by = Some(begin.at + START_WITHIN + call.limit);
        let told = match self.exchanged(plan, call).await {
            Exchanged::Answer(answer, target) => {
                self.account.upstream_status = Some(answer.status.as_u16());
                match shape::ending(plan, &answer) {
                    Ending::Known => {
                        let told = self.understood(plan, &target, answer, None).await;
                        let told = match told.map_err(|refusal| self.scrubbed(refusal)) {
                            Ok(told) => match self.shown(told).await {
                                // The site acted: that its file cannot be kept must not look as if it had not.
                                Ok(told) => self.give_file(told).await.map_err(|refusal| match refusal.fault {
                                    Fault::Malformed => refusal,
                                    _ => Fault::Malformed.into(),
                                }),
                                Err(refusal) => Err(refusal),
                            },
                            Err(refusal) => Err(refusal),
                        };
                        told.map_err(carried_out_all_the_same)
                    }
                    Ending::NotDone => {
                        self.reached = Reached::Nothing;
                        self.account.unkept |= promises.take_back(begin).await.is_err();
                        let refusal = shape::taken(plan, &answer).err().unwrap_or(Fault::SiteFailed.into());
                        return Err(self.scrubbed(refusal).into());
                    }
                    Ending::Unknown => {
                        self.account.unkept |= promises.end(begin, None).await.is_err();
                        return Err(Refusal::from(Fault::SiteFailed).saying(NOBODY_KNOWS).into());
                    }
                }
            }
            Exchanged::Withheld(refusal) => {
                self.reached = Reached::Nothing;
                self.account.unkept |= promises.take_back(begin).await.is_err();
                return Err(self.scrubbed(refusal).into());
            }
            Exchanged::Refused(refusal) => Err(self.scrubbed(refusal)),
            Exchanged::Unclear(refusal) => {
                self.account.unkept |= promises.end(begin, None).await.is_err();
                return Err(self.scrubbed(refusal).into());
            }
            Exchanged::Failed(failure @ (Failed::NotSent | Failed::Busy | Failed::ClientShare)) => {
                self.reached = Reached::Nothing;
                // If the record cannot be withdrawn now, a retry gets `outcome_unknown`, which is as safe.
                self.account.unkept |= promises.take_back(begin).await.is_err();
                return Err(failed(failure).into());
            }
            Exchanged::Failed(failure @ (Failed::TimedOut | Failed::Broken)) => {
                self.account.unkept |= promises.end(begin, None).await.is_err();
                return Err(failed(failure).saying(NOBODY_KNOWS).into());
            }
            Exchanged::Failed(failure @ Failed::TooLong(status)) => {
                self.account.upstream_status = Some(status.as_u16());
                Err(carried_out_all_the_same(failed(failure)))
            }
        };
        self.reached = match &told {
            Err(refusal) if !is_unreadable(refusal) => Reached::Refused,
            _ => Reached::Done,
        };
        // Where the result cannot be stored, a retry gets `outcome_unknown`; the waiting caller gets the result.
        let record = match &told {
            Ok(told) => kept(Ok(&*self.keepable(told).await)),
            Err(refusal) => self.kept_failure(refusal),
        };
        self.account.unkept |= promises.end(begin, Some(&record)).await.is_err();
        Ok(self.done(told?, None))
    }
}

/// Whether the site acted, and only its answer is not as declared.
fn is_unreadable(refusal: &Refusal) -> bool {
    matches!(refusal.fault, Fault::Malformed | Fault::SiteChanged)
}

#[cfg(test)]
mod tests;
