//! Finds tokens with a recognisable format: a vendor's prefix, and a body of known characters and length.
//!
//! The prefix gives the place and the body confirms it. Length ranges are wider than today's formats, because vendors
//! lengthen their tokens. A body with impossible characters is no token, whatever its length.

use super::random::{Mix, stands_in};

/// The characters of a body.
#[derive(Debug, Clone, Copy)]
enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `-` and `_`.
    Url,
    /// The characters of `Url` and the rest of base64.
    Base64,
    /// Lower-case hexadecimal digits.
    Hex,
    /// Upper-case letters and digits.
    Upper,
    /// `Url` and dots.
    Dotted,
}

impl Body {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'='),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
        }
    }
}

/// Maximum bytes of a token.
pub(super) const LONGEST: usize = 1024;

/// One format.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) prefix: &'static str,
    pub(super) rule: &'static str,
    body: Body,
    /// Minimum bytes of the body.
    least: usize,
    most: usize,
}

const fn token(prefix: &'static str, rule: &'static str, body: Body, least: usize, most: usize) -> Token {
    Token { prefix, rule, body, least, most }
}

/// All formats. A prefix may begin another one (`sk-`, `sk-ant-`): of two findings at one place the longer counts.
pub(super) const TOKENS: &[Token] = &[
    token("ghp_", "github-token", Body::Alnum, 30, 255),
    token("gho_", "github-token", Body::Alnum, 30, 255),
    token("ghu_", "github-token", Body::Alnum, 30, 255),
    token("ghs_", "github-token", Body::Alnum, 30, 255),
    token("ghr_", "github-token", Body::Alnum, 30, 255),
    token("github_pat_", "github-token", Body::Url, 36, 255),
    token("sk-ant-", "anthropic-key", Body::Url, 20, 255),
    token("sk-proj-", "openai-key", Body::Url, 20, 255),
    token("sk-svcacct-", "openai-key", Body::Url, 20, 255),
    token("sk-admin-", "openai-key", Body::Url, 20, 255),
    token("sk-or-v1-", "openrouter-key", Body::Hex, 32, 128),
    token("sk-", "openai-key", Body::Alnum, 20, 255),
    token("AKIA", "aws-access-key", Body::Upper, 16, 16),
    token("ASIA", "aws-access-key", Body::Upper, 16, 16),
    token("xoxb-", "slack-token", Body::Url, 20, 255),
    token("xoxp-", "slack-token", Body::Url, 20, 255),
    token("xoxa-", "slack-token", Body::Url, 20, 255),
    token("xoxr-", "slack-token", Body::Url, 20, 255),
    token("xoxs-", "slack-token", Body::Url, 20, 255),
    token("xoxe-", "slack-token", Body::Url, 20, 255),
    token("xoxe.xox", "slack-token", Body::Url, 20, 255),
    token("xapp-", "slack-token", Body::Url, 20, 255),
    token("hooks.slack.com/services/", "slack-webhook", Body::Base64, 30, 128),
    token("glpat-", "gitlab-token", Body::Dotted, 20, 255),
    token("gldt-", "gitlab-token", Body::Url, 20, 255),
    token("glrt-", "gitlab-token", Body::Url, 20, 255),
    token("glptt-", "gitlab-token", Body::Url, 20, 255),
    token("glcbt-", "gitlab-token", Body::Url, 20, 255),
    token("AIza", "google-api-key", Body::Url, 35, 35),
    token("GOCSPX-", "google-client-secret", Body::Url, 24, 64),
    token("ya29.", "google-oauth-token", Body::Dotted, 30, 1000),
    token("sk_live_", "stripe-key", Body::Alnum, 16, 255),
    token("rk_live_", "stripe-key", Body::Alnum, 16, 255),
    token("sk_test_", "stripe-key", Body::Alnum, 16, 255),
    token("rk_test_", "stripe-key", Body::Alnum, 16, 255),
    token("whsec_", "webhook-secret", Body::Base64, 24, 255),
    token("npm_", "npm-token", Body::Alnum, 30, 64),
    token("pypi-", "pypi-token", Body::Url, 32, 512),
    token("SG.", "sendgrid-key", Body::Dotted, 50, 100),
    token("SK", "twilio-key", Body::Hex, 32, 32),
    token("hf_", "huggingface-token", Body::Alnum, 30, 64),
    token("gsk_", "groq-key", Body::Alnum, 40, 128),
    token("r8_", "replicate-token", Body::Alnum, 30, 64),
    token("pplx-", "perplexity-key", Body::Alnum, 40, 128),
    token("dop_v1_", "digitalocean-token", Body::Hex, 64, 64),
    token("shpat_", "shopify-token", Body::Hex, 32, 64),
    token("shpss_", "shopify-token", Body::Hex, 32, 64),
    token("dckr_pat_", "docker-token", Body::Url, 20, 64),
    token("hvs.", "vault-token", Body::Url, 24, 255),
    token("lin_api_", "linear-key", Body::Alnum, 32, 64),
    token("NRAK-", "newrelic-key", Body::Upper, 27, 27),
    token("glsa_", "grafana-token", Body::Url, 32, 64),
    token("PMAK-", "postman-key", Body::Url, 50, 80),
    token("figd_", "figma-token", Body::Url, 36, 64),
    token("rubygems_", "rubygems-key", Body::Hex, 48, 48),
    token("sq0atp-", "square-token", Body::Url, 22, 64),
    token("sq0csp-", "square-token", Body::Url, 40, 64),
    token("dapi", "databricks-token", Body::Hex, 32, 32),
    token("ATATT3", "atlassian-token", Body::Base64, 60, 512),
    token("AGE-SECRET-KEY-1", "age-key", Body::Upper, 58, 58),
];

impl Token {
    /// The end of a token whose prefix begins at `start`; `None` where it is none.
    pub(super) fn confirm(&self, text: &[u8], start: usize) -> Option<usize> {
        let body = start + self.prefix.len();
        if &text[start..body] != self.prefix.as_bytes() {
            // Anchors match in any case, but a token's case is fixed.
            return None;
        }
        // A prefix within a longer word belongs to that word. Body characters may also precede a token: the equals
        // sign of a variable, the slash of a path, a list's dash, the underscore of an emphasis.
        if start.checked_sub(1).is_some_and(|at| text[at].is_ascii_alphanumeric() || text[at] == b'+') {
            return None;
        }
        // Only as far as a token can extend, with the characters that may follow.
        let reach = (self.most + 64).min(LONGEST);
        let run = text[body..].iter().take(reach).take_while(|byte| self.body.has(**byte)).count();
        let mut end = body + run;
        while end > body && matches!(text[end - 1], b'.' | b'-') {
            // The end of a sentence.
            end -= 1;
        }
        while end - body > self.most && text[end - 1] == b'_' {
            // The end of an emphasis.
            end -= 1;
        }
        let found = &text[body..end];
        let wide_enough = (self.least..=self.most).contains(&found.len());
        (wide_enough && !continued(text, end) && self.is_plausible(found)).then_some(end)
    }

    fn is_plausible(&self, body: &[u8]) -> bool {
        let mix = Mix::of(body);
        let own = match self.rule {
            // Two parts of known lengths.
            "sendgrid-key" => {
                let dot = body.iter().position(|byte| *byte == b'.').unwrap_or(0);
                (16..=32).contains(&dot) && body.len() - dot > 30 && !body[dot + 1..].contains(&b'.')
            }
            "slack-webhook" => body.iter().filter(|byte| **byte == b'/').count() >= 2,
            "pypi-token" => mix.upper > 2 && mix.digits > 0,
            // Names of variables and files resemble tokens, but do not mix upper case and digits.
            _ if matches!(self.body, Body::Url | Body::Dotted) => mix.digits > 0 && mix.letters() > 0,
            _ => mix.digits > 0 || mix.lower > 0 && mix.upper > 0,
        };
        own && !stands_in(body)
    }
}

/// Whether a word continues after the end of a token.
fn continued(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_alphanumeric)
        || text.get(at) == Some(&b'_') && text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmed(text: &str) -> Option<&'static str> {
        TOKENS.iter().find_map(|token| {
            let start = text.find(token.prefix)?;
            token.confirm(text.as_bytes(), start).map(|_| token.rule)
        })
    }

    #[test]
    fn a_token_is_known_by_its_prefix_and_its_body() {
        for (text, rule) in [
            ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github-token"),
            ("sk-ant-api03-Zx81kQp0aLm2Rt5vBn8cXw3e", "anthropic-key"),
            ("key AKIA3EXAMQLE7Q2ZJ5TR,", "aws-access-key"),
            ("(xoxb-2048319022-4819203948-aZ19dkQ0wLmN)", "slack-token"),
            ("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", "sendgrid-key"),
            ("=SK0123456789abcdef0123456789abcdef", "twilio-key"),
            ("HOOK=whsec_aB3dE6gH9jK2mN5pQ8sT1vX4yZ7aB0cD", "webhook-secret"),
            ("/x?k=whsec_aB3dE6gH9jK2mN5pQ8sT1vX4yZ7aB0cD", "webhook-secret"),
            ("/whsec_aB3dE6gH9jK2mN5pQ8sT1vX4yZ7aB0cD/x", "webhook-secret"),
            (
                "PAT=ATATT3xFfGF0aB3dE6gH9jK2mN5pQ8sT1vX4yZ7aB0cD3eF6gH9iJ2kL5mN8oP1qR4sT7uV0w=1A2B3C4D",
                "atlassian-token",
            ),
            ("-sk-ant-api03-Zx81kQp0aLm2Rt5vBn8cXw3e", "anthropic-key"),
            ("_glpat-aB3dE6gH9jK2mN5pQ8sT_", "gitlab-token"),
            ("__AIzaSyB3dE6gH9jK2mN5pQ8sT1vX4yZ7aB0cDe__", "google-api-key"),
        ] {
            assert_eq!(confirmed(text), Some(rule), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "a task-oriented sk-based approach",
            "risk-4f92ab81c0d2e3f4a5b6c7d8",
            "a+whsec_aB3dE6gH9jK2mN5pQ8sT1vX4yZ7aB0cD",
            "_glpat-tokens-are-named-by-a-prefix_",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "AKIA3EXAMQLE7Q2ZJ5TRAND",
            "sk-ant-your-key-goes-here-please",
            "pypi-publish-action-for-all-of-your-needs",
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        ] {
            assert_eq!(confirmed(text), None, "{text}");
        }
    }
}
