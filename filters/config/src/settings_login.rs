//! The typed settings of `[auth.login]`: the authorization server for agents of people who have an account at the site.

use std::time::Duration;

/// `[auth.login]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The site's cookies that a call in the person's name carries.
    pub cookies: Vec<String>,
    /// How long an access token is valid.
    pub access_ttl: Duration,
    /// How long an agent may go on without asking the person again.
    pub link_ttl: Duration,
    pub clients: Clients,
    /// The clients that the operator declared. They are taken with every value of `clients`.
    pub listed: Vec<ListedClient>,
    /// The site's origin without a slash at its end: the issuer (RFC 8414).
    pub issuer: String,
}

/// How the id of a client begins that has registered itself.
pub const REGISTERED: &str = "fdc_";

impl Login {
    /// Whether a client with this id is taken.
    pub fn takes(&self, client: &str) -> bool {
        let is_listed = self.listed.iter().any(|listed| listed.id == client);
        is_listed
            || match self.clients {
                Clients::Metadata => client.contains("://"),
                Clients::Dynamic => client.contains("://") || client.starts_with(REGISTERED),
                Clients::Listed => false,
            }
    }
}

/// `auth.login.clients`: which clients are taken beside the listed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// Those that publish a client ID metadata document.
    Metadata,
    /// These, and those that register (RFC 7591).
    Dynamic,
    /// None.
    Listed,
}

/// `[[auth.login.clients_listed]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedClient {
    pub id: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_no_longer_listed_is_not_taken() {
        let login = |clients| Login {
            cookies: Vec::new(),
            access_ttl: Duration::ZERO,
            link_ttl: Duration::ZERO,
            clients,
            listed: Vec::new(),
            issuer: String::new(),
        };
        for clients in [Clients::Metadata, Clients::Dynamic, Clients::Listed] {
            assert!(!login(clients).takes("my-assistant"), "{clients:?}");
        }
        assert!(login(Clients::Dynamic).takes("fdc_00") && !login(Clients::Metadata).takes("fdc_00"));
    }
}
