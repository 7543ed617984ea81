//! The table of phrases, and the words that they are made of.
//!
//! Words are in lower case and without accents, as they are read. A phrase that people also say to each other is
//! `weak`.

use Slot::{Any, One, Some as Several};

/// A position in a phrase.
pub(super) enum Slot {
    /// One of these words; a final `*` matches any ending.
    One(&'static [&'static str]),
    /// Up to four of these words.
    Some(&'static [&'static str]),
    /// Up to this many words of any kind.
    Any(usize),
}

pub(super) struct Phrase {
    pub(super) rule: &'static str,
    /// Never addressed to people.
    pub(super) alone: bool,
    pub(super) first: &'static [&'static str],
    pub(super) rest: &'static [Slot],
}

const fn alone(rule: &'static str, first: &'static [&'static str], rest: &'static [Slot]) -> Phrase {
    Phrase { rule, alone: true, first, rest }
}

const fn weak(rule: &'static str, first: &'static [&'static str], rest: &'static [Slot]) -> Phrase {
    Phrase { rule, alone: false, first, rest }
}

const DROP: &[&str] = &[
    "ignore",
    "ignoring",
    "disregard",
    "disregarding",
    "forget",
    "bypass",
    "override",
    "overrule",
    "neglect",
    "discard",
    "dismiss",
];
const FILL: &[&str] = &[
    "all",
    "any",
    "every",
    "of",
    "the",
    "your",
    "these",
    "those",
    "my",
    "and",
    "other",
    "each",
    "completely",
    "please",
];
const BEFORE: &[&str] = &[
    "previous",
    "previously",
    "prior",
    "preceding",
    "above",
    "earlier",
    "foregoing",
    "existing",
    "former",
    "original",
    "initial",
    "system",
];
const ORDERS: &[&str] = &[
    "instruction*",
    "prompt*",
    "directions",
    "directive*",
    "rules",
    "guideline*",
    "command*",
    "constraint*",
    "programming",
    "training",
];

pub(super) static PHRASES: &[Phrase] = &[
    alone("ignore-instructions", DROP, &[Several(FILL), One(BEFORE), Any(2), One(ORDERS)]),
    alone(
        "ignore-instructions",
        DROP,
        &[
            Several(&["all", "of"]),
            One(&["your", "all"]),
            Any(1),
            One(&["instruction*", "guideline*", "programming", "training", "directive*"]),
        ],
    ),
    alone(
        "ignore-instructions",
        DROP,
        &[One(&["everything", "anything", "all"]), Any(1), One(&["above", "before", "previously", "prior"])],
    ),
    alone(
        "ignore-instructions",
        &["forget", "disregard"],
        &[
            One(&["everything", "all"]),
            Any(1),
            One(&["you", "i", "we"]),
            Any(2),
            One(&["told", "know", "said", "learned", "instructed"]),
        ],
    ),
    alone(
        "ignore-instructions",
        &["ignoriere", "ignorieren", "vergiss", "missachte"],
        &[
            Any(2),
            One(&["vorherigen", "bisherigen", "vorigen", "obigen", "fruheren"]),
            One(&["anweisungen", "instruktionen", "befehle", "regeln"]),
        ],
    ),
    alone(
        "ignore-instructions",
        &["ignorez", "ignore", "oubliez", "oublie"],
        &[Any(2), One(&["instructions", "consignes", "directives"]), Any(1), One(&["precedentes", "anterieures"])],
    ),
    alone(
        "ignore-instructions",
        &["ignora", "ignore", "olvida", "olvide"],
        &[
            Any(2),
            One(&["instrucciones", "instrucoes", "ordenes", "istruzioni"]),
            Any(1),
            One(&["anteriores", "previas", "precedenti"]),
        ],
    ),
    alone(
        "new-instructions",
        &["your", "these"],
        &[
            Several(&["are"]),
            Several(&["your"]),
            One(&["new"]),
            Any(1),
            One(&["instruction*", "directive*", "objective", "orders"]),
        ],
    ),
    alone("new-instructions", &["new", "updated"], &[One(&["system"]), One(&["prompt", "instruction*"])]),
    alone(
        "new-instructions",
        &["follow", "obey"],
        &[
            Several(&["only", "the"]),
            One(&["these", "my", "following"]),
            Any(1),
            One(&["instruction*", "commands"]),
            One(&["instead"]),
        ],
    ),
    alone(
        "reveal-prompt",
        &[
            "reveal", "print", "output", "show", "repeat", "leak", "display", "expose", "share", "disclose", "tell",
            "send", "dump",
        ],
        &[Any(3), One(&["system", "hidden", "initial", "secret"]), One(&["prompt*", "instruction*"])],
    ),
    alone(
        "role-change",
        &["you", "youre"],
        &[
            Several(&["are"]),
            One(&["now"]),
            Several(&["in", "an", "a", "entering", "operating", "running", "the", "called"]),
            One(&[
                "dan",
                "unrestricted",
                "unfiltered",
                "uncensored",
                "jailbroken",
                "developer",
                "debug",
                "god",
                "sudo",
                "evil",
            ]),
        ],
    ),
    alone(
        "role-change",
        &["you"],
        &[
            Several(&["are"]),
            One(&["no"]),
            One(&["longer"]),
            Any(2),
            One(&["ai", "assistant", "bound", "restricted", "limited", "chatbot"]),
        ],
    ),
    alone(
        "role-change",
        &["act", "behave", "respond", "roleplay", "pretend"],
        &[
            Several(&["as", "to", "be", "if", "you", "are", "were", "like"]),
            Any(3),
            One(&["unrestricted", "jailbroken", "uncensored", "unfiltered", "dan"]),
        ],
    ),
    alone("jailbreak", &["do"], &[One(&["anything"]), One(&["now"])]),
    alone(
        "safety-override",
        DROP,
        &[
            Any(3),
            One(&["safety", "ethical", "security", "content"]),
            Any(1),
            One(&["guideline*", "filters", "protocol*", "restriction*", "instruction*", "training", "policies"]),
        ],
    ),
    alone(
        "safety-override",
        &["disable", "circumvent", "deactivate"],
        &[
            Any(2),
            One(&["your", "all"]),
            One(&["safety", "ethical", "content"]),
            Any(1),
            One(&["guideline*", "filter*", "protocol*", "restriction*"]),
        ],
    ),
    alone(
        "conceal",
        &["do", "dont", "never", "without"],
        &[
            Several(&["not"]),
            One(&["tell", "inform", "alert", "notify", "reveal", "mention", "telling", "informing", "notifying"]),
            Several(&["this", "it", "to", "anything", "about", "any", "of"]),
            One(&["the"]),
            One(&["user", "human", "operator"]),
            Any(2),
            One(&["this", "about", "instruction*", "that", "anything"]),
        ],
    ),
    weak(
        "role-change",
        &["you", "youre"],
        &[Several(&["are"]), One(&["now"]), One(&["a", "an", "acting", "my", "playing", "called", "free", "known"])],
    ),
    weak("role-change", &["from"], &[One(&["now"]), One(&["on"]), Any(1), One(&["you"])]),
    weak(
        "role-change",
        &["act", "pretend", "roleplay", "behave"],
        &[One(&["as", "to", "like"]), One(&["a", "an", "be", "if", "the"])],
    ),
    weak("jailbreak", &["jailbreak", "jailbroken"], &[]),
    weak("jailbreak", &["sudo", "developer", "debug", "god"], &[One(&["mode"])]),
    weak("admin-override", &["admin", "administrator"], &[One(&["override"])]),
    weak(
        "safety-override",
        DROP,
        &[Any(3), One(&["safety", "security", "restriction*", "polic*", "rules", "instruction*"])],
    ),
    weak(
        "conceal",
        &["do", "dont", "never"],
        &[
            Several(&["not"]),
            One(&["tell", "inform", "alert", "notify", "mention", "reveal"]),
            Any(2),
            One(&["user", "users", "human", "operator"]),
        ],
    ),
    weak(
        "addressed-to-model",
        &["attention", "note", "instruction*", "message", "dear", "hey", "important", "system"],
        &[
            Several(&["to", "for", "all", "any", "the", "note"]),
            One(&[
                "ai",
                "llm",
                "llms",
                "language",
                "assistant",
                "assistants",
                "chatbot",
                "chatbots",
                "model",
                "models",
                "agents",
            ]),
        ],
    ),
    weak(
        "addressed-to-model",
        &["if"],
        &[
            One(&["you", "youre"]),
            Several(&["are"]),
            Several(&["a", "an"]),
            One(&["ai", "llm", "language", "large", "assistant", "chatbot", "model"]),
        ],
    ),
    weak("addressed-to-model", &["as"], &[One(&["an", "a"]), One(&["ai", "llm", "language"])]),
    weak("reveal-prompt", &["system"], &[One(&["prompt"])]),
    weak(
        "exfiltrate",
        &["send", "forward", "transmit", "upload", "exfiltrate", "leak"],
        &[
            Any(4),
            One(&[
                "credential*",
                "password*",
                "secret*",
                "cookies",
                "keys",
                "tokens",
                "conversation",
                "contents",
                "history",
                "env",
            ]),
        ],
    ),
];

/// Marks that are no phrases of words: those of chat formats, and one from AAHP's own list.
pub(crate) const MARKS: [(&str, &str); 9] = [
    ("<|im_start|>", "chat-template"),
    ("<|im_end|>", "chat-template"),
    ("<|system|>", "chat-template"),
    ("<|endoftext|>", "chat-template"),
    ("<|start_header_id|>", "chat-template"),
    ("<<SYS>>", "chat-template"),
    ("[/INST]", "chat-template"),
    ("ADMIN_OVERRIDE", "admin-override"),
    ("BEGIN SYSTEM PROMPT", "new-instructions"),
];
