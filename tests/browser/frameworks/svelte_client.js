import { hydrate } from "svelte";
import Tea from "./Tea.svelte";

window.complaints = [];
// The body itself, as most guides have it.
hydrate(Tea, { target: document.body, recover: false });
