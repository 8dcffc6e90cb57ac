import { type Database, queryable } from "@tidings/database/database";
import type { Page, PageMethodService } from "@tidings/proto/tidings/content/v1/page";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import type { MakeWinner } from "../family/make-winner.ts";
import type { LinkPreview } from "../web/preview.ts";
import { readPageTest } from "./page-test.ts";

interface PageMethodOptions {
  database: Database;
  rows: Repository<Page>;
  makeWinner: MakeWinner<Page>;
  linkPreview: LinkPreview;
}

/** The methods of pages beyond the standard ones. */
export function pageMethods({
  database,
  rows,
  makeWinner,
  linkPreview,
}: PageMethodOptions): Handlers<typeof PageMethodService> {
  return {
    async linkPagePreview(request, call) {
      await rows.get(request.id, call);
      return linkPreview("page", request, call);
    },
    async getPageTest({ id }, call) {
      await rows.get(id, call);
      return readPageTest(queryable(database, call.deadlineMs), id);
    },
    makePageWinner: ({ id }, call) =>
      database.transaction(call.deadlineMs, (transaction) => makeWinner(transaction, id, call)),
  };
}
