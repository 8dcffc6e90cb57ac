import { retention } from "@tidings/jobs/retention";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import { mailSender } from "../send/hand-over.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { startLane } from "../send/run-sends.ts";
import { noticeLane } from "./notice-queue.ts";
import { askForNotice, recordNotices, writeNotice } from "./send-notices.ts";
import { testMailMethods } from "./test-mail.ts";
import { users } from "./users.ts";

interface NoticeParts {
  rows: Repository<Email>;
  findVisible: FindVisible;
  mail: MailParts;
}

type Notices = Required<Pick<Parts, "work" | "jobs" | "projections">> & {
  methods: ReturnType<typeof testMailMethods>;
};

/** A notice has the mail itself, with values of people in it. */
const RETAINED = { kind: "notice_retention", table: "notices", since: "date_queued", days: 30 };

/** Mails to users and to addresses. */
export function openNotices(
  { database, log }: Foundation<ContentConfig>,
  { rows, findVisible, mail }: NoticeParts,
): Notices {
  const { rendering, attachmentsOf, askContactable, way } = mail;
  const lane =
    way &&
    startLane(noticeLane, {
      database,
      log,
      connections: way.connections,
      send: mailSender({
        ...{ log, transport: way.transport, isBulk: () => false },
        write: (notice) => writeNotice({ database, attachmentsOf, from: way.from }, notice),
        ask: (notice) => askForNotice(askContactable, notice),
      }),
      record: (results) => recordNotices(database, results),
    });
  return {
    methods: testMailMethods({
      ...{ database, rows, findVisible, rendering },
      hasTransport: way !== undefined,
      wake: () => lane?.nudge(),
    }),
    work: lane ? { notices: lane } : {},
    jobs: [retention(database, log, RETAINED)],
    projections: [users],
  };
}
