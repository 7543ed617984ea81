//! Measures rate limits for a caller: counts in an empty slab and in one with a million addresses, and tokens.

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frontdesk_filters::{
    limits::tokens,
    state::{Amount, Class, Key, Limit, Settlement, Slab, Subject, Window},
};

const MILLION: u32 = 1_000_000;
const NOW: Duration = Duration::from_secs(1);
const MINUTE: Window = Window::Fixed(Duration::from_secs(60));

/// An address for each client.
fn address(n: u32) -> Subject {
    Subject::address(IpAddr::V4(Ipv4Addr::from_bits(n)))
}

fn limit(class: Class, n: u32) -> Limit {
    Limit { key: Key::new(class, address(n)), most: u64::MAX, window: MINUTE }
}

/// The limits of a request: of the address, of the site, and a session's tokens.
fn three(n: u32) -> [Limit; 3] {
    [limit(Class::Anonymous, n), limit(Class::Site, u32::MAX), limit(Class::Session, n)]
}

/// The next number below a million, in pseudo-random order.
fn any(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % u64::from(MILLION)) as u32
}

/// The resident memory of this process in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// A slab with a count for each of a million addresses. Prints its time and memory.
fn million() -> Slab {
    let before = resident();
    let slab = Slab::new(MILLION as usize);
    let empty = resident();
    let start = Instant::now();
    for n in 0..MILLION {
        slab.take(&[limit(Class::Anonymous, n)], Amount::ONE, NOW);
    }
    let taken = start.elapsed().as_nanos() / u128::from(MILLION);
    let full = resident();
    let kept =
        (0..MILLION).filter(|n| slab.take(&[limit(Class::Anonymous, *n)], Amount::NOTHING, NOW).levels[0].used == 1);
    println!(
        "slab/memory: {:.1} MB empty, {:.1} MB with {} addresses ({} of them found again), {taken} ns for each first use",
        (empty - before) as f64 / 1e6,
        (full - before) as f64 / 1e6,
        slab.tracked(),
        kept.count(),
    );
    slab
}

fn takes(c: &mut Criterion, name: &str, slab: &Slab) {
    c.bench_function(&format!("slab/{name}/look"), |b| {
        b.iter(|| slab.take(black_box(&[limit(Class::Anonymous, 7)]), Amount::NOTHING, NOW));
    });
    c.bench_function(&format!("slab/{name}/take_1_limit"), |b| {
        b.iter(|| slab.take(black_box(&[limit(Class::Anonymous, 7)]), Amount::ONE, NOW));
    });
    c.bench_function(&format!("slab/{name}/take_3_limits"), |b| {
        b.iter(|| slab.take(black_box(&three(7)), Amount::ONE, NOW));
    });
    let mut state = 1;
    c.bench_function(&format!("slab/{name}/settle_1_limit"), |b| {
        let period = slab.take(&[limit(Class::Anonymous, 7)], Amount::ONE, NOW).levels[0].period;
        let settlement = Settlement { key: limit(Class::Anonymous, 7).key, window: MINUTE, period, by: 0 };
        b.iter(|| {
            state += 1;
            slab.settle(black_box(&[Settlement { by: state % 3 - 1, ..settlement }]), NOW);
        });
    });
}

fn slab(c: &mut Criterion) {
    let slab = million();
    takes(c, "million", &slab);
    let mut state = 1;
    c.bench_function("slab/million/take_1_limit_any_address", |b| {
        b.iter(|| slab.take(&[limit(Class::Anonymous, any(&mut state))], Amount::ONE, NOW));
    });
    // Sessions are new at first: this fills the table and continues with evictions.
    c.bench_function("slab/million/take_3_limits_any_address", |b| {
        b.iter(|| slab.take(&three(any(&mut state)), Amount::ONE, NOW));
    });
    let mut next = MILLION;
    c.bench_function("slab/million/take_1_limit_flood_of_new_addresses", |b| {
        b.iter(|| {
            next = next.wrapping_add(1);
            slab.take(&[limit(Class::Anonymous, next)], Amount::ONE, NOW)
        });
    });
    takes(c, "empty", &Slab::new(MILLION as usize));
}

const PROSE: &str = "The museum is open from ten to six every day except Monday, and until nine on the first Thursday \
    of each month. Tickets can be bought at the door or reserved through the website up to thirty days ahead; a \
    reservation holds for a quarter of an hour. Children under twelve don't pay, students and seniors get a third off. \
    Please note: large bags (over 40 x 30 cm) aren't allowed inside, but lockers are free of charge. The permanent \
    collection covers painting, photography and design since 1850, whereas the annex shows what's new. Wheelchairs \
    may be borrowed at the information desk, and guided tours in five languages start at 11:00, 14:00 and 16:30.\n\n";

/// A common estimate of tokens: four for three words.
fn estimate(text: &str) -> u32 {
    (text.split_whitespace().count() * 4 / 3) as u32
}

fn texts(c: &mut Criterion) {
    let before = resident();
    let start = Instant::now();
    tokens::count("");
    let loaded = start.elapsed();
    println!("tokens/load: {loaded:.0?}, {:.1} MB", (resident() - before) as f64 / 1e6);
    let mut group = c.benchmark_group("tokens");
    for (name, size) in [("1_KB", 1 << 10), ("16_KB", 16 << 10)] {
        let text = &PROSE.repeat(size / PROSE.len() + 1)[..size];
        println!("tokens/{name}: {} tokens, {} by the number of words", tokens::count(text), estimate(text));
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("{name}_of_prose"), |b| b.iter(|| tokens::count(black_box(text))));
        group.bench_function(format!("{name}_estimated_by_words"), |b| b.iter(|| estimate(black_box(text))));
    }
    let mut state = 1;
    let rare: String = (0..4000).filter_map(|_| char::from_u32(any(&mut state))).collect();
    let letters: String = (0..16 << 10).map(|_| char::from(b'a' + (any(&mut state) % 26) as u8)).collect();
    for (name, text) in [("rare_characters", rare), ("letters_without_words", letters)] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("16_KB_of_{name}"), |b| b.iter(|| tokens::count(black_box(&text))));
    }
}

criterion_group!(benches, slab, texts);
criterion_main!(benches);
