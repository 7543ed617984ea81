//! The site's own sign-in as OAuth (`[auth.login]`): an authorization server for agents of people who have an account at the
//! site (OAuth 2.1; RFC 8414, RFC 8707, RFC 9207, RFC 7009, RFC 7591, client ID metadata documents).
//!
//! The site says who is signed in, with the visitor's own cookies. The person decides on a page of ours which agent may do
//! what. The agent's token opens the site's cookies of that session, which are in the store sealed with a key that only
//! the token gives (`frontdesk_caller::link`); the desk carries them with calls in the person's name.

#![forbid(unsafe_code)]

mod authorization_request;
mod client;
mod code;
mod consent;
mod declaration;
mod documents;
mod grant;
mod html;
mod links;
mod list;
mod metadata;
mod pkce;
mod redirect_uri;
mod registration;
mod reply;
mod request_limits;
mod ticket;
mod visit;
mod words;

use std::sync::Arc;

use async_trait::async_trait;
use frontdesk_config::{Clients, Login, Settings, Visitor};
use frontdesk_desk::{Desk, Endpoint, Incoming, Serve, Served, person_page, problem};
use http::Method;

pub use declaration::EXTENSION;
use documents::Documents;

/// Maximum bytes of a form or of what a client says of itself.
const LARGEST: usize = 16 * 1024;

/// The endpoints and the document of the authorization server, where it is declared.
pub fn endpoints(settings: &Settings) -> Vec<Endpoint> {
    let (Some(login), Some(visitor)) = (&settings.auth.login, &settings.auth.visitor) else { return Vec::new() };
    let below = settings.paths.oauth.path.trim_end_matches('/');
    let documents = Arc::new(Documents::new());
    let made = |path: &str, method: Method, what: What| {
        let (login, visitor, documents) = (login.clone(), visitor.clone(), documents.clone());
        let serve: Arc<dyn Serve> = Arc::new(Server { login, visitor, documents, what });
        Endpoint::call(path, method, false, problem::reply).headless().served(serve).for_people()
    };
    let at = |name: &str| format!("{below}/{name}");
    let list = settings.paths.links.path.as_str();
    let mut all = vec![
        Endpoint::document(metadata::document(settings, login), problem::reply),
        made(&at("authorize"), Method::GET, What::Ask),
        made(&at("consent"), Method::POST, What::Decide),
        made(&at("token"), Method::POST, What::Token).counting_messages(),
        made(&at("revoke"), Method::POST, What::Revoke).counting_messages(),
        made(list, Method::GET, What::List),
        made(list, Method::POST, What::End),
    ];
    if login.clients == Clients::Dynamic {
        all.push(made(&at("register"), Method::POST, What::Register));
    }
    all
}

/// What an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Ask,
    Decide,
    Token,
    Revoke,
    Register,
    List,
    End,
}

/// The handler of one endpoint.
#[derive(Debug)]
struct Server {
    login: Login,
    visitor: Visitor,
    documents: Arc<Documents>,
    what: What,
}

#[async_trait]
impl Serve for Server {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let (login, visitor) = (&self.login, &self.visitor);
        let shown = match self.what {
            What::Ask => consent::ask(desk, (login, visitor, &self.documents), request).await,
            What::Decide => consent::decide(desk, (login, visitor), request).await,
            What::List => links::show(desk, (login, visitor), request).await,
            What::End => links::end_one(desk, (login, visitor), request).await,
            What::Token => return grant::token(desk, (login, visitor), request).await.into(),
            What::Revoke => return grant::revoke(desk, request).await.into(),
            What::Register => return registration::register(desk, request).await.into(),
        };
        match shown {
            Ok((reply, link_event)) => Served { link_event, ..reply.into() },
            Err(refusal) => {
                let reply = problem::reply(&refusal, request.accept().as_deref(), None);
                Served { reason: Some(refusal.reason), ..person_page::guarded(reply).into() }
            }
        }
    }

    fn most(&self, _: &Settings) -> usize {
        LARGEST
    }

    fn counts_messages(&self) -> bool {
        // By address and client, which is in the body.
        matches!(self.what, What::Token | What::Revoke)
    }
}
