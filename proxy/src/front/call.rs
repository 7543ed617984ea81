//! A request of an agent endpoint, whatever it came over: the desk carries it out, and what became of it is counted.

use std::sync::Arc;

use frontdesk_filters::{
    About, Fault, Incoming, Reply, Serve, Served, Serving, accept,
    caller::Caller,
    desk::{Account, Turned, audit::Audit},
};

use super::{
    Front,
    background::TaskContext,
    forwarding::{ForwardingContext, value},
    inflight::InflightLimit,
    request_id::REQUEST_ID,
};
use crate::{
    outbound::{Carrier, UpstreamTimings, Visited},
    running::Running,
    traces::{Place, Span},
};

/// What is done at the desk.
pub(crate) enum Work {
    Serve(Serving),
    /// A refusal is finished.
    Finish(Arc<dyn Serve>, Reply),
}

impl Front {
    /// Has something done at the desk about a request; and what of the site that took.
    pub(crate) async fn call(
        &self,
        running: &Arc<Running>,
        forwarding: &ForwardingContext<'_>,
        incoming: &Incoming<'_>,
        work: Work,
    ) -> (Served, Visited) {
        let inside = self.entry.enter();
        if let (None, Work::Serve(serving)) = (&inside, &work) {
            let refusal = InflightLimit::refusal();
            self.metrics.rejected(refusal.reason);
            let accept = accept::of(incoming.headers);
            let reply = serving.refused(&running.snapshot, &refusal, accept.as_deref());
            return (Served { reason: Some(refusal.reason), ..reply.into() }, Visited::default());
        }
        let told = || forwarding.told(running, (&REQUEST_ID, value(incoming.request_id)?));
        let span = forwarding.trace.filter(|_| matches!(work, Work::Serve(_))).map(Place::desk);
        let trace = span.as_ref().map(Span::place);
        let visits = UpstreamTimings::default();
        let (outbound, client) = (&*self.outbound, Some(forwarding.client));
        let carrier = Carrier { outbound, running, told: &told, client, trace, visits: &visits };
        let library = self.live.library();
        let behind = TaskContext { front: self, running, told: &told, trace };
        let desk = self.desk(running, &carrier, &library, &behind);
        let (dialect, served) = match work {
            Work::Serve(serving) => {
                let dialect = serving.about().map(|about| about.dialect);
                let mut served = serving.serve(&desk, incoming).await;
                running.snapshot.name_metadata(&mut served.reply, incoming.target);
                (dialect, served)
            }
            Work::Finish(serve, reply) => {
                return (serve.finished(&desk, incoming, reply).await.into(), Visited::default());
            }
        };
        if let Some(span) = span {
            let said = served.account.as_ref().map(|account| account.dialect).filter(|dialect| !dialect.is_empty());
            span.told(served.account.as_deref(), said.or(dialect));
        }
        if served.wants_keys {
            self.live.want_keys();
        }
        if let Some(account) = &served.account {
            self.count(account);
            if let Some(near) = &account.near {
                self.metrics.seen.close(near, incoming.caller);
            }
        }
        if let Some(near) = &served.near {
            self.metrics.seen.close(near, incoming.caller);
        }
        self.metrics.flagged(&served.flags);
        if let Some(event) = served.link_event {
            self.metrics.links.with_label_values(&[event]).inc();
        }
        if let Some(reason) = served.reason {
            self.metrics.rejected(reason);
        }
        (served, visits.came_to())
    }

    /// Counts a call.
    pub(super) fn count(&self, account: &Account) {
        account.steps.iter().for_each(|step| self.count(step));
        if !account.supervision.is_empty() {
            self.metrics.supervised(account.supervision);
        }
        if account.unkept {
            tracing::error!(
                capability = account.capability,
                "could not store a call's result; a retry with its key will get 409 outcome_unknown"
            );
        }
        if let Some(response) = account.fits {
            tracing::warn!(
                capability = account.capability,
                response,
                "the site's answer is not what the capability's response declares; if the site is right, declare this one"
            );
        }
        if account.in_doubt {
            self.metrics.in_doubt.with_label_values(&[&account.capability]).inc();
        }
        if account.decision == Fault::SiteChanged.reason() {
            tracing::warn!(
                capability = account.capability,
                why = account.changed,
                "the site's page or form is not as declared; run frontdesk check --live FILE"
            );
            self.metrics.site_changed.with_label_values(&[&account.capability]).inc();
        }
        if account.unkept_cookies {
            tracing::warn!(
                capability = account.capability,
                "could not store the site's cookies of a conversation; its next call begins without them"
            );
        }
        if let Some(question) = &account.unanswered {
            self.metrics.questions_unanswered.inc();
            self.metrics.seen.note_unanswered(question);
        }
        self.metrics.flagged(&account.flags);
        self.metrics.called(&account.capability, account.decision, account.duration);
    }

    /// Writes down a call that came no further than to be refused.
    pub(crate) fn record(
        &self,
        request_id: &str,
        running: &Running,
        caller: &Caller,
        about: About,
        reason: &'static str,
    ) {
        let About { capability, dialect } = about;
        let turned = Turned { capability: capability.into(), caller, idempotency_key: None, request_id, dialect };
        let audit = running.audit.as_deref().map(|log| log as &dyn Audit);
        let account = running.snapshot.turned_away(&turned, reason, audit);
        self.metrics.called(&account.capability, account.decision, account.duration);
    }
}
