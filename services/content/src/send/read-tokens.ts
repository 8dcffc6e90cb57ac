import { isNothing, isObject, jsonOf, notValid } from "@tidings/resource/json-member";
import { invalid } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import { withoutScripts } from "../slot/without-scripts.ts";

const TOKENS_MAX = 100;
const TOKEN_NAME = /^\w{1,64}$/;
const TOKEN_LENGTH_MAX = 100_000;

/** `{"name": "<b>value</b>"}`, with braces about the names or without. An empty list is an empty map in the languages of older clients. */
export function readTokens(json: Uint8Array): Record<string, string> {
  const sent = jsonOf(json);
  if (isNothing(sent)) return {};
  if (!isObject(sent)) throw invalid([notValid("tokens", "It is a map of values by the names of tokens.")]);
  const entries = Object.entries(sent);
  if (entries.length > TOKENS_MAX)
    throw invalid([notValid("tokens", `At most ${TOKENS_MAX} tokens are supported.`)]);
  const read = entries.map(([written, value]) => {
    const name = written.replace(/^\{(.*)\}$/s, "$1");
    const text = isNothing(value) ? "" : textOf(value);
    if (!TOKEN_NAME.test(name))
      throw invalid([notValid("tokens", "A name is 1 to 64 letters, digits and underscores.")]);
    if (text === undefined || text.length > TOKEN_LENGTH_MAX)
      throw invalid([
        notValid(`tokens.${name}`, `A value is a text of at most ${TOKEN_LENGTH_MAX} characters.`),
      ]);
    return [name, withoutScripts(text)] as const;
  });
  return Object.fromEntries(read);
}
