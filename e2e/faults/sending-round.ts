import assert from "node:assert/strict";
import { eventually } from "@tidings/testkit/eventually";
import { unsubscribeByOneClick, unsubscribeLink } from "../unsubscribe-link.ts";
import type { VisitedStack } from "../visited-stack.ts";
import type { Control, Model, ModelContact, ModelEmail, Span } from "./ledger-model.ts";

/** Operations on one family of emails and the contacts of its segment, as a model notes them. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Mails that the mail server took, as text. */
export interface Welcomed {
  address: string;
  subject: string;
  octets: string;
}

export interface Round {
  stack: VisitedStack;
  /** All subjects of the family begin with it. */
  name: string;
  segmentId: number;
  root: ModelEmail;
  model: Model;
  /** Links by which contacts unsubscribe, by their ids. */
  links: Map<number, string>;
  /** Calls that send: they are answered when all is sent, or after 20 s. */
  sending: Promise<unknown>[];
  /** Edits are made one after the other, so that it is known which subject was there when. */
  editing: Promise<unknown>;
}

export const PATIENCE = { timeoutMs: 120_000, intervalMs: 200 };

/** A segment whose contacts have a mail with a link that unsubscribes, and an email for it. */
export async function startRound(
  stack: VisitedStack,
  { name, members }: { name: string; members: number },
  welcomed: () => Welcomed[],
): Promise<Round> {
  const { list } = await stack.made("segments/new", { name });
  const base = { stack, name, segmentId: list.id };
  const model: Model = { contacts: [], emails: [], controls: new Map(), limits: new Map() };
  await addContacts({ ...base, model }, members);
  const links = await unsubscribeLinks({ ...base, model }, welcomed);
  const root = await newEmail(base, `${name} as it was made`);
  model.emails.push(root);
  return { ...base, root, model, links, sending: [], editing: Promise.resolve() };
}

type Made = Pick<Round, "stack" | "name" | "segmentId">;

async function unsubscribeLinks(round: Made & { model: Model }, welcomed: () => Welcomed[]) {
  const subject = `Welcome ${round.name}`;
  const { id } = await newEmail(round, subject);
  await round.stack.made(`emails/${id}/send`, {});
  const mails = await eventually(() => {
    const mails = welcomed().filter((mail) => mail.subject === subject);
    assert.equal(mails.length, round.model.contacts.length);
    return mails;
  }, PATIENCE);
  const links = mails.map(({ address, octets }) => {
    const contact = round.model.contacts.find((one) => one.address === address);
    return [contact?.id ?? 0, unsubscribeLink(octets)] as const;
  });
  return new Map(links);
}

async function newEmail({ stack, name, segmentId }: Made, subject: string, members: object = {}) {
  const from = Date.now();
  const { email } = await stack.made("emails/new", {
    ...{ name, subject, emailType: "list", isPublished: true, lists: [segmentId] },
    ...{ customHtml: "<p>Hello</p>", ...members },
  });
  const made = { from, to: Date.now() };
  return { id: email.id as number, made, subjects: [{ ...made, subject }] };
}

/** Contacts join the segment. The mail server refuses one in twelve. */
export async function addContacts(
  { stack, segmentId, model }: Made & { model: Model },
  many: number,
): Promise<void> {
  const first = model.contacts.length;
  const batch = Array.from({ length: many }, (_, index) => {
    const kind = (first + index) % 12 === 7 ? "gone" : "m";
    return { email: `${kind}-${crypto.randomUUID().slice(0, 8)}@example.org` };
  });
  const { contacts } = await stack.made("contacts/batch/new", batch);
  const ids: number[] = Object.values<Any>(contacts).map(({ id }) => id);
  await stack.made(`segments/${segmentId}/contacts/add`, { ids });
  const made = ids.map((id, index) => ({ id, address: batch[index]?.email ?? "", refused: [] }));
  model.contacts.push(...made);
}

const pickOf = <T>(all: T[], pick: number): T | undefined => all[pick % Math.max(1, all.length)];
const living = ({ model }: Round) => model.contacts.filter(({ mergedInto }) => !mergedInto);

export async function broadcastsOf({ stack, root }: Round): Promise<Any[]> {
  return ((await stack.api("GET", `emails/${root.id}/sends`)).body as Any).sends;
}

/** Asks, and says when. Undefined where the answer is that there is nothing left to do it to. */
async function asked(
  { stack }: Round,
  method: string,
  path: string,
  body: object,
): Promise<Span | undefined> {
  const from = Date.now();
  const answer = await stack.api(method, path, body);
  assert.ok([200, 201, 404, 409].includes(answer.status), `${path}: ${answer.text}`);
  return answer.status < 300 ? { from, to: Date.now() } : undefined;
}

export function send({ stack, root, model, sending }: Round, limit?: number): void {
  const answer = stack.made(`emails/${root.id}/send`, limit ? { limit } : {});
  sending.push(answer.then(({ send: { id } }) => limit && model.limits.set(id, limit)));
}

export async function control(round: Round, action: Control["action"], id: string): Promise<void> {
  const span = await asked(round, "POST", `emails/${round.root.id}/sends/${id}/${action}`, {});
  const { controls } = round.model;
  if (span) controls.set(id, [...(controls.get(id) ?? []), { ...span, action }]);
}

export async function controlAny(round: Round, action: Control["action"], pick: number): Promise<void> {
  const broadcast = pickOf(await broadcastsOf(round), pick);
  if (broadcast) await control(round, action, broadcast.id);
}

export function edit(round: Round, pick: number): Promise<unknown> {
  round.editing = round.editing.then(async () => {
    const email = pickOf(round.model.emails, pick);
    const subject = `${round.name} edit ${email?.subjects.length} of ${email?.id}`;
    const span = email && (await asked(round, "PATCH", `emails/${email.id}/edit`, { subject }));
    if (span) email.subjects.push({ ...span, subject });
  });
  return round.editing;
}

const VARIANTS_MAX = 2;

export function addVariant(round: Round): Promise<unknown> {
  round.editing = round.editing.then(async () => {
    const { emails } = round.model;
    if (emails.length > VARIANTS_MAX) return;
    const variantSettings = { weight: 30, winnerCriteria: "email.openrate" };
    const members = { variantParent: round.root.id, variantSettings };
    emails.push(await newEmail(round, `${round.name} variant ${emails.length}`, members));
  });
  return round.editing;
}

/** No contact takes part in two merges at once. */
export async function merge(round: Round, pick: number): Promise<void> {
  const [one, other] = [pickOf(living(round), pick), pickOf(living(round), Math.floor(pick / 100))];
  if (!one || !other || one === other) return;
  other.mergedInto = one;
  const span = await asked(round, "POST", `contacts/${one.id}/merge/${other.id}`, {});
  assert.ok(span, `${other.id} into ${one.id}`);
  other.mergedAt = span.to;
}

/** A do-not-contact entry, or an unsubscribe by a link, which a contact that was merged follows as well. */
export async function refuse(round: Round, by: "entry" | "link", pick: number): Promise<void> {
  const contact = pickOf(by === "link" ? round.model.contacts : living(round), pick);
  if (!contact) return;
  const span =
    by === "entry"
      ? await asked(round, "POST", `contacts/${contact.id}/dnc/email/add`, {})
      : await unsubscribe(round, contact);
  if (span) contact.refused.push({ ...span, by });
}

/** Contacts that joined later have no mail with a link. */
async function unsubscribe({ links }: Round, { id }: ModelContact): Promise<Span | undefined> {
  const link = links.get(id);
  if (!link) return undefined;
  const from = Date.now();
  const answer = await unsubscribeByOneClick(link);
  assert.equal(answer.status, 200, await answer.text());
  return { from, to: Date.now() };
}

/** Lets everything go on that is paused, sends to everybody who is left, and waits until all is decided. */
export async function settle(round: Round): Promise<Any[]> {
  for (const { id, state } of await broadcastsOf(round))
    if (state === "paused") await control(round, "resume", id);
  send(round);
  const all = await eventually(async () => {
    const all = await broadcastsOf(round);
    assert.ok(all.every(({ finishedAt }) => finishedAt));
    return all;
  }, PATIENCE);
  await Promise.all(round.sending);
  return all;
}
