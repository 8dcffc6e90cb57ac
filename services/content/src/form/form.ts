import type { Range } from "@tidings/outbound/address";
import {
  type Form,
  FormActionSchema,
  FormFieldSchema,
  type FormMethodService,
  FormSchema,
} from "@tidings/proto/tidings/content/v1/form";
import { latinWord } from "@tidings/resource/field-word";
import { notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { rulesOf } from "@tidings/resource/rules";
import type { SearchCommand } from "@tidings/resource/search";
import { totalOf } from "@tidings/resource/totals";
import { needsOfTyped } from "@tidings/resource/typed-needs";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, Fault, type Violation } from "@tidings/rpc/fault";
import { longWork } from "@tidings/runtime/long-work";
import type { SecretBox } from "@tidings/secrets/secret-box";
import { sql } from "kysely";
import { isWebAddress } from "../family/web-address.ts";
import type { LinkPreview } from "../web/preview.ts";
import { actionTypes, checkAction } from "./action.ts";
import { awaitFields, type ContactFields, isSynced, mappedFields, withSyncedLists } from "./contact-field.ts";
import { resolveFields } from "./field.ts";
import { type FormShown, formHtml } from "./html.ts";
import { choicesLength } from "./input-html.ts";
import { hideHeaders } from "./repost-secret.ts";
import { SUBMISSION_TOTAL } from "./submission-tables.ts";
import { forgetForms } from "./upkeep.ts";

const ALIAS_LENGTH_MAX = 10;
const ORDER_MAX = 1_000_000;
const LIMIT_MAX = 500;
const CHOICES_LENGTH_MAX = 1_000_000;
/** A page of ours, which is known by its address only when somebody is sent there. */
const PAGE_LINK = /^\{pagelink=\d{1,10}\}$/;

const rulesOfFields = rulesOf(FormFieldSchema);
const rulesOfActions = rulesOf(FormActionSchema);

/** Looking into the submissions of each form, Postgres would read all of them. */
const HAS_RESULTS = sql`(${totalOf(SUBMISSION_TOTAL.table, sql`forms.id`)}) > 0`;
const STATES = new Map([
  ["expired", sql`publish_down < now()`],
  ["pending", sql`publish_up > now()`],
]);

const commands = new Map<string, SearchCommand>([
  ["is", ({ text }) => STATES.get(text)],
  ["has", ({ text }) => (text === "results" ? HAS_RESULTS : undefined)],
]);

/** Forms with their fields and actions. A fault of one of these fails the form, with its own message. */
export function forms(
  context: ResourceContext,
  { shown, allowed, box }: { shown: FormShown; allowed: Range[]; box: SecretBox },
): Repository<Form> {
  const { database } = context;
  return repository<Form, ContactFields>(context, FormSchema, {
    commands,
    before: (messages, { deadlineMs }) => awaitFields(database, messages, deadlineMs),
    load: (transaction, _call, messages) => mappedFields(transaction, messages),
    prepare: (draft, { before, loaded }) => resolve(draft, before, { mapped: loaded, allowed, box }),
    needs: ({ actions }) =>
      actions.flatMap((action, index) => needsOfTyped(action, actionTypes, `actions[${index}].`)),
    changed: forgetForms,
    async show(items, { deadlineMs }, database) {
      const fields = await mappedFields(
        { query: (statement, values = []) => database.query(statement, values, deadlineMs) },
        items.filter((item) => item.fields.some(isSynced)),
      );
      const work = longWork();
      for (const item of items) {
        hideHeaders(item);
        item.cachedHtml = formHtml(withSyncedLists(item, fields), shown);
        await work.pause();
      }
    },
  });
}

/** The methods of forms beyond the standard ones. */
export function formMethods(
  rows: Repository<Form>,
  linkPreview: LinkPreview,
): Handlers<typeof FormMethodService> {
  const take = async (id: number, field: "fields" | "actions", ids: number[], call: Call) => {
    const update = { id, message: undefined, updateMask: undefined, allowMissing: false };
    return (await rows.update({ ...update, removed: { field, ids } }, call)).item;
  };
  return {
    removeFormFields: ({ id, fieldIds }, call) => take(id, "fields", fieldIds, call),
    removeFormActions: ({ id, actionIds }, call) => take(id, "actions", actionIds, call),
    async linkFormPreview(request, call) {
      await rows.get(request.id, call);
      return linkPreview("form", request, call);
    },
  };
}

interface Resolving {
  mapped: ContactFields;
  /** Private ranges that a form may post to all the same. */
  allowed: Range[];
  /** Seals the headers with which forms prove themselves there. */
  box: SecretBox;
}

function resolve(draft: Form, before: Form | undefined, resolving: Resolving): Violation[] | Fault {
  draft.alias = latinWord(draft.alias || before?.alias || draft.name, ALIAS_LENGTH_MAX) || "form";
  return resolveItems(draft, before, resolving) ?? [...checkPostAction(draft), ...checkLimit(draft)];
}

/** Fields and actions in their order. Answers what is wrong with the first of them that is not right. */
function resolveItems(
  draft: Form,
  before: Form | undefined,
  { mapped, allowed, box }: Resolving,
): Fault | undefined {
  draft.fields = inOrder(draft.fields);
  draft.actions = inOrder(draft.actions);
  const declared = [
    ...draft.fields.flatMap((field) => rulesOfFields.values(field, undefined)),
    ...draft.actions.flatMap((action) => rulesOfActions.values(action, undefined)),
  ];
  const [first] = declared;
  if (first) return badRequest(first.message);
  const fields = resolveFields(draft, before, mapped);
  if (fields instanceof Fault) return fields;
  const known = new Map(before?.actions.map((action) => [action.id, action]));
  const [wrong] = [
    ...fields,
    ...draft.actions.flatMap((action, index) =>
      checkAction(action, `actions[${index}]`, { before: known.get(action.id), allowed, box }),
    ),
    ...checkLength(draft),
    ...checkOrders("fields", draft.fields),
    ...checkOrders("actions", draft.actions),
  ];
  return wrong && badRequest(`${wrong.field}: ${wrong.message}`);
}

interface Ordered {
  order?: number | undefined;
}

/** Items without a place come last. */
function inOrder<T extends Ordered>(items: T[]): T[] {
  let last = items.reduce((latest, { order = 0 }) => Math.max(latest, order), 0);
  for (const item of items) item.order ||= ++last;
  return items.toSorted((one, other) => (one.order ?? 0) - (other.order ?? 0));
}

function checkOrders(name: string, items: Ordered[]): Violation[] {
  return items.flatMap(({ order = 0 }, index) =>
    Math.abs(order) <= ORDER_MAX ? [] : [notValid(`${name}[${index}].order`)],
  );
}

/** A form that is short to send may be long as HTML. */
function checkLength({ fields }: Form): Violation[] {
  const length = fields.reduce((sum, field) => sum + choicesLength(field), 0);
  return length > CHOICES_LENGTH_MAX ? [notValid("fields", "They have too many choices.")] : [];
}

function checkPostAction({ postAction, postActionProperty = "" }: Form): Violation[] {
  if (postAction === "message" && postActionProperty.trim() === "")
    return [notValid("postActionProperty", "A message is required.")];
  if (postAction !== "redirect" || isWebAddress(postActionProperty) || PAGE_LINK.test(postActionProperty))
    return [];
  return [notValid("postActionProperty", "A valid URL is required.")];
}

function checkLimit({ progressiveProfilingLimit: limit = 0 }: Form): Violation[] {
  return limit >= 0 && limit <= LIMIT_MAX ? [] : [notValid("progressiveProfilingLimit")];
}
