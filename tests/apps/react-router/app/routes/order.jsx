import { Form, redirect, useFetcher } from "react-router";

/** The framework takes an action only where Origin and Host agree. */
export async function action({ request }) {
  const form = await request.formData();
  if (form.has("question")) return { answer: `${form.get("question")}: yes` };
  return redirect(`/teas/${form.get("tea")}`);
}

export default function Order() {
  const fetcher = useFetcher();
  return (
    <>
      <h1>Order</h1>
      <fetcher.Form method="post">
        <input name="question" defaultValue="In stock" /> <button>Ask</button> <output>{fetcher.data?.answer}</output>
      </fetcher.Form>
      <Form method="post">
        <input name="tea" defaultValue="assam" /> <button>Order</button>
      </Form>
    </>
  );
}
