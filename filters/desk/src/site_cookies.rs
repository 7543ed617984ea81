//! The site's cookies of a conversation (`cookies = "session"`): in the store, encrypted with a key that only the
//! conversation's id gives, and gone with it.

use frontdesk_answers::Cookies;
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest,
};

use super::{call::CallPlan, not_kept, plan::Way, records, step::Step};
use frontdesk_base::fault::Refusal;
use frontdesk_state::{Change, Expect, NotKept, Put};

impl<'a> Step<'a> {
    /// The cookies that the site set in this conversation.
    pub(super) async fn kept_cookies(&self, plan: &CallPlan) -> Result<Cookies, Refusal> {
        for (at, session) in self.sessions().enumerate().filter(|_| plan.keeps_cookies) {
            let record = self.desk.records.get(&self.cookie_record(session)).await.map_err(not_kept)?;
            if let Some(opened) = record.and_then(|record| self.opened(session, &record.value)) {
                let cookies = Cookies::read(&opened);
                // A client may name the conversation from now on that this call is told.
                return Ok(if at == 0 { cookies } else { cookies.of_another() });
            }
        }
        Ok(Cookies::default())
    }

    /// Stores them.
    pub(super) async fn keep_cookies(&self, cookies: &Cookies) -> Result<(), NotKept> {
        let idle = self.desk.compiled.settings.sessions.idle;
        let mut changes = Vec::new();
        for session in self.sessions() {
            let put = Put::Value(self.sealed(session, cookies.stored())?.into(), idle);
            changes.push(Change { key: self.cookie_record(session), expect: Expect::Anything, put });
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.desk.records.commit(&changes).await.map(drop)
    }

    /// The conversation that the client named, where what the call does depends on it: a key and a confirmation count in
    /// that conversation alone.
    pub(super) fn conversation(&self) -> Option<&'a str> {
        match &self.plan.way {
            Way::Call(plan) if plan.keeps_cookies => self.ask.talk.named_session,
            _ => None,
        }
    }

    /// Whether the site has set no cookies yet in the conversation that the client named. Such a conversation holds no state.
    pub(super) async fn is_new_conversation(&self) -> Result<bool, Refusal> {
        match &self.plan.way {
            Way::Call(plan) if self.conversation().is_some() => Ok(self.kept_cookies(plan).await?.is_empty()),
            _ => Ok(false),
        }
    }

    /// The ids under which they are kept.
    fn sessions(&self) -> impl Iterator<Item = &str> {
        let talk = &self.ask.talk;
        talk.session.into_iter().chain(talk.standing_session.filter(|standing| Some(*standing) != talk.session))
    }

    /// The name of the record. It does not show the conversation's id.
    fn cookie_record(&self, session: &str) -> String {
        let holder = self.ask.caller.holder().bytes();
        format!("k:{}", records::fingerprint(&[b"site cookies of", session.as_bytes(), &holder]))
    }

    fn key(session: &str) -> Option<LessSafeKey> {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"frontdesk: key of site cookies\0");
        context.update(session.as_bytes());
        UnboundKey::new(&AES_256_GCM, context.finish().as_ref()).ok().map(LessSafeKey::new)
    }

    fn sealed(&self, session: &str, mut bytes: Vec<u8>) -> Result<Vec<u8>, NotKept> {
        let nonce = records::random::<NONCE_LEN>()?;
        let key = Self::key(session).ok_or(NotKept::Away)?;
        let holder = self.ask.caller.holder().bytes();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(holder), &mut bytes)
            .map_err(|_| NotKept::Away)?;
        Ok([&nonce[..], &bytes].concat())
    }

    /// `None`: it was sealed for another conversation or caller.
    fn opened(&self, session: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = sealed.to_vec();
        let holder = self.ask.caller.holder().bytes();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        Self::key(session)?.open_in_place(nonce, Aad::from(holder), &mut bytes).ok().map(|plain| plain.to_vec())
    }
}
