// What the page is about: a site, a harness that hands things to a person, Frontdesk between them, and agents that call.
"use strict";
const { createHash } = require("node:crypto");
const { freePort, listening, run } = require("./started.cjs");

const TOKEN = "token-of-the-operator";
const KEY = "key-of-an-agent";
// An agent calls itself what it likes.
const NAME = "<img src=x onerror=\"window.hacked=1\">'&";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

function serve(answer) {
  return listening((request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const [status, type, text] = answer(request, Buffer.concat(pieces).toString());
      response.writeHead(status, { "Content-Type": type }).end(text);
    });
  });
}

const json = (value, status = 200) => [status, "application/json", JSON.stringify(value)];

const site = (request) => {
  const where = request.url.split("?")[0];
  if (where === "/api/items") return json({ items: ["tea"] });
  if (where === "/api/orders") return json({ order: "o-1" }, 201);
  if (where === "/api/broken") return [500, "text/plain", "no"];
  return [200, "text/html", "<!doctype html><html><head><title>Shop</title></head><body><p>Tea.</p></body></html>"];
};

const harness = (request, body) => {
  const message = JSON.parse(body);
  const answer = (result) => json({ jsonrpc: "2.0", id: message.id, result });
  if (message.method === "ahp/handshake") {
    const info = { name: "browser", version: "1", capabilities: ["pre_action"] };
    return answer({ protocol_version: "2.4", harness_info: info });
  }
  if (message.id === undefined) return [204, "text/plain", ""];
  return answer({ decision: "escalate", reason: "Orders above ten need a person.", escalation_target: "ops" });
};

const configuration = (ports) => `
[listen]
http = "127.0.0.1:${ports.http}"
admin = "127.0.0.1:${ports.admin}"
[admin]
token_sha256 = "${sha256(TOKEN)}"
[upstream]
url = "http://127.0.0.1:${ports.site}"
health_path = "/healthz"
[site]
name = "Tea & Sons"
origin = "https://tea.example"
[log]
access = false
[content]
start = []
llms_txt = "off"
[harness]
url = "http://127.0.0.1:${ports.harness}/ahp"
token = "token-of-the-harness"
[rate_limits]
anonymous = "40/minute"
[[auth.api_keys]]
name = "partner"
sha256 = "${sha256(KEY)}"
scopes = []
rate_limit = "1000/minute"

[[capabilities]]
id = "items.search"
type = "query"
description = "Searches the shop."
risk_level = "low"
auth = "optional"
method = "POST"
endpoint = "/agent/items/search"
upstream = { method = "GET", path = "/api/items" }

[[capabilities]]
id = "stock.check"
type = "query"
description = "Says what is left."
risk_level = "low"
auth = "optional"
method = "POST"
endpoint = "/agent/stock/check"
upstream = { method = "GET", path = "/api/broken" }

[[capabilities]]
id = "orders.place"
type = "commit_action"
description = "Places an order."
risk_level = "medium"
auth = "required"
requires_user_confirmation = false
method = "POST"
endpoint = "/agent/orders/place"
input_schema = { type = "object", required = ["item"], properties = { item = { type = "string" }, qty = { type = "integer" } } }
upstream = { method = "POST", path = "/api/orders" }

[[capabilities]]
id = "question.ask"
type = "query"
description = "Asks a person a question."
risk_level = "low"
auth = "none"
upstream = { desk = true }
[capabilities.ahp]
action_type = "async"
`;

/** Everything, started; `at` is a directory to work in. */
async function open(frontdesk, at) {
  const servers = [await serve(site), await serve(harness)];
  const ports = { http: await freePort(), admin: await freePort() };
  [ports.site, ports.harness] = servers.map((server) => server.address().port);
  const desk = `http://127.0.0.1:${ports.http}`;
  const admin = `http://127.0.0.1:${ports.admin}`;
  const isReady = async () => {
    const ready = await fetch(`${admin}/readyz?verbose`).then((answer) => answer.text(), () => "");
    return ready.includes("harness") && !ready.includes("is away");
  };
  const { file, close } = await run(frontdesk, at, "frontdesk", configuration(ports), isReady);
  const call = (where, input, headers = {}) => fetch(desk + where, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(input),
  });
  const bearer = { Authorization: `Bearer ${KEY}` };
  return {
    desk, admin, file, call,
    page: () => fetch(`${desk}/`),
    order: (qty) => call("/agent/orders/place", { item: "tea", qty }, { ...bearer, "AICP-Agent": NAME }),
    ask: async (query) => (await call("/agent/converse", { ahp: "0.1", capability: "question_ask", query }, bearer)).json(),
    poll: async (accepted) => (await fetch(new URL(accepted.poll, desk), { headers: bearer })).json(),
    search: (headers = bearer) => call("/agent/items/search", {}, headers),
    async close() {
      await close();
      servers.forEach((server) => server.close());
    },
  };
}

module.exports = { open, NAME, TOKEN };
