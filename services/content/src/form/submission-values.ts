import { isObject, type JsonObject, jsonOf } from "@tidings/resource/json-member";
import { badRequest } from "@tidings/rpc/fault";

/** The values of a request. Throws INVALID_ARGUMENT for what is no object. */
export function valuesIn(json: Uint8Array): JsonObject {
  const sent = jsonOf(json);
  if (Array.isArray(sent) && sent.length === 0) return {};
  if (!isObject(sent)) throw badRequest("values must be an object.");
  return sent;
}
