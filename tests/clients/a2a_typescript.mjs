// The A2A project's own TypeScript SDK, 1.x and 0.3: card, question, call, confirmation, later answer, cancel, errors.
// Usage: a2a_typescript.mjs PREFIX URL KEY FARE. PREFIX is the directory whose node_modules has a2a-new and a2a-old.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [prefix, url, key, fare] = process.argv.slice(2);
const { resolve } = createRequire(path.resolve(prefix, "here.js"));
const load = (name) => import(pathToFileURL(resolve(name)));

// What the versions do not have in common. States are those of 0.3.
const versions = {
  "a2a-old": () => ({
    part: (part) => (typeof part === "string" ? { kind: "text", text: part } : { kind: "data", data: part }),
    message: (parts, about) => ({ kind: "message", messageId: randomUUID(), role: "user", parts, ...about }),
    result: (result) => (result.kind === "task" ? { task: result } : { parts: result.parts }),
    texts: (parts) => parts.filter((part) => part.kind === "text").map((part) => part.text),
    data: (parts) => parts.filter((part) => part.kind === "data").map((part) => part.data),
    state: (task) => task.status.state,
  }),
  "a2a-new": ({ TaskState, Role }) => ({
    part: (part) => ({
      content: typeof part === "string" ? { $case: "text", value: part } : { $case: "data", value: part },
      metadata: undefined, filename: "", mediaType: "",
    }),
    message: (parts, about) => ({
      messageId: randomUUID(), role: Role.ROLE_USER, parts, contextId: "", taskId: "", metadata: undefined,
      extensions: [], referenceTaskIds: [], ...about,
    }),
    result: (result) => ("status" in result ? { task: result } : { parts: result.parts }),
    texts: (parts) => parts.filter(({ content }) => content?.$case === "text").map(({ content }) => content.value),
    data: (parts) => parts.filter(({ content }) => content?.$case === "data").map(({ content }) => content.value),
    state: (task) => {
      const name = typeof task.status.state === "number" ? TaskState[task.status.state] : task.status.state;
      return name.replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");
    },
  }),
};

async function visit(name) {
  const { part, message, result, texts, data, state } = versions[name](await load(name));
  const sdk = await load(`${name}/client`);
  const connect = async (headers) => {
    const fetchImpl = (input, init) => fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } });
    const transports = [new sdk.JsonRpcTransportFactory({ fetchImpl })];
    return new sdk.ClientFactory({ transports, cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl }) }).createFromUrl(url);
  };
  const [stranger, agent] = [await connect({}), await connect({ Authorization: `Bearer ${key}` })];
  const send = async (client, parts, task) => {
    const about = task ? { taskId: task.id, contextId: task.contextId } : {};
    return result(await client.sendMessage({ message: message(parts.map(part), about), tenant: "", configuration: undefined, metadata: undefined }));
  };
  const get = (client, id) => client.getTask({ id, tenant: "" });
  const cancel = (id) => agent.cancelTask({ id, tenant: "", metadata: undefined });
  const refused = async (call) => {
    try {
      await call;
    } catch (error) {
      return `${error.name} ${error.constructor.name} ${error.message}`;
    }
    throw new assert.AssertionError({ message: "no error" });
  };

  const ask = () => send(stranger, ["Where would you like to go?"]);
  let answer = await ask();
  for (let tries = 0; tries < 60 && !data(answer.parts)[0]?.sources; tries += 1) {
    await new Promise((wake) => setTimeout(wake, 500)); // until the pages were read
    answer = await ask();
  }
  assert(texts(answer.parts)[0] && data(answer.parts)[0].sources.length, JSON.stringify(answer));
  const found = await send(stranger, [{ capability: "flight_search", input: { origin: "MAD", destination: "NRT" } }]);
  assert(data(found.parts)[0].payload.data.results.length, JSON.stringify(found));

  const hold = { capability: "bookings_hold", input: { fare_id: fare } };
  assert.match(await refused(send(stranger, [hold])), /credential|401/i);
  const { task: asked } = await send(agent, [hold]);
  assert.equal(state(asked), "input-required", JSON.stringify(asked));
  assert.match(texts(asked.status.message.parts)[0], new RegExp(fare));
  assert.match(await refused(get(stranger, asked.id)), /TaskNotFound|no such task/i);
  const { task: done } = await send(agent, ["yes"], asked);
  assert.equal(state(done), "completed", JSON.stringify(done));
  assert.match(texts((await get(agent, done.id)).artifacts[0].parts)[0], /held until/);
  assert.match(await refused(cancel(done.id)), /NotCancelable|over/i);

  const { task: declined } = await send(agent, [{ confirmed: false }], (await send(agent, [hold])).task);
  assert.equal(state(declined), "canceled");
  assert.equal(state(await cancel((await send(agent, [hold])).task.id)), "canceled");

  const later = await send(agent, [{ capability: "fares_report", input: { origin: "MAD", destination: "NRT" } }]);
  let report = later.task;
  for (let tries = 0; tries < 100 && state(report) === "working"; tries += 1) {
    await new Promise((wake) => setTimeout(wake, 50));
    report = await get(agent, report.id);
  }
  assert.equal(state(report), "completed", JSON.stringify(report));
  const { task: person } = await send(agent, [{ capability: "group_quote", input: { seats: 10 } }]);
  assert.equal(state(person), "working", JSON.stringify(person));
  assert.equal(state(await cancel(person.id)), "canceled");

  assert.match(await refused(get(agent, "0".repeat(32))), /TaskNotFound|no such task/i);
  assert.match(await refused(send(agent, [{ capability: "nothing" }])), /not supported/);
  console.log(`typescript ${name}: asks, calls, confirms, declines, waits, cancels`);
}

await visit("a2a-new");
await visit("a2a-old");
