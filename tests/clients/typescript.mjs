// Both generations of the TypeScript SDK say hello, ping, list, call and read; the first asks its person on the stream of
// a call. Usage: typescript.mjs PREFIX URL KEY
// PREFIX is the directory whose node_modules has @modelcontextprotocol/sdk and @modelcontextprotocol/client.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [prefix, url, key] = process.argv.slice(2);
const { resolve } = createRequire(path.resolve(prefix, "here.js"));
const load = (name) => import(pathToFileURL(resolve(name)));

async function visit(name, { Client }, { StreamableHTTPClientTransport }) {
  const client = new Client({ name, version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.ping();
  const { tools } = await client.listTools();
  assert(tools.some((tool) => tool.name === "flight_search"), JSON.stringify(tools));
  const found = await client.callTool({ name: "flight_search", arguments: { origin: "MAD", destination: "NRT" } });
  assert(!found.isError && found.structuredContent.response.payload, JSON.stringify(found));
  const searched = await client.callTool({ name: "content_search", arguments: { query: "baggage" } });
  assert(!searched.isError && searched.content[0].text, JSON.stringify(searched));
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert(contents[0].text, JSON.stringify(contents));
  await client.close();
  console.log(`${name}: ${tools.length} tools, ${resources.length} resources`);
}

// The person confirms, and the call is carried out; another one declines, and nothing is done.
async function confirm({ Client }, { StreamableHTTPClientTransport }, { ElicitRequestSchema }) {
  const client = new Client({ name: "asking", version: "1" }, { capabilities: { elicitation: {} } });
  const answers = [{ action: "decline" }, { action: "accept", content: { ok: true } }];
  const asked = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answers[asked.push(params.message) - 1]);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const results = [];
  for (const n of answers.keys()) {
    const _meta = { auth: key, idempotency_key: `typescript-${n}` };
    results.push(await client.callTool({ name: "bookings_hold", arguments: { fare_id: "fare_123" }, _meta }));
  }
  const [declined, held] = results;
  assert(/nothing is done/.test(declined.content[0].text), JSON.stringify(declined));
  assert(!held.isError && JSON.stringify(held.structuredContent).includes("hold_id"), JSON.stringify(held));
  assert(asked.length === 2 && asked.every((message) => message.includes("fare_123")), JSON.stringify(asked));
  assert(!/[0-9a-f]{64}/.test(JSON.stringify(results)), "nothing that confirms reaches the model");
  await client.close();
  console.log("typescript sdk 1: declined and confirmed by the person");
}

const sdk = "@modelcontextprotocol/sdk/client";
await visit("typescript sdk 1", await load(`${sdk}/index.js`), await load(`${sdk}/streamableHttp.js`));
await confirm(
  await load(`${sdk}/index.js`),
  await load(`${sdk}/streamableHttp.js`),
  await load("@modelcontextprotocol/sdk/types.js"),
);
const client = await load("@modelcontextprotocol/client");
await visit("typescript sdk 2", client, client);
