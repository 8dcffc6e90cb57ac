import type { OutboundRequest } from "@tidings/outbound/outbound";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import type { JsonObject } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";

/** A submission that is posted to another form. */
export interface Reposted {
  form: Form;
  action: FormAction;
  /** The kept values, by the aliases of the fields. */
  results: Record<string, unknown>;
  /** The values of the contact's fields, by their aliases. */
  contact: JsonObject;
  /** The page that the form was sent from. */
  referer: string;
  /** `svc`. */
  prefix: string;
  /** The header with which the form proves itself; empty for none. */
  header: string;
}

const HEADER = /^([a-z0-9-]{1,100}): *([\x21-\x7e][\x20-\x7e]{0,3999})$/i;
/** These belong to the connection and to the body. */
const NOT_SETTABLE = new Set([
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The request of a `form.repost` action: its values form-encoded, then the contact and the form (engines.md 5.6). */
export function repostRequest(reposted: Reposted): OutboundRequest {
  const { form, action, results, contact, referer, prefix, header } = reposted;
  const body = new URLSearchParams();
  for (const [alias, value] of Object.entries(results))
    if (value !== null) body.append(nameAt(action, alias), textOf(value) ?? "");
  for (const [alias, value] of Object.entries(contact))
    body.append(`${prefix}Contact[${alias}]`, textOf(value) ?? "");
  for (const [member, value] of Object.entries({ id: form.id, name: form.name, url: referer }))
    body.append(`${prefix}Form[${member}]`, String(value));
  return {
    method: "POST",
    url: textOf(propertiesOf(action).post_url) ?? "",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      ...headerOf(header),
    },
    body: body.toString(),
  };
}

/** The name that a field has at the other form. */
export function nameAt(action: FormAction, alias: string): string {
  const properties = propertiesOf(action);
  return (Object.hasOwn(properties, alias) && textOf(properties[alias])) || alias;
}

/** `X-Key: secret`, or the value of `Authorization` alone. */
function headerOf(text: string): Record<string, string> {
  const [, name = "", value = ""] = HEADER.exec(text) ?? HEADER.exec(`authorization: ${text}`) ?? [];
  return name === "" || NOT_SETTABLE.has(name.toLowerCase()) ? {} : { [name.toLowerCase()]: value.trim() };
}
