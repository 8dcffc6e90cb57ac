import { isDeepStrictEqual } from "node:util";
import { prepared } from "@tidings/database/database";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { SEALING_SLICE, type SealedColumn } from "@tidings/secrets/sealing";
import type { SecretBox } from "@tidings/secrets/secret-box";

/** The header with which a form proves itself where it posts to: sealed where it is kept, and shown to nobody. */
const HEADER = "authorization_header";

/**
 * Seals what was sent, in place. A header that is not sent again stays, unless the form posts to another address; an empty one
 * takes it away.
 */
export function sealHeader(action: FormAction, before: FormAction | undefined, box: SecretBox): void {
  if (action.type !== "form.repost") return;
  const sent = propertiesOf(action);
  const known = before ? propertiesOf(before) : {};
  if (isDeepStrictEqual(sent, known)) return;
  const { [HEADER]: header, ...others } = sent;
  const isKept = (header ?? null) === null && known.post_url === sent.post_url;
  const sealed = isKept ? known[HEADER] : sealedText(header, known[HEADER], box);
  action.properties = jsonBytes(sealed ? { ...others, [HEADER]: sealed } : others);
}

/** The same header again is no change. */
function sealedText(header: unknown, known: unknown, box: SecretBox): string | undefined {
  if (typeof header !== "string" || header === "") return undefined;
  return typeof known === "string" && box.open(known) === header ? known : box.seal(header);
}

export function hideHeaders({ actions }: Form): void {
  for (const action of actions) {
    if (action.type !== "form.repost") continue;
    const { [HEADER]: _header, ...shown } = propertiesOf(action);
    action.properties = jsonBytes(shown);
  }
}

interface KeptAction {
  type: string;
  properties?: Record<string, unknown>;
}

/** The condition of an index: it is not asked of all forms once a minute. */
export const HAS_HEADER = `actions::text like '%"${HEADER}": "%'`;

/** The actions of forms, in which headers are sealed. */
export const repostHeaders: SealedColumn = {
  others: prepared(
    "forms_other_seals",
    `select id, actions::text as text from forms
     where ${HAS_HEADER} and exists (
         select from jsonb_array_elements(actions) as action
         where not starts_with(action -> 'properties' ->> '${HEADER}', $1))
       and id > $2 order by id limit ${SEALING_SLICE}`,
  ),
  replace: prepared(
    "forms_seal_headers",
    `update forms f set actions = sealed.actions::jsonb
     from unnest($1::integer[], $2::text[], $3::text[]) as sealed (id, actions, before)
     where f.id = sealed.id and f.actions = sealed.before::jsonb`,
  ),
  reseal: (text, box) =>
    JSON.stringify(
      (JSON.parse(text) as KeptAction[]).map((action) => {
        const header = action.properties?.[HEADER];
        if (typeof header !== "string") return action;
        return { ...action, properties: { ...action.properties, [HEADER]: box.seal(box.open(header)) } };
      }),
    ),
};
