import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import {
  CarryOutCommandsRequestSchema,
  type ContactCommand,
} from "@tidings/proto/tidings/contact/v1/command";
import { CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { DeleteCompanyRequestSchema } from "@tidings/proto/tidings/contact/v1/company_service";
import type { Actor } from "@tidings/rpc/actor";
import { eventually } from "@tidings/testkit/eventually";
import { countDeadlocks } from "@tidings/testkit/postgres";
import { companyHandlers } from "../company/company.ts";
import { react } from "../segment/build/react.ts";
import { callAs } from "../testing/contact-scene.ts";
import { segmentScene } from "../testing/segment-scene.ts";
import { commandHandlers } from "./handlers.ts";

const ENGINE: Actor = { kind: "service", id: null, name: "Forms", admin: false, permissions: {} };

/** A transaction that changes many contacts waits for one that holds some of them, as a merge does, before it holds any that the other one takes next. */

let scene: Awaited<ReturnType<typeof segmentScene>>;
before(async () => {
  scene = await segmentScene();
});
after(() => scene.testDatabase.drop());

/** Holds the first contact while `work` begins, then takes the second one, and does `last` before it ends. */
async function holdInOrder(
  { first, second, last }: { first: number; second: number; last?: string },
  work: () => unknown,
): Promise<void> {
  let done: Promise<unknown> | undefined;
  await scene.context.database.transaction(Date.now() + 20_000, async ({ query }) => {
    const hold = (id: number) => query({ text: "select from contacts where id = $1 for update" }, [id]);
    await hold(first);
    done ??= Promise.resolve(work());
    await eventually(async () => {
      const waiting = await scene.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      assert.ok(waiting.length > 0);
    });
    await hold(second);
    if (last) await query({ text: last });
  });
  await done;
}

const created = (aggregateId: number) => ({
  ...{ id: randomUUID(), subject: "tidings.contact.contact.created", aggregateId, aggregateVersion: 1 },
  ...{ time: "", traceparent: undefined, actor: undefined, payload: new Uint8Array() },
});
const called = (name: string) => [
  { object: "lead", type: "text", field: "firstname", operator: "=", properties: { filter: name } },
];
const pair = async () => ({
  first: await scene.addContact({ firstname: "Low" }),
  second: await scene.addContact({ firstname: "High" }),
});

test("contacts enter several segments while another transaction takes them one after the other", async () => {
  const [ofSecond, ofFirst] = [await scene.addSegment(called("High")), await scene.addSegment(called("Low"))];
  await scene.build();
  const { first, second } = await pair();
  await holdInOrder({ first, second }, () => react(scene.services, [created(first), created(second)]));
  assert.deepEqual([await scene.members(ofFirst.id), await scene.members(ofSecond.id)], [[first], [second]]);
});

test("a segment follows a contact that enters and one that is merged into it at that moment", async () => {
  const { id } = await scene.addSegment(called("Member"));
  await scene.build();
  const { first, second } = await pair();
  await scene.editContact(second, { firstname: "Member" });
  await react(scene.services, [created(second)]);
  assert.deepEqual(await scene.members(id), [second]);
  await scene.editContact(first, { firstname: "Member" });
  await scene.editContact(second, { firstname: "Nobody" });
  const last = `delete from contacts where id = ${second}`;
  await holdInOrder({ first, second, last }, () => react(scene.services, [created(first), created(second)]));
  assert.deepEqual(await scene.members(id), [first]);
});

/** A company to which the second contact came first. */
async function companyOf({ first, second }: { first: number; second: number }) {
  const name = `Company ${first}`;
  for (const id of [second, first]) await scene.editContact(id, { company: name });
  const [row] = await scene.query("select id from companies where companyname = $1", [name]);
  return { id: Number(row?.id), handlers: companyHandlers(scene.services) };
}

test("a company gets another name while another transaction takes its contacts one after the other", async () => {
  const contacts = await pair();
  const { id, handlers } = await companyOf(contacts);
  const company = create(CompanySchema, {
    values: Buffer.from(JSON.stringify({ companyname: `New ${id}` })),
  });
  await holdInOrder(contacts, () =>
    handlers.updateCompany(
      {
        ...{ $typeName: "tidings.contact.v1.UpdateCompanyRequest", id, company, allowMissing: false },
        updateMask: { $typeName: "google.protobuf.FieldMask", paths: ["values"] },
      },
      callAs(),
    ),
  );
  const rows = await scene.query("select from contacts where company = $1", [`New ${id}`]);
  assert.equal(rows.length, 2);
});

test("a company is deleted while another transaction takes its contacts one after the other", async () => {
  const contacts = await pair();
  const { id, handlers } = await companyOf(contacts);
  await holdInOrder(contacts, () =>
    handlers.deleteCompany(create(DeleteCompanyRequestSchema, { id }), callAs()),
  );
  const rows = await scene.query("select from contacts where id = any ($1::integer[]) and company is null", [
    Object.values(contacts),
  ]);
  assert.equal(rows.length, 2);
});

test("a command on a contact that is merged while it waits for it takes effect on the survivor, alone and among others", async () => {
  const commands = commandHandlers(scene.services);
  const effects = {
    points: { operator: "plus", delta: 5, type: "form", eventName: "Sign up" },
    edit: { body: Buffer.from('{"points":5}') },
  };
  for (const [kind, value] of Object.entries(effects))
    for (const others of [0, 2]) {
      const { first: gone, second: survivor } = await pair();
      const ids = [gone];
      for (let count = 0; count < others; count += 1) ids.push(await scene.addContact({}));
      const sent = ids.map((contactId) => ({
        ...{ key: `held:${randomUUID()}`, contactId },
        effect: { case: kind, value } as unknown as ContactCommand["effect"],
      }));
      const request = create(CarryOutCommandsRequestSchema, { commands: sent });
      let answer: ReturnType<typeof commands.carryOutCommands> | undefined;
      const last = `with moved as (delete from contacts where id = ${gone})
        insert into contact_redirects (merged_id, contact_id, date_added) values (${gone}, ${survivor}, now())`;
      await holdInOrder({ first: gone, second: survivor, last }, () => {
        answer = commands.carryOutCommands(request, callAs(ENGINE));
        return answer;
      });
      const outcomes = (await answer)?.outcomes ?? [];
      assert.deepEqual(
        outcomes.map(({ reason, contactId }) => reason || contactId),
        [survivor, ...ids.slice(1)],
        kind,
      );
      const [row] = await scene.query("select points from contacts where id = $1", [survivor]);
      assert.equal(row?.points, "5", kind);
    }
});

test("no transaction of these was ended by a deadlock", async () => {
  await scene.context.database.close();
  assert.equal(await countDeadlocks(scene.testDatabase), 0);
});
