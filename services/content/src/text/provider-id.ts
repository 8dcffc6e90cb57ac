import { isObject, jsonIn } from "@tidings/resource/json-member";

const NAMES = ["id_str", "id", "sid", "message_id"];
const LENGTH_MAX = 191;

/** The id that a provider gave a message, in the JSON of its answer or in the `data` of that; null where there is none. */
export function providerIdIn(answer: string): string | null {
  const body = jsonIn(answer);
  const members = isObject(body) && isObject(body.data) ? body.data : body;
  if (!isObject(members)) return null;
  for (const name of NAMES) {
    const id = Object.hasOwn(members, name) ? members[name] : undefined;
    if (typeof id === "string" && id !== "") return id.slice(0, LENGTH_MAX);
    if (Number.isSafeInteger(id)) return String(id);
  }
  return null;
}
