import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Database, openDatabase } from "@tidings/database/database";
import {
  CarryOutCommandsRequestSchema,
  type ContactCommandSchema,
  type IdentifyContactSchema,
} from "@tidings/proto/tidings/contact/v1/command";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { countDeadlocks } from "@tidings/testkit/postgres";
import { mergeContacts } from "../contact/merge.ts";
import { fieldCatalogues } from "../field/catalogue.ts";
import { references } from "../references.ts";
import { react } from "../segment/build/react.ts";
import { callAs } from "../testing/contact-scene.ts";
import { segmentScene } from "../testing/segment-scene.ts";
import { commandHandlers } from "./handlers.ts";

/** Visitors on mixed up browsers become one another at the same moment, in two replicas of the contact service. */

const ENGINE: Actor = { kind: "service", id: null, name: "Visitors", admin: false, permissions: {} };
const ROUNDS = 10;
const PAIRS = 12;

let scene: Awaited<ReturnType<typeof segmentScene>>;
let databases: Database[];
let replicas: ReturnType<typeof replicaOf>[];
before(async () => {
  scene = await segmentScene();
  openReplicas();
});
after(async () => {
  await closeReplicas();
  await scene.close();
});

function openReplicas(): void {
  const log = createLog("test", "silent");
  databases = [1, 2].map(() => openDatabase({ url: scene.testDatabase.url("contact"), log }));
  replicas = databases.map(replicaOf);
}

async function closeReplicas(): Promise<void> {
  await Promise.all(databases.map((database) => database.close()));
}

function replicaOf(database: Database) {
  const catalogues = fieldCatalogues(database);
  const context = { ...scene.services, database, catalogues, references: references(database, catalogues) };
  return { context, commands: commandHandlers(context) };
}

type Sent = MessageInitShape<typeof ContactCommandSchema>;

let count = 0;
async function said(
  contactId: number,
  values: Record<string, string>,
  members: MessageInitShape<typeof IdentifyContactSchema> = {},
): Promise<Sent> {
  const value = { values: Buffer.from(JSON.stringify(values)), proof: "form", ...members };
  return { key: `crossed:${++count}`, contactId, effect: { case: "identify", value } };
}

async function carryOut(replica: number, commands: Sent[]): Promise<string[]> {
  const request = create(CarryOutCommandsRequestSchema, { commands });
  const answer = await replicas[replica]?.commands.carryOutCommands(request, callAs(ENGINE));
  return (answer?.outcomes ?? []).map(({ reason }) => reason ?? "");
}

/** A merge that comes after another one of the same contacts finds one of them gone. */
async function merge(replica: number, id: number, mergedId: number): Promise<void> {
  const { context } = replicas[replica] ?? {};
  if (!context) return;
  await mergeContacts(context, { id, mergedId }, callAs()).catch((error) => {
    if (!(error instanceof Fault) || error.code !== Code.NOT_FOUND) throw error;
  });
}

const addAnonymous = () => scene.addContact({});

/** A browser's contact, of whom nothing is known, and a contact with an address, who turn out to be one. */
async function pairsOf(round: number) {
  return Promise.all(
    Array.from({ length: PAIRS }, async (_, index) => {
      const email = `pair-${round}-${index}@crossed.example`;
      // Either may be the older one.
      const first = index % 2 === 0 ? await addAnonymous() : await scene.addContact({ email });
      const second = index % 2 === 0 ? await scene.addContact({ email }) : await addAnonymous();
      const [visitor, known] = index % 2 === 0 ? [first, second] : [second, first];
      return { visitor, known, email };
    }),
  );
}

test("contacts that become one another in two replicas at one moment leave one survivor each, without a deadlock", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const pairs = await pairsOf(round);
    const typed = await Promise.all(pairs.map(({ visitor, email }) => said(visitor, { email })));
    const clicked = await Promise.all(
      pairs.map(({ visitor, known }) => said(known, {}, { mergedId: visitor, proof: "link" })),
    );
    const followed = await Promise.all(
      pairs.map(({ visitor, email }) => said(visitor, { email }, { isPublic: true })),
    );
    const outcomes = await Promise.all([
      carryOut(0, typed),
      carryOut(1, clicked.toReversed()),
      carryOut(1, followed),
      ...pairs.flatMap(({ visitor, known }) => [merge(0, visitor, known), merge(1, known, visitor)]),
    ]);
    for (const reasons of outcomes) assert.deepEqual(reasons?.filter(Boolean) ?? [], []);
    const ids = pairs.flatMap(({ visitor, known }) => [visitor, known]);
    const left = await scene.query(
      `select c.id, c.email, (select count(*) from contact_redirects r where r.contact_id = c.id) as merged,
         (select string_agg(i.value, ',') from contact_identifiers i where i.contact_id = c.id) as claims
       from contacts c where c.id = any ($1::integer[]) order by c.email`,
      [ids],
    );
    assert.deepEqual(
      left.map(({ email, merged, claims }) => [email, merged, claims]),
      pairs.map(({ email }) => [email, "1", email]).sort(),
    );
  }
});

const peopleOf = (kind: string) =>
  Array.from({ length: 8 }, (_, index) => `${kind}-person-${index}@crossed.example`);

/** Many browsers on which a few people sign in, each on each. */
async function signIn(people: string[]): Promise<void> {
  const browsers = await Promise.all(Array.from({ length: 60 }, addAnonymous));
  const calls = await Promise.all(
    Array.from({ length: 12 }, (_, call) =>
      Promise.all(
        browsers.map((_, place) => {
          const index = (place * 7 + call * 13) % browsers.length;
          const email = people[(place + call) % people.length] ?? "";
          return said(browsers[index] ?? 0, { email }, { isPublic: call % 2 === 0 });
        }),
      ),
    ),
  );
  // Somebody else at the same browser is another contact.
  const ids = await scene.query("select nextval('contacts_id_seq') as id from generate_series(1, 720)");
  for (const [index, command] of calls.flat().entries())
    if (command.effect?.case === "identify") command.effect.value.newContactId = Number(ids[index]?.id);
  const outcomes = await Promise.all(calls.map((sent, call) => carryOut(call % 2, sent)));
  assert.deepEqual(outcomes.flat().filter(Boolean), []);
  const rows = await scene.query(
    `select i.value, count(*) as contacts from contact_identifiers i join contacts c on c.id = i.contact_id and c.email = i.value
     where i.value = any ($1::text[]) group by i.value order by i.value`,
    [people],
  );
  assert.deepEqual(
    rows.map(({ value, contacts }) => [value, contacts]),
    people.map((value) => [value, "1"]),
  );
}

test("many browsers on which a few people sign in leave one contact for each address, without a deadlock", async () => {
  const people = peopleOf("known");
  for (const email of people) await scene.addContact({ email });
  await signIn(people);
});

test("segments that follow contacts while these are merged have the survivors, without a deadlock", async () => {
  const email = (operator: string) => [
    { object: "lead", type: "email", field: "email", operator, properties: {} },
  ];
  const [known, unknown] = [await scene.addSegment(email("!empty")), await scene.addSegment(email("empty"))];
  await scene.build();
  await scene.follow();
  for (let round = ROUNDS; round < 2 * ROUNDS; round += 1) {
    const pairs = await pairsOf(round);
    await scene.follow();
    const merging = Promise.all(
      pairs.map(async ({ visitor, known: id, email: address }, index) => {
        const command = await said(
          index % 2 ? id : visitor,
          { email: address },
          index % 2 ? { mergedId: visitor } : {},
        );
        return carryOut(index % 2, [command]);
      }),
    ).then((outcomes) => assert.deepEqual(outcomes.flat().filter(Boolean), []));
    const edited = pairs.flatMap(({ visitor, known: id }) => [visitor, id]);
    const following = Promise.all(
      [1, 2, 3, 4].map(() =>
        react(
          { ...scene.services, ...replicas[0]?.context },
          edited.toReversed().map((aggregateId) => ({
            ...{
              id: randomUUID(),
              subject: "tidings.contact.contact.created",
              aggregateId,
              aggregateVersion: 1,
            },
            ...{ time: "", traceparent: undefined, actor: undefined, payload: new Uint8Array() },
          })),
        ),
      ),
    );
    await Promise.all([merging, following]);
    await scene.follow();
    const ids = new Set(edited);
    const members = async (id: number) => (await scene.members(id)).filter((contactId) => ids.has(contactId));
    assert.deepEqual([(await members(known.id)).length, await members(unknown.id)], [PAIRS, []]);
  }
});

test("no transaction of these merges was ended by a deadlock", async () => {
  await closeReplicas();
  assert.equal(await countDeadlocks(scene.testDatabase), 0);
});

test("people whom nobody knows yet have one contact for each address, too: deadlocks about new values are tried again", async () => {
  openReplicas();
  await signIn(peopleOf("new"));
});
