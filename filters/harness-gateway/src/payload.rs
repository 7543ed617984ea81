//! The shape of payloads, by kind of event (Agent Harness Protocol 2.4, "Runtime Contract Events" and its special
//! decisions). Kinds without a table accept any payload.

use super::shape::{
    Member,
    Need::{Default, May, Must},
    Shape::{self, Any, Bool, List, Map, Object, Signed, Text, Variant, Whole, Word, WordOr},
};
use frontdesk_desk::harness::kinds::Kind;

/// The shape of a kind's payload; `None`: any.
pub(super) fn of(kind: Kind) -> Option<&'static Shape> {
    match kind {
        Kind::RunLifecycle => Some(&RUN_LIFECYCLE),
        Kind::TaskList => Some(&TASK_LIST),
        Kind::Verification => Some(&VERIFICATION),
        Kind::Idle => Some(&IDLE),
        Kind::IntentDetection => Some(&INTENT_DETECTION),
        Kind::ContextPerception => Some(&CONTEXT_PERCEPTION),
        Kind::MemoryRecall => Some(&MEMORY_RECALL),
        Kind::Planning => Some(&PLANNING),
        Kind::Reasoning => Some(&REASONING),
        Kind::RateLimit => Some(&RATE_LIMIT),
        Kind::Confirmation => Some(&CONFIRMATION),
        _ => None,
    }
}

static TEXTS: Shape = List(&Text);

static RUN_LIFECYCLE: Shape = Object(&[
    ("run_id", Must, &Text),
    ("session_id", Must, &Text),
    ("status", Must, &Word(&["created", "planning", "executing", "verifying", "completed", "failed", "cancelled"])),
    ("prompt", May, &Text),
    ("result_summary", May, &Text),
    ("error", May, &Text),
    ("started_at", May, &Text),
    ("updated_at", Must, &Text),
    ("metadata", May, &Map),
]);

static ARTIFACT: Shape = Object(&[
    ("id", Must, &Text),
    ("kind", May, &Text),
    ("uri", May, &Text),
    ("path", May, &Text),
    ("mime_type", May, &Text),
    ("sha256", May, &Text),
    ("size_bytes", May, &Whole),
    ("summary", May, &Text),
]);

static EVIDENCE: Shape =
    Object(&[("kind", Must, &Text), ("summary", Must, &Text), ("artifact", May, &ARTIFACT), ("metadata", May, &Map)]);

static TASK_LIST: Shape = Object(&[
    ("run_id", Must, &Text),
    ("session_id", Must, &Text),
    ("tasks", Must, &List(&Object(TASK))),
    ("updated_at", Must, &Text),
    ("metadata", May, &Map),
]);

static TASK: &[Member] = &[
    ("id", Must, &Text),
    ("title", Must, &Text),
    ("status", Must, &Word(&["pending", "in_progress", "completed", "failed", "skipped", "cancelled"])),
    ("depends_on", Default, &TEXTS),
    ("evidence", Default, &List(&EVIDENCE)),
    ("artifacts", Default, &List(&ARTIFACT)),
    ("error", May, &Text),
    ("updated_at", May, &Text),
    ("metadata", May, &Map),
];

static VERIFIED: Shape = Word(&["pending", "running", "passed", "failed", "skipped", "needs_review"]);

static VERIFICATION: Shape = Object(&[
    ("run_id", Must, &Text),
    ("session_id", Must, &Text),
    ("status", Must, &VERIFIED),
    ("checks", Default, &List(&Object(CHECK))),
    ("residual_risks", Default, &TEXTS),
    ("updated_at", Must, &Text),
    ("metadata", May, &Map),
]);

static CHECK: &[Member] = &[
    ("id", Must, &Text),
    ("subject", Must, &Text),
    ("status", Must, &VERIFIED),
    ("command", May, &Text),
    ("message", May, &Text),
    ("evidence", Default, &List(&EVIDENCE)),
    ("artifacts", Default, &List(&ARTIFACT)),
    ("metadata", May, &Map),
];

static IDLE: Shape = Object(&[
    ("idle_duration_ms", Must, &Whole),
    ("idle_reason", Must, &Text),
    ("last_event_type", May, &Text),
    ("suggested_action", May, &Text),
]);

static INTENT_DETECTION: Shape = Object(&[
    ("session_id", Must, &Text),
    ("prompt", Must, &Text),
    ("workspace", Must, &Text),
    ("language_hint", May, &Text),
]);

static MEMORY_RECALL: Shape = Object(&[
    ("session_id", Must, &Text),
    ("query", Must, &Text),
    ("memory_type", Must, &Text),
    ("max_results", Must, &Whole),
    ("working_directory", Must, &Text),
]);

static PLANNING: Shape = Object(&[
    ("session_id", Must, &Text),
    ("task_description", Must, &Text),
    (
        "available_strategies",
        Must,
        &List(&WordOr(&["none", "step_by_step", "tree_of_thoughts", "graph_planning"], "custom")),
    ),
    ("constraints", May, &Any),
]);

static REASONING: Shape = Object(&[
    ("session_id", Must, &Text),
    ("reasoning_type", Must, &WordOr(&["chain_of_thought", "tree_of_thoughts", "re_act", "reflexion"], "other")),
    ("problem_statement", Must, &Text),
    ("hints", May, &TEXTS),
]);

static RATE_LIMIT: Shape = Object(&[
    ("session_id", Must, &Text),
    (
        "limit_type",
        Must,
        &WordOr(&["llm_token_limit", "llm_request_limit", "api_request_limit", "tool_execution_limit"], "custom"),
    ),
    ("retry_after_ms", Must, &Whole),
    ("current_usage", Must, &Text),
]);

static CONFIRMATION: Shape = Object(&[
    ("session_id", Must, &Text),
    ("confirmation_type", Must, &WordOr(&["safety_confirm", "user_confirm", "cost_confirm"], "custom")),
    ("message", Must, &Text),
    ("options", May, &TEXTS),
]);

static CONTEXT_PERCEPTION: Shape = Object(&[
    ("session_id", Must, &Text),
    (
        "intent",
        Must,
        &Word(&["recognize", "understand", "locate", "retrieve", "explore", "reason", "validate", "compare", "track"]),
    ),
    ("target", Must, &TARGET),
    (
        "domain",
        Default,
        &Word(&[
            "coding",
            "writing",
            "data_analysis",
            "research",
            "project_management",
            "conversation",
            "operations",
            "security",
            "general",
        ]),
    ),
    (
        "preferred_modality",
        Default,
        &Word(&["text", "code", "structured_data", "table", "chart", "image", "audio", "video", "any"]),
    ),
    ("urgency", Default, &Word(&["critical", "high", "normal", "low"])),
    ("freshness", Default, &Word(&["realtime", "recent", "static"])),
    (
        "context",
        Must,
        &Object(&[
            ("workspace", Must, &Text),
            ("current_task", May, &Text),
            ("query", May, &Text),
            (
                "relevant_history",
                May,
                &List(&Object(&[("item_type", Must, &Text), ("content", Must, &Text), ("timestamp", Must, &Signed)])),
            ),
        ]),
    ),
    (
        "constraints",
        Default,
        &Object(&[
            ("max_results", May, &Whole),
            ("max_context_length", May, &Whole),
            ("include_sources", Default, &Bool),
        ]),
    ),
    ("metadata", May, &Map),
]);

static TARGET: Shape = Variant(&[
    ("entity", &[("name", Must, &Text), ("entity_type", Must, &Text), ("identifier", May, &Text)]),
    ("location", &[("path", Must, &Text), ("location_type", Must, &Text)]),
    (
        "event",
        &[
            ("description", Must, &Text),
            ("event_type", Must, &Text),
            ("time_range", May, &Object(&[("from", May, &Signed), ("to", May, &Signed), ("relative", May, &Text)])),
        ],
    ),
    ("relation", &[("entities", Must, &TEXTS), ("relation_type", Must, &Text)]),
    ("rule", &[("name", Must, &Text), ("rule_type", Must, &Text), ("scope", May, &Text)]),
    ("state", &[("target", Must, &Text), ("aspect", Must, &Text), ("include_history", Must, &Bool)]),
    ("resource", &[("name", Must, &Text), ("resource_type", Must, &Text), ("constraints", May, &Any)]),
    ("pattern", &[("pattern", Must, &Text), ("pattern_type", Must, &Text)]),
]);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_wrong_is_said_by_its_place() {
        let wrong = |kind, payload_of: Value| of(kind).unwrap().check(&payload_of, "payload").unwrap_err();
        let run = json!({"run_id": "r", "session_id": "s", "status": "executing", "updated_at": "t"});
        assert!(of(Kind::RunLifecycle).unwrap().check(&run, "payload").is_ok());
        let mut done = run.clone();
        done["status"] = "SECRET".into();
        let said = wrong(Kind::RunLifecycle, done);
        assert!(said.starts_with("`payload.status` has to be one of created, ") && !said.contains("SECRET"), "{said}");
        let tasks = json!({"run_id": "r", "session_id": "s", "updated_at": "t",
            "tasks": [{"id": "1", "title": "t", "status": "pending", "evidence": [{"kind": "log"}]}]});
        assert_eq!(wrong(Kind::TaskList, tasks), "`payload.tasks[0].evidence[0].summary` is missing.");
        assert_eq!(wrong(Kind::Verification, json!([])), "`payload` has to be an object.");
        assert_eq!(of(Kind::PreAction).map(|_| ()), None);
    }

    #[test]
    fn a_member_may_be_missing_null_or_neither() {
        let check = |payload_of: Value| of(Kind::Verification).unwrap().check(&payload_of, "p").is_ok();
        let with = |name: &str, value: Value| {
            let mut sent = json!({"run_id": "r", "session_id": "s", "status": "passed", "updated_at": "t"});
            sent[name] = value;
            sent
        };
        assert!(check(with("metadata", Value::Null)) && check(with("unknown", json!(1))));
        assert!(!check(with("checks", Value::Null)) && !check(with("status", Value::Null)));
        assert!(check(with("residual_risks", json!(["x"]))) && !check(with("residual_risks", json!([1]))));
    }

    #[test]
    fn words_may_be_somebodys_own() {
        let limit = |limit_type: Value| {
            let sent = json!({"session_id": "s", "limit_type": limit_type, "retry_after_ms": 1, "current_usage": "9"});
            of(Kind::RateLimit).unwrap().check(&sent, "p").is_ok()
        };
        assert!(limit(json!("api_request_limit")) && limit(json!({"custom": "x"})));
        assert!(!limit(json!("x")) && !limit(json!({"custom": 1})) && !limit(json!({"custom": "x", "y": 1})));
    }
}
