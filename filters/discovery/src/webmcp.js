// Offers what can be called at this site to an agent in the browser (WebMCP). Without one, nothing happens.
(async () => {
  const context = document.modelContext || navigator.modelContext;
  if (!context || typeof context.registerTool !== "function") return;
  const answer = await fetch("OPENAPI", { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const api = await answer.json();
  const find = (at) => at.slice(2).split("/").reduce((all, key) => all && all[key.replace(/~1/g, "/").replace(/~0/g, "~")], api);
  const schema = (of) => {
    const found = of && of.$ref ? find(of.$ref) : of;
    const text = JSON.stringify(found || {});
    // A schema that names others takes them along.
    return text.includes('"#/components/')
      ? { ...found, components: api.components }
      : found || { type: "object", properties: {} };
  };
  for (const [path, methods] of Object.entries(api.paths || {})) {
    const call = methods.post;
    if (!call || !call.operationId) continue;
    const body = call.requestBody && call.requestBody.content && call.requestBody.content["application/json"];
    try {
      await context.registerTool({
        name: call.operationId,
        description: call.description || call.summary || call.operationId,
        inputSchema: schema(body && body.schema),
        async execute(input) {
          const headers = { "Content-Type": "application/json", Accept: "application/json" };
          if (call["x-openai-isConsequential"]) headers["Idempotency-Key"] = crypto.randomUUID();
          const said = await fetch(path, { method: "POST", credentials: "same-origin", headers, body: JSON.stringify(input || {}) });
          return { content: [{ type: "text", text: await said.text() }], isError: !said.ok };
        },
      });
    } catch (error) {
      // The page has a tool of this name itself.
    }
  }
})().catch(() => {});
