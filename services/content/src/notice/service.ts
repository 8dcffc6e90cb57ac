import { retention } from "@tidings/jobs/retention";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import { NoticeService } from "@tidings/proto/tidings/content/v1/notice";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { noticeMethods } from "./list-notices.ts";
import { testMailMethods } from "./test-mail.ts";
import { users } from "./users.ts";

interface NoticeParts {
  rows: Repository<Email>;
  findVisible: FindVisible;
  mail: MailParts;
}

type Notices = Required<Pick<Parts, "jobs" | "projections" | "services">> & {
  methods: ReturnType<typeof testMailMethods>;
};

/** A notice has the mail itself, with values of people in it. */
const RETAINED = { kind: "notice_retention", table: "notices", since: "date_queued", days: 30 };

/** Tests of emails, the users who can get them, and the list of all notices. */
export function openNotices(
  { database, outbox, log }: Foundation<ContentConfig>,
  { rows, findVisible, mail }: NoticeParts,
): Notices {
  return {
    methods: testMailMethods({
      ...{ database, outbox, rows, findVisible, rendering: mail.rendering, wake: mail.wake },
      hasTransport: mail.way !== undefined,
    }),
    services: [implement(NoticeService, noticeMethods(database))],
    jobs: [retention(database, log, RETAINED)],
    projections: [users],
  };
}
