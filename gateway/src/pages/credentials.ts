import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { denied, notFound, type Violation } from "@tidings/rpc/fault";
import type { Request, Response } from "express";
import { type ClientDraft, checkClient } from "../oauth/client-draft.ts";
import {
  type Author,
  createClient,
  deleteClient,
  getClient,
  type ListedClient,
  listClients,
  rotateSecret,
} from "../oauth/manage-clients.ts";
import { listRoles } from "../oauth/roles.ts";
import { draftOf, emptyDraft, newCredentialContent } from "./credential-form.ts";
import { credentialListContent, secretContent } from "./credential-views.ts";
import { readForm } from "./form.ts";
import { type Member, menuOf, openMember } from "./member.ts";
import { sendOn, sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";
import { mayManageClients, requireClientPermission } from "./permission.ts";
import type { SignedIn } from "./visit.ts";

const PATH = "/credentials";
const WORK_MS = 10_000;

export function credentialList(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    requireClientPermission(member.user, Verb.VIEW);
    const clients = await listClients(options.database, deadline());
    const content = credentialListContent({
      clients,
      token: member.visit.formToken("credential"),
      mayCreate: mayManageClients(member.user, Verb.CREATE),
      mayRotate: (client) => !client.isPublic && mayChange(member.user, client, Verb.EDIT),
      mayDelete: mayManageClients(member.user, Verb.DELETE),
    });
    sendPage(response, { title: "API credentials", content, menu: menuOf(member, PATH) });
  };
}

export function newCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    requireClientPermission(member.user, Verb.CREATE);
    await sendForm(options, response, member, {});
  };
}

/** Answers with the page that shows the secret: nothing keeps it, so there is nowhere to redirect to. */
export function createCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    const { user, visit } = member;
    requireClientPermission(user, Verb.CREATE);
    const form = await readForm(request, { visit, name: "credential", publicOrigin: options.publicOrigin });
    const draft = draftOf(form);
    if (!user.admin && isPowerful(draft.grants)) throw denied();
    const violations = [...checkClient(draft), ...(await checkRole(options, draft))];
    if (violations.length > 0) return sendForm(options, response, member, { draft, violations });
    const { client, secret } = await createClient(options, draft, authorOf(member), deadline());
    const content = secretContent({ client, secret, title: `${client.name} was created` });
    sendPage(response, { title: client.name, content, menu: menuOf(member, "") });
  };
}

export function rotateCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const change = await openChange(request, response, options, Verb.EDIT);
    if (!change) return;
    const { member, client } = change;
    if (client.isPublic) throw notFound();
    const secret = await rotateSecret(options.database, client, authorOf(member), deadline());
    const content = secretContent({ client, secret, title: `${client.name} has a new secret` });
    sendPage(response, { title: client.name, content, menu: menuOf(member, "") });
  };
}

export function deleteCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const change = await openChange(request, response, options, Verb.DELETE);
    if (!change) return;
    await deleteClient(options, change.client, authorOf(change.member), deadline());
    sendOn(response, PATH);
  };
}

/** The client of the path, if the user may change it. */
async function openChange(request: Request, response: Response, options: PagesOptions, verb: Verb) {
  const member = await openMember(request, response, options);
  if (!member) return undefined;
  const { visit, user } = member;
  requireClientPermission(user, verb);
  await readForm(request, { visit, name: "credential", publicOrigin: options.publicOrigin });
  const id = /^[1-9]\d{0,8}$/.test(String(request.params.id)) ? Number(request.params.id) : undefined;
  const client = id === undefined ? undefined : await getClient(options.database, id, deadline());
  if (!client) throw notFound();
  if (verb === Verb.EDIT && !mayChange(user, client, verb)) throw denied();
  return { member, client };
}

/** Whoever learns the secret of a client that acts on its own has the rights of its role. */
function mayChange(user: SignedIn, client: ListedClient, verb: Verb): boolean {
  return mayManageClients(user, verb) && (user.admin || !isPowerful(client.grants));
}

async function checkRole({ database }: PagesOptions, { roleId }: ClientDraft): Promise<Violation[]> {
  if (roleId === undefined) return [];
  const roles = await listRoles(database, deadline());
  return roles.some(({ id }) => id === roleId) ? [] : [{ field: "role", message: "The role is not there." }];
}

function isPowerful(grants: string[]): boolean {
  return grants.includes("client_credentials");
}

async function sendForm(
  { database }: PagesOptions,
  response: Response,
  member: Member,
  { draft = emptyDraft, violations = [] }: Partial<Parameters<typeof newCredentialContent>[0]>,
): Promise<void> {
  const { admin } = member.user;
  const roles = admin ? await listRoles(database, deadline()) : [];
  const token = member.visit.formToken("credential");
  const content = newCredentialContent({ draft, violations, roles, token, mayActOnItsOwn: admin });
  const status = violations.length > 0 ? 422 : 200;
  sendPage(response, { title: "New credential", content, status, menu: menuOf(member, "") });
}

function authorOf({ user, visit }: Member): Author {
  return { actor: { kind: "user", id: user.id, name: user.name }, clientIp: visit.clientIp };
}

function deadline(): number {
  return Date.now() + WORK_MS;
}
