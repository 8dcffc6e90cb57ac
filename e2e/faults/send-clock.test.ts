import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { mailVariables } from "../mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "../newsletters.ts";
import { startVisitedStack } from "../visited-stack.ts";

/** The clock of the process that chooses and sends is set while it does so: the database's time alone counts. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const HOUR_MS = 3_600_000;
const PATIENCE = { timeoutMs: 90_000, intervalMs: 100 };
const folder = await temporaryFolder();
const shiftFile = join(folder.path, "shift");
const setClock = (shiftMs: number) => writeFile(shiftFile, String(shiftMs));
await setClock(0);
const shifted = pathToFileURL(join(import.meta.dirname, "../shifted-clock.ts")).href;
const sink = await startMailSink();
const stack = await startVisitedStack({
  replicas: { content: 2 },
  env: {
    "content-2": {
      ...{ CONTENT_ROLE: "send", NODE_OPTIONS: `--import=${shifted}`, CLOCK_SHIFT_FILE: shiftFile },
    },
    content: {
      CONTENT_ROLE: "serve",
      ...mailVariables(sink.port),
      ...{ MAIL_CONNECTIONS: "2", MAIL_RATE: "40/s" },
    },
  },
});
after(async () => {
  await stack.stop();
  await sink.close();
  await folder.remove();
});
const { api, made, query } = stack;

const readers = async (name: string, many: number) => (await segmentOf(stack, addresses(name, many))).id;
const newsletter = (segmentId: number, members: object = {}) => newsletterTo(stack, [segmentId], members);
const mailsOf = (name: string) => sink.taken.filter(({ to }) => to[0]?.startsWith(`${name}-`));
const latest = async (emailId: number): Promise<Any> =>
  ((await api("GET", `emails/${emailId}/sends`)).body as Any).sends[0];

for (const hours of [2, -1]) {
  test(`a clock that is set by ${hours} h during a send makes no mail early, late or double, and dates none wrong`, async () => {
    const name = `during${hours}`;
    const emailId = await newsletter(await readers(name, 100));
    const sending = made(`emails/${emailId}/send`, {});
    await eventually(() => assert.ok(mailsOf(name).length > 5), PATIENCE);
    await setClock(hours * HOUR_MS);
    // Other services refuse calls of a process whose clock is far off: then its mails wait.
    await eventually(async () => {
      const { lastError } = await latest(emailId);
      assert.ok(lastError || mailsOf(name).length > 50);
    }, PATIENCE);
    await setClock(0);
    await sending;
    await eventually(async () => assert.equal((await latest(emailId)).state, "finished"), PATIENCE);
    const { chosen, sent, unknown } = await latest(emailId);
    assert.deepEqual([chosen, sent, unknown], [100, 100, 0]);
    assert.equal(new Set(mailsOf(name).map(({ to }) => to[0])).size, 100);
    assert.equal(mailsOf(name).length, 100);
    const [off] = await query(
      `select max(greatest(abs(extract(epoch from date_sent - now())), abs(extract(epoch from date_queued - now())))) as seconds
       from content.sends where email_id = ${emailId}`,
    );
    assert.ok(Number(off?.seconds) < 300, `${off?.seconds} s`);
  });

  test(`publishUp, publishDown and the hours of a test hold by the database's time while a clock is off by ${hours} h`, async () => {
    const name = `planned${hours}`;
    const [planned, closed, tested] = [
      await readers(name, 3),
      await readers(`closed${hours}`, 3),
      await readers(`tested${hours}`, 20),
    ];
    await setClock(hours * HOUR_MS);
    const startsAt = Date.now() + 6_000;
    const early = await newsletter(planned, { publishUp: new Date(startsAt).toISOString() });
    const over = await newsletter(closed, { publishDown: new Date(Date.now() - 60_000).toISOString() });
    const open = await newsletter(closed, { publishDown: new Date(Date.now() + HOUR_MS / 2).toISOString() });
    assert.equal((await api("POST", `emails/${over}/send`)).status, 404);
    const variantSettings = { weight: 50, winnerCriteria: "email.openrate" };
    const parent = await newsletter(tested, { variantSettings: { totalWeight: 50 } });
    await newsletter(tested, { variantParent: parent, variantSettings });
    const sending = [made(`emails/${open}/send`, {}), made(`emails/${parent}/send`, { winnerAfterHours: 1 })];
    const begun = () =>
      query(
        `select extract(epoch from started_at) * 1000 as at from content.broadcasts where email_id = ${early}`,
      );
    await eventually(async () => assert.equal((await begun()).length, 1), PATIENCE);
    // publishUp is kept in whole seconds.
    assert.ok(Number((await begun())[0]?.at) >= startsAt - 1_000);
    await setClock(0);
    await Promise.all(sending);
    await eventually(() => assert.equal(mailsOf(name).length, 3), PATIENCE);
    assert.equal(mailsOf(`closed${hours}`).length, 3);
    const { state, decidesAt, chosen } = await eventually(async () => {
      const send = await latest(parent);
      assert.ok(send.decidesAt && send.sent === 10);
      return send;
    }, PATIENCE);
    const hoursLeft = (Date.parse(decidesAt) - Date.now()) / HOUR_MS;
    assert.ok(hoursLeft > 0.9 && hoursLeft < 1.1, decidesAt);
    assert.deepEqual([state, chosen, mailsOf(`tested${hours}`).length], ["testing", 10, 10]);
    const [job] = await query(
      `select extract(epoch from due_at - now()) / 3600 as hours from content.jobs where kind = 'broadcast_winner' order by id desc limit 1`,
    );
    assert.ok(Number(job?.hours) > 0.9 && Number(job?.hours) < 1.1, `in ${job?.hours} h`);
  });
}
