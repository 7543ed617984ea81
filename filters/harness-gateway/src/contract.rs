//! The shape of each method's parameters (Agent Harness Protocol 2.4, "Methods").

use super::shape::{
    Need::{May, Must},
    Shape::{self, Any, List, Map, Number, Object, Small, SmallSigned, Text, Whole},
};

/// The parameters of `ahp/handshake`.
pub(super) static HANDSHAKE: Shape = Object(&[
    ("protocol_version", Must, &Text),
    (
        "agent_info",
        Must,
        &Object(&[("framework", Must, &Text), ("version", Must, &Text), ("capabilities", Must, &List(&Text))]),
    ),
    ("session_id", Must, &Text),
    ("agent_id", Must, &Text),
]);

/// The parameters of `ahp/query`.
pub(super) static QUERY: Shape = Object(&[
    ("session_id", Must, &Text),
    ("agent_id", Must, &Text),
    ("query_type", Must, &Text),
    ("payload", Must, &Any),
]);

/// The parameters of `ahp/batch`; each list item is an [`EVENT`].
pub(super) static BATCH: Shape = Object(&[("events", Must, &List(&Map))]);

/// The parameters of `ahp/event`.
pub(super) static EVENT: Shape = Object(&[
    ("event_type", Must, &Text),
    ("session_id", Must, &Text),
    ("agent_id", Must, &Text),
    ("timestamp", Must, &Text),
    ("depth", Must, &Small),
    ("payload", Must, &Any),
    ("context", May, &CONTEXT),
    ("metadata", May, &Map),
]);

static CONTEXT: Shape = Object(&[
    (
        "recent_facts",
        May,
        &List(&Object(&[("content", Must, &Text), ("source", Must, &Text), ("confidence", Must, &Number)])),
    ),
    (
        "memory_summary",
        May,
        &Object(&[("memory_type", Must, &Text), ("total_items", Must, &Whole), ("recent_topics", Must, &List(&Text))]),
    ),
    (
        "session_stats",
        May,
        &Object(&[
            ("total_actions", Must, &Whole),
            ("total_tokens", Must, &SmallSigned),
            ("duration_ms", Must, &Whole),
            ("error_count", Must, &Whole),
        ]),
    ),
    ("current_task", May, &Text),
    ("capabilities", May, &Map),
]);
