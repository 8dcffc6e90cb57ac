import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { GONE, startMailingStack } from "./mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "./newsletters.ts";
import { newPerson } from "./people.ts";

/** Mails to segments: who gets one, once, and how a send is paused, resumed and cancelled. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Mails wait here while a test looks at a send that goes on. */
let held: Promise<void> | undefined;
const dkim = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const stack = await startMailingStack({
  hasOwnHost: true,
  senders: "apart",
  server: {
    ...GONE,
    async onMail() {
      await held;
      return undefined;
    },
  },
  content: {
    MAIL_CONNECTIONS: "4",
    MAIL_DKIM_KEYS: `mail.example:s1:${dkim.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")}`,
  },
});
const { api, made, mailsTo, sink } = stack;

const HTML = '<p>Hello {contactfield=firstname}</p><p><a href="{unsubscribe_url}">Leave</a></p>';
const newsletter = (segmentIds: number[], members: object = {}) =>
  newsletterTo(stack, segmentIds, { customHtml: HTML, ...members });

const takenBy = (name: string) => mailsTo(name).flatMap(({ to }) => to);
const send = async (id: number, body: object = {}): Promise<Any> =>
  (await api("POST", `emails/${id}/send`, body)).body;
const progressOf = async (emailId: number, id: string): Promise<Any> =>
  ((await api("GET", `emails/${emailId}/sends/${id}`)).body as Any).send;

test("each member gets one mail, whatever is sent twice and at once, and the numbers add up", async () => {
  const { id, contactIds } = await segmentOf(stack, [...addresses("once", 120), "gone-1@example.org"]);
  const emailId = await newsletter([id]);
  await made(`contacts/${contactIds[0]}/dnc/email/add`, {});
  const answers = await Promise.all([send(emailId), send(emailId)]);
  const again = await send(emailId);
  const sent = answers.reduce((sum, { sentCount }) => sum + sentCount, 0);
  const failed = answers.reduce((sum, { failedCount }) => sum + failedCount, 0);
  assert.deepEqual([sent, failed, again.sentCount, again.failedCount], [119, 1, 0, 0]);
  const taken = takenBy("once");
  assert.equal(new Set(taken).size, 119);
  assert.equal(taken.length, 119);
  const [mail] = sink.taken.filter(({ to }) => to[0] === taken[0]);
  const unfolded = mail?.octets.replaceAll("\r\n ", " ") ?? "";
  assert.match(unfolded, /^List-Unsubscribe: <http[^>]*\/email\/unsubscribe\/[^>]*>\r$/m);
  assert.match(unfolded, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  const { email } = (await api("GET", `emails/${emailId}`)).body as Any;
  assert.equal(email.sentCount, 119);
  const progress = await progressOf(emailId, answers.find(({ sentCount }) => sentCount > 0).send.id);
  assert.equal(progress.state, "finished");
  const { chosen, queued, deferred, sending, failed: refused, suppressed, unknown, cancelled } = progress;
  assert.equal(
    chosen,
    progress.sent + queued + deferred + sending + refused + suppressed + unknown + cancelled,
  );
});

test("a mail to a segment verifies by the key of its domain, with both fields of the one-click unsubscribe", async () => {
  const { id } = await segmentOf(stack, addresses("signed", 1));
  await send(await newsletter([id]));
  const [mail] = sink.taken.filter(({ to }) => to[0]?.startsWith("signed"));
  const publicKey = dkim.publicKey.export({ format: "der", type: "spki" }).toString("base64");
  const asked: string[] = [];
  const { results } = await dkimVerify(Buffer.from(mail?.octets ?? "", "latin1"), {
    strict: true,
    async resolver(name) {
      asked.push(name);
      return [[`v=DKIM1; k=rsa; p=${publicKey}`]];
    },
  });
  assert.deepEqual(
    results.map(({ signingDomain, status }) => [signingDomain, status.result]),
    [["mail.example", "pass"]],
  );
  assert.deepEqual(asked, ["s1._domainkey.mail.example"]);
  const signature = /^DKIM-Signature:(?:.*\r\n[ \t])*.*/m.exec(mail?.octets ?? "")?.[0] ?? "";
  assert.match(signature, /list-unsubscribe:\s+list-unsubscribe-post:/);
});

test("a recipient gets one mail of a family: its variants by their shares over small sends, its translation by locale", async () => {
  const { id } = await segmentOf(stack, addresses("family", 40), { preferred_locale: "de" });
  const parent = await newsletter([id], { subject: "Parent" });
  await newsletter([id], {
    subject: "Variant",
    variantParent: parent,
    variantSettings: { weight: 25, winnerCriteria: "email.openrate" },
  });
  await newsletter([id], { subject: "Eltern", translationParent: parent, language: "de" });
  const answer = await send(parent, { limit: 20 });
  assert.equal(answer.sentCount, 20);
  assert.equal((await send(parent)).sentCount, 20);
  assert.equal(new Set(takenBy("family")).size, 40);
  const subjects = sink.taken
    .filter(({ to }) => to[0]?.startsWith("family"))
    .map(({ octets }) => /^Subject: (.*)\r$/m.exec(octets)?.[1]);
  const many = (subject: string) => subjects.filter((one) => one === subject).length;
  assert.deepEqual([many("Eltern"), many("Variant"), many("Parent")], [30, 10, 0]);
});

test("a pause holds, a resumed send goes on, and a cancelled one ends with what is begun", async () => {
  const { id } = await segmentOf(stack, addresses("pause", 150));
  const emailId = await newsletter([id]);
  const release = Promise.withResolvers<void>();
  held = release.promise;
  const answer = send(emailId);
  const listed = await eventually(async () => {
    const { sends } = (await api("GET", `emails/${emailId}/sends`)).body as Any;
    assert.equal(sends[0]?.chosen, 150);
    return sends[0];
  });
  await made(`emails/${emailId}/sends/${listed.id}/pause`, {});
  release.resolve();
  held = undefined;
  const settled = await eventually(async () => {
    const progress = await progressOf(emailId, listed.id);
    assert.equal(progress.sending, 0);
    return progress;
  });
  assert.equal(settled.state, "paused");
  assert.ok(settled.sent <= 12, `${settled.sent} of 150 went out after the pause`);
  await made(`emails/${emailId}/sends/${listed.id}/resume`, {});
  await eventually(async () => assert.ok((await progressOf(emailId, listed.id)).sent > settled.sent), {
    timeoutMs: 40_000,
  });
  await made(`emails/${emailId}/sends/${listed.id}/cancel`, {});
  await eventually(
    async () => {
      const progress = await progressOf(emailId, listed.id);
      assert.equal(progress.state, "cancelled");
      assert.equal(progress.sent + progress.cancelled, 150);
    },
    { timeoutMs: 40_000 },
  );
  await answer;
  assert.equal(new Set(takenBy("pause")).size, takenBy("pause").length);
  assert.equal((await api("POST", `emails/${emailId}/sends/${listed.id}/pause`)).status, 409);
});

const jobOf = async (emailId: number): Promise<Any> =>
  ((await api("GET", `jobs?kind=broadcast&subjectId=${emailId}`)).body as Any).jobs[0];

test("a send to a segment is a job with its numbers, and a cancelled one takes back what has not begun", async () => {
  const { id } = await segmentOf(stack, addresses("job", 150));
  const emailId = await newsletter([id], { name: "As a job" });
  const release = Promise.withResolvers<void>();
  held = release.promise;
  const answer = send(emailId);
  const running = await eventually(async () => {
    const job = await jobOf(emailId);
    assert.deepEqual([job?.state, job?.total], ["running", 150]);
    return job;
  });
  assert.deepEqual(running.subject, { type: "email", id: emailId, name: "As a job" });
  assert.deepEqual([running.createdByUser, running.isCancellable], ["Admin User", true]);
  const cancelled = await made(`jobs/${running.id}/cancel`, {});
  assert.equal(cancelled.job.cancelledByUser, "Admin User");
  release.resolve();
  held = undefined;
  const ended = await eventually(
    async () => {
      const job = await jobOf(emailId);
      assert.equal(job.state, "cancelled");
      return job;
    },
    { timeoutMs: 40_000 },
  );
  assert.equal(ended.id, running.id);
  const { sent = 0, cancelled: takenBack = 0 } = ended.result;
  assert.equal(sent + takenBack, 150);
  assert.deepEqual([ended.done, ended.total, ended.isCancellable], [150, 150, false]);
  assert.equal(takenBy("job").length, sent);
  await answer;
  assert.equal((await api("POST", `jobs/${running.id}/cancel`)).status, 409);
});

test("the job of a send that ended has what became of each mail, and is seen by the right of its email", async () => {
  const { id } = await segmentOf(stack, [...addresses("ended", 4), "gone-3@example.org"]);
  const emailId = await newsletter([id]);
  await send(emailId);
  const job = await eventually(async () => {
    const found = await jobOf(emailId);
    assert.equal(found.state, "done");
    return found;
  });
  assert.deepEqual([job.done, job.total, job.result], [5, 5, { sent: 4, failed: 1 }]);
  const stranger = await newPerson(stack, { "sms:smses": ["full"] });
  assert.equal((await stranger.api("GET", `jobs/${job.id}`)).status, 404);
  const reader = await newPerson(stack, { "email:emails": ["viewother"] });
  assert.equal((await reader.api("GET", `jobs/${job.id}`)).status, 200);
  assert.equal((await reader.api("POST", `jobs/${job.id}/cancel`)).status, 403);
});

test("a published segment email with a time begins at it by itself, and one that is taken back does not", async () => {
  const { id } = await segmentOf(stack, addresses("planned", 5));
  const startsAt = Date.now() + 4_000;
  const publishUp = new Date(startsAt).toISOString();
  await newsletter([id], { publishUp });
  const { id: other } = await segmentOf(stack, addresses("withdrawn", 1));
  const withdrawn = await newsletter([other], { publishUp });
  const answer = await api("PATCH", `emails/${withdrawn}/edit`, { isPublished: false });
  assert.equal(answer.status, 200);
  assert.deepEqual(takenBy("planned"), []);
  await eventually(() => assert.equal(takenBy("planned").length, 5), { timeoutMs: 20_000 });
  // publishUp is kept in whole seconds.
  assert.ok(Date.now() >= startsAt - 1_000);
  assert.deepEqual(takenBy("withdrawn"), []);
});

test("why a contact gets a segment email, or does not, is said by each rule", async () => {
  const { id, contactIds } = await segmentOf(stack, addresses("why", 3));
  const emailId = await newsletter([id]);
  const [one, no, late] = contactIds as [number, number, number];
  await made(`contacts/${no}/dnc/email/add`, {});
  const { contact: stranger } = await made("contacts/new", { firstname: "Nobody" });
  const explained = async (contactId: number): Promise<Any> =>
    (await api("GET", `emails/${emailId}/contact/${contactId}/explain`)).body;
  const broken = ({ rules }: Any) => rules.filter(({ holds }: Any) => !holds).map(({ rule }: Any) => rule);
  assert.deepEqual([(await explained(one)).verdict, broken(await explained(one))], ["will", []]);
  assert.deepEqual(
    [(await explained(no)).verdict, broken(await explained(no))],
    ["wont", ["do_not_contact"]],
  );
  const { since } = (await explained(no)).rules.find(({ rule }: Any) => rule === "do_not_contact");
  const [entry] = ((await api("GET", `contacts/${no}`)).body as Any).contact.doNotContact;
  assert.equal(Date.parse(since), Date.parse(entry.dateAdded));
  assert.deepEqual(broken(await explained(stranger.id)), ["member", "address"]);
  await send(emailId, { limit: 1 });
  const [sent] = await stack.query(`select contact_id from content.sends where email_id = ${emailId}`);
  assert.equal((await explained(sent?.contact_id)).verdict, "sent");
  assert.ok(contactIds.includes(sent?.contact_id) && late > 0);
  assert.equal((await api("GET", `emails/${emailId}/contact/2000000000/explain`)).status, 404);
});

test("explain sees a shared address, a pause that puts the mail off, and a mail that the API sent", async () => {
  const { id, contactIds } = await segmentOf(stack, ["shared@example.org"]);
  const emailId = await newsletter([id]);
  await send(emailId);
  const { contact: other } = await made("contacts/new", { email: "bob@example.org" });
  await stack.query(`update content.sends set address = 'BOB@example.org' where email_id = ${emailId}`);
  const { contact: seldom } = await made("contacts/new", {
    email: "seldom-why@example.org",
    frequencyRules: { email: { pause_from_date: "2026-01-01", pause_to_date: "2100-01-01" } },
  });
  await made(`segments/${id}/contacts/add`, { ids: [seldom.id] });
  const explained = async (contactId: number, of = emailId): Promise<Any> =>
    (await api("GET", `emails/${of}/contact/${contactId}/explain`)).body;
  const broken = ({ rules }: Any) => rules.filter(({ holds }: Any) => !holds).map(({ rule }: Any) => rule);
  const paused = await explained(seldom.id);
  assert.deepEqual([paused.verdict, broken(paused)], ["will", ["pause"]]);
  assert.match(paused.rules.find(({ rule }: Any) => rule === "pause").since, /^202[56]-/);
  const letterId = await newsletter([], { emailType: "template" });
  await made(`emails/${letterId}/contact/${contactIds[0]}/send`, {});
  const letter = await explained(contactIds[0] ?? 0, letterId);
  assert.equal(letter.verdict, "sent");
  assert.match(letter.rules.at(-1).detail, /^direct:.*: sent\.$/);
  const sharing = await explained(other.id);
  assert.deepEqual([sharing.verdict, broken(sharing)], ["wont", ["member", "once"]]);
});

test("a dry run counts an address once, whoever shares it", async () => {
  const { id, contactIds } = await segmentOf(stack, addresses("twins", 3));
  await stack.query(`update contact.contacts set email = 'TWINS-0@example.org' where id = ${contactIds[2]}`);
  const emailId = await newsletter([id]);
  const { wouldSend, excluded, samples } = (await api("POST", `emails/${emailId}/dry-run`, {})).body as Any;
  assert.deepEqual([wouldSend, excluded.shared_address, samples.length], [2, 1, 2]);
  assert.equal((await send(emailId)).sentCount, 2);
});

test("members of excluded segments get nothing, and a dry run says beforehand who gets it and why others do not", async () => {
  const { id, contactIds } = await segmentOf(stack, addresses("dry", 6));
  const [, , refusing, left, sent] = contactIds as number[];
  const { id: excluded } = await segmentOf(stack, []);
  await made(`segments/${excluded}/contact/${left}/add`, {});
  await made(`contacts/${refusing}/dnc/email/add`, {});
  const emailId = await newsletter([id], { excludedLists: [excluded], isPublished: false });
  const dryRun = async (body = {}): Promise<Any> =>
    (await api("POST", `emails/${emailId}/dry-run`, body)).body;
  const none = {
    excluded_segment: 1,
    no_address: 0,
    malformed_address: 0,
    shared_address: 0,
    do_not_contact: 1,
    refused_category: 0,
  };
  const foreseen = await dryRun();
  assert.deepEqual(
    [foreseen.wouldSend, foreseen.excluded],
    [4, { ...none, already_chosen: 0, over_limit: 0 }],
  );
  assert.deepEqual(foreseen.samples[0], {
    ...{ contactId: contactIds[0], address: "dry-0@example.org", variant: emailId },
  });
  assert.equal((await dryRun({ limit: 1 })).excluded.over_limit, 3);
  const [rows] = await stack.query(`select count(*) from content.sends where email_id = ${emailId}`);
  assert.equal(Number(rows?.count), 0);
  await made(`segments/${excluded}/contact/${left}/remove`, {});
  await made(`segments/${excluded}/contact/${sent}/add`, {});
  await api("PATCH", `emails/${emailId}/edit`, { isPublished: true });
  assert.equal((await send(emailId)).sentCount, 4);
  assert.ok(!takenBy("dry").includes("dry-4@example.org"));
  assert.deepEqual((await dryRun()).excluded.already_chosen, 4);
  const explained = (await api("GET", `emails/${emailId}/contact/${sent}/explain`)).body as Any;
  assert.deepEqual(
    explained.rules.filter(({ holds }: Any) => !holds).map(({ rule }: Any) => rule),
    ["not_excluded"],
  );
  assert.equal((await api("POST", `emails/${emailId}/dry-run`, { lists: [excluded] })).status, 400);
});

test("failed sends are tried again by name, as a job, and those that arrived stay one mail", async () => {
  const { id } = await segmentOf(stack, [...addresses("again", 3), "gone-7@example.org"]);
  const emailId = await newsletter([id]);
  assert.deepEqual([(await send(emailId)).sentCount, (await send(emailId)).failedCount], [3, 0]);
  const replay = async (body: object) => api("POST", "sends/replay", body);
  const failed = async () =>
    ((await api("GET", `sends?emailId=${emailId}&state=failed`)).body as Any).sends as Any[];
  const [before] = await failed();
  for (const [body, field] of [
    [{}, "emailId"],
    [{ emailId: "x" }, "emailId"],
    [{ emailId, code: 100_000 }, "code"],
  ] as const) {
    const answer = await replay(body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.ok(answer.text.includes(field), answer.text);
  }
  assert.equal((await replay({ emailId: 2_000_000_000 })).status, 404);
  const doneOf = async (body: object): Promise<number> => {
    const { job } = (await replay(body)).body as Any;
    return eventually(async () => {
      const found = ((await api("GET", `jobs/${job.id}`)).body as Any).job;
      assert.equal(found.state, "done");
      assert.equal(found.total, found.done);
      return found.done;
    });
  };
  assert.equal(before.text, before.reason);
  assert.equal(await doneOf({ emailId, code: 421 }), 0);
  assert.equal(await doneOf({ emailId, occasion: "direct:1" }), 0);
  assert.equal(await doneOf({ emailId, to: "2026-01-01" }), 0);
  assert.equal(await doneOf({ emailId, code: before.code }), 1);
  // Its mailbox does not exist, so the contact is not written to again, whoever asks.
  await eventually(async () => {
    const { sends } = (await api("GET", `sends?emailId=${emailId}&state=suppressed`)).body as Any;
    assert.deepEqual([sends[0]?.id, sends[0]?.reason], [before.id, "bounced"]);
  });
  assert.deepEqual(takenBy("again").toSorted(), addresses("again", 3));
});

test("a send goes to the contacts of a range of ids alone", async () => {
  const { id, contactIds } = await segmentOf(stack, addresses("range", 6));
  const emailId = await newsletter([id]);
  const [, minContactId, , maxContactId, , last] = contactIds;
  assert.equal((await send(emailId, { minContactId, maxContactId })).sentCount, 3);
  assert.deepEqual(
    takenBy("range").toSorted(),
    [1, 2, 3].map((index) => `range-${index}@example.org`),
  );
  assert.equal((await send(emailId, { minContactId: last })).sentCount, 1);
  assert.equal((await send(emailId)).sentCount, 2);
});

test("GET /sends takes the states that it answers, an occasion, a code and a time", async () => {
  const { id } = await segmentOf(stack, addresses("listed", 4));
  const emailId = await newsletter([id]);
  await send(emailId);
  const ids = (await stack.query(`select id from content.sends where email_id = ${emailId} order by id`)).map(
    (row) => String(row.id),
  );
  const change = (index: number, change: string) =>
    stack.query(`update content.sends set ${change} where id = ${ids[index]}`);
  await change(0, "state = 'waiting', due_at = now() + interval '1 day'");
  await change(1, "state = 'waiting', due_at = now() + interval '1 day', reason = 'frequency', code = 450");
  await change(2, "state = 'started', due_at = now() + interval '1 day'");
  await change(3, "occasion = 'direct:1', date_queued = '2026-02-01'");
  const found = async (filter: string): Promise<[string, string][]> => {
    const { sends } = (await api("GET", `sends?emailId=${emailId}&${filter}`)).body as Any;
    return sends.map((row: Any) => [row.id, row.state]).toReversed();
  };
  const [queued, deferred, sending, sent] = ["queued", "deferred", "sending", "sent"].map((state, index) => [
    ids[index],
    state,
  ]);
  assert.deepEqual(await found("limit=10"), [queued, deferred, sending, sent]);
  for (const row of [queued, deferred, sending, sent])
    assert.deepEqual(await found(`state=${row?.[1]}`), [row]);
  assert.deepEqual(await found("state=waiting"), [queued, deferred]);
  assert.deepEqual(await found("code=450"), [deferred]);
  assert.deepEqual(await found("occasion=direct:1"), [sent]);
  assert.deepEqual(await found("from=2026-01-31&to=2026-02-02"), [sent]);
  assert.deepEqual(await found("from=2026-02-02"), [queued, deferred, sending]);
  for (const [filter, field] of [
    ["state=odd", "state"],
    ["from=odd", "from"],
    ["code=99999", "code"],
    ["occasion[]=x", "occasion"],
  ]) {
    const answer = await api("GET", `sends?emailId=${emailId}&${filter}`);
    assert.equal(answer.status, 400, answer.text);
    assert.ok(answer.text.includes(field ?? ""), answer.text);
  }
  await stack.query(`update content.sends set state = 'sent' where email_id = ${emailId}`);
});

test("a send with a batch chooses no more recipients than that in a transaction, and all of them", async () => {
  const { id } = await segmentOf(stack, addresses("slices", 5));
  const emailId = await newsletter([id]);
  assert.equal((await send(emailId, { batch: 2 })).sentCount, 5);
  const slices = await stack.query(
    `select count(*)::integer as chosen from content.sends where email_id = ${emailId} group by date_queued order by date_queued`,
  );
  assert.deepEqual(
    slices.map(({ chosen }) => chosen),
    [2, 2, 1],
  );
});

test("an email that is not published, segments of others, and counts that are none, are refused by name", async () => {
  const { id } = await segmentOf(stack, addresses("bad", 1));
  const { id: other } = await segmentOf(stack, []);
  const emailId = await newsletter([id]);
  for (const [body, field] of [
    [{ lists: [other] }, "lists"],
    [{ lists: "x" }, "lists"],
    [{ limit: 0 }, "limit"],
    [{ limit: "many" }, "limit"],
    [{ batch: 1_000_001 }, "batch"],
    [{ minContactId: 2 ** 31 }, "minContactId"],
    [{ minContactId: 2, maxContactId: 1 }, "maxContactId"],
  ] as const) {
    const answer = await api("POST", `emails/${emailId}/send`, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.ok(answer.text.includes(`"${field}"`), answer.text);
  }
  const closed = await newsletter([id], { isPublished: false });
  assert.equal((await api("POST", `emails/${closed}/send`)).status, 404);
  const template = await newsletter([], { emailType: "template" });
  assert.equal((await send(template)).sentCount, 0);
  assert.deepEqual(takenBy("bad"), []);
});
