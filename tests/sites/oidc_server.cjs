// An authorization server, by oidc-provider: people sign in and consent on its own pages, access tokens are opaque, and it
// has introspection (RFC 7662) and revocation (RFC 7009). The library has no token exchange of its own: RFC 8693 is the
// grant below, over its stored tokens.
// Usage: NODE_PATH=... node oidc_server.cjs PORT
"use strict";
const { pathToFileURL } = require("node:url");

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const AUDIENCE = "https://notes.example";
const SCOPES = ["openid", "notes:read", "notes:write"];
const port = Number(process.argv[2]);
const confidential = { redirect_uris: [], response_types: [], token_endpoint_auth_method: "client_secret_basic" };

async function main() {
  // The library is an ECMAScript module, and those are not looked for in NODE_PATH.
  const { Provider, errors } = await import(pathToFileURL(require.resolve("oidc-provider")));
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: "agent", token_endpoint_auth_method: "none", redirect_uris: ["https://assistant.example/cb"],
        grant_types: ["authorization_code"], response_types: ["code"],
      },
      { ...confidential, client_id: "frontdesk", client_secret: "frontdesk-secret", grant_types: [EXCHANGE] },
      { ...confidential, client_id: "api", client_secret: "api-secret", grant_types: [] },
    ],
    scopes: SCOPES,
    cookies: { keys: ["only for this trial"] },
    features: { introspection: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });

  provider.registerGrantType(
    EXCHANGE,
    async (ctx) => {
      const { client, params } = ctx.oidc;
      if (params.subject_token_type !== ACCESS_TOKEN) throw new errors.InvalidRequest("the type of the token is not known");
      if (params.audience !== AUDIENCE) throw new errors.InvalidTarget("the audience is not known");
      const shown = await provider.AccessToken.find(params.subject_token ?? "");
      if (!shown) throw new errors.InvalidGrant("the token is not valid");
      const { accountId, scope } = shown;
      const token = new provider.AccessToken({ accountId, scope, gty: EXCHANGE, client });
      token.resourceServer = new provider.ResourceServer(AUDIENCE, { scope, audience: AUDIENCE, accessTokenFormat: "opaque" });
      ctx.body = {
        access_token: await token.save(), issued_token_type: ACCESS_TOKEN, token_type: "Bearer", expires_in: token.expiration, scope,
      };
    },
    ["subject_token", "subject_token_type", "audience", "scope", "resource", "requested_token_type"],
  );

  provider.listen(port, "127.0.0.1");
}

main();
