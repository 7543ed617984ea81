// Both generations of the TypeScript SDK say hello, ping, list, call and read. Usage: typescript.mjs PREFIX URL
// PREFIX is the directory whose node_modules has @modelcontextprotocol/sdk and @modelcontextprotocol/client.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [prefix, url] = process.argv.slice(2);
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

const sdk = "@modelcontextprotocol/sdk/client";
await visit("typescript sdk 1", await load(`${sdk}/index.js`), await load(`${sdk}/streamableHttp.js`));
const client = await load("@modelcontextprotocol/client");
await visit("typescript sdk 2", client, client);
