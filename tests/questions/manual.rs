//! HTML manuals from Debian packages: downloaded with `apt-get` and unpacked once into the target folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use frontdesk_page::content::Page;
use toml::Table;

/// Where the manual of a site is unpacked; an error says why it cannot be had.
pub fn folder(site: &Table) -> Result<PathBuf, String> {
    let text = |key: &str| site[key].as_str().unwrap_or_else(|| panic!("{key}"));
    let (package, version) = (text("package"), text("version"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manuals");
    let kept = cache.join(format!("{package}_{version}"));
    if !kept.is_dir() {
        fetch(&cache, package, version, &kept)?;
    }
    Ok(kept.join(text("root")))
}

fn fetch(cache: &Path, package: &str, version: &str, kept: &Path) -> Result<(), String> {
    let work = cache.join(format!("{package}.{}", std::process::id()));
    fs::create_dir_all(&work).map_err(|error| error.to_string())?;
    let fetched = download(&work, package, version).or_else(|reason| {
        // Without package lists, as in a fresh container: some of our own.
        eprintln!("questions: {reason}; fetching package lists");
        lists(cache)?;
        download(&work, package, version)
    });
    let unpacked = fetched.and_then(|archive| {
        let tree = work.join("tree");
        run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&tree))?;
        // Another test may have been quicker; one copy is as good as the other.
        fs::rename(&tree, kept).or_else(|error| if kept.is_dir() { Ok(()) } else { Err(error.to_string()) })
    });
    _ = fs::remove_dir_all(&work);
    unpacked
}

fn download(work: &Path, package: &str, version: &str) -> Result<PathBuf, String> {
    let lists = work.with_file_name("lists");
    let mut get = Command::new("apt-get");
    get.args(["-q", "download", &format!("{package}={version}")]).current_dir(work);
    if lists.is_dir() {
        get.arg("-o").arg(format!("Dir::State::Lists={}", lists.display()));
    }
    run(&mut get)?;
    let files = fs::read_dir(work).map_err(|error| error.to_string())?;
    let mut archives =
        files.filter_map(|file| Some(file.ok()?.path())).filter(|path| path.extension().is_some_and(|e| e == "deb"));
    archives.next().ok_or_else(|| format!("apt-get left no archive of {package}"))
}

fn lists(cache: &Path) -> Result<(), String> {
    let lists = cache.join("lists");
    fs::create_dir_all(lists.join("partial")).map_err(|error| error.to_string())?;
    run(Command::new("apt-get").args(["-q", "update", "-o"]).arg(format!("Dir::State::Lists={}", lists.display())))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Every page of a manual, at the path it would have as a site.
pub fn pages(root: &Path, site: &Table) -> Vec<Arc<Page>> {
    let skip: Vec<&str> = site["skip"].as_array().into_iter().flatten().filter_map(|part| part.as_str()).collect();
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let kind = entry.file_type().expect("a kind");
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            if skip.iter().any(|part| name.contains(part)) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && name.ends_with(".html") {
                let html = fs::read(&path).expect("a page");
                found.extend(super::page(&format!("/{name}"), &String::from_utf8_lossy(&html)));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}
