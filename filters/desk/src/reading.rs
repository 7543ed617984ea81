//! Runs a read: answers from the contract, the pages, the cache, or the site.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::{
    Done, Talk, Told,
    clean_responses::Seen,
    exchange::Exchanged,
    pages,
    plan::Way,
    records,
    step::{Doing, Step, Stop},
    trouble::failed,
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::Proof;
use frontdesk_config::BuiltIn;
use frontdesk_firewall::{Firewall, Kind, Modes};

/// How long the words of a model are kept.
const WORDS_KEPT: Duration = Duration::from_secs(24 * 3600);
/// Tokens of sources and follow-ups, at most.
const BESIDE: u64 = 2_000;

impl<'a> Step<'a> {
    pub(super) fn contract_says(&mut self, data: &Value) -> Done {
        self.done(Told::of(StatusCode::OK, data.clone().into()), None)
    }

    /// Answers from the site's pages. The same question gets the same answer until the pages change.
    ///
    /// # Errors
    ///
    /// The firewall withholds the answer, or the harness forbids the question.
    pub(super) async fn pages_say(&mut self, which: BuiltIn) -> Result<Done, Refusal> {
        let query = self.ask.input["query"].as_str().unwrap_or_default();
        let perceived = self.perceived(query).await;
        if perceived.is_err() {
            self.account.supervision = "block";
        }
        let perceived = perceived?;
        let talk = &self.ask.talk;
        let alone = talk.before.is_empty() && talk.clarification.is_none() && perceived.is_none();
        let answer_tokens = self.desk.compiled.settings.content.answer_tokens;
        let key = (alone && !self.plan.ttl.is_zero()).then(|| {
            let language = talk.locale.unwrap_or_default().split('-').next().unwrap_or_default().to_ascii_lowercase();
            let parts = [&self.capability.id, query, &language, &self.desk.compiled.hash];
            // A limit above the longest answer changes nothing, so it shares a cache key.
            let tokens = talk.max_tokens.min(answer_tokens.saturating_add(BESIDE));
            let numbers = [self.desk.library.number(), tokens, u64::from(talk.list)].map(u64::to_be_bytes);
            let parts = parts.iter().map(|part| part.as_bytes()).chain(numbers.iter().map(|n| &n[..]));
            records::fingerprint(&parts.collect::<Vec<_>>())
        });
        if let Some((told, left)) = key.as_deref().and_then(|key| self.desk.kept.get(key)) {
            self.account.decision = "cached";
            self.account.unanswered = pages::is_unanswered(&told.data.value()).then(|| query.to_owned());
            return Ok(self.done(told, Some(left)));
        }
        let library = self.desk.library;
        let vector = match which {
            BuiltIn::ContentSearch if library.vectors().is_some() => self.desk.models.vector(query).await,
            _ => None,
        };
        let perceived = perceived.unwrap_or_default();
        let told = pages::told(library, which, query, (talk, answer_tokens), vector.as_deref(), &perceived);
        let told = match which {
            BuiltIn::ContentSearch if self.desk.models.writes() => self.in_words(query, talk, told).await,
            _ => told,
        };
        self.account.unanswered = pages::is_unanswered(&told.data.value()).then(|| query.to_owned());
        let told = self.shown(told).await?;
        if let Some(key) = key {
            self.desk.kept.keep(key, &*self.keepable(&told).await, self.plan.ttl);
        }
        Ok(self.done(told, None))
    }

    /// The same answer in the words of the operator's model, with the passages that it names; as it is where the model has
    /// none. The same passages and question get the same words for a day.
    async fn in_words(&self, query: &str, talk: &Talk<'_>, told: Told) -> Told {
        let mut data = told.data.value().into_owned();
        let Some(answer) = data["answer"].as_str().filter(|_| !pages::is_unanswered(&data)) else { return told };
        // What may be addressed to a model is not handed to one, and not taken from one.
        let searched = Firewall::new(Modes::REPORT, [], Vec::new());
        let is_safe = |text: &str| !searched.scan(text.as_bytes()).iter().any(|found| found.kind == Kind::Injection);
        let Some(draft) = self.desk.library.draft(query, talk.before, answer, is_safe) else { return told };
        let most = pages::room(&data, talk.max_tokens, self.desk.compiled.settings.content.answer_tokens);
        let model = self.desk.compiled.settings.content.model.as_ref();
        let model = model.map(|model| format!("{} {}", model.url, model.name)).unwrap_or_default();
        let key = records::fingerprint(&[b"words", model.as_bytes(), &most.to_be_bytes(), draft.user.as_bytes()]);
        if let Some((words, _)) = self.desk.kept.get(&key) {
            data["answer"] = words.data.value().into_owned();
            return Told { data: data.into(), ..told };
        }
        let Some(reply) = self.desk.models.write(&draft).await else { return told };
        let Some(words) = self.desk.library.written(&draft, &reply, most, is_safe) else { return told };
        self.desk.kept.keep(key, &Told::of(StatusCode::OK, Value::from(words.clone()).into()), WORDS_KEPT);
        data["answer"] = words.into();
        Told { data: data.into(), ..told }
    }

    /// Runs a read, from the cache where possible.
    pub(super) async fn read(&mut self, doing: Doing<'a>) -> Result<Done, Stop> {
        let (ttl, anybody) = (self.plan.ttl, self.is_for_anybody());
        // An answer in a conversation belongs to that conversation only.
        // What a conversation's cookies show is that conversation's own.
        let is_shared = !matches!(&self.plan.way, Way::Call(plan) if plan.keeps_cookies);
        let key = (!ttl.is_zero() && self.alone && is_shared).then(|| self.kept_under(anybody));
        let kept = key.as_deref().and_then(|key| self.desk.kept.get(key));
        // A later step needs what the firewall removed from the cached answer.
        if let Some((told, left)) = kept.filter(|(told, _)| !(self.depth > 0 && told.flags.changed())) {
            self.account.decision = "cached";
            return Ok(self.done(told, Some(left)));
        }
        let (mut doing, changed) = self.allowed(doing).await?;
        Box::pin(self.with_exchanged_token(&mut doing)).await?;
        if !self.owed.is_empty() {
            Box::pin(self.permitted()).await?;
        }
        // The harness changed the arguments, or a person approved this one call: the answer is for this caller only.
        let alone = changed || !self.permissions.is_empty();
        let key = key.filter(|_| !alone);
        self.use_permissions().await?;
        self.begun();
        let told = match doing {
            Doing::Call(plan, mut call) => {
                // A shared answer must not show who happened to ask first.
                call.caller = call.caller.filter(|_| key.is_none() || !anybody);
                let (answer, target) = match self.exchanged(plan, call).await {
                    Exchanged::Answer(answer, target) => (answer, target),
                    Exchanged::Failed(failure) => return Err(failed(failure).into()),
                    Exchanged::Withheld(refusal) | Exchanged::Refused(refusal) | Exchanged::Unclear(refusal) => {
                        return Err(self.scrubbed(refusal).into());
                    }
                };
                self.account.upstream_status = Some(answer.status.as_u16());
                let told = self.understood(plan, &target, answer, self.seen()).await;
                told.map_err(|refusal| self.scrubbed(refusal))?
            }
            // The steps are cached one by one, under the same rules.
            Doing::Composition(all) => Box::pin(self.parts(all, None)).await.map_err(|broken| broken.refusal)?,
            Doing::Person => return Err(Fault::NotImplemented.into()),
        };
        let told = self.shown(told).await?;
        let has_file = told.file.is_some();
        let mut told = self.give_file(told).await?;
        let is_given_out = has_file
            && told.file.as_ref().and_then(|given| given.url.as_deref()).is_some_and(|url| self.is_ticket(url));
        // A ticket is for one caller, and ends soon.
        let alone = alone || is_given_out;
        let key = key.filter(|_| !is_given_out);
        let ttl = if alone { ttl } else { self.holds(&mut told, ttl) };
        if let Some(key) = key {
            let kept = self.keepable(&told).await;
            if !kept.omitted {
                self.desk.kept.keep(key, &kept, ttl);
            }
        }
        Ok(self.done(told, (!ttl.is_zero() && !alone).then_some(ttl)))
    }

    /// How long an answer is cached: at most as long as the site says that it is fresh. Where the site gives
    /// no lifetime, or one of zero, the declared `ttl` counts. For zero the reply states the declared one too.
    fn holds(&self, told: &mut Told, ttl: Duration) -> Duration {
        match told.fresh {
            _ if self.capability.aom.max_age.is_some() || ttl.is_zero() => ttl,
            Some(0) => {
                told.fresh = Some(ttl.as_secs());
                ttl
            }
            Some(seconds) => ttl.min(Duration::from_secs(seconds)),
            None => ttl,
        }
    }

    /// The cache key: host, capability, input, configuration, and the caller unless the answer is for anyone.
    fn kept_under(&self, anybody: bool) -> String {
        let holder = if anybody { [0; 16] } else { self.ask.caller.holder().bytes() };
        let (host, input) = (self.host_for_the_site(), self.ask.input.to_string());
        let texts = [self.desk.compiled.hash.as_str(), &host, &self.capability.id, &input];
        let shared = [u8::from(anybody)];
        let room = match &self.plan.way {
            Way::Call(plan) if Self::depends_on_room(plan) => self.ask.talk.max_tokens.to_be_bytes().to_vec(),
            _ => Vec::new(),
        };
        let own = [&shared[..], &holder, &room];
        let parts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).chain(own).collect();
        records::fingerprint(&parts)
    }

    /// The cache of clean responses, for answers that are about no user and that the firewall scans.
    fn seen(&self) -> Option<&'a Seen> {
        let compiled = self.desk.compiled;
        (self.capability.is_public() && !self.capability.is_in_their_name() && !compiled.firewall.is_off())
            .then_some(&compiled.seen)
    }

    /// Whether the answer is about no user and the request names none.
    fn is_for_anybody(&self) -> bool {
        // A step of a recipe may carry the caller's own credential.
        let shows_nothing = self.ask.caller.proof == Proof::None && self.ask.caller.credential.is_none();
        self.capability.is_public() && shows_nothing
    }
}
