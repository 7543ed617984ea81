//! Tests of the database thread: work that has begun, work that is given up, and pauses after failures.

use super::*;

/// Answers with the size of the batch. Panics or delays on command.
struct Moody;

impl Work for Moody {
    type Asked = &'static str;
    type Answer = usize;

    fn carry_out(&mut self, asked: &[&'static str]) -> Result<Vec<usize>, String> {
        match asked[0] {
            "die" => panic!("as asked"),
            "fail" => return Err("no space".into()),
            "hang" => thread::sleep(PATIENCE * 2),
            "dawdle" => thread::sleep(Duration::from_millis(400)),
            _ => {}
        }
        Ok(vec![asked.len(); asked.len()])
    }
}

fn moody() -> (Arc<WriterThread<Moody>>, Arc<Breaker<()>>) {
    let breaker = Arc::new(Breaker::closed("the file".into(), ()));
    (Arc::new(WriterThread::start("moody", Moody, breaker.clone()).unwrap()), breaker)
}

async fn sweep(owner: &WriterThread<Moody>, what: &'static str) {
    owner.tend(|_| what, |_| Swept::All).await;
}

#[tokio::test]
async fn what_waits_is_done_together() {
    let (owner, _) = moody();
    let ask = |what: &'static str| {
        let owner = owner.clone();
        tokio::spawn(async move { owner.ask(what).await })
    };
    let first = ask("dawdle");
    // The others come while it is carried out, and not while the thread takes it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asking = ["a", "b", "c"].map(ask);
    assert!(first.await.unwrap().is_ok());
    for asked in asking {
        assert!(asked.await.unwrap().unwrap() >= 3);
    }
}

#[tokio::test]
async fn what_is_begun_is_waited_for_and_the_rest_given_up() {
    let (owner, breaker) = moody();
    let ask = |what: &'static str| {
        let owner = owner.clone();
        tokio::spawn(async move { owner.ask(what).await })
    };
    let begun = ask("hang");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiting = ask("hang");
    tokio::time::sleep(PATIENCE).await;
    // New requests do not even wait.
    assert!(breaker.away().is_some());
    assert_eq!(owner.ask("fine").await, Err(Unanswered::NotDone));
    assert_eq!(waiting.await.unwrap(), Err(Unanswered::NotDone));
    assert_eq!(begun.await.unwrap(), Ok(1), "it was done");
    // The abandoned work is not done: the thread is free at once.
    sweep(&owner, "fine").await;
    assert_eq!(owner.ask("fine").await, Ok(1));
}

#[tokio::test]
async fn who_goes_away_before_it_is_begun_has_asked_nothing() {
    let (owner, _) = moody();
    let ask = |what: &'static str| {
        let owner = owner.clone();
        tokio::spawn(async move { owner.ask(what).await })
    };
    let dawdling = ask("dawdle");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let gone = ask("die");
    tokio::time::sleep(Duration::from_millis(50)).await;
    gone.abort();
    assert!(gone.await.is_err());
    let next = ask("fine");
    assert_eq!((dawdling.await.unwrap(), next.await.unwrap()), (Ok(1), Ok(1)));
}

#[tokio::test]
async fn a_failing_disk_is_away_until_a_probe_succeeds() {
    let (owner, breaker) = moody();
    assert_eq!(owner.ask("fail").await, Err(Unanswered::NotDone));
    assert_eq!(owner.ask("fine").await, Err(Unanswered::NotDone));
    assert!(breaker.away().unwrap().contains("no space"));
    owner.tend(|probing| if probing { "fail" } else { "fine" }, |_| Swept::All).await;
    assert!(breaker.away().is_some() && !breaker.probe_due());
    // Too early for a probe.
    sweep(&owner, "fine").await;
    assert!(breaker.away().is_some());
    tokio::time::sleep(Duration::from_millis(1050)).await;
    owner.tend(|_| "fine", |_| Swept::Full).await;
    assert!(breaker.away().unwrap().contains("full"));
    tokio::time::sleep(Duration::from_millis(2050)).await;
    sweep(&owner, "fine").await;
    assert_eq!(owner.ask("fine").await, Ok(1));
    assert_eq!(breaker.without(), 2);
    // A full disk does not make a reachable file count as away.
    owner.tend(|_| "fine", |_| Swept::Full).await;
    assert!(breaker.is_closed());
}

#[tokio::test]
async fn what_fails_during_a_sweep_is_not_forgotten() {
    let (owner, breaker) = moody();
    let sweeping = tokio::spawn({
        let owner = owner.clone();
        async move { sweep(&owner, "dawdle").await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    breaker.trip(&breaker.pass().unwrap(), "the disk is gone");
    sweeping.await.unwrap();
    assert!(breaker.away().unwrap().contains("gone"));
}

#[tokio::test]
async fn a_full_queue_is_no_reason_to_turn_everybody_away() {
    let (owner, breaker) = moody();
    let dawdling = tokio::spawn({
        let owner = owner.clone();
        async move { owner.ask("dawdle").await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let asking: Vec<_> = (0..QUEUE)
        .map(|_| {
            let (answer, answered) = oneshot::channel();
            let sent = owner.queue.try_send(Waiting { asked: "fine", turn: Arc::default(), answer });
            assert!(sent.is_ok());
            answered
        })
        .collect();
    assert_eq!(owner.ask("fine").await, Err(Unanswered::NotDone));
    sweep(&owner, "fine").await;
    assert!(breaker.is_closed());
    assert_eq!(dawdling.await.unwrap(), Ok(1));
    for answered in asking {
        assert!(answered.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn a_dead_thread_leaves_nobody_waiting() {
    let (owner, breaker) = moody();
    assert_eq!(owner.ask("die").await, Err(Unanswered::Unknown));
    sweep(&owner, "fine").await;
    assert!(breaker.away().unwrap().contains("restart"));
}
