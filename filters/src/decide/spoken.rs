//! The `decide` phase of AGTP, which has sockets of its own and answers every path on them.

use std::{net::IpAddr, sync::Arc};

use http::{HeaderMap, Method};

use super::{Decided, Decision, Desk, Request, Says};
use crate::{
    Snapshot,
    caller::{Agent, Caller},
    dialect::{
        Explain,
        agtp::{self, Spoken},
    },
    fault::Fault,
    frames::Refused,
    limits::{Counted, store_away},
    problem,
    state::{Amount, Away, Counters},
};

/// Decides on a request that came over an AGTP socket.
pub async fn decide_spoken(snapshot: &Snapshot, counters: &dyn Counters, request: &Request<'_>) -> Decided {
    let desk = Desk { snapshot, counters, request, serve: None };
    match &snapshot.spoken {
        Some(spoken) => desk.spoken(spoken).await,
        // A reload has just removed AGTP.
        None => desk.told(Caller::at(request.address), Err(Box::new(Fault::NotFound.into())), problem::reply, None),
    }
}

/// Decides on input on an AGTP socket that could not be parsed as a request. It gets an error and counts against its
/// address. `of_a_frame`: the method was readable, so the answer is recorded as any other.
pub async fn decide_unread(
    snapshot: &Snapshot,
    counters: &dyn Counters,
    address: IpAddr,
    refused: &Refused,
    of_a_frame: bool,
) -> Decided {
    let (headers, caller) = (HeaderMap::new(), Caller::at(address));
    let request = Request {
        method: &Method::GET,
        target: "/",
        headers: &headers,
        address,
        authority: "",
        tls: false,
        now: 0,
        harness: None,
        token_server: None,
        records: None,
    };
    let desk = Desk { snapshot, counters, request: &request, serve: None };
    let held = snapshot.policies.held(Counted::Call { action: false }, &caller);
    let decided = match held.take(counters, Amount::ONE).await {
        Ok(taken) if taken.granted.is_none() => {
            let explain: Explain = snapshot.spoken.as_ref().map_or(problem::reply, |spoken| spoken.explain());
            desk.told(caller, Err(held.exceeded(&taken).into()), explain, Some((&held, &taken)))
        }
        taken => {
            let standing = taken.as_ref().ok().map(|taken| (&held, taken));
            let decided = desk.told(caller, Ok(agtp::unread(refused).into()), problem::reply, standing);
            match decided.decision {
                Decision::Answer(reply) => Decided { decision: Decision::Refuse(reply, refused.reason), ..decided },
                decision => Decided { decision, ..decided },
            }
        }
    };
    // Input that fails before its method is known is attributed to no one.
    let Some(spoken) = &snapshot.spoken else { return decided };
    if of_a_frame {
        return Decided { finish: Some(spoken.clone()), ..decided };
    }
    let decision = match decided.decision {
        Decision::Refuse(reply, reason) => Decision::Refuse(spoken.named(reply), reason),
        decision => decision,
    };
    Decided { decision, ..decided }
}

impl Desk<'_> {
    /// Decides on an AGTP request: an invalid credential is refused, and every caller is limited. AGTP handles all
    /// else, whatever the path.
    pub(super) async fn spoken(&self, spoken: &Arc<Spoken>) -> Decided {
        let counted = spoken.counted(self.request.method, self.request.target);
        let (mut caller, unproven) = self.identified(false).await;
        if !caller.agent.as_ref().is_some_and(|agent| agent.verified)
            && let Some(claimed) = spoken.claimed(self.request.headers)
        {
            caller.agent = Agent::claimed(claimed);
        }
        if let Some(refused) = Box::pin(self.guessing(&caller, spoken.explain())).await {
            return Decided { finish: Some(spoken.clone()), ..refused };
        }
        let published = counted == Counted::Content;
        let unproven = match unproven {
            Some(unproven) if published && unproven.is_unknown() => None,
            None if !published => self.missing(&caller, false),
            unproven => unproven,
        };
        let decided = if let Some(unproven) = unproven {
            self.unproven(caller, unproven, spoken.explain()).await
        } else {
            let held = self.snapshot.policies.held(counted, &caller);
            let serve = || Ok(Says::Serve(spoken.clone(), Vec::new()));
            match held.take(self.counters, Amount::ONE).await {
                Ok(taken) => {
                    let outcome = match taken.granted {
                        None => Err(self.exceeded(&held, &taken, &caller).await),
                        Some(_) => serve(),
                    };
                    self.told(caller, outcome, spoken.explain(), Some((&held, &taken)))
                }
                Err(Away) if published => self.told(caller, serve(), spoken.explain(), None),
                Err(Away) => self.told(caller, Err(store_away().into()), spoken.explain(), None),
            }
        };
        Decided { finish: Some(spoken.clone()), ..decided }
    }
}
