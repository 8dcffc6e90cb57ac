import type { Answer } from "@tidings/outbound/outbound";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { isObject, type JsonObject, jsonIn, membersOf } from "@tidings/resource/json-member";
import { textOf, withoutTags } from "@tidings/runtime/plain-text";
import { isWebAddress } from "../family/web-address.ts";
import type { RepostAnswer } from "./action-outcome.ts";
import { nameAt } from "./repost-request.ts";

const TEXT_LENGTH_MAX = 1_000;
const URL_LENGTH_MAX = 2_048;
const MEMBERS_MAX = 100;
const REFUSED = "The form was not accepted.";
const FORM_ENCODED = "application/x-www-form-urlencoded";

/** The outcome of a repost: a refusal takes the submission back. */
export interface ReadAnswer {
  isRefusal: boolean;
  answer?: RepostAnswer;
  /** Why it failed, without being a refusal. */
  failure?: string;
}

/** Reads the answer of another form: `error`, `errors` or `violations` refuse, `redirect` leads on (engines.md 5.6). */
export function readRepostAnswer(answer: Answer, form: Form, action: FormAction): ReadAnswer {
  const body = bodyOf(answer);
  const refusal = refusalIn(body, form, action);
  if (refusal) return { isRefusal: true, answer: refusal };
  if (answer.status < 200 || answer.status > 299)
    return { isRefusal: false, failure: `The other form answered ${answer.status}.` };
  const redirect = textOf(body.redirect) ?? "";
  const isAddress = redirect.length <= URL_LENGTH_MAX && isWebAddress(redirect);
  return { isRefusal: false, ...(isAddress && { answer: { redirect } }) };
}

/** JSON, or a form where the answer says so. Anything else says nothing. */
function bodyOf({ headers, text }: Answer): JsonObject {
  if (String(headers["content-type"] ?? "").startsWith(FORM_ENCODED))
    return Object.fromEntries([...new URLSearchParams(text)].slice(0, MEMBERS_MAX));
  return membersOf(jsonIn(text));
}

function refusalIn(body: JsonObject, form: Form, action: FormAction): RepostAnswer | undefined {
  const [error, errors, violations] = ["error", "errors", "violations"].map((name) =>
    Object.hasOwn(body, name) ? body[name] : undefined,
  );
  if (isSaid(error)) return { message: sentence(error) };
  if (isSaid(errors)) return { message: sentence(errors) };
  if (!isSaid(violations)) return undefined;
  if (!isObject(violations)) return { message: sentence(violations) };
  const aliases = new Map(form.fields.map(({ alias }) => [nameAt(action, alias), alias]));
  const byField = Object.entries(violations)
    .slice(0, MEMBERS_MAX)
    .flatMap(([name, value]) => {
      const alias = aliases.get(name);
      return alias === undefined ? [] : [[alias, sentence(value)] as const];
    });
  return byField.length > 0 ? { errors: Object.fromEntries(byField) } : { message: sentence(violations) };
}

function isSaid(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** The texts of the other form as one plain text. */
function sentence(value: unknown): string {
  const texts = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [value];
  const said = texts.slice(0, MEMBERS_MAX).flatMap((text) => (text === true ? [] : (textOf(text) ?? [])));
  return withoutTags(said.join(", ").slice(0, TEXT_LENGTH_MAX)).trim() || REFUSED;
}
