import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { RenderedSendSchema, SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { jsonBytes } from "@tidings/resource/json-member";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { slices } from "@tidings/runtime/slices";
import type { MailLinks } from "./mail-links.ts";
import type { RenderSend } from "./render-send.ts";
import { SHOWN_COLUMNS, storedSend } from "./stored-send.ts";
import { headersOf } from "./write-send.ts";

export interface RenderAgainOptions {
  database: Database;
  log: Log;
  links: MailLinks;
  render: RenderSend;
}

type Again = MessageInitShape<typeof RenderedSendSchema>;

const findStatement = prepared(
  "sends_render_again",
  `select ${SHOWN_COLUMNS} from sends where hash = any ($1::uuid[])`,
);
const SENDS_MAX = 100;
/** Characters of a mail, and of all mails beside which no others are written: an answer has at most 32 MB. */
const MAIL_LENGTH_MAX = 500_000;
const ANSWER_LENGTH_MAX = 4_000_000;
const AT_ONCE = 10;

/** Mails of the ledger for services that show them, written with the values that they went out with, or with present ones. */
export function sendMethods({
  database,
  log,
  links,
  render,
}: RenderAgainOptions): Pick<Handlers<typeof SendMethodService>, "batchRenderSends"> {
  const renderAgain = async (row: Row | undefined): Promise<Again> => {
    if (!row) return {};
    const send = storedSend(row);
    try {
      const { mail } = await render(send);
      const { subject, html, text } = mail;
      const content = html || text;
      if (content.length > MAIL_LENGTH_MAX) return {};
      const headers = Object.fromEntries(headersOf(mail.headers, send, links));
      return { mail: { subject, content, headers: jsonBytes(headers) } };
    } catch (error) {
      if (isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED) throw error;
      log.warn({ err: error, send: send.hash }, "a mail could not be written again");
      return {};
    }
  };
  return {
    async batchRenderSends({ hashes }, { deadlineMs }) {
      if (hashes.length > SENDS_MAX) throw badRequest(`At most ${SENDS_MAX} sends are supported.`);
      const found = await database.query(findStatement, [hashes], deadlineMs);
      const rows = new Map(found.map((row) => [row.hash, row]));
      const sends: Again[] = [];
      let length = 0;
      for (const slice of slices(hashes, AT_ONCE)) {
        if (length > ANSWER_LENGTH_MAX) break;
        const rendered = await Promise.all(slice.map((hash) => renderAgain(rows.get(hash))));
        sends.push(...rendered);
        for (const { mail } of rendered) length += mail?.content?.length ?? 0;
      }
      return { sends };
    },
  };
}
