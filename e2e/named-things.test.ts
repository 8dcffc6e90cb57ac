import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { DescMessage } from "@bufbuild/protobuf";
import { eventTypes } from "@tidings/campaign/campaign/event-types";
import { actionKinds } from "@tidings/campaign/point/action";
import { eventKinds } from "@tidings/campaign/point/trigger";
import { actionTypes } from "@tidings/content/form/action";
import { thingsByField } from "@tidings/filters/named-things";
import { permissionTable } from "@tidings/gateway/identity/permission-table";
import { resources as mounted } from "@tidings/gateway/resources";
import { resource } from "@tidings/proto/tidings/api/v1/options";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import type { PropertyReader } from "@tidings/resource/properties";
import type { TypeNeeds } from "@tidings/resource/typed-needs";
import { optionOf } from "@tidings/rpc/option";
import { standardOf } from "@tidings/rpc/standard";
import type { Answer, Client } from "./client.ts";
import { make, newPerson } from "./people.ts";
import { addFirstContact, resources } from "./resources.ts";
import { sharedStack } from "./shared-stack.ts";

/** Properties and filters name entities by ids: the writer has to see each of them, and may cause nothing that they may not do. */

const stack = await sharedStack();
const { api } = stack;

const MISSING = 2_000_000_000;

/** One place where an id may stand. */
interface Place {
  name: string;
  path: string;
  /** A body that names these entities there. */
  body(value: unknown): object;
  /** The member that is to blame. */
  field: string;
  schema: DescMessage;
  value(id: number): unknown;
}

/** An action of a type, and what has to stand around it. */
interface Site {
  path: string;
  types: ReadonlyMap<string, TypeNeeds>;
  body(type: string, properties: object): object;
  prefix: string;
}

let count = 0;

function campaignBody(type: string, properties: object) {
  const { under } = eventTypes.get(type) ?? {};
  const named = { id: "new_2", name: "Named", type, properties };
  if (!under) return { name: `Campaign ${++count}`, events: [named] };
  const parent = { id: "new_1", name: "Before", type: under.types[0] };
  const child = { ...named, parent: { id: "new_1" }, ...(under.path && { decisionPath: under.path }) };
  return { name: `Campaign ${++count}`, events: [parent, child] };
}

const sites: Site[] = [
  { path: "campaigns", types: eventTypes, body: campaignBody, prefix: "events[new_2]." },
  {
    path: "points",
    types: actionKinds,
    body: (type, properties) => ({ name: "Action", delta: 1, type, properties }),
    prefix: "",
  },
  {
    path: "points/triggers",
    types: eventKinds,
    body: (type, properties) => ({ name: "Trigger", events: [{ name: "Named", type, properties }] }),
    prefix: "events[0].",
  },
  {
    path: "forms",
    types: actionTypes,
    body: (type, properties) => ({ name: "Form", actions: [{ name: "Named", type, properties }] }),
    prefix: "actions[0].",
  },
];

/** Reads `{email: 5}` where the entity is named so. */
const valueFor = (read: PropertyReader) => (id: number) => {
  for (const value of [[id], id, { email: id }]) if (read(value) !== undefined) return value;
  throw new Error("no value is read");
};

const inProperties = sites.flatMap(({ path, types, body, prefix }) =>
  [...types].flatMap(([type, { properties }]) =>
    Object.entries(properties).flatMap(([name, read]): Place[] =>
      read.names
        ? [
            {
              name: `${path}: ${type}, ${name}`,
              path,
              body: (value) => body(type, { [name]: value }),
              field: `${prefix}properties.${name}`,
              schema: read.names,
              value: valueFor(read),
            },
          ]
        : [],
    ),
  ),
);

const filterOf = (field: string, value: unknown) => [
  {
    glue: "and",
    object: "lead",
    field,
    type: "text",
    operator: field === "stage" || field === "owner_id" ? "=" : "in",
    filter: value,
  },
];

const inFilters = [...thingsByField].flatMap(([field, schema]): Place[] => {
  const value = (id: number) => (field === "stage" || field === "owner_id" ? id : [id]);
  const place = { schema, value };
  return [
    {
      ...place,
      name: `dynamic content: ${field}`,
      path: "dynamiccontents",
      body: (named) => ({
        name: "Content",
        slotName: `slot-${++count}`,
        isCampaignBased: false,
        filters: filterOf(field, named),
      }),
      field: "filters[0].filter",
    },
    {
      ...place,
      name: `email: ${field}`,
      path: "emails",
      body: (named) => ({
        name: "Email",
        subject: "Email",
        dynamicContent: [
          { tokenName: "A", content: "a", filters: [{ content: "b", filters: filterOf(field, named) }] },
        ],
      }),
      field: "dynamicContent[0].filters[0].filters[0].filter",
    },
    {
      ...place,
      name: `segment: ${field}`,
      path: "segments",
      body: (named) => ({ name: `Segment ${++count}`, filters: filterOf(field, named) }),
      field: field === "leadlist" ? "filters" : "filters[0].filter",
    },
  ];
});

const places = [...inProperties, ...inFilters];
const things = new Map<string, number>();
const blind = new Map<string, Client>();

/** Where rights can be held to own entities people see those; else they see nothing. */
const ownAlone = (actions: readonly string[]) => (actions.includes("viewown") ? ["create", "viewown"] : []);

const permissionOf = (schema: DescMessage) => optionOf(schema, resource).permission;

before(async () => {
  await addFirstContact(api);
  for (const schema of new Set(places.map((place) => place.schema))) {
    const thing = resources.find(({ path }) => path === pathOf(schema));
    assert.ok(thing, schema.typeName);
    const hidden = schema.name === "Segment" ? { isGlobal: false } : {};
    things.set(
      schema.typeName,
      (await make(api, thing.path, thing.one, { ...thing.minimal(), ...hidden })).id,
    );
  }
  for (const permission of new Set(places.map(({ schema }) => permissionOf(schema)))) {
    const rights = Object.fromEntries(
      [...permissionTable].map(([name, actions]) => [
        name,
        name === permission ? ownAlone(actions) : [...actions],
      ]),
    );
    blind.set(permission, (await newPerson(stack, rights)).api);
  }
});

const paths = new Map<string, string>();
for (const { path, service } of mounted) paths.set(standardOf(service).resource.typeName, path);
const pathOf = ({ typeName }: DescMessage) => paths.get(typeName);

function blames({ status, body, text }: Answer, field: string): void {
  assert.equal(status, 400, text);
  assert.ok(
    Object.keys(body.errors[0]?.details ?? {}).includes(field) || text.includes(field),
    `${field}: ${text}`,
  );
}

describe("an entity that properties or filters name", () => {
  for (const { name, path, body, field, schema, value } of places)
    test(`${name}: it has to be there, and its writer has to see it`, async () => {
      const id = things.get(schema.typeName) ?? 0;
      const taken = await api("POST", `${path}/new`, body(value(id)));
      assert.equal(taken.status, 201, taken.text);
      blames(await api("POST", `${path}/new`, body(value(MISSING))), field);
      // Everybody may refer to categories, and people to themselves alone.
      if (optionOf(schema, resource).permissionByRow) return;
      const writer = blind.get(permissionOf(schema));
      const answer = await writer?.("POST", `${path}/new`, body(value(schema === UserSchema ? 1 : id)));
      assert.ok(answer);
      blames(answer, field);
    });
});

describe("an action that its writer may not do", () => {
  const rights = sites.flatMap(({ path, types, body, prefix }) =>
    [...types].flatMap(([type, { right }]) => (right ? [{ path, type, body, prefix }] : [])),
  );
  for (const { path, type, body, prefix } of rights)
    test(`${path}: ${type} is refused, and stays where it is`, async () => {
      const writer = blind.get("lead:leads");
      assert.ok(writer);
      blames(await writer("POST", `${path}/new`, body(type, {})), `${prefix}type`);
      const made = await api("POST", `${path}/new`, body(type, {}));
      assert.equal(made.status, 201, made.text);
      const { id } = Object.values(made.body)[0] as { id: number };
      const renamed = await writer("PATCH", `${path}/${id}/edit`, { name: "Renamed" });
      assert.equal(renamed.status, 200, renamed.text);
    });

  test("contacts of everybody are deleted only for writers who may delete them", async () => {
    const deletesOwn = await newPerson(stack, {
      "campaign:campaigns": ["full"],
      "lead:leads": ["deleteown"],
    });
    blames(
      await deletesOwn.api("POST", "campaigns/new", campaignBody("lead.deletecontact", {})),
      "events[new_2].type",
    );
    const deletesAll = await newPerson(stack, {
      "campaign:campaigns": ["full"],
      "lead:leads": ["deleteother"],
    });
    const made = await deletesAll.api("POST", "campaigns/new", campaignBody("lead.deletecontact", {}));
    assert.equal(made.status, 201, made.text);
  });
});

test("a writer who cannot view the email of an event keeps it, and cannot put another one in its place", async () => {
  const [email, other] = await Promise.all(
    ["Kept", "Hidden"].map((name) => make(api, "emails", "email", { name, subject: name })),
  );
  const { id, events } = await make(
    api,
    "campaigns",
    "campaign",
    campaignBody("email.send", { email: email?.id }),
  );
  const writer = blind.get("email:emails");
  assert.ok(writer);
  const [event] = Object.values(events as Record<string, { id: number }>);
  const change = (properties: object, name: string) =>
    writer("PATCH", `campaigns/${id}/edit`, {
      events: [{ id: event?.id, name, type: "email.send", properties }],
    });
  const kept = await change({ email: email?.id }, "Renamed");
  assert.equal(kept.status, 200, kept.text);
  blames(await change({ email: other?.id }, "Renamed"), `events[${event?.id}].properties.email`);
});
