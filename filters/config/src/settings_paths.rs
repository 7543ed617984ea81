//! Where the endpoints for agents are, and what logs show of their addresses.

/// `[paths]`.
#[derive(Debug, Clone)]
pub struct Paths {
    pub converse: AgentPath,
    pub mcp: AgentPath,
    pub a2a: AgentPath,
    pub openapi: AgentPath,
    pub capabilities: AgentPath,
    /// Where people confirm calls.
    pub confirm: AgentPath,
    /// Below it are files that the site answered with.
    pub files: AgentPath,
    /// A person's list of agents.
    pub links: AgentPath,
    /// Below it are the endpoints of the authorization server.
    pub oauth: AgentPath,
}

impl Paths {
    /// All of them.
    pub fn all(&self) -> [&AgentPath; 6] {
        [&self.converse, &self.mcp, &self.a2a, &self.openapi, &self.capabilities, &self.confirm]
    }

    /// A path as logs and traces show it. The address of a page to confirm, of a file or of a later answer is all that is
    /// needed to use it, so it is shown without its last part.
    pub fn shown<'p>(&self, path: &'p str) -> &'p str {
        let later = [&*self.converse.path, "/.well-known/ahp"].map(|path| (path, "/status/"));
        let secret = [(&*self.confirm.path, "/"), (&*self.files.path, "/")].into_iter().chain(later);
        let shown = secret.into_iter().find_map(|(folder, below)| {
            let rest = path.strip_prefix(folder)?.strip_prefix(below)?;
            Some(path.len() - rest.len())
        });
        &path[..shown.unwrap_or(path.len())]
    }
}

/// The path of an agent endpoint.
#[derive(Debug, Clone)]
pub struct AgentPath {
    /// Begins with a slash.
    pub path: String,
    /// The operator chose it. A default path gives way where the site uses it.
    pub chosen: bool,
}

#[cfg(test)]
mod tests {
    use crate::testing::{Nowhere, declare_text};

    #[test]
    fn secret_parts_of_paths_are_not_shown() {
        let text = "[upstream]\nurl = 'http://127.0.0.1:1'\n[paths]\nconverse = '/talk'\n";
        let declared = declare_text(std::path::Path::new("/x.toml"), text, &Nowhere).unwrap();
        let paths = &declared.settings.paths;
        for (path, shown) in [
            ("/agent/confirm/0fd1", "/agent/confirm/"),
            ("/agent/files/0fd1", "/agent/files/"),
            ("/talk/status/0fd1", "/talk/status/"),
            ("/.well-known/ahp/status/0fd1", "/.well-known/ahp/status/"),
            ("/agent/confirm", "/agent/confirm"),
            ("/agent/confirmed/x", "/agent/confirmed/x"),
            ("/talk", "/talk"),
        ] {
            assert_eq!(paths.shown(path), shown);
        }
    }
}
