//! Answers for parts of a file, without a directory or a desk.

use super::{
    super::{
        snapshot_cache::SnapshotCache,
        testing::{Pretend, manifest},
    },
    *,
};

#[test]
fn a_log_without_entries_says_so() {
    let handoff = Handoff {
        dir: "/h".into(),
        path: "/h".into(),
        needs_credential: false,
        refuses_mismatch: false,
        allow_v1: false,
    };
    for (log, body, warned) in
        [("# LOG\n## [2026-02-26] a\n", "## [2026-02-26] a\n", false), ("# LOG\n### [2026-02-26] a\n", "", true)]
    {
        let pretend = Pretend::default();
        pretend.write("LOG.md", log);
        pretend.write("MANIFEST.json", &manifest(&[("LOG.md", log)]));
        let view = SnapshotCache::default().look(Ok(&pretend), pretend.now());
        let told = answer(&view, &Wanted::File("LOG.md", Part::Entries(3)), &handoff, pretend.now()).unwrap();
        assert_eq!((&told.body[..], told.warnings.contains("no-entries")), (body.as_bytes(), warned));
    }
}
