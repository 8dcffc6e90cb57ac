import { backgroundDeadline, type Database } from "@tidings/database/database";
import { type Request, type Response, Router } from "express";
import { readBody } from "../web/read-body.ts";
import { keepAddressRefusal } from "./address-refusals.ts";
import { isFormerLink } from "./former-links.ts";
import type { LinkedSend, MailLinks } from "./mail-links.ts";
import type { PreferenceCentre } from "./preference-centre.ts";
import { keepRefusals, RefusalReason } from "./refusals.ts";
import type { UnsubscribeForm } from "./unsubscribe-form.ts";
import { UNSUBSCRIBE_FORM_POLICY, UNSUBSCRIBE_POLICY, unsubscribePage } from "./unsubscribe-page.ts";

export interface UnsubscribeOptions {
  database: Database;
  links: MailLinks;
  /** Undefined where readers choose nothing but to get emails or not. */
  preferences: PreferenceCentre | undefined;
  formOf: UnsubscribeForm;
  /** Secrets of the product that sent before. */
  formerSecrets: string[];
}

interface Answer {
  path: "unsubscribe" | "dnc" | "resubscribe";
  reason: 0 | 1;
  comments: string;
  asked: { title: string; text: string; label: string };
  done: { title: string; text: string };
  /** The path that takes it back. */
  opposite: "unsubscribe" | "resubscribe";
}

/** The paths of links that the product that sent before made. */
const FORMER_PATHS = new Set(["unsubscribe", "dnc"]);
/** `List-Unsubscribe=One-Click` (RFC 8058, 3.1), a button, or nothing. */
const BODY_BYTES_MAX = 1_000;
const UNSUBSCRIBED = {
  title: "You are unsubscribed",
  text: "You will get no more emails from us. If that was a mistake, you can take it back.",
};
const LABELS = { unsubscribe: "Unsubscribe", resubscribe: "Subscribe again" };
/** A form with all that a preference centre may show. */
const CHOICES_BYTES_MAX = 20_000;
const TOO_LONG = { isKept: false as const, page: undefined };
const CHOSEN = unsubscribePage({ title: "Saved", text: "We keep to what you chose." });
const NOT_CHOSEN = {
  title: "Not saved",
  text: "Something that you entered cannot be read. Please go back and look at it again.",
};
const ANSWERS: Answer[] = [
  {
    path: "unsubscribe",
    reason: RefusalReason.UNSUBSCRIBED,
    comments: "User unsubscribed.",
    asked: {
      title: "Unsubscribe",
      text: "Do you want to stop getting emails from us?",
      label: "Unsubscribe",
    },
    done: UNSUBSCRIBED,
    opposite: "resubscribe",
  },
  {
    path: "dnc",
    reason: RefusalReason.UNSUBSCRIBED,
    comments: "User unsubscribed.",
    asked: {
      title: "Unsubscribe from everything",
      text: "Do you want to stop getting emails of any kind from us?",
      label: "Unsubscribe from everything",
    },
    done: UNSUBSCRIBED,
    opposite: "resubscribe",
  },
  {
    path: "resubscribe",
    reason: RefusalReason.NONE,
    comments: "",
    asked: {
      title: "Subscribe again",
      text: "Do you want to get emails from us again?",
      label: "Subscribe again",
    },
    done: { title: "You are subscribed again", text: "You get emails from us again." },
    opposite: "unsubscribe",
  },
];

/**
 * `/email/unsubscribe/<token>`, `/email/dnc/<token>` and `/email/resubscribe/<token>` (engines.md 6.6). GET shows a page with one button and changes
 * nothing, for machines follow links. POST acts, once and again, whether or not the send is still there, and while other services are away. Whoever
 * unsubscribed sees the `unsubscribeForm` of the email.
 */
export function unsubscribeRoutes(options: UnsubscribeOptions): Router {
  const { database, links, preferences, formOf } = options;
  const router = Router({ caseSensitive: true });
  for (const answer of ANSWERS) {
    const { path, asked, done, opposite } = answer;
    router
      .route(`/email/${path}/:token`)
      .get(async (request: Request, response: Response, next) => {
        const token = String(request.params.token);
        const read = links.read("unsubscribe", token);
        if (!read) return next();
        const chosen = path === "unsubscribe" ? await preferences?.page(read, token) : undefined;
        if (chosen) return send(response, chosen.markup, chosen.policy);
        const { title, text, label } = asked;
        send(response, unsubscribePage({ title, text, button: { label, path: `/email/${path}/${token}` } }));
      })
      .post(async (request: Request, response: Response, next) => {
        const token = String(request.params.token);
        const read = links.read("unsubscribe", token);
        if (!read) return next();
        await readBody(request, BODY_BYTES_MAX);
        await keep(database, read, answer);
        const button = { label: LABELS[opposite], path: `/email/${opposite}/${token}` };
        const form = opposite === "resubscribe" ? await formOf(read.emailId) : undefined;
        send(
          response,
          unsubscribePage({ ...done, button, form }),
          form === undefined ? UNSUBSCRIBE_POLICY : UNSUBSCRIBE_FORM_POLICY,
        );
      });
  }
  if (options.formerSecrets.length > 0) router.use(formerRoutes(options));
  if (preferences)
    router.post("/email/preferences/:token", async (request: Request, response: Response, next) => {
      const token = String(request.params.token);
      const read = links.read("unsubscribe", token);
      if (!read) return next();
      const { text, isCut } = await readBody(request, CHOICES_BYTES_MAX);
      const kept = isCut ? TOO_LONG : await preferences.keep(read, token, text);
      if (kept.isKept) return send(response, CHOSEN);
      response.status(400);
      if (kept.page) return send(response, kept.page.markup, kept.page.policy);
      send(response, unsubscribePage(NOT_CHOSEN));
    });
  return router;
}

/** `/email/unsubscribe/<hash>/<address>/<hmac>` and the same with `dnc`, as the product that sent before made them. The page shows no address. */
function formerRoutes({ database, formerSecrets }: UnsubscribeOptions): Router {
  const router = Router({ caseSensitive: true });
  for (const { path, asked, done, comments } of ANSWERS.filter((answer) => FORMER_PATHS.has(answer.path))) {
    const { title, text, label } = asked;
    const isSigned = ({ params }: Request) =>
      isFormerLink(formerSecrets, String(params.address), String(params.mac));
    router
      .route(`/email/${path}/:token/:address/:mac`)
      .get((request: Request, response: Response, next) => {
        if (!isSigned(request)) return next();
        const { token, address, mac } = request.params;
        const parts = [path, token, address, mac].map((part) => encodeURIComponent(String(part)));
        send(
          response,
          unsubscribePage({ title, text, button: { label, path: `/email/${parts.join("/")}` } }),
        );
      })
      .post(async (request: Request, response: Response, next) => {
        if (!isSigned(request)) return next();
        await readBody(request, BODY_BYTES_MAX);
        const address = String(request.params.address);
        await database.transaction(backgroundDeadline(), async (transaction) =>
          keepAddressRefusal(transaction, { address, comments }),
        );
        send(response, unsubscribePage({ title: done.title, text: "You will get no more emails from us." }));
      });
  }
  return router;
}

async function keep(
  database: Database,
  { contactId, emailId }: LinkedSend,
  { reason, comments }: Answer,
): Promise<void> {
  await database.transaction(backgroundDeadline(), async (transaction) =>
    keepRefusals(transaction, [{ contactId, channel: "email", reason, channelId: emailId, comments }]),
  );
}

function send(response: Response, page: string, policy = UNSUBSCRIBE_POLICY): void {
  response.setHeader("content-security-policy", policy);
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-robots-tag", "noindex, nofollow");
  response.type("text/html").send(page);
}
