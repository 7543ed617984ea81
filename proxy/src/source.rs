//! The sources of a configuration: a file or a text, the environment, and the command line.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::SystemTime,
};

use frontdesk_files::{bounded, regular};
use frontdesk_filters::site::{self, Declaration, Mistake, Outline, Outside, Refused, Review, StoreHome};

use frontdesk_store::Store;

use crate::{certificate::Certificate, outbound::transports, upstream};

/// The sources.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path of the file, or the name of a text that is not in a file.
    pub path: PathBuf,
    /// The text; `None` to read the file.
    pub text: Option<String>,
    /// Variables in addition to the environment.
    pub variables: HashMap<String, String>,
    /// `--listen` and `--admin`, which override the file.
    pub listen: Option<SocketAddr>,
    pub admin: Option<SocketAddr>,
}

impl Source {
    /// A file, without options of the command line.
    pub fn file(path: PathBuf) -> Self {
        Self { path, text: None, variables: HashMap::new(), listen: None, admin: None }
    }

    /// Reads and checks the declaration.
    pub fn declare(&self) -> Result<Declaration, Refused> {
        let outside = Here(self);
        let mut declaration = match &self.text {
            Some(text) => site::declare_text(&self.path, text, &outside)?,
            None => site::declare(&self.path, &outside)?,
        };
        let listen = &mut declaration.settings.listen;
        if let Some(address) = self.listen {
            listen.http = vec![address];
        }
        if let Some(address) = self.admin {
            listen.admin = address;
        }
        declaration.warn_of_loops(&self.path);
        Ok(declaration)
    }

    /// The outline of the file, mistakes included; `None` without a file. Blocks on the disk.
    pub fn outline(&self) -> Option<io::Result<Outline>> {
        self.text.is_none().then(|| site::outline(&self.path, &Here(self)))
    }

    /// Reads and checks the file for a command that does not run it.
    pub fn review(&self) -> Result<Review, Refused> {
        let mut review = site::review(&self.path, &Here(self))?;
        review.declaration.warn_of_loops(&self.path);
        Ok(review)
    }
}

/// The environment and the file system, with additional variables.
struct Here<'a>(&'a Source);

impl Outside for Here<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.0.variables.get(name).cloned().or_else(|| std::env::var(name).ok())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // The configuration file itself may be a pipe.
        if path == self.0.path { bounded(path) } else { regular(path) }
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }
}

/// Whether the certificates, keys and transports of a declaration can be used. Each one that cannot is a mistake.
pub fn prove(declaration: &Declaration) -> Result<(), Vec<String>> {
    let settings = &declaration.settings;
    let mut mistakes = Vec::new();
    if let Some(tls) = &settings.tls
        && let Err(e) = Certificate::default().load(tls)
    {
        mistakes.push(format!("tls: {e}"));
    }
    if let Err(e) = upstream::prove(&settings.upstream) {
        mistakes.push(format!("upstream: {e}"));
    }
    // The file of a file store is on the host where it runs. Redis is not contacted.
    if let StoreHome::Redis(_) = &settings.store.home
        && let Err(e) = Store::open(&settings.store)
    {
        mistakes.push(e);
    }
    if let Some(harness) = &settings.harness {
        let token = Some(harness.token.as_str());
        let wrong = harness.urls.iter().filter_map(|url| transports::check(url, token).err());
        mistakes.extend(wrong.map(|e| format!("harness: {e}")));
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

/// What the certificate of a declaration needs soon, in words for the operator.
pub fn certificate_warning(declaration: &Declaration) -> Option<String> {
    let certificate = Certificate::default();
    certificate.load(declaration.settings.tls.as_ref()?).ok()?;
    certificate.warning(SystemTime::now()).map(|warning| format!("warning: tls.cert: {warning}"))
}

/// A refusal as lines for a person.
pub fn lines(refused: &Refused) -> Vec<String> {
    match refused {
        Refused::Unreadable(mistakes) | Refused::Mistakes(mistakes) => {
            mistakes.iter().map(Mistake::to_string).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_whether_the_site_is_this_process() {
        let text = "[listen]\nhttp = '127.0.0.1:3000'\n[upstream]\nurl = 'http://127.0.0.1:3000'\n";
        let warnings = |listen: Option<&str>| {
            let listen = listen.map(|address| address.parse().unwrap());
            let text = Some(text.to_owned());
            let source = Source { listen, text, ..Source::file("x.toml".into()) };
            source.declare().unwrap().warnings.len()
        };
        assert_eq!(warnings(None), 1);
        assert_eq!(warnings(Some("0.0.0.0:3000")), 1);
        assert_eq!(warnings(Some("0.0.0.0:8080")), 0);
    }
}
