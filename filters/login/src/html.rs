//! The pages. Everything that comes from an agent or the site is escaped, and nothing of it is a link by itself.

use std::time::{Duration, UNIX_EPOCH};

use frontdesk_base::{reply::Reply, text::escaped};
use frontdesk_config::{Capability, Login};
use frontdesk_desk::{Desk, person_page::document, rfc3339, visitor::Person};
use http::StatusCode;

use crate::{
    authorization_request::{AuthorizationRequest, in_their_name},
    list::Listed,
    redirect_uri,
    words::Words,
};

/// The page on which a person decides.
pub(crate) fn consent(
    desk: &Desk<'_>,
    words: &Words,
    login: &Login,
    asked: &AuthorizationRequest,
    person: &Person,
    ticket: &str,
) -> Reply {
    let client = &asked.client;
    let is_verified = client.is_verified(&asked.redirect_uri);
    let mut body = head(desk, words.title);
    body.push_str(&format!("<p class=\"summary\">{}</p>", agent(words, client.shown(), is_verified)));
    if let (Some(_), Some(name)) = (&client.authority, &client.name) {
        body.push_str(&format!("<p>{} <bdi>{}</bdi></p>", words.calls_itself, escaped(name)));
    }
    if redirect_uri::is_on_this_machine(&asked.redirect_uri) {
        body.push_str(&format!("<p class=\"warn\">{}</p>", words.on_your_machine));
    } else if !is_verified {
        body.push_str(&format!("<p class=\"warn\">{}</p>", words.unverified_more));
    }
    let until = desk.records.now() + login.link_ttl.as_secs();
    body.push_str(&format!(
        "<dl><dt>{}</dt><dd><bdi>{}</bdi></dd><dt>{}</dt><dd><bdi>{}</bdi></dd><dt>{}</dt><dd>{}</dd></dl>",
        words.signed_in,
        escaped(person.name.as_deref().unwrap_or(&person.subject)),
        words.leads_to,
        escaped(&redirect_uri::shown(&asked.redirect_uri)),
        words.until,
        time(until),
    ));
    let action = format!("{}/consent", desk.compiled.settings.paths.oauth.path.trim_end_matches('/'));
    body.push_str(&format!(
        "<form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"ticket\" value=\"{}\"><fieldset><legend>{}</legend>",
        escaped(&action),
        escaped(ticket),
        words.may,
    ));
    for capability in in_their_name(&desk.compiled.settings).filter(|one| asked.offers(one)) {
        // Without a word of the agent's, a person chooses each change by themselves.
        let checked = if asked.is_named || capability.kind.is_read() { " checked" } else { "" };
        body.push_str(&format!(
            "<label><input type=\"checkbox\" name=\"allow\" value=\"{}\"{checked}><span>{}</span></label>",
            escaped(&capability.id),
            described(words, capability),
        ));
    }
    body.push_str(&format!(
        "</fieldset><button class=\"yes\" name=\"decision\" value=\"allow\">{}</button>\
         <button name=\"decision\" value=\"deny\">{}</button></form>",
        words.allow, words.deny
    ));
    document(StatusCode::OK, words.language, words.title, &body)
}

/// A request that nobody is asked about. `back`: where the client is told, if the person goes there.
pub(crate) fn wrong(desk: &Desk<'_>, words: &Words, code: &str, why: &str, back: Option<&(String, String)>) -> Reply {
    let mut body = head(desk, words.wrong);
    body.push_str(&format!("<p role=\"status\">{}</p>", words.wrong_more));
    body.push_str(&format!("<p lang=\"en\"><code>{}</code>: {}</p>", escaped(code), escaped(why)));
    if let Some((host, address)) = back {
        body.push_str(&format!(
            "<p><a rel=\"noreferrer\" href=\"{}\">{} <bdi>{}</bdi></a></p>",
            escaped(address),
            words.back_to,
            escaped(host)
        ));
    }
    document(StatusCode::BAD_REQUEST, words.language, words.wrong, &body)
}

/// A form that was used, or is too old.
pub(crate) fn over(desk: &Desk<'_>, words: &Words) -> Reply {
    simple(desk, words, StatusCode::GONE, words.over, words.over_more)
}

/// The visitor is signed in, but not by the cookies that calls carry.
pub(crate) fn no_session(desk: &Desk<'_>, words: &Words) -> Reply {
    simple(desk, words, StatusCode::CONFLICT, words.no_session, words.no_session_more)
}

fn simple(desk: &Desk<'_>, words: &Words, status: StatusCode, title: &str, said: &str) -> Reply {
    let body = format!("{}<p role=\"status\">{said}</p>", head(desk, title));
    document(status, words.language, title, &body)
}

/// A person's list of agents.
pub(crate) fn links(
    desk: &Desk<'_>,
    words: &Words,
    person: &Person,
    (links, uses): (&[Listed], &[Option<u64>]),
    token: &str,
) -> Reply {
    let mut body = head(desk, words.links);
    if links.is_empty() {
        body.push_str(&format!("<p role=\"status\">{}</p>", words.no_links));
    } else {
        body.push_str("<ul>");
    }
    let declared: Vec<&Capability> = in_their_name(&desk.compiled.settings).collect();
    for (listed, used) in links.iter().zip(uses) {
        let may: Vec<String> = declared
            .iter()
            .filter(|capability| listed.capabilities.iter().any(|allowed| allowed.covers(capability)))
            .map(|capability| described(words, capability))
            .collect();
        body.push_str(&format!(
            "<li>{}<dl><dt>{}</dt><dd>{}</dd><dt>{}</dt><dd>{}</dd><dt>{}</dt><dd>{}</dd><dt>{}</dt><dd>{}</dd></dl>\
             <form method=\"post\"><input type=\"hidden\" name=\"token\" value=\"{}\">\
             <button name=\"link\" value=\"{}\">{}</button></form></li>",
            agent(words, &listed.agent, listed.verified),
            words.may,
            may.join("<br>"),
            words.since,
            time(listed.created),
            words.last_used,
            used.map_or_else(|| words.never.to_owned(), time),
            words.until,
            time(listed.until),
            escaped(token),
            escaped(&listed.id.handle()),
            words.end,
        ));
    }
    if !links.is_empty() {
        body.push_str("</ul>");
    }
    let name = person.name.as_deref().unwrap_or(&person.subject);
    body.push_str(&format!("<p class=\"who\">{} <bdi>{}</bdi></p>", words.signed_in, escaped(name)));
    document(StatusCode::OK, words.language, words.links, &body)
}

/// The site's name and the title.
fn head(desk: &Desk<'_>, title: &str) -> String {
    let site = desk.compiled.settings.site.name.as_deref().unwrap_or_default();
    let site = match site.is_empty() {
        true => String::new(),
        false => format!("<p class=\"site\" dir=\"auto\">{}</p>", escaped(site)),
    };
    format!("{site}<h1>{title}</h1>")
}

fn agent(words: &Words, shown: &str, is_verified: bool) -> String {
    let how = if is_verified { words.verified } else { words.claimed };
    format!("<bdi>{}</bdi> ({how})", escaped(shown))
}

/// What a capability does, in the operator's words.
fn described(words: &Words, capability: &Capability) -> String {
    let text = capability.description.as_deref().filter(|text| !text.is_empty()).unwrap_or(&capability.id);
    let acts = match capability.kind.is_action() {
        true => format!(" <em>{}</em>", words.acts),
        false => String::new(),
    };
    format!("<span dir=\"auto\">{}</span>{acts}", escaped(text))
}

fn time(seconds: u64) -> String {
    let time = rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
    let readable = time.get(..16).unwrap_or(&time).replace('T', " ");
    format!("<time datetime=\"{time}\">{readable} UTC</time>")
}
