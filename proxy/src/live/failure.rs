//! Why a reload failed: the mistakes, and apart from them the warnings.
//!
//! The findings about a refused file hold both. If a warning counted as a mistake, the operator would look at a line
//! that is valid.

use std::time::SystemTime;

use frontdesk_filters::site::{Declaration, Mistake, Refused};

/// Why the last reload failed.
#[derive(Debug, Clone)]
pub struct Failure {
    pub at: SystemTime,
    /// The mistakes, one line each.
    pub mistakes: Vec<String>,
    /// The warnings, which are no reason to refuse the file.
    pub warnings: Vec<String>,
    /// The hash of a declaration that could be read but not be used.
    tried: Option<String>,
}

impl Failure {
    /// A file that is no valid declaration.
    pub(super) fn refused(refused: &Refused) -> Self {
        let (mistakes, warnings) = told_apart(refused);
        Self { at: SystemTime::now(), mistakes, warnings, tried: None }
    }

    /// A valid declaration that cannot be used, with the reason.
    pub(super) fn unusable(mistake: String, declaration: &Declaration) -> Self {
        let warnings = declaration.warnings.iter().map(Mistake::to_string).collect();
        Self { at: SystemTime::now(), mistakes: vec![mistake], warnings, tried: Some(declaration.hash.clone()) }
    }

    /// Whether this failure is about that declaration.
    pub(super) fn is_of(&self, declaration: &Declaration) -> bool {
        self.tried.as_ref() == Some(&declaration.hash)
    }

    /// Whether this failure already names every finding of that refusal.
    pub(super) fn says(&self, refused: &Refused) -> bool {
        let (mistakes, warnings) = told_apart(refused);
        self.mistakes == mistakes && self.warnings == warnings
    }

    /// Writes it to the log.
    pub(super) fn log(&self) {
        for mistake in &self.mistakes {
            tracing::error!("{mistake}");
        }
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
        let count = self.mistakes.len();
        tracing::error!(mistakes = count, "the configuration was not taken into use; the running one stays");
    }
}

/// Separates the mistakes and the warnings of a refusal.
fn told_apart(refused: &Refused) -> (Vec<String>, Vec<String>) {
    let (fatal, other): (Vec<_>, Vec<_>) = refused.mistakes().iter().partition(|found| found.is_fatal());
    let lines = |found: Vec<&Mistake>| found.into_iter().map(Mistake::to_string).collect::<Vec<_>>();
    (lines(fatal), lines(other))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::source::Source;

    fn declared(text: &str) -> Result<Declaration, Refused> {
        let text = Some(text.to_owned());
        Source { path: "x.toml".into(), text, variables: HashMap::new(), listen: None, admin: None }.declare()
    }

    const WORTH_A_LOOK: &str = "[upstream]\nurl = 'http://127.0.0.1:1'\n[site]\norigins = 'https://site.test'\n";

    #[test]
    fn a_warning_is_no_mistake() {
        let refused = declared(&format!("{WORTH_A_LOOK}[log]\nlevell = 'info'\n")).unwrap_err();
        assert_eq!(refused.mistakes().len(), 2, "{refused}");
        let failure = Failure::refused(&refused);
        assert!(matches!(&failure.mistakes[..], [one] if one.contains("log.levell")), "{failure:?}");
        assert!(matches!(&failure.warnings[..], [one] if one.contains("warning: site.origins: ")), "{failure:?}");
        assert!(failure.says(&refused));
        assert!(!failure.says(&declared("[log]\nlevell = 'info'\n").unwrap_err()));
    }

    #[test]
    fn what_cannot_be_used_has_its_own_warnings() {
        let declaration = declared(WORTH_A_LOOK).unwrap();
        let failure = Failure::unusable("tls: no such file".into(), &declaration);
        assert_eq!((failure.mistakes.len(), failure.warnings.len()), (1, 1), "{failure:?}");
        assert!(failure.is_of(&declaration));
        assert!(!failure.is_of(&declared("[upstream]\nurl = 'http://127.0.0.1:2'\n").unwrap()));
    }
}
