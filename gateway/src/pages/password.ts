import type { Call } from "@tidings/rpc/call";
import { Code, Fault, type Violation } from "@tidings/rpc/fault";
import { type Html, html } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { userChanges } from "../identity/change-user.ts";
import { describedBy, notesOf, problemSummary } from "./field.ts";
import { type Member, menuOf, openMember } from "./member.ts";
import { noticeOf, withNotice } from "./notice.ts";
import { openForm } from "./open-form.ts";
import { sendOn, sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";
import { startSession } from "./sign-in.ts";

const PATH = "/password";
const FORM = "password";
const WORK_MS = 10_000;

export function passwordPage(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (member) sendForm(response, member, [], noticeOf(request.url));
  };
}

/** Sets another password for a user who knows the present one. It ends every session and token; this browser gets a new session. */
export function changePassword(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openForm(request, response, options, { name: FORM, back: PATH });
    if (!member) return;
    const { visit, user, form } = member;
    const sent = {
      current: form.verbatim("current"),
      password: form.verbatim("password"),
      confirm: form.verbatim("confirm"),
    };
    try {
      const changes = userChanges(options.database, options.outbox);
      await changes.changePassword(user.id, Buffer.from(JSON.stringify(sent)), callOf(member, response));
    } catch (error) {
      const problem = problemOf(error);
      if (problem.retryAfterSeconds) response.setHeader("retry-after", problem.retryAfterSeconds);
      return sendForm(response, member, [{ field: "current", message: problem.message }]);
    }
    await startSession(options, response, visit, { login: user.name, userId: user.id });
    sendOn(response, withNotice(PATH, "password"));
  };
}

/** Ends whatever is signed in as the user elsewhere, and every token of apps. */
export function endOtherSessions(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openForm(request, response, options, { name: FORM, back: PATH });
    if (!member) return;
    const { visit, user } = member;
    await userChanges(options.database, options.outbox).endSessions(user.id, callOf(member, response));
    await startSession(options, response, visit, { login: user.name, userId: user.id });
    sendOn(response, withNotice(PATH, "sessions"));
  };
}

function callOf({ user }: Member, response: Response): Call {
  return {
    actor: user,
    deadlineMs: Date.now() + WORK_MS,
    requestId: String(response.getHeader("x-request-id") ?? ""),
    // Users change their own password here, and nobody else's.
    reach: () => "none",
  };
}

function problemOf(error: unknown): { message: string; retryAfterSeconds?: number | undefined } {
  if (!(error instanceof Fault)) throw error;
  if (error.code === Code.INVALID_ARGUMENT) return { message: error.violations[0]?.message ?? error.message };
  if (error.reason === "RATE_LIMITED") return error;
  throw error;
}

const LABELS = new Map([["current", "Password"]]);
const HINT =
  "At least as strong as it takes to be hard to guess: several words are better than a word with signs.";

function sendForm(response: Response, member: Member, violations: Violation[], notice?: Html): void {
  const token = member.visit.formToken(FORM);
  const content = html`<h1>Password</h1>
${notice}
<div class="sheet">
${problemSummary(violations, LABELS)}
<form method="post" action="${PATH}"><input type="hidden" name="csrf" value="${token}">
${field("current", "Current password", "current-password", violations)}
${field("password", "New password", "new-password", [], HINT)}
${field("confirm", "New password once more", "new-password", [])}
<div class="actions"><button>Change password</button></div></form></div>
<div class="sheet bar"><p>Somebody else may be signed in as you, or an app may hold a token?</p>
<form method="post" action="${PATH}/sessions"><input type="hidden" name="csrf" value="${token}">
<button class="danger">Sign out everywhere else</button></form></div>`;
  const isRefused = violations.length > 0;
  sendPage(response, { title: "Password", content, isRefused, menu: menuOf(member, PATH) });
}

function field(
  name: string,
  label: string,
  autocomplete: string,
  violations: Violation[],
  hint?: string,
): Html {
  const notes = { name, violations, ...(hint && { hint }) };
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="password" autocomplete="${autocomplete}" required ${describedBy(notes)}>
${notesOf(notes)}</div>`;
}
