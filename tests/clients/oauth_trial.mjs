// What the trials of OAuth clients have in common: ports, the beginning of a configuration, and what an agent keeps.
import net from "node:net";

/** Where agents are answered. Nothing listens there: the trials read the address that a browser is sent to. */
export const CALLBACK = "http://127.0.0.1:4711/cb";

/** The port of a server that listens now: this one, or any that is free. */
export const listening = (server, port = 0) =>
  new Promise((done) => server.listen(port, "127.0.0.1", () => done(server.address().port)));

export async function freePort() {
  const server = net.createServer();
  const port = await listening(server);
  await new Promise((done) => server.close(done));
  return port;
}

/** The tables of a configuration that have nothing to do with credentials. */
export const basics = (at, admin, site) => `
[listen]
http = "127.0.0.1:${at}"
admin = "127.0.0.1:${admin}"
[upstream]
url = "http://127.0.0.1:${site}"
[site]
origin = "http://127.0.0.1:${at}"
[content]
start = []
[rate_limits]
anonymous = "300/minute"
`;

/** The provider that the SDK asks for what an agent keeps of `person`, and tells what to keep. */
export const kept = (person, metadata = {}) => ({
  redirectUrl: CALLBACK,
  clientMetadata: { client_name: "SDK", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none", ...metadata },
  clientInformation: () => person.info,
  saveClientInformation: (info) => (person.info = info),
  tokens: () => person.tokens,
  saveTokens: (tokens) => (person.tokens = tokens),
  redirectToAuthorization: (url) => (person.wanted = url),
  saveCodeVerifier: (verifier) => (person.verifier = verifier),
  codeVerifier: () => person.verifier,
  saveDiscoveryState: (state) => (person.discovered = state),
  discoveryState: () => person.discovered,
  invalidateCredentials: (what) => {
    if (what === "tokens" || what === "all") person.tokens = undefined;
  },
});

/** Whether a call failed because its agent has to send its person to the authorization server. */
export const isUnauthorized = (error) => /Unauthorized/.test(`${error.name} ${error.constructor.name} ${error.message}`);
