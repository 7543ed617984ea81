//! Tests of the crawl lease and of shared crawl results, on a real file store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use frontdesk_filters::{content::Page, content::crawl::Kept, site, site::OnError};

use super::*;

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn settings(home: StoreHome) -> site::Store {
    site::Store {
        home,
        tls: site::StoreTls::default(),
        on_error: OnError::Deny,
        patience: Duration::from_secs(10),
        wait_replicas: None,
        prefix: String::new(),
        max_keys: 1_000,
        max_records: 1 << 22,
    }
}

fn stage() -> (Directory, Arc<Store>) {
    let path = std::env::temp_dir().join(format!("frontdesk-reader-{}", Uuid::now_v7()));
    fs::create_dir_all(&path).unwrap();
    let store = Store::open(&settings(StoreHome::File(path.clone()))).unwrap();
    (Directory(path), store)
}

struct Nothing;

impl site::Outside for Nothing {
    fn var(&self, _: &str) -> Option<String> {
        None
    }
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
    fn is_dir(&self, _: &Path) -> bool {
        false
    }
}

fn rules(url: &str, content: &str) -> Rules {
    let text = format!("[upstream]\nurl = '{url}'\n[content]\n{content}\n");
    let declaration = site::declare_text(Path::new("/x.toml"), &text, &Nothing).unwrap();
    Rules::new(declaration.settings.crawl(), url).unwrap()
}

fn shared(store: &Arc<Store>, content: &str) -> Shared {
    Shared::of(store, &rules("http://site.test", content), Duration::from_secs(900)).unwrap()
}

fn shelf(words: &str, count: usize) -> Books {
    let mut books = Books::default();
    for n in 0..count {
        let page = Page {
            path: format!("/{n}"),
            title: "T".into(),
            description: None,
            language: None,
            markdown: format!("{n} {words}"),
            links: Vec::new(),
            canonical: None,
            noindex: false,
            nofollow: false,
            alternate_markdown: None,
            modified: None,
            anchors: Vec::new(),
        };
        let (target, page) = (page.path.as_str().into(), Arc::new(page));
        let kept = Kept {
            page,
            links: Vec::new(),
            lists: Vec::new(),
            etag: None,
            last_modified: None,
            listed_modified: None,
            guessed: false,
            checked: 0,
        };
        books.put(&target, kept, 1_000);
    }
    books
}

#[tokio::test]
async fn one_at_a_time_has_the_lease() {
    let (_directory, store) = stage();
    let (mut one, mut two) = (shared(&store, ""), shared(&store, "max_pages = 3"));
    let mut other = Shared::of(&store, &rules("http://other.test", ""), Duration::ZERO).unwrap();
    assert_eq!(one.turn().await, Ok(Turn::Ours));
    assert_eq!((two.turn().await, other.turn().await), (Ok(Turn::Anothers), Ok(Turn::Ours)));
    two.let_go().await;
    assert_eq!((two.turn().await, one.turn().await), (Ok(Turn::Anothers), Ok(Turn::Ours)));
    one.let_go().await;
    assert_eq!((two.turn().await, one.turn().await), (Ok(Turn::Ours), Ok(Turn::Anothers)));
}

#[tokio::test]
async fn a_lease_is_renewed_and_noticed_when_it_is_lost() {
    let (_directory, store) = stage();
    let (mut one, mut two) = (shared(&store, ""), shared(&store, ""));
    assert_eq!(one.turn().await, Ok(Turn::Ours));
    let old = |shared: &mut Shared| {
        let (version, since) = shared.lease.unwrap();
        shared.lease = Some((version, since.checked_sub(RENEWED).unwrap()));
        version
    };
    let first = old(&mut one);
    assert_eq!(one.turn().await, Ok(Turn::Ours));
    assert_ne!(one.lease.unwrap().0, first, "written again");
    // The lease expired while this process was paused, and another replica has it.
    old(&mut one);
    store
        .records
        .commit(&[Change { key: one.key("lease"), expect: Expect::Anything, put: Put::Nothing }])
        .await
        .unwrap();
    assert_eq!(two.turn().await, Ok(Turn::Ours));
    assert_eq!(one.turn().await, Ok(Turn::Anothers));
    one.let_go().await;
    old(&mut two);
    assert_eq!(two.turn().await, Ok(Turn::Ours), "who has none gives none up");
}

#[tokio::test]
async fn what_one_has_read_the_others_find() {
    let (_directory, store) = stage();
    let (mut one, mut two) = (shared(&store, ""), shared(&store, ""));
    assert_eq!(two.news().await.map(|(books, at)| (books.is_some(), at)), Ok((false, 0)));
    one.write(&shelf("first", 3), 0, true).await.unwrap();
    let (books, at) = two.news().await.unwrap();
    assert_eq!((books.map(|books| books.len()), at), (Some(3), 0));
    assert!(two.news().await.unwrap().0.is_none(), "nothing new");
    let number = one.known.clone().unwrap().number;
    one.write(&shelf("first", 3), 7, false).await.unwrap();
    assert_eq!(one.known.clone().unwrap().number, number, "the same pages are not written again");
    let (books, at) = two.news().await.unwrap();
    assert_eq!((books.is_none(), at), (true, 7));
    one.write(&shelf("second", 4), 8, true).await.unwrap();
    assert_eq!(two.news().await.unwrap().0.map(|books| books.len()), Some(4));
    let gone = store.records.get(&one.piece(&number, 0)).await.unwrap();
    assert!(gone.is_none(), "what nobody needs takes no room");
    // Under other rules the crawl counts as incomplete, and no more pages are taken than they allow.
    let (books, at) = shared(&store, "max_pages = 2").news().await.unwrap();
    assert_eq!((books.map(|books| books.len()), at), (Some(2), 0));
}

#[tokio::test]
async fn no_more_of_the_store_is_taken_than_its_share() {
    let (_directory, store) = stage();
    let mut one = shared(&store, "");
    let noise: String = (0..200_000u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
    one.write(&shelf(&noise, 20), 1, true).await.unwrap();
    let mut taken = 0;
    for index in 0..one.known.clone().unwrap().pieces {
        let key = one.piece(&one.known.clone().unwrap().number, index);
        taken += store.records.get(&key).await.unwrap().unwrap().value.len();
    }
    assert!(taken > 0 && taken <= store.settings().max_records / MOST_SHARE, "{taken}");
}

#[test]
fn what_is_this_processs_own_is_not_shared() {
    let store = Store::open(&settings(StoreHome::Memory)).unwrap();
    assert!(Shared::of(&store, &rules("http://site.test", ""), Duration::ZERO).is_none());
    for bad in ["", "{}", "{\"number\":\"x\",\"pieces\":1001,\"at\":1,\"written\":1,\"rules\":\"x\"}"] {
        assert_eq!(Reading::from_bytes(bad.as_bytes()), None);
    }
}
