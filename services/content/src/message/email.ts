import type { Transaction } from "@tidings/database/transaction";
import { checkFilters } from "@tidings/filters/check";
import { thingsNamedInFilters } from "@tidings/filters/named-things";
import { type Email, EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { isNothing, isObject, type JsonObject, jsonOf, notValid } from "@tidings/resource/json-member";
import type { NamedThings } from "@tidings/resource/needs";
import { repository } from "@tidings/resource/repository";
import type { Changed, Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Violation } from "@tidings/rpc/fault";
import { isEmailAddress } from "@tidings/runtime/email-address";
import { type Attachable, attachableAssets, attachmentProblem } from "../asset/attachable.ts";
import { checkVariantSettings, type Family, family } from "../family/family.ts";
import { type MakeWinner, winnerMaker } from "../family/make-winner.ts";
import { EMAIL_SHOWN } from "../family/references.ts";
import { checkUtmTags } from "../family/utm-tags.ts";
import { restartTests } from "../family/variant-test.ts";
import { keepFamily } from "../send/email-family.ts";
import { EMAIL_SCHEDULE } from "../send/schedule.ts";
import { checkTexts, type ReadMembers, readMembers } from "./email-texts.ts";

const TOKENS_MAX = 100;
const HEADERS_MAX = 50;
/** A field of the contact, in which an address stands. */
const CONTACT_FIELD = /^\{contactfield=[a-z0-9_]+(?:\|[^{}]*)?\}$/;
/** A field name and its body on one line (RFC 5322, 2.2). */
const HEADER_NAME = /^[!-9;-~]{1,191}$/;
const HEADER_VALUE = /^[^\r\n\0]{0,998}$/;

/** Emails, and the way in which a test of them ends. */
export function emails(context: ResourceContext): { rows: Repository<Email>; makeWinner: MakeWinner<Email> } {
  const variants = family(EmailSchema, EMAIL_SHOWN, ["variant", "translation"]);
  const restart = restartTests<Email>(EmailSchema, ["variantSentCount", "variantReadCount"]);
  const changed = async (transaction: Transaction, changes: Changed<Email>[]) => {
    await restart(transaction, changes);
    EMAIL_SCHEDULE.plan(transaction, changes, context.database.now());
  };
  const rows = repository<Email, Loaded>(context, EmailSchema, {
    listed: variants.listed,
    load: async (transaction, _call, messages, ids) => ({
      family: await variants.load(transaction, ids, messages),
      members: await readMembers(messages),
      attachable: await attachableAssets(transaction, messages.flatMap(assetsOf)),
    }),
    prepare(draft, { before, loaded }) {
      // An email to single contacts has no segments.
      if (draft.emailType !== "list") Object.assign(draft, { lists: [], excludedLists: [] });
      return [
        ...checkAddresses(draft),
        ...checkLines(draft),
        ...checkUtmTags(draft),
        ...checkVariantSettings(draft, { hasTestShare: true }),
        ...checkDynamicContent(draft),
        ...checkHeaders(draft),
        ...checkTexts(draft, before, loaded.members),
        ...checkAttachments(draft, before, loaded.attachable),
        ...(draft.emailType === "list" && draft.lists.length === 0
          ? [notValid("lists", "At least one contact segment is required.")]
          : []),
        ...variants.check(draft, before, loaded.family),
      ];
    },
    needs: ({ dynamicContent }) => thingsNamed(jsonOf(dynamicContent)),
    changed,
    show: variants.show,
  });
  const makeWinner = winnerMaker<Email>(context, EmailSchema, {
    ...{ changed, show: variants.show, swapped: keepFamily },
  });
  return { rows, makeWinner };
}

interface Loaded {
  family: Family;
  members: ReadMembers;
  attachable: Attachable;
}

function assetsOf(email: Email | undefined): number[] {
  return email?.assetAttachments.map(({ id }) => id) ?? [];
}

/** Assets that stay are not judged again: they may be unpublished meanwhile. */
function checkAttachments(
  draft: Email,
  before: Email | undefined,
  { files, missing }: Attachable,
): Violation[] {
  const ids = assetsOf(draft);
  const added = ids.filter((id) => !assetsOf(before).includes(id));
  const problem = attachmentProblem({
    files: added.length > 0 ? files.filter(({ id }) => ids.includes(id)) : [],
    missing: new Map([...missing].filter(([id]) => added.includes(id))),
  });
  return problem ? [notValid("assetAttachments", problem)] : [];
}

/** Members that become header fields are one line (RFC 5322, 2.2). */
function checkLines({ subject, fromName, fromAddress, preheaderText }: Email): Violation[] {
  return Object.entries({ subject, fromName, fromAddress, preheaderText }).flatMap(([field, text]) =>
    /[\r\n]/.test(text ?? "") ? [notValid(field, "It is one line.")] : [],
  );
}

function checkAddresses({ fromAddress, replyToAddress, bccAddress }: Email): Violation[] {
  const isFrom = !fromAddress || isEmailAddress(fromAddress) || CONTACT_FIELD.test(fromAddress);
  return [
    ...(isFrom ? [] : [notValid("fromAddress", "A valid email is required.")]),
    ...checkEach("replyToAddress", replyToAddress ? [replyToAddress] : []),
    // Several are separated by commas.
    ...checkEach("bccAddress", bccAddress ? bccAddress.split(",") : []),
  ];
}

function checkEach(field: string, addresses: string[]): Violation[] {
  return addresses.every((address) => isEmailAddress(address.trim()))
    ? []
    : [notValid(field, "A valid email is required.")];
}

/** `[{tokenName, content, filters: [{content, filters}]}]`: what a token stands for, depending on who reads it. */
function checkDynamicContent(draft: Email): Violation[] {
  const tokens = jsonOf(draft.dynamicContent);
  if (!Array.isArray(tokens)) return [notValid("dynamicContent")];
  if (tokens.length > TOKENS_MAX)
    return [notValid("dynamicContent", `At most ${TOKENS_MAX} entries are supported.`)];
  return tokens.flatMap((token, index) => {
    const path = `dynamicContent[${index}]`;
    if (!isObject(token)) return [notValid(path)];
    return [
      ...checkText(`${path}.tokenName`, token.tokenName),
      ...checkText(`${path}.content`, token.content),
      ...checkVersions(`${path}.filters`, token.filters ?? []),
    ];
  });
}

function checkVersions(path: string, versions: unknown): Violation[] {
  if (!Array.isArray(versions)) return [notValid(path)];
  return versions.flatMap((version, index) =>
    isObject(version)
      ? [
          ...checkText(`${path}[${index}].content`, version.content),
          ...checkFilters(`${path}[${index}].filters`, version.filters ?? []),
        ]
      : [notValid(`${path}[${index}]`)],
  );
}

/** The entities that filters of dynamic content name, for each version of each token. */
function thingsNamed(tokens: unknown): NamedThings[] {
  return objectsIn(tokens).flatMap((token, index) =>
    objectsIn(token.filters).flatMap((version, place) =>
      thingsNamedInFilters(version.filters, `dynamicContent[${index}].filters[${place}].filters`),
    ),
  );
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function checkText(path: string, value: unknown): Violation[] {
  return value === undefined || value === null || typeof value === "string" ? [] : [notValid(path)];
}

function checkHeaders({ headers }: Email): Violation[] {
  const sent = jsonOf(headers);
  if (isNothing(sent)) return [];
  if (!isObject(sent) || Object.keys(sent).length > HEADERS_MAX) return [notValid("headers")];
  return Object.entries(sent).flatMap(([name, value]) =>
    HEADER_NAME.test(name) && typeof value === "string" && HEADER_VALUE.test(value)
      ? []
      : [notValid("headers", "A header is a name and a line of text.")],
  );
}
