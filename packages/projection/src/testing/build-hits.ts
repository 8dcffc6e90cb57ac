import { openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { project } from "../projecting.ts";
import { startRebuilding } from "../rebuild.ts";
import { replica, sourceOfHits } from "./hits.ts";

/** A process that builds the replica of hits, until it is killed: OWNER_URL and READER_URL are the two databases. */

const log = createLog("test", "silent");
const owner = openDatabase({ url: process.env.OWNER_URL ?? "", log });
const database = openDatabase({ url: process.env.READER_URL ?? "", log });
const source = sourceOfHits(owner);

startRebuilding(
  {
    database,
    log,
    projections: [replica],
    opened: async () => undefined,
    listSnapshots: async () => [],
    listFacts: (_owner, { after }) => source.list({ after, pageSize: 20 }, Date.now() + 20_000),
  },
  (events) => project({ database, projections: [replica] }, undefined, events),
);
