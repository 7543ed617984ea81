export function loader({ params }) {
  if (params.name !== "assam") throw new Response(null, { status: 404 });
  return { name: "Assam", text: "Malty and strong." };
}

export default function Tea({ loaderData }) {
  return (
    <>
      <h1>{loaderData.name}</h1>
      <p>{loaderData.text}</p>
    </>
  );
}
