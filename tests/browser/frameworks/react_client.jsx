// In the browser: takes over what the server sent, and keeps what React says about that.
import React from "react";
import { hydrateRoot } from "react-dom/client";
import { App, Page } from "./react.jsx";

const { pathname, search } = new URL(document.currentScript.src);
const first = new URLSearchParams(search).get("first");
const what = new URLSearchParams(search).get("what");
window.complaints = [];
const onRecoverableError = (error) => window.complaints.push(`recoverable: ${error.message}`);
// What the server sent late is there by the time that React comes to it.
const read = what === "stream" ? () => "Late words." : undefined;
const script = what === "stream" ? undefined : pathname + search;
if (what === "div") hydrateRoot(document.getElementById("root"), <App />, { onRecoverableError });
else hydrateRoot(document, <Page first={first} script={script} read={read} />, { onRecoverableError });
