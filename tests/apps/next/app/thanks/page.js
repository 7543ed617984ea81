import { cookies } from "next/headers";

export default async function Thanks() {
  return <h1>Thanks for ordering {(await cookies()).get("tea")?.value ?? "nothing"}</h1>;
}
