//! Measures the speed of each backend: `cargo test --release speed -- --ignored --nocapture`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use frontdesk_state::{Amount, Change, Expect, Put};

use super::{Place, fixed, take};
use crate::Store;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn speed() {
    for (name, place) in [("memory", Place::memory()), ("file", Place::file()), ("redis", Place::redis().await)] {
        for tasks in [1, 64] {
            let taken = measure(&place.store, tasks, |store, task, n| async move {
                let limits =
                    [fixed(&format!("{}", n % 50), 1 << 40, 600_000), fixed(&format!("{task}"), 1 << 40, 600_000)];
                take(&store, &limits, Amount::ONE).await;
            });
            println!("{name:>7} take of two limits, {tasks:>2} tasks: {}", taken.await);
            let committed = measure(&place.store, tasks, |store, task, n| async move {
                let put = Put::Value(Bytes::from_static(&[b'x'; 200]), Duration::from_secs(60));
                let change = Change { key: format!("{task} {}", n % 4), expect: Expect::Anything, put };
                store.records.commit(&[change]).await.unwrap();
            });
            println!("{name:>7} commit of a record, {tasks:>2} tasks: {}", committed.await);
        }
    }
}

async fn measure<F: Future<Output = ()> + Send>(
    store: &Arc<Store>,
    tasks: usize,
    once: impl Fn(Arc<Store>, usize, usize) -> F + Copy + Send + 'static,
) -> String {
    let began = Instant::now();
    let end = began + Duration::from_secs(2);
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let asked = Instant::now();
                    once(store.clone(), task, times.len()).await;
                    times.push(asked.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in running {
        times.extend(task.await.unwrap());
    }
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    times.sort();
    let at = |part: f64| times[(times.len() as f64 * part) as usize];
    format!("{rate:.0}/s, half within {:?}, 99 of 100 within {:?}", at(0.5), at(0.99))
}
