"""A harness over standard input and output: one JSON message in each line. What it decides is in the name of the tool."""

import json
import os
import sys

HEARD = []
SPECIAL = {
    "idle": {"decision": "allow"},
    "intent_detection": {"decision": "allow", "detected_intent": "buy", "confidence": 0.5},
    "context_perception": {"decision": "allow", "injected_context": {"facts": []}},
    "memory_recall": {"decision": "allow", "injected_facts": []},
    "planning": {"decision": "allow", "selected_strategy": {"custom": "own"}},
    "reasoning": {"decision": "allow", "hints": ["think"]},
    "rate_limit": {"decision": "retry", "retry_after_ms": 5},
    "confirmation": {"decision": "approve"},
}
TELLS = (
    "pre_action pre_prompt post_action post_response session_start session_end error heartbeat success "
    "run_lifecycle task_list verification"
).split()


class Down(Exception):
    pass


def decide(event):
    payload = event["payload"] if isinstance(event["payload"], dict) else {}
    tool = payload.get("tool_name")
    if tool == "die":
        sys.stdout.write('{"jsonrpc": "2.0", "id": ')
        sys.stdout.flush()
        os._exit(1)
    if tool == "down":
        raise Down("policy engine down")
    return {
        "block": {"decision": "block", "reason": "no"},
        "modify": {"decision": "modify", "modified_payload": dict(payload, arguments={"by": "python"})},
        "defer": {"decision": "defer", "retry_after_ms": 1500},
        "escalate": {"decision": "escalate", "reason": "a human", "escalation_target": "ops"},
    }.get(tool, {"decision": "allow", "metadata": {"seen": payload}})


def answer(message):
    method, params = message["method"], message["params"]
    if method == "ahp/handshake":
        return {
            "protocol_version": "2.0",
            "harness_info": {
                "name": "python",
                "version": "1",
                "capabilities": TELLS + list(SPECIAL) + ["query", "batch"],
            },
            "config": {"timeout_ms": 4000, "batch_size": 4, "max_depth": 3},
        }
    if method == "ahp/query":
        return {"answer": HEARD, "reason": params["query_type"]}
    if method == "ahp/batch":
        return {"decisions": [decide(event) for event in params["events"]]}
    return SPECIAL.get(params["event_type"]) or decide(params)


print("ready", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        HEARD.append(message["params"]["event_type"])
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message)
    except Down as why:
        reply["error"] = {"code": -32603, "message": str(why)}
    print(json.dumps(reply), flush=True)
