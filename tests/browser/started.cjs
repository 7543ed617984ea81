// What every test in the browser starts: free ports, small servers, and Frontdesk with a configuration.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const path = require("node:path");

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** An HTTP server that listens: at a free port, or at this one. */
function listening(handler, port = 0) {
  return new Promise((done) => {
    const server = http.createServer(handler).listen(port, "127.0.0.1", () => done(server));
  });
}

/**
 * Runs Frontdesk with a configuration, which is written to `name`.toml in the directory `at`, and waits until `isReady`
 * says so. Throws with the log if it never does. Gives the configuration's file, and what ends the process.
 */
async function run(frontdesk, at, name, configuration, isReady) {
  const [file, log] = [path.join(at, `${name}.toml`), path.join(at, `${name}.log`)];
  fs.writeFileSync(file, configuration);
  const out = fs.openSync(log, "w");
  const child = spawn(frontdesk, ["run", "--config", file], { cwd: at, stdio: ["ignore", out, out] });
  const close = async () => {
    child.kill("SIGTERM");
    await new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done()));
  };
  for (let n = 0; !(await isReady()); n += 1) {
    if (n > 200 || child.exitCode !== null) {
      await close();
      throw new Error(fs.readFileSync(log, "utf8"));
    }
    await sleep(50);
  }
  return { file, close };
}

/** Whether an address answers with success, and with this text where one is given. */
const answers = (url, text = "") => fetch(url).then(async (answer) => answer.ok && (await answer.text()).includes(text), () => false);

module.exports = { answers, freePort, listening, run, sleep };
