import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { Code, denied, Fault, type Violation } from "@tidings/rpc/fault";
import { html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { type ClientDraft, checkClient } from "../oauth/client-draft.ts";
import {
  type Author,
  createClient,
  LIST_MAX,
  listClients,
  listRoles,
  newRandomId,
  secretMarkOf,
} from "../oauth/manage-clients.ts";
import { isSameDigest } from "../secret.ts";
import { type CredentialForm, draftOf, emptyDraft, newCredentialContent } from "./credential-form.ts";
import { credentialListContent, doneAlready, secretContent } from "./credential-views.ts";
import { type Form, readForm } from "./form.ts";
import { type Member, menuOf, openMember } from "./member.ts";
import { noticeOf, STALE_FORM } from "./notice.ts";
import { sendPage } from "./page.ts";
import { originOf, type PagesOptions } from "./pages-options.ts";
import { isPowerful, mayChangeClient, mayManageClients, requireClientPermission } from "./permission.ts";
import type { Visit } from "./visit.ts";

export const PATH = "/credentials";
export const FORM = "credential";
const WORK_MS = 10_000;

export function credentialList(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    const { user, visit } = member;
    requireClientPermission(user, Verb.VIEW);
    const clients = await listClients(options.database, deadline());
    const content = credentialListContent({
      clients: clients.slice(0, LIST_MAX),
      isCut: clients.length > LIST_MAX,
      token: visit.formToken(FORM),
      notice: noticeOf(request.url),
      mayCreate: mayManageClients(user, Verb.CREATE),
      mayEdit: (client) => mayChangeClient(user, client),
      mayDelete: mayManageClients(user, Verb.DELETE),
      secretMark: secretMarkOf,
    });
    sendPage(response, { title: "API credentials", content, menu: menuOf(member, PATH) });
  };
}

export function newCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    requireClientPermission(member.user, Verb.CREATE);
    await sendForm(options, response, member, { future: futureOf(member.visit) });
  };
}

/** Answers with the page that shows the secret: nothing keeps it, so there is nowhere to redirect to. */
export function createCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    const { user, visit } = member;
    requireClientPermission(user, Verb.CREATE);
    const form = await readForm(request, { visit, name: FORM, apiOrigin: options.apiOrigin });
    const draft = draftOf(form);
    const future = sentFutureOf(form, visit);
    if (form.isStale || !future)
      return sendForm(options, response, member, { draft, future: futureOf(visit), notice: STALE_FORM });
    if (!user.admin && isPowerful(draft.grants)) throw denied();
    const violations = [...checkClient(draft), ...(await checkRole(options, draft))];
    if (violations.length > 0) return sendForm(options, response, member, { draft, future, violations });
    const menu = menuOf(member, "");
    try {
      const created = await createClient(options, draft, authorOf(member), deadline(), future.id);
      const title = `${created.client.name} was created`;
      const heading = html`${named(created.client.name)} was created`;
      const content = secretContent({ ...created, title: heading, origin: originOf(request, options) });
      sendPage(response, { title, content, menu });
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== Code.ALREADY_EXISTS) throw error;
      const text =
        "The credential is in the list. Its secret cannot be shown again; you can make another one there.";
      sendPage(response, { ...doneAlready(text), menu });
    }
  };
}

/** The id that a new credential is to have, which only this session can send. */
function futureOf(visit: Visit, id = newRandomId()): CredentialForm["future"] {
  return { id, signature: visit.formToken(`credential ${id}`) };
}

function sentFutureOf(form: Form, visit: Visit): CredentialForm["future"] | undefined {
  const future = futureOf(visit, form.text("id"));
  return isSameDigest(form.text("signature"), future.signature) ? future : undefined;
}

async function checkRole({ database }: PagesOptions, { roleId }: ClientDraft): Promise<Violation[]> {
  if (roleId === undefined) return [];
  const roles = await listRoles(database, deadline());
  return roles.some(({ id }) => id === roleId) ? [] : [{ field: "role", message: "The role is not there." }];
}

async function sendForm(
  { database }: PagesOptions,
  response: Response,
  member: Member,
  form: Pick<CredentialForm, "future"> & Partial<CredentialForm>,
): Promise<void> {
  const { admin } = member.user;
  const roles = admin ? await listRoles(database, deadline()) : [];
  const token = member.visit.formToken(FORM);
  const { violations = [], draft = emptyDraft } = form;
  const content = newCredentialContent({ ...form, draft, violations, roles, token, mayActOnItsOwn: admin });
  const isRefused = violations.length > 0;
  sendPage(response, { title: "New credential", content, isRefused, menu: menuOf(member, "") });
}

export function authorOf({ user, visit }: Member): Author {
  return { actor: { kind: "user", id: user.id, name: user.name }, clientIp: visit.clientIp };
}

export function deadline(): number {
  return Date.now() + WORK_MS;
}
