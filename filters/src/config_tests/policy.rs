//! Remarks about the contract: each contradiction and each promise that is not enforced, and the nearest case without
//! one.

use super::*;

fn remarks_of(text: &str, outside: &Pretended) -> Vec<String> {
    let mut with_file = Pretended { vars: outside.vars.clone(), files: outside.files.clone() };
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    with_file.files.insert("/conf/frontdesk.toml".into(), text);
    let review = review(Path::new("/conf/frontdesk.toml"), &with_file).unwrap_or_else(|refused| panic!("{refused}"));
    review.remarks.iter().map(line).collect()
}

fn remarks(text: &str) -> Vec<String> {
    remarks_of(&with_upstream(text), &Pretended::default())
}

#[track_caller]
fn remarks_one(text: &str, words: &str) {
    let remarks = remarks(text);
    assert!(remarks.len() == 1 && remarks[0].contains(words), "{remarks:#?}");
}

#[track_caller]
fn quiet(text: &str) {
    assert_eq!(remarks(text), Vec::<String>::new());
}

fn of(kind: &str, more: &str) -> String {
    format!(
        "[[capabilities]]\nid = 'a.b'\ntype = '{kind}'\nrisk_level = 'low'\nendpoint = '/a'\nmethod = 'POST'\n{more}"
    )
}

#[test]
fn what_cannot_be_enforced_is_one_line() {
    let text = "[policies]\ntraining_use = 'disallowed'\nsummarization = 'allowed'\nx_own = 1\nanonymous_access = true\n\
        [data_processing]\nretention = 'x'\n[data_processing.sharing]\nthird_parties = ['a']\n\
        [rate_limits]\ncommercial = 'contract_required'\n";
    let said = remarks(&(text.to_owned() + &of("query", "decisioning = { profiling = false }\n")));
    let expected = ": warning: published, but nothing that Frontdesk can enforce: policies.training_use, \
        policies.summarization, policies.x_own, rate_limits.commercial, retention, third-party sharing, decisioning";
    assert_eq!(said, [expected]);
    quiet("[policies]\nanonymous_access = true\n");
}

#[test]
fn versions_that_are_none() {
    let said = |lines: &str| remarks_of(&format!("{lines}\n{}", with_upstream("")), &Pretended::default());
    let one = |lines: &str, words: &str| {
        let said = said(lines);
        assert!(said.len() == 1 && said[0].contains(words), "{said:?}");
    };
    one("aicp_version = 'zzz'", "\"zzz\" is no version");
    one("supported_versions = ['0.1', '1.']", "\"1.\" is no version");
    one("supported_versions = []", "empty");
    let fine = "aicp_version = '0.1'\nrecommended_version = '0.12'\nsupported_versions = ['0.1', '10.0']";
    assert_eq!(said(fine), Vec::<String>::new());
}

#[test]
fn policies_that_disagree_and_which_one_holds() {
    let auth = |policy: &str, kind: &str, auth: &str| {
        format!("[policies]\n{policy}\n{}", of(kind, &format!("auth = '{auth}'\n")))
    };
    remarks_one(
        &auth("anonymous_access = false", "query", "optional"),
        ":4: warning: policies.anonymous_access: false, but auth says that anyone may call a.b; the policy holds",
    );
    quiet(&auth("anonymous_access = false", "query", "required"));
    remarks_one(&auth("automated_monitoring = 'requires_auth'", "monitor", "none"), "requires_auth, but");
    remarks_one(&auth("automated_monitoring = 'allowed_with_auth'", "monitor", "none"), "allowed_with_auth, but");
    quiet(&auth("automated_monitoring = 'requires_auth'", "monitor", "required"));
    quiet(&auth("automated_monitoring = 'requires_auth'", "query", "none"));
    remarks_one(
        &auth("automated_monitoring = 'disallowed'", "monitor", "required"),
        "monitoring capabilities are closed",
    );

    let cache = |policy: &str| format!("[policies.cache]\n{policy}\n{}", of("query", "cache_ttl_seconds = 60\n"));
    remarks_one(&cache("allowed = false"), "a.b may be cached for 60 s; the policy holds: nothing is cached");
    remarks_one(&cache("max_ttl_seconds = 59"), "59, but an answer of a.b may be cached for 60 s; 59 s holds");
    quiet(&cache("max_ttl_seconds = 60"));

    remarks_one(&of("query", "auth = 'none'\nrequired_scopes = ['a']\n"), "the scopes hold");
    quiet(&of("query", "auth = 'none'\nrequired_scopes = []\n"));
}

#[test]
fn signals_and_policies_say_the_same() {
    let said = |text| remarks(text).iter().filter(|line| !line.contains("can enforce")).cloned().collect::<Vec<_>>();
    assert_eq!(said("[policies]\ntraining_use = 'allowed'\n").len(), 0, "by default nothing is said of training");
    let training = said("[policies]\ntraining_use = 'allowed'\n[content_signals]\nai_train = false\n");
    assert!(training[0].contains("content_signals.ai_train is false; agents are told both"), "{training:?}");
    let training = said("[policies]\ntraining_use = 'disallowed'\n[content_signals]\nai_train = true\n");
    assert!(training[0].contains("content_signals.ai_train is true; agents are told both"), "{training:?}");
    assert_eq!(said("[policies]\ntraining_use = 'disallowed'\nsummarization = 'allowed'\n").len(), 0);
    assert_eq!(said("[policies]\ntraining_use = 'contract'\n").len(), 0);
    assert_eq!(
        said("[policies]\ncitation_required = true\n[content_signals]\nattribution_required = false\n").len(),
        1
    );
}

#[test]
fn an_answer_that_is_never_kept_although_it_is_to_be() {
    let of = |kind: &str, more: &str| of(kind, &format!("cache_ttl_seconds = 60\n{more}"));
    // Only the remark on this: that personal data needs a purpose is another remark, on another line.
    let said = |text: &str| {
        let all = remarks(text);
        all.into_iter().filter(|line| line.contains("is never cached")).collect::<Vec<_>>()
    };
    let privacy = |lines: &str| of("query", &format!("data_sensitivity = 'personal'\nprivacy = {{ {lines} }}\n"));
    let hint = "write it in [capabilities.privacy]; or data_sensitivity = \"public\", if they are about nobody";
    for (lines, missing) in [
        ("purpose = 'x'", "privacy.retention"),
        ("retention = 'x'", "privacy.purpose"),
        ("", "privacy.purpose and privacy.retention"),
    ] {
        let why = format!("its data are personal, and {missing} is missing; {hint}");
        let line = format!(":9: warning: cache_ttl_seconds: an answer of a.b is never cached: {why}");
        assert_eq!(said(&privacy(lines)), [line]);
    }
    // A site-wide retention does not make answers cacheable.
    let once = format!("[data_processing]\nretention = 'x'\n{}", privacy("purpose = 'x'"));
    assert_eq!(said(&once).len(), 1);
    let unsaid = of("query", "privacy = { personal_data_required = true }\n");
    assert!(said(&unsaid)[0].contains("its data are personal, and"), "{:?}", said(&unsaid));
    assert!(said(&of("commit_action", ""))[0].contains("only answers of reads are cached; leave it out"));
    assert!(said(&of("query", "requires_user_confirmation = true\n"))[0].contains("a person confirms each call"));
    for kept in [
        privacy("purpose = 'x', retention = 'y'"),
        of("query", "data_sensitivity = 'public'\n"),
        of("query", "data_sensitivity = 'personal'\n").replace("= 60", "= 0"),
    ] {
        assert_eq!(said(&kept), Vec::<String>::new(), "{kept}");
    }
}

#[test]
fn personal_data_and_grave_actions() {
    let personal = "data_sensitivity = 'personal'\n";
    remarks_one(&of("query", personal), "a.b handles personal data without privacy.purpose or privacy.retention");
    let less = "data_sensitivity = 'public'\nprivacy = { data_sensitivity = 'personal' }\n";
    remarks_one(&of("query", less), "privacy.data_sensitivity: \"personal\", and data_sensitivity is \"public\"");
    let kept = format!("[data_processing]\nretention = 'x'\n{}", of("query", personal));
    assert!(remarks(&kept).iter().any(|line| line.ends_with("without privacy.purpose")));
    let hold = |more: &str| of("prepare_action", more).replace("'low'", "'critical'");
    remarks_one(&hold(""), "a.b is a critical-risk action without idempotency_required");
    quiet(&hold("idempotency_required = true\n"));
}

#[test]
fn what_a_recipe_takes_from_its_steps_counts() {
    let all = |own: &str, step: &str| {
        let capability = |id: &str, more: &str| {
            format!("[[capabilities]]\nid = '{id}'\ntype = 'prepare_action'\nendpoint = '/{id}'\n{more}\n")
        };
        let text = capability("whole", &format!("upstream = {{ recipe = 'r' }}\n{own}"))
            + &capability("step", &format!("exposed = false\n{step}"))
            + "[[agtp.recipes]]\nname = 'r'\nsteps = [{ capability = 'step' }]\n";
        let said = remarks(&text);
        said.into_iter().filter(|line| line.contains("idempotency_required")).collect::<Vec<_>>()
    };
    assert_eq!(all("risk_level = 'high'", "idempotency_required = true"), [""; 0]);
    assert_eq!(all("risk_level = 'low'", "idempotency_required = true"), [""; 0]);
    for own in ["risk_level = 'high'", "risk_level = 'low'", "idempotency_required = false\nrisk_level = 'high'"] {
        let said = all(own, "");
        assert!(said.len() == 1 && said[0].contains("whole is a high-risk action without"), "{own}: {said:?}");
    }
}

#[test]
fn what_is_committed_to_still_holds() {
    let buy = of("commit_action", "");
    remarks_one(&buy, ": warning: a.b has no freshness revalidation rule.");
    let rule = "freshness = { revalidation_required_before_commit = true }";
    quiet(&format!("{buy}aom = {{ {rule} }}\n"));
    quiet(&format!("{buy}upstream = {{ desk = true }}\n"));
    let search = "[[capabilities]]\nid = 's'\ntype = 'query'\nrisk_level = 'low'\nendpoint = '/s'\n";
    quiet(&format!("{buy}{search}aom = {{ {rule}, actions = [{{ id = 'a.b' }}] }}\n"));
    remarks_one(&format!("{buy}{search}aom = {{ {rule}, actions = [{{ id = 's' }}] }}\n"), "a.b has no freshness");
}

#[test]
fn what_is_offered_next_can_be_called() {
    let next = "aom = { actions = [{ id = 'n' }] }\n[[capabilities]]\nid = 'n'\ntype = 'query'\nrisk_level = 'low'\n";
    remarks_one(&of("query", &format!("{next}endpoint = '/n'\nexposed = false\n")), "a.b offers n next, which is not");
    remarks_one(&of("query", next), "a.b offers n next, which has no endpoint");
    quiet(&of("query", &format!("{next}endpoint = '/n'\n")));
}

#[test]
fn a_contract_alone_needs_no_site_to_be_checked_and_one_to_run() {
    let alone = "aicp_version = '0.1'\n[site]\nname = 'X'\n";
    let review = |text: &'static str| {
        review(Path::new("/conf/frontdesk.toml"), &Pretended::default().file("/conf/frontdesk.toml", text))
    };
    assert!(review(alone).unwrap().contract_alone);
    assert!(refused(alone)[0].contains("this is a contract on its own; where is the site"), "{:?}", refused(alone));
    for text in ["aicp_version = '0.1'\n[listen]\n", "[site]\nname = 'X'\n", ""] {
        assert!(review(text).is_err_and(|refused| refused.to_string().contains("upstream: missing")), "{text}");
    }
    assert!(!review("[upstream]\nurl = 'http://a'\n").unwrap().contract_alone);
}

#[test]
fn the_examples_stay_quiet() {
    let said = remarks_of(FRONTDESK, &Pretended::with_keys());
    assert!(said.len() == 1 && said[0].contains("can enforce"), "{said:#?}");
    assert_eq!(remarks_of(MINIMAL, &Pretended::default()), Vec::<String>::new());
    let said = remarks_of(include_str!("../../../conf/travel.toml"), &Pretended::default());
    assert!(said.len() <= 3, "{said:#?}");
    println!("{said:#?}");
}
