// An API with notes of people, which it knows by opaque tokens: it asks the authorization server about each one it is shown.
// Usage: node notes_api.cjs PORT AUTHORIZATION_SERVER [AUDIENCE that a token has to be for]
"use strict";
const http = require("node:http");

const [port, server, audience] = process.argv.slice(2);
const secret = `Basic ${Buffer.from("api:api-secret").toString("base64")}`;
const notes = new Map();
const shown = new Set();

async function owner(request) {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization || "")?.[1];
  if (!token) return null;
  shown.add(token);
  const answer = await fetch(`${server}/token/introspection`, {
    method: "POST",
    headers: { Authorization: secret, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token }),
  });
  const { active, sub, aud } = await answer.json();
  return active && (!audience || aud === audience) ? sub : null;
}

async function answered(request) {
  if (request.url === "/shown") return [200, [...shown]];
  const who = await owner(request);
  if (!who) return [401, { error: "who are you?" }];
  const own = notes.get(who) || notes.set(who, []).get(who);
  if (request.method === "POST") {
    let body = "";
    for await (const part of request) body += part;
    own.push(JSON.parse(body).text);
    return [201, { owner: who, text: own.at(-1) }];
  }
  return [200, { owner: who, notes: own }];
}

http
  .createServer((request, response) => {
    answered(request)
      .catch(() => [503, { error: "the authorization server is away" }])
      .then(([status, data]) => {
        const headers = { "Content-Type": "application/json" };
        if (status === 401) headers["WWW-Authenticate"] = "Bearer";
        response.writeHead(status, headers).end(JSON.stringify(data));
      });
  })
  .listen(Number(port), "127.0.0.1");
