//! Tests of decisions on the page: answers, approvals, and refused forms of other sites.

use super::*;

#[tokio::test]
async fn page_forms_of_others_do_nothing() {
    let (_origin, desk) = agency::open().await;
    let question = question("question_ask", "Do you take dogs?");
    let asked = assert_reply(&desk.ask(Via::H1, asking(&question)).await, "accepted");
    let (tab, id) = (log_in(&desk).await, waiting_id(&desk).await);
    let token = tab.form_token(&desk).await;
    let to = format!("{}answer", tab.base);
    let approve = [("form", token.as_str()), ("id", id.as_str()), ("word", "approve")];
    let forged = |fields: &[(&str, &str)]| {
        let form = Ask::post(&to, form(fields)).header("Cookie", &tab.cookie);
        form.header("Content-Type", "application/x-www-form-urlencoded")
    };
    let here = format!("http://{}", desk.ports.admin);
    for (what, status, ask) in [
        ("no form token", 403, forged(&approve[1..]).header("Origin", &here)),
        ("another's", 403, forged(&[("form", &"0".repeat(64)), approve[1], approve[2]]).header("Origin", &here)),
        ("another origin", 403, forged(&approve).header("Origin", "http://evil.test")),
        ("no origin to speak of", 403, forged(&approve).header("Origin", "null")),
        ("the site beside us", 403, forged(&approve).header("Origin", &format!("http://{}", desk.ports.http))),
        ("no cookie", 401, sent(&desk, &to, &approve)),
        ("no form", 415, Ask::post(&to, "{}").header("Cookie", &tab.cookie).header("Content-Type", "text/plain")),
        ("GET", 405, Ask::get(&format!("{to}?word=approve&id={id}&form={token}")).header("Cookie", &tab.cookie)),
        ("too much", 413, forged(&[("said", &"x".repeat(70_000))]).header("Origin", &here)),
    ] {
        let response = desk.admin(ask).await;
        assert_eq!(response.status, status, "{what}: {}", response.text());
    }
    // What says nothing, or not what it should.
    for fields in [
        &[("id", id.as_str())][..],
        &[("id", id.as_str()), ("word", "perhaps")],
        &[("id", id.as_str()), ("word", "answer"), ("said", " ")],
        &[("id", id.as_str()), ("word", "answer"), ("said", "x"), ("data", "[1]")],
    ] {
        assert_eq!(tab.answer(&desk, fields).await.status, 400, "{fields:?}");
    }
    assert_eq!(tab.answer(&desk, &[("id", "nothing"), ("word", "approve")]).await.status, 404);
    assert_eq!(waiting_id(&desk).await, id, "it still waits");
    let pending = assert_reply(&desk.ask(Via::H1, polling(&asked)).await, "pending");
    assert_eq!(pending["status"], "pending", "{pending}");
}

#[tokio::test]
async fn page_answers_a_question_by_a_form() {
    let (_origin, desk) = agency::open().await;
    let asked = assert_reply(&desk.ask(Via::H1, asking(&question("question_ask", "Dogs?"))).await, "accepted");
    assert!(read(&desk).await.contains("Dogs?"));
    let (tab, id) = (log_in(&desk).await, waiting_id(&desk).await);
    let fields = [("id", id.as_str()), ("word", "answer"), ("said", "Small\r\nones."), ("data", "{\"kilos\": 5}")];
    let answered = tab.answer(&desk, &fields).await;
    assert_eq!((answered.status, answered.header("location")), (303, Some(format!("{}#desk", tab.base).as_str())));
    let done = assert_success(&desk.ask(Via::H1, polling(&asked)).await, "answered");
    assert_eq!(done["response"]["answer"], "Small\nones.", "{done}");
    assert_eq!(tab.answer(&desk, &fields).await.status, 409, "the first word stands");
    let page = desk.admin(tab.get("")).await.text();
    assert!(page.contains("nothing waits for a person") && page.contains(">answered<"), "{page}");
}

#[tokio::test]
async fn page_allows_an_escalated_call_once_and_rejects_another() {
    let harness = Harness::open().await;
    let origin = supervisor::shop().await;
    let setup = supervisor::before(&origin, &[harness.url()], "").set("admin", &operators_token());
    let desk = setup.start().await;
    reachable(&desk).await;
    harness.says(json!({ "decision": "escalate", "reason": "needs a person", "escalation_target": "ops" }));
    let tea = |qty: u64| order("aicp", &json!({ "item": "tea", "qty": qty }));
    assert_eq!(desk.ask(Via::H1, tea(2)).await.status, 403);
    let tab = log_in(&desk).await;
    let page = desk.admin(tab.get("")).await.text();
    assert!(page.contains("wants leave for one call") && page.contains("needs a person"), "{page}");
    assert!(!page.contains("value=\"answer\""), "leave is given or not: {page}");
    let id = waiting_id(&desk).await;
    assert_eq!(tab.answer(&desk, &[("id", &id), ("word", "answer"), ("said", "ok")]).await.status, 400);
    assert_eq!(tab.answer(&desk, &[("id", &id), ("word", "approve")]).await.status, 303);
    assert_eq!((desk.ask(Via::H1, tea(2)).await.status, orders(&origin).len()), (201, 1));
    assert_eq!(desk.ask(Via::H1, tea(3)).await.status, 403);
    let id = waiting_id(&desk).await;
    assert_eq!(
        tab.answer(&desk, &[("id", &id), ("word", "reject"), ("said", "Too much <b>tea</b>.")]).await.status,
        303
    );
    let refused = desk.ask(Via::H1, tea(3)).await;
    assert!(refused.status == 403 && refused.text().contains("Too much <b>tea</b>."), "{}", refused.text());
    assert_eq!(orders(&origin).len(), 1);
    let page = read(&desk).await;
    assert!(page.contains("harness_escalated") && page.contains("orders.place"), "{page}");
}
