//! Records in Redis. A string holds the version in eight bytes and then the value, and expires with the record.

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record, Records, wall_seconds};
use redis::{RedisResult, Script, ScriptInvocation, Value};
use tokio::time::sleep_until;

use super::{
    Redis, Refused, Unanswered,
    link::{DIALING, Link},
    unexpected,
};
use crate::{breaker::Pass, fresh, millis};

static COMMIT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("commit.lua")));

impl From<Refused> for NotKept {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Away => Self::Away,
            Refused::Full => Self::Full,
        }
    }
}

#[async_trait]
impl Records for Redis {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        let mut asked = redis::cmd("GET");
        asked.arg(name(&self.prefix, key));
        let ask = |link: Arc<Link>| {
            let asked = asked.clone();
            async move { asked.query_async(&mut link.connection.clone()).await }
        };
        let (pass, found): (_, Option<Vec<u8>>) = self.answer_again(ask).await?;
        found.map(|found| record(found).ok_or_else(|| self.nonsense(&pass).into())).transpose()
    }

    async fn get_all(&self, keys: &[&str]) -> Result<Vec<Option<Record>>, NotKept> {
        if keys.is_empty() {
            // The library sends no empty pipeline.
            return Ok(Vec::new());
        }
        let mut asked = redis::pipe();
        for key in keys {
            asked.cmd("GET").arg(name(&self.prefix, key));
        }
        let ask = |link: Arc<Link>| {
            let asked = asked.clone();
            async move { asked.query_async(&mut link.connection.clone()).await }
        };
        let (pass, found): (_, Vec<Option<Vec<u8>>>) = self.answer_again(ask).await?;
        let read = |found: Option<Vec<u8>>| {
            let read = found.map(|found| record(found).ok_or_else(|| NotKept::from(self.nonsense(&pass))));
            read.transpose()
        };
        found.into_iter().map(read).collect()
    }

    async fn get_lasting(&self, key: &str) -> Result<Option<Record>, NotKept> {
        if let Some(known) = self.breaker.pass().and_then(|pass| pass.held.remembered(key)) {
            return Ok(Some(known));
        }
        self.get_and_remember(key).await
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        let pass = self.pass().await?;
        self.commit_by(&pass, &pass.held, changes).await
    }

    async fn commit_safely(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        match self.replicas.wanted() {
            0 => self.commit(changes).await,
            wanted => self.commit_on_replicas(wanted, changes).await,
        }
    }

    fn forget_lasting(&self) {
        if let Some(pass) = self.breaker.pass() {
            pass.held.forget_lasting();
        }
    }

    /// By the server's clock, because replicas of Frontdesk share that one. While it cannot be read, it runs on.
    fn now(&self) -> u64 {
        match self.breaker.pass() {
            Some(pass) => pass.held.clock().seconds(),
            None => self.last_clock.lock().as_ref().map_or_else(wall_seconds, |clock| clock.seconds()),
        }
    }
}

impl Redis {
    async fn get_and_remember(&self, key: &str) -> Result<Option<Record>, NotKept> {
        let found = self.get(key).await?;
        if let Some(pass) = self.breaker.pass() {
            pass.held.remember(key, found.clone());
        }
        Ok(found)
    }

    /// Reads the remembered records again in the background, so that no request has to.
    pub async fn refresh(&self, link: &Link) {
        for key in link.grown_old() {
            // Without an answer, the next request that needs it reads it.
            let _ = self.get_and_remember(&key).await;
        }
    }

    /// Makes a commit on this connection.
    pub async fn commit_by(
        &self,
        pass: &Pass<Arc<Link>>,
        link: &Link,
        changes: &[Change],
    ) -> Result<Committed, NotKept> {
        let version = fresh();
        let patience = self.patience();
        let over = Instant::now() + patience;
        let asked = ask_to_commit(&self.prefix, changes, version, link.deadline(patience));
        let mut connection = link.connection.clone();
        let answer: Value = match self.try_to_ask(pass, asked.invoke_async(&mut connection)).await {
            Ok(answer) => answer,
            Err(why) => {
                // The commit was sent, and the connection was lost. It may still arrive, after a commit on the next
                // connection. The revocation comes after its deadline, when the server does not execute it any more.
                if matches!(why, Unanswered::Cut) {
                    sleep_until(over.into()).await;
                }
                return Err(match self.decided_without(why) {
                    Refused::Full => NotKept::Full,
                    // It is unknown whether it arrived before its deadline.
                    Refused::Away => NotKept::Unsure(version),
                });
            }
        };
        match understand(answer) {
            Some(Answer::Made) => Ok(Committed::Done(version)),
            Some(Answer::Conflict(index, found)) => Ok(Committed::Conflict(index, found)),
            Some(Answer::Late) => Err(self.late(pass).into()),
            None => {
                self.nonsense(pass);
                Err(NotKept::Unsure(version))
            }
        }
    }
}

/// The scripts to load.
pub fn scripts() -> [&'static Script; 1] {
    [&COMMIT]
}

/// Reads, writes and deletes a test record, so that a missing permission is found now.
pub async fn try_out(link: &Link, prefix: &str) -> RedisResult<()> {
    let put = Put::Value(Bytes::new(), Duration::from_secs(1));
    let changes = [
        Change { key: "probe".into(), expect: Expect::Anything, put },
        Change { key: "no probe".into(), expect: Expect::Absent, put: Put::Nothing },
    ];
    let mut connection = link.connection.clone();
    let _: Option<Vec<u8>> = redis::cmd("GET").arg(name(prefix, "probe")).query_async(&mut connection).await?;
    let asked = ask_to_commit(prefix, &changes, fresh(), link.deadline(DIALING));
    let answer = asked.invoke_async(&mut connection).await?;
    match understand(answer) {
        Some(Answer::Made) => Ok(()),
        _ => Err(unexpected()),
    }
}

fn ask_to_commit(prefix: &str, changes: &[Change], version: u64, deadline: i64) -> ScriptInvocation<'static> {
    let mut asked = COMMIT.prepare_invoke();
    asked.arg(deadline).arg(&version.to_be_bytes()[..]);
    for change in changes {
        asked.key(name(prefix, &change.key));
        match change.expect {
            Expect::Anything => asked.arg("*"),
            Expect::Absent => asked.arg(""),
            Expect::Version(version) => asked.arg(&version.to_be_bytes()[..]),
        };
        match &change.put {
            Put::Value(value, keeps) => asked.arg(millis(*keeps)).arg(&value[..]),
            Put::Nothing => asked.arg(0).arg(""),
        };
    }
    asked
}

enum Answer {
    Made,
    Late,
    Conflict(usize, Option<Record>),
}

fn understand(answer: Value) -> Option<Answer> {
    let Value::Array(parts) = answer else { return None };
    match (parts.as_slice(), parts.last()) {
        ([Value::Int(0)], _) => Some(Answer::Made),
        ([Value::Int(-2)], _) => Some(Answer::Late),
        ([Value::Int(which @ 1..), found], _) => {
            let found = match found {
                Value::BulkString(found) => Some(record(found.clone())?),
                Value::Nil => None,
                _ => return None,
            };
            Some(Answer::Conflict(usize::try_from(*which - 1).ok()?, found))
        }
        _ => None,
    }
}

fn record(found: Vec<u8>) -> Option<Record> {
    let version = u64::from_be_bytes(*found.first_chunk()?);
    Some(Record { value: Bytes::from(found).slice(8..), version })
}

fn name(prefix: &str, key: &str) -> String {
    format!("{prefix}:r:{key}")
}
