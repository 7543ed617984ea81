//! The configuration keys of the parts that this build was made without. A file with such a key is refused with the
//! name of the missing Cargo feature.

use frontdesk_config::{Extension, Kind::LeftOut, Place, key, unchecked};

#[cfg(any(test, not(feature = "agtp")))]
pub(crate) static AGTP: Extension = Extension {
    keys: &[
        (Place::Top, key("agtp", LeftOut("agtp")).private()),
        (Place::Listen, key("agtp", LeftOut("agtp"))),
        (Place::Capability, key("agtp", LeftOut("agtp")).private()),
    ],
    documents: &[],
    check: unchecked,
};

#[cfg(any(test, not(feature = "handoff")))]
pub(crate) static HANDOFF: Extension =
    Extension { keys: &[(Place::Top, key("handoff", LeftOut("handoff")).private())], documents: &[], check: unchecked };

#[cfg(any(test, not(feature = "harness-gateway")))]
pub(crate) static HARNESS_GATEWAY: Extension = Extension {
    keys: &[(Place::Harness, key("gateway_path", LeftOut("harness-gateway")))],
    documents: &[],
    check: unchecked,
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use frontdesk_config::{Extensions, testing::Nowhere};

    use super::*;

    #[test]
    fn a_key_of_a_part_that_was_left_out_is_refused_with_its_feature() {
        const ALL: Extensions = &[&AGTP, &HANDOFF, &HARNESS_GATEWAY];
        let refused = |text: &str| {
            let text = format!("[upstream]\nurl = 'http://127.0.0.1:9'\n{text}\n");
            let refused = frontdesk_config::declare_text(Path::new("/x.toml"), &text, &Nowhere, ALL);
            refused.err().map(|refused| refused.to_string()).unwrap_or_default()
        };
        for (text, key, feature) in [
            ("[agtp]\nserver_id = 'x'", ":3: agtp: ", "agtp"),
            ("[listen]\nagtp = '127.0.0.1:4480'", ":4: listen.agtp: ", "agtp"),
            ("[handoff]\ndir = 'x'", ":3: handoff: ", "handoff"),
            ("[harness]\nurl = 'http://a'\ngateway_path = '/h'", ":5: harness.gateway_path: ", "harness-gateway"),
        ] {
            let said = refused(text);
            let missing = format!("{key}this build of Frontdesk was made without the feature \"{feature}\"");
            assert!(said.contains(&missing), "{said}");
        }
        assert_eq!(refused(""), "");
    }
}
