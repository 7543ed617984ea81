// What is done in each application, step by step. `run` may return what only this application can tell (an answer of its
// kernel, a text on the page); it must be the same through Frontdesk. `mask` covers clocks in the picture.
import { dokuwiki, jupyterlab, wagtail, wordpress } from "./visits_editors.mjs";
import { mkdocs, next, reactRouter, supervisor } from "./visits_frameworks.mjs";

const all = {
  mkdocs, supervisor, next, "react-router": reactRouter, "react-18": reactRouter, jupyterlab, dokuwiki, wordpress, wagtail,
};

export const visitsOf = (app) => all[app];
