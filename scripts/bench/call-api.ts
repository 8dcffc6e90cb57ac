import type { Target } from "./measure.ts";

/** One request to our API and its answer. Throws when that is not a 2xx. */
export async function callApi(target: Target, method: string, path: string, body?: object) {
  const response = await fetch(`${target.url}/api/${path}`, {
    method,
    headers: { ...target.headers, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
  // Answers of the API have many shapes.
  return JSON.parse(text);
}
