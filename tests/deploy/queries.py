"""The dashboard's queries as recording rules, since promtool checks rules and not dashboards. Usage: queries.py FILE"""

import json
import sys


def expressions(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "expr":
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)


board = json.load(open(sys.argv[1]))
rules = []
for number, expression in enumerate(expressions(board)):
    for variable, value in (("$__rate_interval", "5m"), ("$job", ".*"), ("$instance", ".*")):
        expression = expression.replace(variable, value)
    assert "$" not in expression, f"a variable that nobody sets: {expression}"
    rules.append({"record": f"query:{number}", "expr": expression})
assert len(rules) > 40, len(rules)
# What Grafana asks of a panel: an id of its own, and a place that no other has.
panels = board["panels"]
assert len({panel["id"] for panel in panels}) == len(panels), "two panels have one id"
taken = set()
for panel in panels:
    at = panel["gridPos"]
    cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
    assert at["x"] + at["w"] <= 24 and not cells & taken, f"{panel['title']} lies over another"
    taken |= cells
# JSON is YAML.
json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)
