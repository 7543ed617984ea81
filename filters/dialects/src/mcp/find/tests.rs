//! A capability is found by what it does, and told in a bounded form.

use super::*;
use crate::ahp::listed;

fn finder(count: usize) -> Finder {
    finder_with(count, &[])
}

/// The same, with these capabilities of the site too.
fn finder_with(count: usize, own: &[&str]) -> Finder {
    let mut text = "[upstream]\nurl = 'http://127.0.0.1:1'\n[discovery]\n[content]\nconcierge = false\n".to_owned();
    for (id, group, description) in [
        ("repos.list", "repos", "List repositories of a user"),
        ("repos.delete", "repos", "Delete a repository"),
        ("issues.create", "issues", "Create an issue"),
        ("issues.list_comments", "issues", "List the comments of an issue"),
    ] {
        text += &format!(
            "[[capabilities]]\nid = '{id}'\ntype = 'query'\nrisk_level = 'low'\ndescription = '{description}'\n\
             group = '{group}'\nendpoint = '/agent/{id}'\n\
             input_schema = {{ type = 'object', properties = {{ owner = {{ type = 'string' }} }} }}\n"
        );
    }
    for id in own {
        text +=
            &format!("[[capabilities]]\nid = '{id}'\ntype = 'query'\nrisk_level = 'low'\nendpoint = '/agent/{id}'\n");
    }
    for number in 0..count {
        text += &format!(
            "[[capabilities]]\nid = 'thing{number}'\ntype = 'query'\nrisk_level = 'low'\ndescription = 'Get thing {number}'\n\
             group = 'things'\nendpoint = '/agent/thing{number}'\n"
        );
    }
    let path = std::path::Path::new("/x.toml");
    let declaration =
        frontdesk_config::testing::declare_text(path, &text, &frontdesk_config::testing::Nowhere).unwrap();
    let all = listed::all(&declaration);
    Finder::new(&all.iter().collect::<Vec<_>>(), &declaration)
}

fn found(finder: &Finder, arguments: Value) -> Value {
    finder.found(arguments.as_object().unwrap()).unwrap()["structuredContent"].clone()
}

#[test]
fn a_capability_is_found_by_what_it_does() {
    let finder = finder(100);
    for (query, name) in [
        ("delete a repository", "repos_delete"),
        ("which repositories does a user have", "repos_list"),
        ("creating issues", "issues_create"),
        ("comments on an issue", "issues_list_comments"),
        ("thing 42", "thing42"),
    ] {
        let told = found(&finder, json!({ "query": query }));
        assert_eq!(told["capabilities"][0]["name"], name, "{query}: {told}");
    }
    assert_eq!(found(&finder, json!({ "query": "zebra" }))["total"], 0);
    assert!(found(&finder, json!({ "query": "zebra" }))["groups"].as_array().unwrap().contains(&json!("things")));
}

#[test]
fn groups_and_pages_lead_to_every_capability() {
    let finder = finder(100);
    let mut names = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let told = found(&finder, json!({ "group": "Things", "offset": offset, "limit": 15 }));
        names.extend(told["capabilities"].as_array().unwrap().iter().map(|one| one["name"].clone()));
        offset = told["next_offset"].clone();
    }
    assert_eq!(names.len(), 100);
    let one = found(&finder, json!({ "name": "repos_list" }));
    assert_eq!(one["capabilities"][0]["inputSchema"]["properties"]["owner"]["type"], "string");
    let [find, call] = finder.tools(7);
    assert!(find["description"].as_str().unwrap().contains("things (100)"), "{find}");
    assert_eq!((&find["name"], &call["name"]), (&json!(FIND), &json!(CALL)));
    assert!(finder.instructions().contains("find_capability finds the others, call_capability calls them"));
    for wrong in [json!({ "query": 1 }), json!({ "limit": "x" }), json!({ "offset": -1 })] {
        assert!(finder.found(wrong.as_object().unwrap()).is_err(), "{wrong}");
    }
}

#[test]
fn a_large_schema_is_told_in_outline_and_whole_by_name() {
    let member = json!({ "type": "object", "description": "d".repeat(500), "properties": { "x": {} } });
    let members: Map<String, Value> = (0..10).map(|n| (format!("m{n}"), member.clone())).collect();
    let schema = json!({ "type": "object", "required": ["m1"], "properties": members });
    let short = outlined(&schema);
    assert!(short.to_string().len() < SCHEMA && short["required"] == json!(["m1"]), "{short}");
    assert!(short["properties"]["m1"].get("properties").is_none());
}

#[test]
fn words_are_compared_without_their_endings() {
    assert_eq!(words("Listing the repositories"), words("list repository"));
    assert_eq!(words("issues"), words("issue"));
    assert_eq!(words("created"), words("create"));
    assert_eq!(words("status"), ["status"]);
}

#[test]
fn a_page_far_behind_the_last_is_empty() {
    let told = found(&finder(10), json!({ "query": "thing", "offset": u64::MAX, "limit": 20 }));
    assert_eq!((&told["total"], &told["capabilities"], &told["next_offset"]), (&json!(10), &json!([]), &Value::Null));
}

#[test]
fn capabilities_with_the_names_of_the_two_tools_keep_them() {
    let finder = finder_with(10, &["find.capability", "find_capability_2"]);
    let [find, call] = finder.tools(7);
    assert_eq!((&find["name"], &call["name"]), (&json!("find_capability_3"), &json!("call_capability")));
    assert!(call["description"].as_str().unwrap().contains("find_capability_3"), "{call}");
    assert!(finder.instructions().starts_with("Not every capability of this site is a tool: find_capability_3 finds"));
}
