import { createSecretKey } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Database, openDatabase } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";
import { createOutbox } from "@tidings/messaging/outbox";
import { ListContactsRequestSchema } from "@tidings/proto/tidings/contact/v1/contact_service";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Actor } from "@tidings/rpc/actor";
import { createLog } from "@tidings/runtime/log";
import { cursorsOf } from "../../gateway/src/rest/cursor.ts";
import { readListParameters } from "../../gateway/src/rest/list-query.ts";
import { queryOf } from "../../gateway/src/rest/query.ts";
import { contactHandlers } from "../../services/contact/src/contact/contact.ts";
import { fieldCatalogues } from "../../services/contact/src/field/catalogue.ts";
import type { MainQuery } from "./main-queries.ts";

/** A statement that a list runs, with its values. */
export interface RecordedStatement {
  text: string;
  values: unknown[];
}

export interface QueryPlan {
  query: MainQuery;
  statements: RecordedStatement[];
  /** The plan of each statement from `explain`, without costs. */
  plans: string[];
}

const ACTOR: Actor = { kind: "user", id: 1, name: "Bench", admin: true, permissions: {} };
const LIMITS = { pageSize: 30, limitMax: 10_000, cursors: cursorsOf("none") };
const TIMEOUT_MS = 60_000;

/** Runs lists as the contact service does, in this process, and explains every statement they send to Postgres. */
export async function explainQueries(databaseUrl: string, queries: MainQuery[]): Promise<QueryPlan[]> {
  const database = openDatabase({ url: databaseUrl, log: createLog("bench", "silent") });
  try {
    const plans: QueryPlan[] = [];
    for (const query of queries) {
      const statements = await recordStatements(database, query);
      const explained = [];
      for (const statement of statements) explained.push(await explain(database, statement));
      plans.push({ query, statements, plans: explained });
    }
    return plans;
  } finally {
    await database.close();
  }
}

async function recordStatements(
  database: Database,
  { path, behind = 0 }: MainQuery,
): Promise<RecordedStatement[]> {
  const recorded: RecordedStatement[] = [];
  const recording: Database = {
    ...database,
    query(statement: Statement, values, deadlineMs) {
      recorded.push({ text: statement.text, values });
      return database.query(statement, values, deadlineMs);
    },
  };
  const handlers = contactHandlers({
    database: recording,
    outbox: createOutbox(),
    catalogues: fieldCatalogues(database),
    suppressionKey: createSecretKey(Buffer.alloc(32)),
  });
  const { query } = readListParameters(queryOf(`/api/${path}`), LIMITS);
  const call = {
    actor: ACTOR,
    deadlineMs: Date.now() + TIMEOUT_MS,
    requestId: "",
    reach: () => "all" as const,
  };
  let after = "";
  const showsNext = (position: string) => {
    after = position;
  };
  const list = (options: Pick<ListQuery, "after" | "pageSize" | "idsOnly">) => {
    const asked = create(ListContactsRequestSchema, { query: { ...query, ...options } });
    return handlers.listContacts(asked, { ...call, showsNext });
  };
  if (behind > 0) await list({ after: "[]", pageSize: behind, idsOnly: true });
  recorded.length = 0;
  await list({ after, pageSize: query.pageSize, idsOnly: false });
  return recorded;
}

async function explain(database: Database, { text, values }: RecordedStatement): Promise<string> {
  const rows = await database.query({ text: `explain (costs off) ${text}` }, values, Date.now() + TIMEOUT_MS);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** The plans as a document. */
export function plansText(plans: QueryPlan[], contacts: number): string {
  const sections = plans.map(({ query, plans: explained }) => {
    const blocks = explained.map((plan) => `\`\`\`\n${plan}\n\`\`\``).join("\n\n");
    return `## ${query.name}\n\n\`GET /api/${query.path}\` by ${query.index}\n\n${blocks}\n`;
  });
  return `# How the main lists of contacts are answered

\`explain\` of the statements of each list at ${contacts.toLocaleString("en")} contacts, written by
\`npm run bench -- --contacts ${contacts} --only list --plans\`. \`scripts/bench/query-plans.test.ts\` fails when one of them scans the
table of contacts from end to end.

${sections.join("\n")}`;
}
