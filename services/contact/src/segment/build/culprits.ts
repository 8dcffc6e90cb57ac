import { compileSql } from "@tidings/database/compile-sql";
import { type Database, prepared } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { sql } from "kysely";
import { type CompiledDefinition, compileDefinitions } from "../definition/definitions.ts";
import { isFollowed } from "../follow/follow.ts";
import type { BuildServices } from "./build.ts";
import { buildJobs, PROBLEM } from "./build-request.ts";

/** The time limit of a segment for a few contacts; beyond it the segment counts as one that cannot be evaluated. */
const LIMIT_MS = 1_000;
const CONTACTS_MAX = 500;

const setAsideStatement = prepared(
  "segment_builds_set_aside",
  `update segment_builds set requested_at = null, problem = $2 where segment_id = any($1::integer[])`,
);

/**
 * Does work that asks all segments at once. Where it fails, each is asked alone, and those that cannot be answered are set
 * aside with the reason: they are left out until they change. Then the work is done again. When none of them is to blame,
 * the failure is thrown.
 */
export async function withoutCulprits<T>(
  services: BuildServices,
  contactIds: () => number[],
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const setAside = () => setCulpritsAside(services, contactIds());
      if (isOutage(error) || !(await services.database.outside(setAside))) throw error;
    }
  }
}

/** Sets those segments aside that cannot be evaluated for these contacts. Were there any? */
export async function setCulpritsAside(services: BuildServices, contactIds: number[]): Promise<boolean> {
  const { database, catalogues, readDefinitions, log } = services;
  const catalogue = await catalogues.latest();
  const definitions = await readDefinitions((statement) => database.query(statement, [], deadline()));
  const culprits: number[] = [];
  for (const segment of compileDefinitions(definitions, catalogue).filter(isFollowed)) {
    const problem = await problemOf(database, segment, contactIds.slice(0, CONTACTS_MAX));
    if (!problem) continue;
    log.warn(
      { err: problem, segment: segment.id },
      "a segment cannot be evaluated and is left out until it changes",
    );
    culprits.push(segment.id);
  }
  if (culprits.length > 0)
    await database.transaction(deadline(), async (transaction) => {
      transaction.execute(setAsideStatement, [culprits, PROBLEM]);
      buildJobs.fail(transaction, culprits.map(String), PROBLEM);
    });
  return culprits.length > 0;
}

/** Evaluates a segment alone for some contacts and returns its error. Throws when nothing could be evaluated at all. */
async function problemOf(
  database: Database,
  { compiled }: CompiledDefinition,
  contactIds: number[],
): Promise<unknown> {
  if (!compiled) return undefined;
  const { text, values } = compileSql(sql`select count(*) from contacts c
    where c.id = any(${contactIds}::integer[]) and (${compiled.predicate}) is true`);
  try {
    await database.query({ text }, values, Date.now() + LIMIT_MS);
    return undefined;
  } catch (error) {
    if (isOutage(error)) throw error;
    return error;
  }
}

function deadline(): number {
  return Date.now() + 5_000;
}
