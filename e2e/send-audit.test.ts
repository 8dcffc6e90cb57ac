import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailingStack } from "./mailing-stack.ts";
import { newPerson } from "./people.ts";

/** The audit of sends: who sent an email, and who decided about its sends. */

const stack = await startMailingStack({ content: { SMS_URL: "log:" } });
const { api, made, query } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

async function actionsOf(object: string, id: number): Promise<Any[]> {
  const where = `where[0][col]=object&where[0][expr]=eq&where[0][val]=${object}&where[1][col]=objectId&where[1][expr]=eq&where[1][val]=${id}`;
  const { logs } = (await api("GET", `audit?${where}&orderBy=id`)).body as Any;
  return logs
    .filter(({ action }: Any) => action !== "create" && action !== "update")
    .map(({ action, userName, details, bundle }: Any) => ({ action, userName, details, bundle }));
}

test("the audit says which user sent an email, tested it, controlled a send, decided one and replayed others, each once", async () => {
  const { list } = await made("segments/new", { name: "Audited" });
  const { contact } = await made("contacts/new", { email: "ada@example.org", mobile: "+4312345678" });
  await made(`segments/${list.id}/contact/${contact.id}/add`, {});
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "list", isPublished: true, lists: [list.id] },
    customHtml: "<p>x</p>",
  });
  const person = await newPerson(stack, { "email:emails": ["full"], "lead:leads": ["full"] });
  const done = async (path: string, body: object = {}): Promise<Any> => {
    const answer = await person.api("POST", path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  await done(`emails/${email.id}/contact/${contact.id}/send`);
  await done(`emails/${email.id}/test`);
  const { send } = await done(`emails/${email.id}/send`);
  for (const action of ["pause", "resume", "cancel"]) {
    // Its only mail is sent: it would have ended by itself.
    await eventually(async () => {
      const ended = `id = '${send.id}' and (finished_at is not null or is_paused)`;
      const again = "finished_at = null, counts = null, state = 'sending'";
      assert.equal(
        (await query(`update content.broadcasts set ${again} where ${ended} returning id`)).length,
        1,
      );
    });
    await done(`emails/${email.id}/sends/${send.id}/${action}`);
  }
  const [row] = await query(
    `update content.sends set state = 'unknown' where occasion = 'list' and email_id = ${email.id} returning id`,
  );
  await done(`sends/${row?.id}/resolve`, { as: "sent" });
  assert.equal((await person.api("POST", `sends/${row?.id}/resolve`, { as: "failed" })).status, 409);
  await done("sends/replay", { emailId: email.id, code: 550 });
  const { sms } = await made("smses/new", { name: "x", message: "x", isPublished: true });
  assert.equal((await api("GET", `smses/${sms.id}/contact/${contact.id}/send`)).status, 200);
  await eventually(async () => {
    const entries = await actionsOf("sms", sms.id);
    assert.deepEqual(
      entries.map(({ action, details }) => ({ action, details })),
      [{ action: "send", details: { contactId: contact.id } }],
    );
  });
  await eventually(async () => {
    const entries = await actionsOf("email", email.id);
    assert.deepEqual(
      entries.map(({ action }) => action),
      ["send", "test", "send", "pause", "resume", "cancel", "resolve", "replay"],
    );
    const [direct, tested, many, paused, , , resolved, replayed] = entries.map(({ details }) => details);
    assert.deepEqual(direct, { contactId: contact.id });
    assert.equal(tested.users.length, 1);
    assert.deepEqual([many, paused], [{ send: send.id }, { send: send.id }]);
    assert.deepEqual(resolved, { send: String(row?.id), contactId: contact.id, as: "sent" });
    assert.equal(replayed.code, 550);
    const [first, ...others] = entries.map(({ userName, bundle }) => `${userName} ${bundle}`);
    assert.ok(first?.endsWith(" email") && !first.startsWith("null"));
    assert.ok(others.every((name) => name === first));
  });
});
