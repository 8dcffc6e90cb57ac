import type { Log } from "@tidings/runtime/log";
import { Router } from "express";
import { place } from "../place.ts";
import { counted } from "./counted.ts";
import { type MailPagesOptions, mailList } from "./mail-list.ts";
import { mailView } from "./mail-view.ts";
import { MAIL_PATH } from "./next.ts";
import { pageErrors } from "./router.ts";

/** The pages of mails that are kept in place of being sent. */
export function mailRouter(options: MailPagesOptions, log: Log): Router {
  const router = Router({ caseSensitive: true });
  place(router, MAIL_PATH, { GET: counted(options, mailList(options)) });
  place(router, `${MAIL_PATH}/:id`, { GET: counted(options, mailView(options)) });
  router.use(pageErrors(options, log));
  return router;
}
