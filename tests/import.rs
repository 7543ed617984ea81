//! Promise: `frontdesk import` turns a site's existing API description into a file that `frontdesk check` accepts.

use crate::support::desk::run_to_end;
use crate::support::{Dir, Origin, Reply, Request};

const PETS: &str = "openapi: 3.0.3\ninfo: {title: Pets, version: '1'}\nservers: [{url: https://pets.example.com/v1}]\n\
    paths:\n  /pets/{id}:\n    parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n    \
    get: {operationId: getPet, responses: {}}\n    delete: {operationId: deletePet, deprecated: true, responses: {}}\n";

#[test]
fn import_writes_what_check_accepts() {
    let dir = Dir::new();
    dir.write("pets.yaml", PETS);
    let (code, out, err) = run_to_end(&["import", "openapi", "pets.yaml", "--out", "frontdesk.toml"], dir.path());
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(err.contains("1 capability, 1 operation left out") && err.contains("check frontdesk.toml"), "{err}");
    let written = std::fs::read_to_string(dir.join("frontdesk.toml")).expect("the file");
    assert!(written.contains("id = \"get_pet\"") && written.contains("# review: "), "{written}");
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    assert_eq!(code, 0, "{out}{err}");

    assert!(written.contains("agtp = { method = \"FETCH\", path = \"/pets/{id}\" } # review: "), "{written}");

    let trap = PETS.replace("/pets/{id}:", "/pets/{id}/profile:");
    dir.write("trap.yaml", trap);
    let (code, out, err) = run_to_end(&["import", "openapi", "trap.yaml"], dir.path());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("# \"profile\" in /pets/{id}/profile is the verb PROFILE, and no path with a verb"), "{out}");
    assert!(out.contains("agtp = { method = \"FETCH\", path = \"/pets/{id}/profiles\" }"), "{out}");

    let args = ["import", "openapi", "pets.yaml", "--deprecated"];
    let (code, out, err) = run_to_end(&args, dir.path());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("id = \"delete_pet\"") && !err.contains('\x1b'), "{out}{err}");
}

#[test]
fn import_writes_over_nothing_unless_it_is_meant() {
    let dir = Dir::new();
    dir.write("pets.yaml", PETS);
    dir.write("mine.toml", "mine");
    let args = ["import", "openapi", "pets.yaml", "--out", "mine.toml", "--force"];
    let (code, _, err) = run_to_end(&args[..5], dir.path());
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("mine.toml") && err.contains("--force"), "{err}");
    assert_eq!(std::fs::read(dir.join("mine.toml")).expect("the file"), b"mine");
    let (code, _, err) = run_to_end(&args, dir.path());
    assert_eq!(code, 0, "{err}");
    assert_ne!(std::fs::read(dir.join("mine.toml")).expect("the file"), b"mine");
}

#[test]
fn import_says_what_is_wrong_with_a_document() {
    let dir = Dir::new();
    let lost = PETS.replace("{}}\n    delete", "{200: {$ref: '#/components/responses/None'}}}\n    delete");
    for (text, code, words) in [
        (lost.as_str(), 1, "/paths/~1pets~1{id}/get/responses/200: $ref \"#/components/responses/None\" leads nowhere"),
        ("swagger: '1.2'\n", 2, "another version than 2.0"),
        ("a: [\n", 2, "line"),
        ("{\"openapi\": ", 2, "is not JSON"),
        ("\u{0}", 2, "pets.yaml: "),
    ] {
        dir.write("pets.yaml", text);
        let (ended, out, err) = run_to_end(&["import", "openapi", "pets.yaml"], dir.path());
        assert_eq!((ended, out.as_str()), (code, ""), "{text}: {err}");
        assert!(err.contains(words), "{text}: {err}");
    }
    let (code, _, err) = run_to_end(&["import", "openapi", "missing.yaml"], dir.path());
    assert_eq!(code, 2);
    assert!(err.contains("missing.yaml: cannot be read"), "{err}");
    assert_eq!(run_to_end(&["import", "wsdl", "pets.yaml"], dir.path()).0, 2, "an unknown format");
}

#[tokio::test]
async fn import_fetches_a_document() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/openapi.yaml" => Reply::new(200).body(PETS.replace("https://pets.example.com/v1", "/v1")),
        "/elsewhere.yaml" => {
            let there = PETS.replace("https://pets.example.com/v1", "/v1").replace("/pets/{id}:", "/pets:");
            Reply::new(200).body(there.replace("name: id, in: path, required: true", "name: id, in: query"))
        }
        "/moved" => Reply::new(302).header("Location", "/openapi.yaml"),
        _ => Reply::new(404),
    })
    .await;
    let url = origin.url();
    let ended = async |path: &str| {
        let from = format!("{url}{path}");
        let ended =
            tokio::task::spawn_blocking(move || run_to_end(&["import", "openapi", &from], &std::env::temp_dir()));
        crate::support::soon("it ends", ended).await.expect("the command")
    };
    let (code, out, err) = ended("/openapi.yaml").await;
    assert_eq!(code, 0, "{err}");
    assert!(out.contains(&format!("url = \"{url}\"")) && out.contains("path = \"/v1/pets/{id}\""), "{out}");
    assert!(!err.contains("404"), "{err}");
    let (code, _, err) = ended("/elsewhere.yaml").await;
    assert_eq!(code, 0, "{err}");
    assert!(err.contains(&format!("GET {url}/v1/pets is 404")), "{err}");
    for path in ["/moved", "/none"] {
        let (code, _, err) = ended(path).await;
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("cannot be fetched"), "{err}");
    }
}

/// A document may name any path; whatever it says, only its own server is asked.
#[tokio::test]
async fn import_asks_no_other_host_than_the_documents() {
    let inside = Origin::start(|_: &Request| Reply::json("{}")).await;
    let path = inside.url().trim_start_matches("http:").to_owned();
    let outside = Origin::start(move |request: &Request| match request.target.as_str() {
        "/openapi.json" => Reply::json(format!(
            r#"{{"openapi":"3.0.3","info":{{"title":"x","version":"1"}},"servers":[{{"url":"/"}}],
                "paths":{{"{}/internal?x=1":{{"get":{{"operationId":"a","responses":{{}}}}}}}}}}"#,
            path
        )),
        _ => Reply::new(404),
    })
    .await;
    let from = format!("{}/openapi.json", outside.url());
    let ended = tokio::task::spawn_blocking(move || run_to_end(&["import", "openapi", &from], &std::env::temp_dir()));
    let (code, out, err) = crate::support::soon("it ends", ended).await.expect("the command");
    assert!(code == 0 && out.contains("internal"), "{out}{err}");
    assert_eq!(inside.requests().len(), 0, "{err}");
}
