import { app } from "./vue.js";

window.complaints = [];
app().mount("#root");
