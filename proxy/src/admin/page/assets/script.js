// Fetches what changes every two seconds and puts it in its place. Without this the page is the same, as it was when it
// was loaded. It changes nothing that a person is typing or has selected.
"use strict";

const EVERY = 2000;
const where = document.body.dataset.refresh;

function inUse(element) {
  const marked = getSelection();
  const holds = (node) => node !== null && element.contains(node);
  return holds(document.activeElement) || (!marked.isCollapsed && (holds(marked.anchorNode) || holds(marked.focusNode)));
}

function isWrittenIn(ticket) {
  return ticket.contains(document.activeElement) || [...ticket.querySelectorAll("textarea")].some((t) => t.value !== "");
}

// Only rows that came or went change. A row with an unfinished answer stays, with a note that it is too late.
function merge(old, fresh) {
  for (const ticket of [...old.children]) {
    const now = fresh.querySelector("#" + ticket.id);
    if (now !== null) {
      ticket.querySelector("time").textContent = now.querySelector("time").textContent;
    } else if (!isWrittenIn(ticket)) {
      ticket.remove();
    } else {
      ticket.classList.add("gone");
      ticket.querySelectorAll("button").forEach((button) => { button.disabled = true; });
    }
  }
  for (const ticket of [...fresh.children]) {
    if (document.getElementById(ticket.id) === null) old.append(document.adoptNode(ticket));
  }
}

// What was scrolled stays so.
function replace(old, now) {
  const scrolled = () => [...old.querySelectorAll(".wide, pre")];
  const places = scrolled().map((part) => [part.scrollLeft, part.scrollTop]);
  old.replaceChildren(...[...now.childNodes].map((node) => document.adoptNode(node)));
  scrolled().forEach((part, n) => { [part.scrollLeft, part.scrollTop] = places[n] ?? [0, 0]; });
}

function show(fresh) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (now !== null && now.innerHTML !== old.innerHTML && !inUse(old)) replace(old, now);
  }
  const [old, now] = [document, fresh].map((from) => from.querySelector("[data-items]"));
  if (old !== null && now !== null) merge(old, now);
  const waiting = document.querySelectorAll(".ticket").length;
  document.title = (waiting > 0 ? "(" + waiting + ") " : "") + "Frontdesk";
}

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch(where, { cache: "no-store", redirect: "error" });
      if (answer.status === 401) {
        // The session is over.
        location.assign("/");
        return;
      }
      if (!answer.ok) throw new Error(answer.statusText);
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      document.body.classList.remove("stale");
    } catch {
      document.body.classList.add("stale");
    }
  }
  setTimeout(refresh, EVERY);
}

if (where) setTimeout(refresh, EVERY);
