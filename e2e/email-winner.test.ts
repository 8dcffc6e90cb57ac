import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { TakenMail } from "@tidings/testkit/mail-sink";
import { parsed, startMailingStack } from "./mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "./newsletters.ts";
import { newPerson } from "./people.ts";
import { visitor } from "./visitor.ts";

/** A/B tests of emails: their rates, their winners, and sends whose rest gets the winner. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

// The process that serves decides, too.
const stack = await startMailingStack({ hasOwnHost: true, senders: "apart" });
const { api, baseUrl, publicUrl, made, query, mailsTo } = stack;
const PATIENCE = { timeoutMs: 60_000 };

let count = 0;
/** An email with one variant, which half of 40 % of the recipients get. */
async function newTest(many: number, criterion = "email.openrate", settings: object = { totalWeight: 40 }) {
  const name = `test-${++count}`;
  const { id } = await segmentOf(stack, addresses(name, many));
  const email = { name, customHtml: '<html><body><a href="https://shop.example/">Shop</a></body></html>' };
  const parent = await newsletterTo(stack, [id], { ...email, subject: "A", variantSettings: settings });
  const variant = await newsletterTo(stack, [id], {
    ...{ ...email, subject: "B", variantParent: parent },
    variantSettings: { weight: 50, winnerCriteria: criterion },
  });
  return { name, parent, variant };
}

const mailsOf = (name: string) => mailsTo(`${name}-`);
const subjectsOf = (name: string) =>
  mailsOf(name)
    .map(({ octets }) => /^Subject: (.*)\r$/m.exec(octets)?.[1])
    .toSorted()
    .join("");
const send = async (id: number, body: object): Promise<Any> =>
  (await api("POST", `emails/${id}/send`, body)).body;
const progressOf = async (emailId: number, id: string): Promise<Any> =>
  ((await api("GET", `emails/${emailId}/sends/${id}`)).body as Any).send;
const testOf = async (id: number): Promise<Any> => ((await api("GET", `emails/${id}/test`)).body as Any).test;
const emailNow = async (id: number): Promise<Any> => ((await api("GET", `emails/${id}`)).body as Any).email;
/** The send, once the recipients of its test have their mails. */
async function testing(emailId: number, body: object): Promise<Any> {
  const { send: begun } = await send(emailId, body);
  return eventually(async () => {
    const progress = await progressOf(emailId, begun.id);
    assert.deepEqual([progress.state, progress.sent], ["testing", progress.chosen]);
    return progress;
  }, PATIENCE);
}
/** Lets the hours of a test be over. */
const endTest = (id: string) =>
  query(`update content.jobs set due_at = now() where kind = 'broadcast_winner' and key = '${id}'`);

/** A person looks at a mail, and follows its link. */
async function read(mail: TakenMail | undefined, { follows = false } = {}): Promise<void> {
  const html = String((await parsed(mail)).html);
  const browser = visitor(baseUrl, { host: new URL(publicUrl).host });
  const ask = (pattern: RegExp) => {
    const address = pattern.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    return browser.ask(address.slice(new URL(publicUrl).origin.length));
  };
  assert.equal((await ask(/src="([^"]*\.gif)"/)).status, 200);
  if (follows) assert.equal((await ask(/href="([^"]*\/r\/[^"]*)"/)).status, 302);
}

test("the test share gets both variants, hours later the rest gets the winner, and nobody gets a second mail, whatever is killed", async () => {
  const { name, parent, variant } = await newTest(20);
  const held = await testing(parent, { winnerAfterHours: 4 });
  assert.deepEqual([held.chosen, held.winnerAfterHours, held.testShare, held.winner], [8, 4, 40, null]);
  const hours = (Date.parse(held.decidesAt) - Date.parse(held.startedAt)) / 3_600_000;
  assert.ok(hours >= 4 && hours < 4.1, held.decidesAt);
  assert.equal(subjectsOf(name), "AAAABBBB");
  const [mail] = mailsOf(name).filter(({ octets }) => /^Subject: B/m.test(octets));
  await read(mail);
  const stands = await testOf(variant);
  assert.deepEqual(
    [
      stands.winnerCriteria,
      stands.winners,
      stands.variants.map(({ id, sent, rate }: Any) => [id, sent, rate]),
    ],
    [
      "email.openrate",
      [variant],
      [
        [parent, 4, 0],
        [variant, 4, 0.25],
      ],
    ],
  );
  for (const process of ["content", "content-2"].map((one) => stack.process(one))) {
    process.kill("SIGKILL");
    await process.restart();
  }
  await endTest(held.id);
  const done = await eventually(async () => {
    const progress = await progressOf(parent, held.id);
    assert.equal(progress.state, "finished");
    return progress;
  }, PATIENCE);
  assert.deepEqual([done.chosen, done.sent, done.winner], [20, 20, variant]);
  assert.equal(subjectsOf(name), `AAAA${"B".repeat(16)}`);
  assert.equal(new Set(mailsOf(name).map(({ to }) => to[0])).size, 20);
  assert.deepEqual(
    [(await emailNow(variant)).variantParent, (await emailNow(parent)).variantParent.id],
    [null, variant],
  );
  for (const id of [variant, parent]) assert.equal((await send(id, {})).sentCount, 0);
  assert.equal(mailsOf(name).length, 20);
  const { excluded } = (await api("POST", `emails/${variant}/dry-run`, {})).body as Any;
  assert.equal(excluded.already_chosen, 20);
});

test("click-through counts people who followed a link, a limit counts the test, and without a winner the rest gets the email itself", async () => {
  const clicked = await newTest(10, "email.clickthrough");
  const held = await testing(clicked.parent, { winnerAfterHours: 1, limit: 6 });
  assert.equal(held.chosen, 3);
  const [a, b] = ["A", "B"].map((subject) =>
    mailsOf(clicked.name).find(({ octets }) => octets.includes(`\r\nSubject: ${subject}\r\n`)),
  );
  await read(a);
  await read(b, { follows: true });
  await eventually(async () => assert.deepEqual((await testOf(clicked.parent)).winners, [clicked.variant]));
  const quiet = await newTest(5);
  const unread = await testing(quiet.parent, { winnerAfterHours: 168 });
  await endTest(held.id);
  await endTest(unread.id);
  for (const [{ parent }, { id }, chosen, winner] of [
    [clicked, held, 6, clicked.variant],
    [quiet, unread, 5, quiet.parent],
  ] as const)
    await eventually(async () => {
      const progress = await progressOf(parent, id);
      assert.deepEqual([progress.state, progress.sent, progress.winner], ["finished", chosen, winner]);
    }, PATIENCE);
  assert.equal(subjectsOf(quiet.name), "AAAAB");
  assert.equal((await emailNow(quiet.variant)).variantParent.id, quiet.parent);
});

test("a paused test decides once it is resumed, a cancelled one and one of an email that was taken back end with the test", async () => {
  const [paused, cancelled, closed] = [await newTest(5), await newTest(5), await newTest(5)];
  const [one, two, three] = [
    await testing(paused.parent, { winnerAfterHours: 2 }),
    await testing(cancelled.parent, { winnerAfterHours: 2 }),
    await testing(closed.parent, { winnerAfterHours: 2 }),
  ];
  await made(`emails/${paused.parent}/sends/${one.id}/pause`, {});
  assert.equal((await progressOf(paused.parent, one.id)).state, "paused");
  await made(`emails/${cancelled.parent}/sends/${two.id}/cancel`, {});
  assert.equal((await api("PATCH", `emails/${closed.parent}/edit`, { isPublished: false })).status, 200);
  for (const { id } of [one, two, three]) await endTest(id);
  await eventually(async () => {
    assert.equal((await progressOf(cancelled.parent, two.id)).state, "cancelled");
    assert.equal((await progressOf(closed.parent, three.id)).state, "finished");
  }, PATIENCE);
  for (const { name } of [paused, cancelled, closed]) assert.equal(mailsOf(name).length, 2);
  await made(`emails/${paused.parent}/sends/${one.id}/resume`, {});
  await eventually(async () => {
    const progress = await progressOf(paused.parent, one.id);
    assert.deepEqual([progress.state, progress.sent], ["finished", 5]);
  }, PATIENCE);
  assert.deepEqual(
    await query(
      `select from content.jobs where kind = 'broadcast_winner' and key in ('${two.id}', '${three.id}')`,
    ),
    [],
  );
});

test("a winner that is made by hand during a test gets the rest, also when its former parent is taken back", async () => {
  const { name, parent, variant } = await newTest(5);
  const held = await testing(parent, { winnerAfterHours: 2 });
  const swapped = await api("POST", `emails/${variant}/winner`);
  assert.deepEqual([swapped.status, (swapped.body as Any).email.variantChildren[0].id], [200, parent]);
  assert.equal((await api("PATCH", `emails/${parent}/edit`, { isPublished: false })).status, 200);
  await endTest(held.id);
  await eventually(async () => {
    const { state, sent, winner } = await progressOf(parent, held.id);
    assert.deepEqual([state, sent, winner], ["finished", 5, variant]);
  }, PATIENCE);
  assert.equal(subjectsOf(name), "ABBBB");
});

test("winnerAfterHours is refused by name where nothing could win, and without the right to edit each email of the test", async () => {
  const { parent, variant } = await newTest(1);
  for (const hours of [0, 169, 1.5, "many", [4]]) {
    const answer = await api("POST", `emails/${parent}/send`, { winnerAfterHours: hours });
    assert.equal(answer.status, 400, JSON.stringify(hours));
    assert.ok(answer.text.includes("winnerAfterHours"), answer.text);
  }
  const [whole, aimless] = [await newTest(1, "email.openrate", {}), await newTest(1, "page.dwelltime")];
  for (const [id, reason] of [
    [variant, "variant"],
    [whole.parent, "totalWeight"],
    [aimless.parent, "winnerCriteria"],
  ] as const) {
    const answer = await api("POST", `emails/${id}/send`, { winnerAfterHours: 4 });
    assert.equal(answer.status, 400, reason);
    assert.ok(answer.text.includes("winnerAfterHours") && answer.text.includes(reason), answer.text);
  }
  const refused = await api("PATCH", `emails/${parent}/edit`, { variantSettings: { totalWeight: 0 } });
  assert.ok(refused.status === 400 && refused.text.includes("variantSettings.totalWeight"), refused.text);
  const reader = await newPerson(stack, { "email:emails": ["viewown", "viewother", "editown"] });
  const denied = await reader.api("POST", `emails/${parent}/send`, { winnerAfterHours: 4 });
  assert.equal(denied.status, 403, denied.text);
  assert.equal((await reader.api("POST", `emails/${variant}/winner`)).status, 403);
  assert.equal((await api("GET", "emails/2000000000/test")).status, 404);
});
