export const dynamic = "force-dynamic";

export async function GET(request) {
  const { host } = new URL(request.url);
  return Response.json({ teas: ["Assam", "Sencha"], sameHost: host === request.headers.get("host") });
}
