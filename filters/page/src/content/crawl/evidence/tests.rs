//! What speaks for a link, by where its page came from and what the page declares.

use std::sync::LazyLock;

use super::*;

const FILE: Served = Served::File { in_parts: true };

fn page(at: &str, served: Served, is_declared: bool) -> Evidence<'_> {
    static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
    Evidence {
        controls: &NONE,
        at,
        served,
        is_markdown: false,
        is_declared,
        has_canonical: false,
        is_listing: false,
        sequence: &[],
        canonical: None,
    }
}

fn speaks(evidence: &Evidence<'_>, expected: Speaks, links: &[&str]) {
    for link in links {
        assert_eq!(evidence.speaks_for(link, false), expected, "{link} in {evidence:?}");
    }
}

fn followed(evidence: &Evidence<'_>, link: &str) -> bool {
    may_be_followed(link, evidence.speaks_for(link, false))
}

#[test]
fn a_file_leads_to_files_of_its_folder_whatever_they_are_called() {
    let page = page("/docs/cli/", FILE, false);
    speaks(&page, Speaks::Tree, &["/docs/cli/stop.html", "/docs/api/delete.HTM", "/docs/cli/stop/", "/docs/7/kill.md"]);
    speaks(&page, Speaks::Ending, &["/other/delete.html"]);
    speaks(&page, Speaks::Nothing, &["/docs/cli/stop", "/docs/cli/stop.php", "/docs/x.html?y=1", "/other/", "/x"]);
    let root = self::page("/index.html", FILE, false);
    speaks(&root, Speaks::Tree, &["/stop.html", "/a/b/delete.html"]);
    speaks(&root, Speaks::Nothing, &["/", "/stop/", "/led/on", "/H", "/.html"]);
    assert_eq!(root.speaks_for("/guide/stop/", true), Speaks::Guess);
    assert_eq!(root.speaks_for("/led/on", true), Speaks::Nothing);
}

#[test]
fn a_file_that_declares_itself_published_leads_to_names_without_an_ending() {
    let page = page("/reference/cli/start/", FILE, true);
    speaks(&page, Speaks::Tree, &["/reference/cli/stop/", "/reference/cli/stop", "/reference/cli/5/delete.html"]);
    speaks(&page, Speaks::Guess, &["/engine/install/", "/about", "/containers/5/stop"]);
    assert!(followed(&page, "/reference/cli/docker/logout/") && followed(&page, "/cli/stop"));
    assert!(!followed(&page, "/logout") && !followed(&page, "/containers/5/stop") && !followed(&page, "/x?page=2"));
    // A server that can send no part of a file has no names without an ending either.
    let simple = self::page("/docs/", Served::File { in_parts: false }, true);
    speaks(&simple, Speaks::Tree, &["/docs/stop/", "/docs/stop.html"]);
    speaks(&simple, Speaks::Nothing, &["/docs/stop", "/about"]);
}

#[test]
fn what_a_program_made_leads_nowhere_by_itself() {
    for is_declared in [false, true] {
        let page = page("/docs/cli/", Served::Made, is_declared);
        speaks(&page, Speaks::Nothing, &["/docs/cli/stop.html", "/docs/a/", "/docs/cli/?page=2", "/about", "/a.md"]);
    }
    let personal = Evidence { canonical: Some("/blog/a-b"), ..page("/blog/a-b", Served::Personal, true) };
    speaks(&personal, Speaks::Nothing, &["/blog/c-d", "/blog/x.html"]);
    assert!(!personal.is_own_path("/blog/a-b?x=1"));
    let markdown = Evidence { is_markdown: true, ..page("/a.md", Served::Made, false) };
    speaks(&markdown, Speaks::Shape, &["/b.md", "/c.html"]);
    speaks(&markdown, Speaks::Nothing, &["/b", "/stop/"]);
}

#[test]
fn a_page_of_a_book_leads_to_pages_beside_it_whatever_server_it_came_from() {
    let next = ["/faq/install.html".to_owned()];
    let page = Evidence { sequence: &next, ..page("/faq/index.html", Served::Made, true) };
    speaks(&page, Speaks::Written, &["/faq/install.html", "/faq/a/uninstall.html", "/faq/b.md"]);
    assert!(followed(&page, "/faq/basics.en.html"));
    for link in ["/faq/stop.html", "/faq/restart-all.html", "/faq/how-to-delete.html"] {
        assert!(!followed(&page, link), "{link}");
    }
    speaks(&page, Speaks::Nothing, &["/faq/install", "/faq/a/", "/other/x.html", "/faq/x.html?y=1"]);
    let personal = Evidence { served: Served::Personal, ..page };
    speaks(&personal, Speaks::Nothing, &["/faq/install.html"]);
}

#[test]
fn a_listing_leads_to_the_documents_and_folders_in_it() {
    let page = Evidence { is_listing: true, ..page("/faq/", Served::Made, false) };
    let relative = |link: &str| page.speaks_for(link, true);
    assert_eq!(relative("/faq/stop.html"), Speaks::Tree);
    assert_eq!(relative("/faq/guide/"), Speaks::Place);
    for link in ["/faq/stop", "/faq/a.cgi", "/faq/?C=N;O=D", "/other/"] {
        assert_eq!(relative(link), Speaks::Nothing, "{link}");
    }
}

#[test]
fn a_published_page_leads_to_pages_of_its_shape() {
    let page = Evidence { canonical: Some("/blog/hello-world"), ..page("/blog/hello-world", Served::Made, true) };
    speaks(&page, Speaks::Shape, &["/blog/next-post", "/blog/delete-post"]);
    speaks(&page, Speaks::Nothing, &["/blog/", "/cart/add-it", "/clear-cache", "/blog/hello-world/like", "/blog/5"]);
    let users = Evidence { canonical: Some("/users/bob"), ..self::page("/users/bob", Served::Made, true) };
    assert!(followed(&users, "/users/ann"));
    for link in ["/users/delete", "/users/promote", "/users/bob/promote", "/users/bob/make-admin", "/users/logout"] {
        assert!(!followed(&users, link), "{link}");
    }
    let undeclared = Evidence { is_declared: false, ..users };
    speaks(&undeclared, Speaks::Nothing, &["/users/ann"]);
}

#[test]
fn a_document_has_a_next_page() {
    let next = ["/news?page=3".to_owned()];
    let page = Evidence { sequence: &next, ..page("/blog/", FILE, false) };
    assert!(followed(&page, "/blog/?page=2") && followed(&page, "/news?page=3"));
    for link in ["/blog/?page=x", "/blog/?page=2&delete=5", "/news?page=2", "/blog/?stop=2", "/blog/?page="] {
        assert!(!followed(&page, link), "{link}");
    }
}
