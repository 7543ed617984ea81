//! Promise: `frontdesk catalog diff` shows the changes of another verb catalog and what it would break.

use crate::support::Dir;
use crate::support::desk::run_to_end;

const OLD: &str = include_str!("../conf/catalog/agtp-1.0.0.json");

/// FRANK is new, BOOK is gone, SEARCH is going.
fn newer() -> String {
    OLD.replace("\"version\": \"1.0.0\"", "\"version\": \"2.0.0\"")
        .replace("{\"name\": \"BOOK\",", "{\"name\": \"BOOK\", \"removed_in\": \"2.0.0\", \"successor\": \"RESERVE\",")
        .replace(
            "{\"name\": \"SEARCH\",",
            "{\"name\": \"SEARCH\", \"deprecated_in\": \"2.0.0\", \"removed_in\": \"3.0.0\",",
        )
        .replace("{\"name\": \"QUERY\",", "{\"name\": \"FRANK\"}, {\"name\": \"QUERY\",")
}

fn catalogs() -> Dir {
    let dir = Dir::new();
    dir.write("old.json", OLD);
    dir.write("new.json", newer());
    dir
}

#[test]
fn catalog_diff_says_what_comes_and_goes() {
    let dir = catalogs();
    let (code, out, err) = run_to_end(&["catalog", "diff", "old.json", "new.json"], dir.path());
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "1.0.0 to 2.0.0\nadded: FRANK\nremoved: BOOK (write RESERVE)\ndeprecated: SEARCH, gone in 3.0.0\n");
    let (code, out, _) = run_to_end(&["catalog", "diff", "old.json", "old.json"], dir.path());
    assert_eq!((code, out.as_str()), (0, "1.0.0 to 1.0.0\nthe same verbs\n"));
}

#[test]
fn catalog_diff_says_what_would_break_in_a_directory() {
    let dir = catalogs();
    std::fs::create_dir_all(dir.join("sites/shop")).expect("a directory");
    std::fs::create_dir_all(dir.join("sites/.git")).expect("a directory");
    dir.write("sites/.git/hidden.toml", "this is no TOML");
    dir.write("sites/readme.txt", "this is no TOML");
    dir.write("sites/fine.toml", "[agtp]\n[[capabilities]]\nid = 'rooms'\ntype = 'query'\n");
    let against = ["catalog", "diff", "old.json", "new.json", "--against", "sites"];
    let (code, out, err) = run_to_end(&against, dir.path());
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.ends_with("0 things would break in 1 file\n"), "{out}");

    dir.write(
        "sites/shop/frontdesk.toml",
        "[[capabilities]]\nid = 'a'\ntype = 'query'\nagtp = { method = 'BOOK', path = '/rooms' }\n\
         [[capabilities]]\nid = 'b'\ntype = 'query'\nagtp = { path = '/rooms/frank' }\n",
    );
    let (code, out, err) = run_to_end(&against, dir.path());
    assert_eq!(code, 1, "{out}{err}");
    assert!(
        out.contains("sites/shop/frontdesk.toml:4: capabilities[0].agtp.method: \"BOOK\" is gone in 2.0.0"),
        "{out}"
    );
    assert!(
        out.contains("(endpoint)\n") && out.contains("which is the verb FRANK") && out.contains("(path)\n"),
        "{out}"
    );
    assert!(out.ends_with("2 things would break in 2 files\n"), "{out}");

    let (code, out, _) = run_to_end(&[&against[..], &["--json"]].concat(), dir.path());
    let told: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &told["to"], &told["files"]), (1, &"2.0.0".into(), &2.into()));
    assert_eq!(told["removed"][0]["successor"], "RESERVE");
    assert_eq!((&told["breaks"][0]["kind"], &told["breaks"][0]["line"]), (&"endpoint".into(), &4.into()));
    assert_eq!(told["breaks"][1]["kind"], "path");
}

#[test]
fn catalog_diff_says_what_cannot_be_read() {
    let dir = catalogs();
    dir.write("none.json", "{}");
    std::fs::create_dir(dir.join("sites")).expect("a directory");
    dir.write("sites/broken.toml", "a = [");
    for (args, words) in [
        (&["old.json", "gone.json"][..], "gone.json: cannot be read"),
        (&["none.json", "new.json"], "none.json: is no catalog"),
        (&["old.json", "none.json"], "none.json: is no catalog"),
        (&["old.json", "new.json", "--against", "nowhere"], "nowhere: cannot be read"),
        (&["old.json", "new.json", "--against", "sites"], "broken.toml:1: "),
    ] {
        let (code, out, err) = run_to_end(&[&["catalog", "diff"], args].concat(), dir.path());
        assert_eq!((code, out.as_str()), (2, ""), "{words}");
        assert!(err.contains(words), "{words}: {err}");
    }
}
