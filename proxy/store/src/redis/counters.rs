//! Counters in Redis. A hash holds the used amount and the window's id, and expires with the window.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use frontdesk_state::{Amount, Away, Class, Counters, Key, Level, Limit, Settlement, Subject, TOGETHER, Taken, Window};
use redis::{RedisResult, Script, ScriptInvocation};

use super::{
    Redis, Refused,
    link::{DIALING, Link},
    unexpected,
};
use crate::{Unsettled, millis};

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));
static SETTLE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("settle.lua")));

/// The largest integer that Lua counts exactly. It caps higher limits.
const MOST: u64 = 1 << 53;

impl From<Refused> for Away {
    fn from(_: Refused) -> Self {
        Self
    }
}

#[async_trait]
impl Counters for Redis {
    async fn take(&self, limits: &[Limit], amount: Amount) -> Result<Taken, Away> {
        if limits.is_empty() || limits.len() > TOGETHER {
            // There are no limits; or the caller made a mistake, and is refused.
            let granted = limits.is_empty().then_some(amount.wanted);
            return Ok(Taken { granted, levels: [Level::default(); TOGETHER] });
        }
        let ask = |link: Arc<Link>| {
            let asked = ask_to_take(&self.prefix, limits, amount, link.deadline(self.patience()));
            async move { asked.invoke_async(&mut link.connection.clone()).await }
        };
        // If the connection is lost, count a request twice rather than refuse it. Do not retry one-time keys, which
        // would look taken, and budgets, which would be charged twice until their window ends.
        let twice = amount.wanted <= 1 && limits.iter().all(|limit| !limit.key.is_once());
        let (pass, answer): (_, Vec<i64>) = if twice {
            self.answer_again(ask).await?
        } else {
            let pass = self.pass().await?;
            let answer = self.answer(&pass, ask(pass.held.clone())).await?;
            (pass, answer)
        };
        match understand(&answer, limits.len()) {
            Some(taken) => Ok(taken),
            None if answer == [-2] => Err(self.late(&pass).into()),
            None => Err(self.nonsense(&pass).into()),
        }
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<(), Away> {
        settle_or_say(self, settlements).await.map_err(|_| Away)
    }
}

/// May come late: a window that has ended stays untouched. If an answer is missing, the settlement may have arrived.
pub async fn settle_or_say(redis: &Redis, settlements: &[Settlement]) -> Result<(), Unsettled> {
    if settlements.is_empty() {
        return Ok(());
    }
    let pass = redis.pass().await.map_err(|_| Unsettled::NotDone)?;
    let asked = ask_to_settle(&redis.prefix, settlements);
    let mut connection = pass.held.connection.clone();
    redis.answer::<i64>(&pass, asked.invoke_async(&mut connection)).await.map_err(|_| Unsettled::Unknown)?;
    Ok(())
}

/// The scripts to load.
pub fn scripts() -> [&'static Script; 2] {
    [&TAKE, &SETTLE]
}

/// Takes from and settles a test counter, so that a missing permission or a read-only replica is found now. Takes
/// twice, because the script reads the remaining time only of an existing counter.
pub async fn try_out(link: &Link, prefix: &str) -> RedisResult<()> {
    let window = Window::Idle(Duration::from_secs(10));
    let key = Key::new(Class::Nonce, Subject::named(&[b"probe"]));
    let limits = [Limit { key, most: MOST, window }];
    let mut connection = link.connection.clone();
    let mut taken = None;
    for _ in 0..2 {
        let asked = ask_to_take(prefix, &limits, Amount::ONE, link.deadline(DIALING));
        let answer: Vec<i64> = asked.invoke_async(&mut connection).await?;
        taken = understand(&answer, 1);
    }
    let taken = taken.ok_or_else(unexpected)?;
    let settlement = Settlement { key, window, period: taken.levels[0].period, by: -1 };
    ask_to_settle(prefix, &[settlement]).invoke_async(&mut connection).await
}

fn ask_to_take(prefix: &str, limits: &[Limit], amount: Amount, deadline: i64) -> ScriptInvocation<'static> {
    let mut asked = TAKE.prepare_invoke();
    asked.arg(deadline).arg(amount.wanted.min(MOST)).arg(amount.least);
    for limit in limits {
        let idle = matches!(limit.window, Window::Idle(_));
        asked
            .key(name(prefix, limit.key))
            .arg(limit.most.min(MOST))
            .arg(millis(limit.window.length()))
            .arg(u8::from(idle));
    }
    asked
}

fn ask_to_settle(prefix: &str, settlements: &[Settlement]) -> ScriptInvocation<'static> {
    let mut asked = SETTLE.prepare_invoke();
    for settlement in settlements {
        let idle = match settlement.window {
            Window::Fixed(_) => 0,
            Window::Idle(length) => millis(length),
        };
        asked.key(name(prefix, settlement.key)).arg(settlement.period).arg(settlement.by).arg(idle);
    }
    asked
}

fn understand(answer: &[i64], limits: usize) -> Option<Taken> {
    let (granted, rest) = answer.split_first().filter(|(granted, _)| **granted >= -1)?;
    let (parts, []) = rest.as_chunks::<3>() else { return None };
    if parts.len() != limits {
        return None;
    }
    let mut levels = [Level::default(); TOGETHER];
    for (level, [used, left, period]) in levels.iter_mut().zip(parts) {
        let resets_in = Duration::from_millis(u64::try_from(*left).ok()?);
        *level = Level { used: u64::try_from(*used).ok()?, resets_in, period: u64::try_from(*period).ok()? };
    }
    Some(Taken { granted: u64::try_from(*granted).ok(), levels })
}

fn name(prefix: &str, key: Key) -> String {
    format!("{prefix}:c:{:032x}", key.bits())
}
