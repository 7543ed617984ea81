// One application for Vue, on the server and in the browser.
import { createSSRApp, h, onMounted, ref } from "vue";

const Tea = {
  setup() {
    const count = ref(0);
    onMounted(() => { window.hydrated = true; });
    return () => h("main", { id: "app" }, [
      h("h1", "Tea"),
      h("p", "Green & black."),
      h("button", { id: "count", onClick: () => { count.value += 1; } }, count.value),
    ]);
  },
};

export const app = () => createSSRApp(Tea);
