//! Explains to the operator why a server is not used: the library's error, and the remedy.

use redis::{ErrorKind, RedisError};

/// Why a server is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It is unreachable or not ready. This may pass without action.
    Absent(String),
    /// It rejects our credentials or settings, or we do not trust it. The operator has to change something.
    Refused(String),
}

/// Prefixes of errors, each with its remedy.
const REFUSALS: [(&str, &str); 7] = [
    ("WRONGPASS", "it rejects the user or the password in store.url"),
    ("NOAUTH", "it requires a password: write redis://user:password@host in store.url"),
    ("DENIED", "it is in protected mode and accepts no other host: give it a password, or bind it to an address"),
    ("READONLY", "it is a replica, which accepts no writes: name its primary in store.url"),
    ("MOVED", "it is a node of a cluster that does not keep our keys: name the node that does in store.url"),
    ("CROSSSLOT", "it is a proxy before a cluster that does not know hash tags: name a node in store.url"),
    ("NOPERM", "its user lacks permissions"),
];
const ABSENCES: [(&str, &str); 7] = [
    ("LOADING", "it has just started and loads its data"),
    ("CLUSTERDOWN", "its cluster does not serve all slots"),
    ("MASTERDOWN", "it is a replica that has lost its primary"),
    ("TRYAGAIN", "its cluster moves our keys to another node"),
    ("ASK", "its cluster moves our keys to another node"),
    ("MISCONF", "it cannot save to its disk, and accepts no writes until it can"),
    ("NOREPLICAS", "it has fewer replicas than its min-replicas-to-write, and accepts no writes"),
];
/// Messages about rejected certificates, each with its remedy.
const CERTIFICATES: [(&str, &str); 9] = [
    ("UnknownIssuer", "no trusted authority has signed its certificate: name its authority in store.ca"),
    (
        "BadSignature",
        "a different authority of the same name has signed its certificate: name the right one in store.ca",
    ),
    ("CaUsedAsEndEntity", "it uses a CA certificate as its own: let that CA sign a certificate for it"),
    ("not valid for", "its certificate is for another name: use that name in store.url"),
    ("certificate expired", "it needs a new certificate"),
    ("not valid yet", "its certificate is not valid yet: check the clocks"),
    ("CertificateRequired", "it requires a client certificate: name one in store.client_cert"),
    ("corrupt message", "it does not speak TLS there: write redis:// in store.url, or its tls-port"),
    ("received fatal alert", "it refuses our side of TLS"),
];

impl Trouble {
    /// Explains an error of the library. `needs`: the permissions that the server's user needs.
    pub fn of(error: &RedisError, needs: &str) -> Self {
        let (said, code) = (error.to_string(), error.code().unwrap_or_default());
        let with = |what: &str| format!("{what} ({said})");
        // The library rewords a refused SELECT, and Redis and Valkey reword a refused script.
        let denials = ["The user executing the script can't", "ACL failure in script", "this user has no permissions"];
        let is_denied = code == "NOPERM" || denials.iter().any(|words| said.contains(words));
        if is_denied {
            return Self::Refused(format!("{said}; the ACL of its user must allow {needs}"));
        }
        let known = |list: &[(&str, &str)], found: &dyn Fn(&str) -> bool| {
            list.iter().find(|(name, _)| found(name)).map(|(_, helps)| with(helps))
        };
        if let Some(words) = known(&ABSENCES, &|name| code == name) {
            return Self::Absent(words);
        }
        if let Some(words) = known(&REFUSALS, &|name| code == name) {
            return Self::Refused(words);
        }
        match error.kind() {
            ErrorKind::AuthenticationFailed if said.contains("NOAUTH") => Self::Refused(with(REFUSALS[1].1)),
            ErrorKind::AuthenticationFailed => Self::Refused(with(REFUSALS[0].1)),
            ErrorKind::Parse => Self::Refused(with("what answers there is no Redis")),
            ErrorKind::Io => match known(&CERTIFICATES, &|text| said.contains(text)) {
                Some(words) => Self::Refused(words),
                None if said.contains("invalid peer certificate") => Self::Refused(said),
                None => Self::Absent(said),
            },
            _ if said.contains("DB index") || said.contains("SELECT is not allowed") => {
                Self::Refused(with("it does not have the database that store.url names"))
            }
            _ if said.to_lowercase().contains("unknown command") => {
                Self::Refused(with("it does not know what is needed: Redis 7.0 or Valkey 7.2, or later, does"))
            }
            _ => Self::Absent(said),
        }
    }

    /// Removes a secret from the text.
    pub fn without(self, secret: Option<&str>) -> Self {
        let hide = |words: String| match secret {
            Some(secret) if !secret.is_empty() => words.replace(secret, "***"),
            _ => words,
        };
        match self {
            Self::Absent(words) => Self::Absent(hide(words)),
            Self::Refused(words) => Self::Refused(hide(words)),
        }
    }

    pub fn words(&self) -> &str {
        match self {
            Self::Absent(words) | Self::Refused(words) => words,
        }
    }
}

/// The state of a server since this process knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinceTheStart {
    /// The first probe has not ended.
    Unknown,
    /// It was never reached.
    Absent,
    /// It was never used, and refused us at the last successful connect.
    Refused(String),
    Used,
}

impl SinceTheStart {
    /// Records the result of a probe.
    pub fn note(&mut self, found: Result<(), &Trouble>) {
        *self = match found {
            Ok(()) => Self::Used,
            Err(_) if *self == Self::Used => return,
            Err(Trouble::Refused(why)) => Self::Refused(why.clone()),
            Err(Trouble::Absent(_)) if matches!(self, Self::Refused(_)) => return,
            Err(Trouble::Absent(_)) => Self::Absent,
        };
    }

    /// Why a process with this server alone is not ready. A server that is merely unreachable is no reason: pages work
    /// without it, as they do when it fails later.
    pub fn unready(&self) -> Option<String> {
        match self {
            Self::Unknown => Some("it is being looked for".into()),
            Self::Refused(why) => Some(format!("it has not let this process in since it was started: {why}")),
            Self::Absent | Self::Used => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_itself_refuses_keeps_a_process_from_being_ready() {
        let (absent, refused) = (Trouble::Absent("no route".into()), Trouble::Refused("no password".into()));
        let mut known = SinceTheStart::Unknown;
        assert!(known.unready().is_some());
        known.note(Err(&absent));
        assert_eq!(known.unready(), None);
        known.note(Err(&refused));
        assert!(known.unready().unwrap().contains("no password"));
        known.note(Err(&absent));
        assert!(known.unready().unwrap().contains("no password"), "it would refuse us again");
        known.note(Ok(()));
        known.note(Err(&refused));
        assert_eq!(known.unready(), None, "it was well once");
    }

    #[test]
    fn errors_are_told_with_what_helps() {
        let server = |code: &str, detail: &str| redis::make_extension_error(code.into(), Some(detail.into()));
        let io = |text: &str| RedisError::from(std::io::Error::other(text.to_owned()));
        for (error, helps) in [
            (server("WRONGPASS", "invalid username-password pair"), "it rejects the user or the password"),
            (server("NOAUTH", "Authentication required."), "it requires a password"),
            (server("DENIED", "Redis is running in protected mode"), "it is in protected mode"),
            (io("invalid peer certificate: UnknownIssuer"), "no trusted authority has signed"),
            (
                io("received fatal alert: CertificateRequired"),
                "it requires a client certificate: name one in store.client_cert",
            ),
            (server("NOPERM", "no permissions to run 'pttl'"), "must allow +pttl"),
            // Redis 7.0, and Valkey 9.1.
            (server("ERR", "The user executing the script can't run this command"), "must allow +pttl"),
            (server("ERR", "ACL failure in script: User a has no permissions to run 'pttl'"), "must allow +pttl"),
        ] {
            let Trouble::Refused(words) = Trouble::of(&error, "+pttl") else { panic!("{error}") };
            assert!(words.contains(helps), "{words}");
        }
        for (error, helps) in [
            (server("LOADING", "Redis is loading the dataset in memory"), "loads its data"),
            (server("MISCONF", "Errors writing to the RDB"), "cannot save to its disk"),
            (io("Connection refused (os error 111)"), "Connection refused"),
            (server("ERR", "max number of clients reached"), "max number of clients"),
        ] {
            let Trouble::Absent(words) = Trouble::of(&error, "+pttl") else { panic!("{error}") };
            assert!(words.contains(helps), "{words}");
        }
        let said = Trouble::Refused("'hush' is wrong".into()).without(Some("hush"));
        assert_eq!(said.words(), "'***' is wrong");
    }
}
