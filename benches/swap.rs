//! Measures a configuration swap, from the file's bytes to the stored pointer, by the number of capabilities.

use std::{fmt::Write, hint::black_box, io, path::Path, sync::Arc};

use arc_swap::ArcSwap;
use criterion::{Criterion, criterion_group, criterion_main};
use frontdesk_filters::{
    Learned, Snapshot,
    site::{self, Outside},
};

struct Disk;

impl Outside for Disk {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }
}

/// A declaration with the most capabilities of a site, each with its own schema.
fn declaration(capabilities: usize) -> String {
    let mut text = String::from("[upstream]\nurl = \"http://127.0.0.1:3000\"\n[site]\nname = \"Bench\"\n");
    for n in 0..capabilities {
        let _ = write!(
            text,
            "\n[[capabilities]]\nid = \"things.search{n}\"\ntype = \"query\"\ndescription = \"Search things of kind {n}.\"\n\
             method = \"POST\"\nendpoint = \"/agent/things/{n}\"\nrisk_level = \"low\"\nauth = \"optional\"\n\
             input_schema = {{ type = \"object\", required = [\"q\"], properties = {{ q = {{ type = \"string\" }}, \
             max = {{ type = \"number\", minimum = 0 }} }} }}\n\
             [capabilities.upstream]\nmethod = \"GET\"\npath = \"/api/things/{n}\"\n\
             [capabilities.ahp]\nresponse_types = [\"application/data\", \"text/answer\"]\n"
        );
    }
    text
}

fn swap(c: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("frontdesk-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for capabilities in [0, 20, 1000] {
        let file = folder.join(format!("{capabilities}.toml"));
        std::fs::write(&file, declaration(capabilities)).expect("a file");
        let first = site::declare(&file, &Disk).expect("a declaration");
        let current = ArcSwap::from_pointee(Snapshot::compile(&first, &Learned::default()));
        c.bench_function(&format!("swap/{capabilities}_capabilities"), |b| {
            b.iter(|| {
                let declaration = site::declare(black_box(&file), &Disk).expect("a declaration");
                current.store(Arc::new(Snapshot::compile(&declaration, &Learned::default())));
            });
        });
    }
    let _ = std::fs::remove_dir_all(folder);
}

criterion_group!(benches, swap);
criterion_main!(benches);
