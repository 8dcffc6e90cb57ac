import { Client } from "pg";
import { callApi } from "./call-api.ts";
import { type Target, untilQuiet } from "./measure.ts";
import { type SampleResource, tableIn } from "./sample-resources.ts";

/** Creates these through the API, and copies them for the bare server. */
export async function loadResources(
  target: Target,
  databaseUrl: string,
  resources: SampleResource[],
): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (const resource of resources) {
      const { path, count, batchSize, table } = resource;
      for (let made = 0; made < count; made += batchSize) {
        const { errors } = await callApi(target, "POST", `${path}/batch/new`, batchOf(resource));
        if (errors) throw new Error(`${path}: ${JSON.stringify(errors).slice(0, 200)}`);
      }
      const copy = tableIn("bench", resource);
      await client.query(`create table ${copy} (like ${table} including all)`);
      await client.query(`insert into ${copy} overriding system value select * from ${table}`);
      await client.query(`create sequence ${copy}_next start ${count + 1}`);
    }
    await untilQuiet(target.pids);
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}

export function batchOf({ batchSize, body }: SampleResource): object[] {
  return Array.from({ length: batchSize }, body);
}
