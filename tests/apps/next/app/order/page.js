import { cookies } from "next/headers";
import { redirect } from "next/navigation";

/** A server action: Next takes it only where Origin and Host agree. */
async function order(form) {
  "use server";
  (await cookies()).set("tea", form.get("tea"));
  redirect("/thanks");
}

export default function Order() {
  return (
    <form action={order}>
      <h1>Order</h1>
      <input name="tea" defaultValue="Assam" /> <button>Order</button>
    </form>
  );
}
