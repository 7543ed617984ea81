//! What clients read first: metadata of the authorization server (RFC 8414).

use frontdesk_config::{Clients, Login, Settings};
use frontdesk_desk::{Document, Variant};
use http::HeaderValue;
use serde_json::json;

use crate::{authorization_request::in_their_name, words::LANGUAGES};

/// Its path.
pub const PATH: &str = "/.well-known/oauth-authorization-server";

/// The document.
pub(crate) fn document(settings: &Settings, login: &Login) -> Document {
    let issuer = &login.issuer;
    let base = format!("{issuer}{}", settings.paths.oauth.path.trim_end_matches('/'));
    let scopes: Vec<&str> = in_their_name(settings).map(|capability| capability.id.as_str()).collect();
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "revocation_endpoint": format!("{base}/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": login.clients != Clients::Listed,
        "scopes_supported": scopes,
        "ui_locales_supported": LANGUAGES,
        "protected_resources": [issuer, format!("{issuer}{}", settings.paths.mcp.path)],
    });
    if login.clients == Clients::Dynamic {
        metadata["registration_endpoint"] = format!("{base}/register").into();
    }
    // Clients that a change of the configuration leaves with an old copy could not find the endpoints.
    let cache_control = HeaderValue::from_static("public, max-age=300");
    let variant = Variant::new("application/json", metadata.to_string(), &cache_control).generated();
    Document { path: PATH.to_owned(), variants: vec![variant], negotiate: None, versions: Vec::new() }
}
