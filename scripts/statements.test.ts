import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { Statement } from "@tidings/database/statement";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { Client } from "pg";
import { processes } from "./processes.ts";
import { root } from "./tool.ts";

const OUTPUT_MAX = 16 * 1024 * 1024;
/** Files that are no part of the process, such as scripts of browsers, and its entry. */
const OTHERS = /\.test\.ts$|(^|\/)testing\/|^browser\/|^main\.ts$/;

const database = await createTestDatabase();
after(database.drop);

for (const { name, schema, entry } of processes)
  test(`Postgres understands every statement of ${name}`, async () => {
    const statements = await statementsOf(dirname(join(root, entry)));
    assert.ok(statements.length > 0);
    const client = new Client({ connectionString: database.url(schema) });
    await client.connect();
    const refused: string[] = [];
    for (const statement of statements) {
      const prepare = `prepare "${statement.name}" as ${statement.text}`;
      await client.query(prepare).catch((error) => refused.push(`${statement.name}: ${error.message}`));
    }
    await client.end();
    assert.deepEqual(refused, []);
  });

/** The statements of all modules in a folder. In a process of its own, as they run: names are unique in one process only. */
async function statementsOf(folder: string): Promise<Required<Statement>[]> {
  const modules = globSync("**/*.ts", { cwd: folder }).filter((path) => !OTHERS.test(path));
  const program = `
    import { preparedStatements } from "@tidings/database/database";
    for (const path of ${JSON.stringify(modules)}) await import(${JSON.stringify(`${folder}/`)} + path);
    process.stdout.write(JSON.stringify(preparedStatements()), () => process.exit());`;
  const args = ["--input-type=module", "--eval", program];
  const options = { cwd: import.meta.dirname, maxBuffer: OUTPUT_MAX };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  return JSON.parse(stdout);
}
