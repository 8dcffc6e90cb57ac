import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eventually } from "@tidings/testkit/eventually";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { MAIL_FIELD } from "../form-fields.ts";
import { make } from "../people.ts";
import { startVisitedStack } from "../visited-stack.ts";
import { visitor } from "../visitor.ts";

/** The clock of the content service is set while visitors come. */

const HOUR_MS = 3_600_000;
const PATIENCE = { timeoutMs: 60_000 };
const folder = await temporaryFolder();
const shiftFile = join(folder.path, "shift");
const setClock = (shiftMs: number) => writeFile(shiftFile, String(shiftMs));
await setClock(0);
const shifted = pathToFileURL(join(import.meta.dirname, "../shifted-clock.ts")).href;
const stack = await startVisitedStack({
  env: { content: { NODE_OPTIONS: `--import=${shifted}`, CLOCK_SHIFT_FILE: shiftFile } },
});
after(async () => {
  await stack.stop();
  await folder.remove();
});
const { api, baseUrl, query } = stack;

const form = await make(api, "forms", "form", {
  name: "Clocks",
  isPublished: true,
  fields: [MAIL_FIELD],
});
const submit = (who: ReturnType<typeof visitor>, mail: string) =>
  who.ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      "svcform[mail]": mail,
      "svcform[submissionKey]": randomUUID(),
    }).toString(),
  });
/** Seconds by which the rows of a query are off, the furthest one. */
async function furthest(table: string, column: string): Promise<number> {
  const [row] = await query(
    `select max(abs(extract(epoch from ${column} - now()))) as seconds from content.${table}`,
  );
  return Number(row?.seconds);
}

for (const hours of [2, -1])
  test(`while the clock of a process is off by ${hours} h, what visitors do is dated right, once, and they are known again`, async () => {
    const startedAt = Date.now();
    const known = visitor(baseUrl);
    const first = await known.hit({ page_url: "https://shop.example/before" });
    await setClock(hours * HOUR_MS);
    const page_url = `https://shop.example/off-${hours}`;
    await eventually(async () => {
      const answer = await known.hit({ page_url });
      assert.equal(answer.json.id, first.json.id);
    }, PATIENCE);
    const mail = `off${hours}@clocks.example`;
    assert.equal((await submit(known, mail)).json.success, 1);
    await setClock(0);
    assert.equal((await known.hit({ page_url })).json.id, first.json.id);
    await eventually(async () => {
      const found = await query(`select 1 from contact.contacts where email = '${mail}'`);
      assert.equal(found.length, 1);
    }, PATIENCE);
    const allowed = (Date.now() - startedAt) / 1_000 + 120;
    for (const [table, column] of [
      ["page_hits", "date_hit"],
      ["page_hits", "date_left"],
      ["form_submissions", "date_submitted"],
    ] as const)
      assert.ok((await furthest(table, column)) < allowed, `${table}.${column}`);
  });
