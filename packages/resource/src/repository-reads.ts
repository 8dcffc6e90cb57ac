import { create } from "@bufbuild/protobuf";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { notFound } from "@tidings/rpc/fault";
import { sql } from "kysely";
import { listPage } from "./list.ts";
import { isVisible } from "./reach.ts";
import type { Repository } from "./repository-options.ts";
import type { RepositoryParts } from "./repository-parts.ts";
import type { Resource } from "./resource.ts";
import { resourceList } from "./resource-list.ts";

/** Rows that the caller may not see do not exist for it. */
export function repositoryReads<T extends Resource, L>(
  parts: RepositoryParts<T, L>,
): Pick<Repository<T>, "get" | "list"> {
  const { database, schema, columns, options, ownership, statements, show } = parts;
  const source = resourceList(schema, columns, options);
  const visible = (call: Call) =>
    options.deletion === "kept"
      ? sql`${ownership.visible(call)} and date_deleted is null`
      : ownership.visible(call);
  return {
    async get(id, call) {
      const [row] = await database.query(statements.get, [id, call.actor.id], call.deadlineMs);
      const found = row && parts.toLocked(row);
      if (!found || !isVisible(call, found)) throw notFound();
      requireExpected(call, schema.typeName, { id, version: found.version });
      await show([found.message], call, database);
      call.showsVersion?.(found.version);
      return found.message;
    },
    async list(query, call) {
      const asked = query ?? create(ListQuerySchema);
      const page = await listPage(database, source(call), asked, visible(call), call);
      const items = page.rows.map((row) => parts.toStored(row).message);
      await show(items, call, database);
      return { items, totalSize: page.totalSize, ids: page.ids };
    },
  };
}
