//! The section of the human desk: questions that agents sent to a person, with forms for the answers.

use std::time::Duration;

use frontdesk_filters::{
    desk::ticket::{Decision, State, Ticket},
    text::shortened,
};
use http::StatusCode;
use pingora::protocols::http::ServerSession;
use serde_json::{Value, json};

use super::{
    Operator, Told,
    html::Html,
    login::{FOREIGN, is_ours},
    see_other,
    view::View,
};
use crate::admin::{Admin, Answer, body::Form, desk::told_of};

/// The most questions and the most past answers shown.
const SHOWN: usize = 50;
const ANSWERED: usize = 5;

impl Admin {
    /// Takes an answer from a form.
    pub(super) async fn answer_by_form(&self, session: &mut ServerSession, operator: Operator) -> Answer {
        let form = match Form::read(session).await {
            Ok(form) => form,
            Err(answer) => return *answer,
        };
        if !is_ours(&form, &operator) {
            return self.whole(Some(operator), Some(Told::wrong(FOREIGN)), StatusCode::FORBIDDEN).await;
        }
        let (id, decision) = match decision(&form) {
            Ok(decision) => (form.field("id"), decision),
            Err(why) => return self.whole(Some(operator), Some(Told::wrong(why)), StatusCode::BAD_REQUEST).await,
        };
        match self.take_word(&id, &decision).await {
            // After the redirect, reloading the page sends nothing again.
            Ok(_) => see_other(&format!("{}/#desk", operator.base)),
            Err(why) => {
                let (status, why) = told_of(why);
                self.whole(Some(operator), Some(Told::wrong(why)), status).await
            }
        }
    }
}

/// Reads the decision in a form.
fn decision(form: &Form) -> Result<Decision, &'static str> {
    let (said, data) = (form.field("said"), form.field("data"));
    match form.field("word").as_str() {
        "approve" => Ok(Decision::Approve(None)),
        "reject" if said.trim().is_empty() => Ok(Decision::Reject { reason: "Rejected.".into() }),
        "reject" => Ok(Decision::Reject { reason: said }),
        "answer" if said.trim().is_empty() => Err("An answer has words. Nothing was sent; write some."),
        "answer" => {
            let data = if data.trim().is_empty() { Ok(json!({})) } else { serde_json::from_str(&data) };
            let data =
                data.ok().filter(Value::is_object).ok_or("The data has to be a JSON object. Nothing was sent.")?;
            Ok(Decision::Answer { answer: said, data })
        }
        _ => Err("Press one of the buttons."),
    }
}

/// The waiting questions and the latest answers.
pub(super) fn desk(html: &mut Html, view: &View<'_>) {
    let Ok(tickets) = &view.tickets else {
        html.raw("<h2>Desk</h2><p class=\"told wrong\">The store cannot be reached: what waits for a person is not known.</p>");
        return;
    };
    let waiting: Vec<&Ticket> = tickets.iter().filter(|ticket| ticket.state == State::Waiting).collect();
    html.raw("<h2>Desk <small data-live id=\"waiting\" aria-live=\"polite\">");
    match waiting.len() {
        0 => html.raw("nothing waits for a person"),
        1 => html.raw("one question waits for a person"),
        n => html.number(n as u64).raw(" questions wait for a person"),
    };
    html.raw("</small></h2>");
    view.login(html);
    html.raw("<div class=\"tickets\" id=\"tickets\" data-items>");
    for ticket in waiting.iter().take(SHOWN) {
        waits(html, view, ticket);
    }
    html.raw("</div><div data-live id=\"more\">");
    if waiting.len() > SHOWN {
        html.raw("<p class=\"quiet\">The oldest ").number(SHOWN as u64).raw(" are shown; answer some to see more.</p>");
    }
    let answered: Vec<&Ticket> =
        tickets.iter().rev().filter(|ticket| ticket.state != State::Waiting).take(ANSWERED).collect();
    if !answered.is_empty() {
        html.raw("<table><caption>Asked last and over</caption><thead><tr><th scope=\"col\">Capability</th>")
            .raw("<th scope=\"col\">Question</th><th scope=\"col\">Became</th></tr></thead><tbody>");
        for ticket in answered {
            html.raw("<tr><td><code>").text(&ticket.capability).raw("</code></td><td class=\"long\">");
            html.text(&shortened(&ticket.wish.query, 160)).raw("</td><td>").text(became(ticket)).raw("</td></tr>");
        }
        html.raw("</tbody></table>");
    }
    html.raw("</div>");
}

fn became(ticket: &Ticket) -> &'static str {
    match ticket.state {
        State::Ended if ticket.is_rejected() => "rejected",
        State::Ended if ticket.is_approved() => "approved",
        state => state.word(),
    }
}

/// One question, with its form for a logged-in operator.
fn waits(html: &mut Html, view: &View<'_>, ticket: &Ticket) {
    let shown = ticket.shown();
    // A call that waits for approval can only be allowed or denied.
    let permission = ticket.is_permission();
    html.raw("<article class=\"ticket\" id=\"t-").text(&ticket.id).raw("\"><div><h3><code>");
    html.text(&ticket.capability).raw("</code> ");
    html.raw(if permission {
        "<span class=\"tag\">wants leave for one call</span>"
    } else {
        "<span class=\"tag\">wants an answer</span>"
    });
    html.raw("</h3><p class=\"query\">").text(&ticket.wish.query).raw("</p><dl>");
    let caller = &shown["caller"];
    let mut pair = |name: &'static str, value: &Value| {
        if let Some(value) = value.as_str().filter(|value| !value.is_empty()) {
            html.raw("<div><dt>").raw(name).raw("</dt><dd>").text(value).raw("</dd></div>");
        }
    };
    pair("Caller", &caller["name"]);
    pair("Agent", &caller["agent"]);
    let proof = match caller["proof"].as_str() {
        Some("none") | None => json!("nothing: any client may have asked this"),
        Some(proof) => json!(format!("a valid {proof}")),
    };
    pair("Proved by", &proof);
    pair("What for", &shown["intent"]);
    let asked = shown["asked_at"].as_str().unwrap_or_default();
    html.raw("<div><dt>Asked</dt><dd><time datetime=\"").text(asked).raw("\">").text(&view.ago(asked_at(ticket)));
    html.raw("</time></dd></div></dl>");
    let input = &shown["input"];
    if !input.is_null() && *input != json!({}) && *input != json!({ "query": ticket.wish.query }) {
        html.raw("<details open><summary>Input</summary><pre tabindex=\"0\">");
        html.text(&serde_json::to_string_pretty(input).unwrap_or_default()).raw("</pre></details>");
    }
    html.raw("</div>");
    if let Some(operator) = &view.operator {
        form(html, operator, ticket, permission);
    }
    html.raw("</article>");
}

fn form(html: &mut Html, operator: &Operator, ticket: &Ticket, permission: bool) {
    html.raw("<form method=\"post\" action=\"").text(&operator.base).raw("/answer\">");
    for (name, value) in [("form", &operator.form), ("id", &ticket.id)] {
        html.raw("<input type=\"hidden\" name=\"").raw(name).raw("\" value=\"").text(value).raw("\">");
    }
    html.raw("<label for=\"s-").text(&ticket.id).raw("\">");
    html.raw(if permission {
        "Why not, where it is rejected: the agent reads this"
    } else {
        "The answer, or why not: the agent reads this"
    });
    html.raw("</label><textarea name=\"said\" rows=\"2\" id=\"s-").text(&ticket.id).raw("\"></textarea>");
    if !permission {
        html.raw("<details><summary>Data beside the answer</summary><label for=\"d-").text(&ticket.id);
        html.raw("\">A JSON object</label><textarea name=\"data\" rows=\"2\" id=\"d-").text(&ticket.id);
        html.raw("\" spellcheck=\"false\"></textarea></details>");
    }
    html.raw("<p class=\"buttons\">");
    if !permission {
        html.raw("<button name=\"word\" value=\"answer\" class=\"first\">Answer</button>");
    }
    html.raw("<button name=\"word\" value=\"approve\"").raw(if permission { " class=\"first\">" } else { ">" });
    html.raw("Approve</button><button name=\"word\" value=\"reject\" class=\"no\">Reject</button></p></form>");
}

fn asked_at(ticket: &Ticket) -> Duration {
    Duration::from_secs(ticket.asked_at())
}
