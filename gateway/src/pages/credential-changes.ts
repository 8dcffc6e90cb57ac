import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { denied, notFound } from "@tidings/rpc/fault";
import { html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { checkClient } from "../oauth/client-draft.ts";
import {
  deleteClient,
  getClient,
  type ListedClient,
  rotateSecret,
  secretMarkOf,
  updateClient,
} from "../oauth/manage-clients.ts";
import { requiredId } from "../rest/path-id.ts";
import { type EditForm, editCredentialContent, namedDraftOf } from "./credential-form.ts";
import { doneAlready, secretContent } from "./credential-views.ts";
import { authorOf, deadline, FORM, PATH } from "./credentials.ts";
import { type Form, readForm } from "./form.ts";
import { type Member, menuOf, openMember } from "./member.ts";
import { STALE_FORM, withNotice } from "./notice.ts";
import { sendOn, sendPage } from "./page.ts";
import { originOf, type PagesOptions } from "./pages-options.ts";
import { mayChangeClient, requireClientPermission } from "./permission.ts";

export function editCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const opened = await openClient(request, response, options, Verb.EDIT);
    if (opened) sendEdit(response, opened, { draft: opened.client });
  };
}

export function saveCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const opened = await openClient(request, response, options, Verb.EDIT);
    if (!opened) return;
    const { client, member } = opened;
    const form = await formOf(request, options, member);
    const draft = namedDraftOf(form);
    if (form.isStale) return sendEdit(response, opened, { draft, notice: STALE_FORM });
    const violations = checkClient({ ...client, ...draft });
    if (violations.length > 0) return sendEdit(response, opened, { draft, violations });
    await updateClient(options, client, draft, authorOf(member), deadline());
    sendOn(response, withNotice(PATH, "saved"));
  };
}

/** Shown once, and made once: a reload sends the mark of a secret that is the present one no more. */
export function rotateCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const opened = await openClient(request, response, options, Verb.EDIT);
    if (!opened) return;
    const { client, member } = opened;
    const form = await formOf(request, options, member);
    if (form.isStale) return sendOn(response, withNotice(PATH, "stale"));
    if (client.isPublic) throw notFound();
    const keepsOld = form.text("overlap") === "day";
    const isPresent = form.text("present") === secretMarkOf(client);
    const secret = isPresent
      ? await rotateSecret(options.database, client, {
          keepsOld,
          author: authorOf(member),
          deadlineMs: deadline(),
        })
      : undefined;
    const menu = menuOf(member, "");
    if (secret === undefined) {
      const text = "The secret cannot be shown again. If it was not kept, make another one.";
      return sendPage(response, { ...doneAlready(text), menu });
    }
    const heading = html`${named(client.name)} has a new secret`;
    const content = secretContent({ client, secret, title: heading, origin: originOf(request, options) });
    sendPage(response, { title: `${client.name} has a new secret`, content, menu });
  };
}

export function deleteCredential(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const opened = await openClient(request, response, options, Verb.DELETE);
    if (!opened) return;
    const form = await formOf(request, options, opened.member);
    if (form.isStale) return sendOn(response, withNotice(PATH, "stale"));
    await deleteClient(options, opened.client, authorOf(opened.member), deadline());
    sendOn(response, withNotice(PATH, "deleted"));
  };
}

interface OpenedClient {
  member: Member;
  client: ListedClient;
}

/** The client of the path, if the user may change it. */
async function openClient(
  request: Request,
  response: Response,
  options: PagesOptions,
  verb: Verb,
): Promise<OpenedClient | undefined> {
  const member = await openMember(request, response, options);
  if (!member) return undefined;
  requireClientPermission(member.user, verb);
  const client = await getClient(options.database, requiredId(request.params.id), deadline());
  if (!client) throw notFound();
  if (verb === Verb.EDIT && !mayChangeClient(member.user, client)) throw denied();
  return { member, client };
}

function formOf(request: Request, { apiOrigin }: PagesOptions, { visit }: Member): Promise<Form> {
  return readForm(request, { visit, name: FORM, apiOrigin });
}

function sendEdit(
  response: Response,
  { member, client }: OpenedClient,
  form: Pick<EditForm, "draft"> & Partial<EditForm>,
): void {
  const { violations = [] } = form;
  const path = `${PATH}/${client.id}/edit`;
  const token = member.visit.formToken(FORM);
  const content = editCredentialContent({ ...form, violations, path, title: client.name, token });
  const isRefused = violations.length > 0;
  sendPage(response, { title: `Edit ${client.name}`, content, isRefused, menu: menuOf(member, "") });
}
