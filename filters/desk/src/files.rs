//! Files that the site answered with: handed out by a ticket, to the same caller only and for a short time.

use std::time::Duration;

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_answers::{
    File, LARGEST_FILE,
    form::{Input, Upload},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::{
    Desk, Endpoint, Told, not_kept, records,
    serve::{Incoming, Serve, Served},
    step::Step,
};
use crate::problem;
use frontdesk_base::{
    boxed,
    fault::{Fault, Refusal},
    reply::Reply,
    schema::Violation,
    text::hex,
};
use frontdesk_caller::Caller;
use frontdesk_config::{ResponseKind, Settings};
use frontdesk_firewall::blocked;
use frontdesk_state::{Amount, Change, Class, Committed, Expect, Key, Limit, NotKept, Put, Subject, Window};

/// How long a ticket holds.
pub const HOLDS: Duration = Duration::from_secs(300);
/// How many kilobytes of files one caller, and all together, may have in the store.
const MOST_OF_A_CALLER: u64 = 25 * 1024;
const MOST_OF_ALL: u64 = 250 * 1024;

const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// A file in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub file: File,
    /// Where the caller gets it.
    pub url: Option<String>,
}

impl Step<'_> {
    /// Looks through a file in an answer, and gives it an address.
    ///
    /// # Errors
    ///
    /// It must not leave, or the store does not take it.
    pub(super) async fn give_file(&mut self, mut told: Told) -> Result<Told, Refusal> {
        let Some(mut given) = told.file.take() else { return Ok(told) };
        let (kind, body) = (given.file.media_type.clone(), given.file.body.clone());
        let passed = self
            .desk
            .looked_through(body.len(), move |firewall| firewall.pass_raw(&kind, &body))
            .await
            .ok_or_else(Refusal::unread)?;
        let passed = passed.map_err(|found| {
            self.account.flags.merge(&found);
            blocked()
        })?;
        self.account.flags.merge(&passed.flags);
        self.account.told_of(passed.flags.told());
        given.file.body = passed.body;
        if passed.is_changed {
            // The site's own copy has what was removed here.
            given.url = None;
        }
        if given.url.is_none() {
            given.url = Some(self.ticket(&given.file).await?);
        }
        let url = given.url.clone().unwrap_or_default();
        let mut data = told.data.into_value();
        if let Some(size) = data.pointer_mut("/file/size") {
            *size = given.file.body.len().into();
        }
        told.data = with_address(data, &url).into();
        told.file = Some(given);
        Ok(told)
    }

    /// Whether the address of a file is one of ours.
    pub(super) fn is_ticket(&self, url: &str) -> bool {
        let own = self.desk.compiled.settings.paths.files.path.trim_end_matches('/');
        url.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'))
    }

    async fn ticket(&self, file: &File) -> Result<String, Refusal> {
        if file.body.len() > LARGEST_FILE {
            return Err(Fault::Malformed.into());
        }
        let size = (file.body.len() as u64).div_ceil(1024).max(1);
        let limit = |subject, most| Limit { key: Key::new(Class::Files, subject), most, window: Window::Fixed(HOLDS) };
        let limits =
            [limit(self.ask.caller.holder(), MOST_OF_A_CALLER), limit(Subject::named(&[b"all files"]), MOST_OF_ALL)];
        let taken = self.desk.counters.take(&limits, Amount { wanted: size, least: size }).await;
        if taken.map_err(|_| not_kept(NotKept::Away))?.granted.is_none() {
            let detail = "More files were asked for than are kept at a time. Try again in a few minutes.";
            let retry_after = Some(HOLDS.as_secs());
            return Err(Refusal {
                reason: "files_full",
                retry_after,
                ..Refusal::from(Fault::Unavailable).saying(detail)
            });
        }
        let id = records::unguessable().map_err(not_kept)?;
        let value = json!({
            "owner": owner(self.ask.caller), "type": file.media_type, "name": file.name, "body": STANDARD.encode(&file.body),
        });
        let put = Put::Value(value.to_string().into(), HOLDS);
        let change = Change { key: key(&id), expect: Expect::Absent, put };
        match self.desk.records.commit(&[change]).await.map_err(not_kept)? {
            Committed::Done(_) => {
                Ok(format!("{}/{id}", self.desk.compiled.settings.paths.files.path.trim_end_matches('/')))
            }
            Committed::Conflict(..) => Err(Fault::Internal.into()),
        }
    }
}

/// Where files are fetched; `None` where no capability answers with one.
pub fn endpoint(settings: &Settings) -> Option<Endpoint> {
    let gives = |response| matches!(response, ResponseKind::Auto | ResponseKind::File);
    let any = settings
        .capabilities
        .iter()
        .any(|capability| capability.upstream.as_ref().is_some_and(|call| gives(call.response)));
    let path = format!("{}/{{ticket}}", settings.paths.files.path.trim_end_matches('/'));
    any.then(|| Endpoint::call(&path, Method::GET, false, problem::reply).served(std::sync::Arc::new(Files)))
}

/// The endpoint.
#[derive(Debug)]
struct Files;

#[async_trait]
impl Serve for Files {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        boxed(|| self.given(desk, request, places)).await
    }
}

impl Files {
    async fn given(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served {
        let refused = |refusal: Refusal| {
            let reply = problem::reply(&refusal, request.accept().as_deref(), None);
            Served { reason: Some(refusal.reason), ..reply.into() }
        };
        let unknown = || {
            refused(
                Refusal::from(Fault::NotFound).saying("There is no such file, it is over, or it is somebody else's."),
            )
        };
        let Some((_, id)) = places.iter().find(|(name, _)| name == "ticket") else { return unknown() };
        if !records::is_id(id) {
            return unknown();
        }
        let record = match desk.records.get(&key(id)).await {
            Ok(record) => record,
            Err(why) => return refused(not_kept(why)),
        };
        let kept = record.and_then(|record| serde_json::from_slice::<Value>(&record.value).ok());
        let Some(kept) = kept.filter(|kept| kept["owner"].as_str() == Some(&owner(request.caller))) else {
            return unknown();
        };
        let said = |name: &str| kept[name].as_str().unwrap_or_default();
        let Ok(body) = STANDARD.decode(said("body")) else { return unknown() };
        let kind = HeaderValue::try_from(said("type"))
            .unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
        let disposition =
            format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(said("name"), NON_ALPHANUMERIC));
        let mut reply = Reply::of(StatusCode::OK, kind, body)
            .with(header::CACHE_CONTROL, "private, no-store")
            .with(NOSNIFF, "nosniff")
            .with(header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
        if let Ok(value) = HeaderValue::try_from(disposition) {
            reply = reply.with_value(header::CONTENT_DISPOSITION, value);
        }
        reply.into()
    }
}

fn owner(caller: &Caller) -> String {
    hex(&caller.holder().bytes())
}

fn key(id: &str) -> String {
    format!("f:{id}")
}

/// A value that may be a file for a form.
enum Sent {
    NoFile,
    File(Upload),
    Wrong(&'static str),
}

/// The inputs of a form, with files that a ticket names or that were sent along.
///
/// # Errors
///
/// The store is unavailable, or one of the files is not valid.
pub(super) async fn filled(
    desk: &Desk<'_>,
    caller: &Caller,
    inputs: Map<String, Value>,
) -> Result<Vec<(String, Input)>, Refusal> {
    let mut filled = Vec::with_capacity(inputs.len());
    for (name, value) in inputs {
        let input = match upload(desk, caller, &value).await.map_err(not_kept)? {
            Sent::NoFile => Input::Value(value),
            Sent::File(upload) => Input::File(upload),
            Sent::Wrong(why) => {
                let violation = Violation::of(&name, why);
                return Err(Refusal { violations: vec![violation], ..Fault::InvalidInput.into() });
            }
        };
        filled.push((name, input));
    }
    Ok(filled)
}

/// Reads a file out of an input: by a ticket (`{ url }`), or sent along (`{ data, name, media_type }`, or a `data:` URL).
///
/// # Errors
///
/// The store is unavailable.
async fn upload(desk: &Desk<'_>, caller: &Caller, value: &Value) -> Result<Sent, NotKept> {
    let own = desk.compiled.settings.paths.files.path.trim_end_matches('/');
    let name = value["name"].as_str().unwrap_or("file").to_owned();
    if let Some(url) = value["url"].as_str().filter(|url| url.contains(own)) {
        let id = url.rsplit('/').next().unwrap_or_default();
        if !records::is_id(id) {
            return Ok(Sent::Wrong("There is no such file, or it is over."));
        }
        let kept = desk.records.get(&key(id)).await?;
        let kept = kept.and_then(|record| serde_json::from_slice::<Value>(&record.value).ok());
        let kept = kept.filter(|kept| kept["owner"].as_str() == Some(&owner(caller)));
        let file = kept.and_then(|kept| {
            Some(Upload {
                name: kept["name"].as_str()?.to_owned(),
                media_type: kept["type"].as_str()?.to_owned(),
                body: STANDARD.decode(kept["body"].as_str()?).ok()?.into(),
            })
        });
        return Ok(file.map_or(Sent::Wrong("There is no such file, or it is over."), Sent::File));
    }
    let along = value.as_str().and_then(|text| text.strip_prefix("data:")?.split_once(";base64,"));
    let (media_type, data) = match (along, value["data"].as_str()) {
        (Some((kind, data)), _) => (kind.to_owned(), data),
        (None, Some(data)) if value.is_object() => {
            (value["media_type"].as_str().unwrap_or("application/octet-stream").to_owned(), data)
        }
        _ => return Ok(Sent::NoFile),
    };
    let is_type = media_type.len() <= 100
        && media_type.contains('/')
        && media_type.bytes().all(|b| b.is_ascii_graphic() && !b";,\"".contains(&b));
    let Ok(body) = STANDARD.decode(data) else { return Ok(Sent::Wrong("Its data has to be base64.")) };
    if body.len() > LARGEST_FILE {
        return Ok(Sent::Wrong("A file may have 5 MB here."));
    }
    let media_type = if is_type { media_type } else { "application/octet-stream".to_owned() };
    Ok(Sent::File(Upload { name, media_type, body: body.into() }))
}

/// Puts the address of a file into its description.
fn with_address(data: Value, url: &str) -> Value {
    let mut data = data;
    if let Some(file) = data.get_mut("file").and_then(Value::as_object_mut) {
        file.insert("url".to_owned(), url.into());
    }
    data
}
