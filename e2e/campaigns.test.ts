import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Answer, Entity } from "./client.ts";
import { make } from "./people.ts";
import { query } from "./query.ts";
import { sharedStack } from "./shared-stack.ts";

const stack = await sharedStack();
const { api } = stack;

interface CampaignEvent extends Entity {
  order: number;
  parent: Entity | null;
  children: Entity[];
  decisionPath: string | null;
  properties: Record<string, unknown>;
}

interface Campaign extends Entity {
  events: Record<string, CampaignEvent>;
  canvasSettings: {
    nodes: { id: string }[];
    connections: { sourceId: string; targetId: string; anchors: { source: string; target: string } }[];
  };
  lists: Entity[];
}

let count = 0;
const name = (what: string) => `${what} ${process.pid}-${++count}`;
const body = <T>({ body: read }: Answer): T => read as unknown as T;
const send = async <T = Record<string, unknown>>(
  method: string,
  path: string,
  sent?: object,
  status = 200,
): Promise<T> => {
  const answer = await api(method, path, sent);
  assert.equal(answer.status, status, answer.text);
  return body<T>(answer);
};
const newCampaign = async (members: object = {}): Promise<Campaign> =>
  (await send<{ campaign: Campaign }>("POST", "campaigns/new", { name: name("Campaign"), ...members }, 201))
    .campaign;
const readCampaign = async (id: number) =>
  (await send<{ campaign: Campaign }>("GET", `campaigns/${id}`)).campaign;
const newContact = (members: object = {}) =>
  make(api, "contacts", "contact", { firstname: "Ada", ...members });
const named = (campaign: Campaign, wanted: string) => {
  const found = Object.values(campaign.events).find((event) => event.name === wanted);
  assert.ok(found, `no event ${wanted} in ${JSON.stringify(campaign.events)}`);
  return found;
};
const members = async (id: number) =>
  (await send<{ contacts: Record<string, string>[] }>("GET", `campaigns/${id}/contacts`)).contacts;
const isMember = async (id: number, contactId: number) =>
  (await members(id)).some(({ lead_id }) => lead_id === String(contactId));

const email = await make(api, "emails", "email", { name: "Welcome", subject: "Welcome" });

const DRAWN = {
  events: [
    {
      id: "new_1",
      name: "Send",
      type: "email.send",
      eventType: "action",
      properties: { email: String(email.id), email_type: "marketing" },
      triggerMode: "immediate",
    },
    { id: "new_2", name: "Opened", type: "email.open", eventType: "decision" },
    {
      id: "new_3",
      name: "Points",
      type: "lead.changepoints",
      eventType: "action",
      properties: { points: "20" },
      triggerMode: "interval",
      triggerInterval: 1,
      triggerIntervalUnit: "d",
      parent: { id: "new_1" },
    },
    {
      id: "new_4",
      name: "Again",
      type: "campaign.jump_to_event",
      eventType: "action",
      properties: { jumpToEvent: "new_1" },
      triggerMode: "immediate",
    },
  ],
  canvasSettings: {
    nodes: [
      { id: "new_1", positionX: "650", positionY: "189" },
      { id: "new_2", positionX: 650, positionY: 300 },
      { id: "new_3", positionX: "500", positionY: "400" },
      { id: "new_4", positionX: "800", positionY: "400" },
      { id: "lists", positionX: "650", positionY: "50" },
    ],
    connections: [
      { sourceId: "lists", targetId: "new_1", anchors: { source: "leadsource", target: "top" } },
      { sourceId: "new_1", targetId: "new_2", anchors: { source: "bottom", target: "top" } },
      {
        sourceId: "new_2",
        targetId: "new_3",
        anchors: [
          { endpoint: "yes", eventId: "new_2" },
          { endpoint: "top", eventId: "new_3" },
        ],
      },
      { sourceId: "new_2", targetId: "new_4", anchors: { source: "no", target: "top" } },
    ],
  },
};

test("events that are drawn get ids, levels and parents, and the canvas names them by their ids", async () => {
  const campaign = await newCampaign(DRAWN);
  const [sent, opened, points, again] = ["Send", "Opened", "Points", "Again"].map((each) =>
    named(campaign, each),
  );
  assert.ok(sent && opened && points && again);
  assert.deepEqual(
    [sent, opened, points, again].map(({ order }) => order),
    [1, 2, 3, 3],
  );
  assert.equal(sent.parent, null);
  assert.deepEqual(
    sent.children.map(({ id }) => id),
    [opened.id],
  );
  assert.deepEqual([points.parent?.id, points.decisionPath], [opened.id, "yes"]);
  assert.deepEqual([again.parent?.id, again.decisionPath], [opened.id, "no"]);
  assert.equal(again.properties.jumpToEvent, sent.id);
  assert.deepEqual([sent.channel, sent.channelId], ["email", email.id]);
  const { nodes, connections } = campaign.canvasSettings;
  const ids = new Set(["lists", ...Object.keys(campaign.events)]);
  assert.ok(nodes.every(({ id }) => ids.has(id)) && nodes.length === 5, JSON.stringify(nodes));
  assert.ok(connections.every(({ sourceId, targetId }) => ids.has(sourceId) && ids.has(targetId)));
  const yes = connections.find(({ targetId }) => targetId === String(points.id));
  assert.deepEqual(yes?.anchors, { source: "yes", target: "top" });
  assert.deepEqual(await readCampaign(campaign.id), campaign);
});

test("a campaign that is sent back as it was answered does not change", async () => {
  const campaign = await newCampaign(DRAWN);
  const { campaign: patched } = await send<{ campaign: Campaign }>(
    "PATCH",
    `campaigns/${campaign.id}/edit`,
    campaign,
  );
  assert.deepEqual(patched, campaign);
  const { campaign: put } = await send<{ campaign: Campaign }>("PUT", `campaigns/${campaign.id}/edit`, {
    ...campaign,
    category: null,
  });
  assert.deepEqual(put.events, campaign.events);
  assert.deepEqual(put.canvasSettings, campaign.canvasSettings);
});

test("PATCH adds and changes events without a canvas, PUT removes those it does not name", async () => {
  const campaign = await newCampaign(DRAWN);
  const points = named(campaign, "Points");
  const { campaign: patched } = await send<{ campaign: Campaign }>("PATCH", `campaigns/${campaign.id}/edit`, {
    events: [
      { id: points.id, name: "More points" },
      { id: 2_000_000_001, name: "Tag", type: "lead.changetags", parent: { id: points.id } },
    ],
  });
  assert.equal(Object.keys(patched.events).length, 5);
  assert.equal(named(patched, "More points").id, points.id);
  const tag = named(patched, "Tag");
  assert.notEqual(tag.id, 2_000_000_001);
  assert.deepEqual([tag.parent?.id, tag.order, tag.eventType], [points.id, 4, "action"]);
  assert.ok(patched.canvasSettings.nodes.some(({ id }) => id === String(tag.id)));
  const { campaign: put } = await send<{ campaign: Campaign }>("PUT", `campaigns/${campaign.id}/edit`, {
    name: "Put",
    events: [{ id: tag.id, name: "Tag", type: "lead.changetags", parent: null }],
  });
  assert.deepEqual(Object.keys(put.events), [String(tag.id)]);
  await send("GET", `campaigns/events/${points.id}`, undefined, 404);
});

test("a PUT names each event", async () => {
  const campaign = await newCampaign();
  const answer = await api("PUT", `campaigns/${campaign.id}/edit`, {
    name: "A",
    events: [
      { id: "new_1", name: "A", type: "lead.changetags" },
      { name: "B", type: "lead.changetags" },
    ],
  });
  assert.equal(answer.status, 400);
  assert.equal(answer.body.errors[0]?.message, '$campaign[events][1]["id"] is missing');
});

test("events that contradict each other are named one by one", async () => {
  const answer = await api("POST", "campaigns/new", {
    name: "Wrong",
    events: [
      {
        id: "new_1",
        name: "A",
        type: "lead.changepoints",
        properties: { points: "many" },
        parent: { id: "new_2" },
      },
      { id: "new_2", name: "B", type: "lead.changetags", parent: { id: "new_1" } },
      { id: "new_3", name: "C", type: "lead.rumour" },
      { id: "new_4", name: "D", type: "email.open" },
      { id: "new_5", name: "E", type: "campaign.jump_to_event", properties: { jumpToEvent: "new_5" } },
      { id: "new_6", name: "F", type: "lead.changetags", parent: { id: "nobody" } },
      {
        id: "new_7",
        name: "G",
        type: "campaign.addremovelead",
        triggerMode: "immediate",
        properties: { addTo: ["this"] },
      },
      { id: "new_8", name: "H", type: "lead.changetags", eventType: "decision" },
      { id: "new_9", name: "I", type: "lead.changetags", parent: { id: "new_5" } },
    ],
  });
  assert.equal(answer.status, 422, answer.text);
  const errors = answer.body.errors as unknown as { code: number; details: string; type: string }[];
  assert.ok(errors.every(({ code, type }) => code === 422 && type === "validation"));
  const told = new Set(errors.map(({ details }) => details));
  for (const details of [
    "events[new_1].parent",
    "events[new_1].properties.points",
    "events[new_3].type",
    "events[new_4].parent",
    "events[new_5].properties.jumpToEvent",
    "events[new_6].parent",
    "events[new_7].triggerMode",
    "events[new_8].eventType",
    "events[new_9].parent",
  ])
    assert.ok(told.has(details), `${details} is missing in ${answer.text}`);
});

test("a clone has the events of the campaign with ids of their own, and is unpublished", async () => {
  const segment = await make(api, "segments", "list", { name: name("Segment") });
  const campaign = await newCampaign({ ...DRAWN, description: "Once", lists: [{ id: segment.id }] });
  const answer = await api("POST", `campaigns/clone/${campaign.id}`);
  assert.equal(answer.status, 201, answer.text);
  const { campaign: clone } = body<{ campaign: Campaign }>(answer);
  assert.equal(answer.headers.get("location"), `/api/campaigns/${clone.id}`);
  assert.deepEqual([clone.name, clone.description, clone.isPublished], [campaign.name, "Once", false]);
  assert.deepEqual(
    clone.lists.map(({ id }) => id),
    [segment.id],
  );
  const ids = Object.keys(clone.events);
  assert.equal(ids.length, 4);
  assert.ok(ids.every((id) => !(id in campaign.events)));
  assert.equal(named(clone, "Again").properties.jumpToEvent, named(clone, "Send").id);
  assert.equal(named(clone, "Points").parent?.id, named(clone, "Opened").id);
  assert.ok(clone.canvasSettings.connections.every(({ targetId }) => ids.includes(targetId)));
  assert.equal(clone.canvasSettings.nodes.length, 5);
});

test("contacts are put into a campaign and taken out, and come back", async () => {
  const [campaign, contact] = [await newCampaign(), await newContact()];
  const path = `campaigns/${campaign.id}/contact`;
  assert.deepEqual(await send("POST", `${path}/${contact.id}/add`), { success: true });
  assert.deepEqual(await send("POST", `${path}/add/${contact.id}`), { success: true });
  const { total, contacts } = await send<{ total: string; contacts: Record<string, string>[] }>(
    "GET",
    `campaigns/${campaign.id}/contacts`,
  );
  assert.equal(total, "1");
  const [row] = contacts;
  assert.match(row?.date_added ?? "", /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  assert.deepEqual(
    { ...row, date_added: "" },
    {
      campaign_id: String(campaign.id),
      lead_id: String(contact.id),
      date_added: "",
      manually_removed: "0",
      manually_added: "1",
      date_last_exited: null,
      rotation: "1",
    },
  );
  const { campaigns } = await send<{ campaigns: Record<string, Entity> }>(
    "GET",
    `contacts/${contact.id}/campaigns`,
  );
  assert.equal(campaigns[campaign.id]?.name, campaign.name);
  assert.ok(!("listMembership" in (campaigns[campaign.id] ?? {})));
  await send("POST", `${path}/${contact.id}/remove`);
  await send("POST", `${path}/remove/${contact.id}`);
  assert.deepEqual(await members(campaign.id), []);
  await send("POST", `${path}/${contact.id}/add`);
  assert.equal((await members(campaign.id))[0]?.rotation, "2");
});

test("a campaign or contact that is not there is 404", async () => {
  const [campaign, contact] = [await newCampaign(), await newContact()];
  await send("POST", `campaigns/2000000000/contact/${contact.id}/add`, undefined, 404);
  await send("POST", `campaigns/${campaign.id}/contact/2000000000/add`, undefined, 404);
  await send("GET", "campaigns/2000000000/contacts", undefined, 404);
  await send("DELETE", `campaigns/${campaign.id}/delete`);
  await send("POST", `campaigns/${campaign.id}/contact/${contact.id}/add`, undefined, 404);
  await send("GET", `campaigns/${campaign.id}`, undefined, 404);
});

test("members of a segment are in its published campaigns, and out again", async () => {
  const city = name("City");
  const segment = await make(api, "segments", "list", {
    name: name("Segment"),
    filters: [{ glue: "and", object: "lead", field: "city", type: "text", operator: "=", filter: city }],
  });
  const [before, later] = [await newContact({ city }), await newContact()];
  const campaign = await newCampaign({ lists: [{ id: segment.id }], isPublished: false });
  await send("PATCH", `contacts/${later.id}/edit`, { city });
  await send("PATCH", `campaigns/${campaign.id}/edit`, { isPublished: true });
  await eventually(async () => assert.equal((await members(campaign.id)).length, 2), { timeoutMs: 10_000 });
  assert.ok((await members(campaign.id)).every(({ manually_added }) => manually_added === "0"));
  const startMs = performance.now();
  await send("PATCH", `contacts/${before.id}/edit`, { city: "Elsewhere" });
  await eventually(async () => assert.ok(!(await isMember(campaign.id, before.id))));
  assert.ok(performance.now() - startMs < 5_000);
  const { campaigns } = await send<{ campaigns: Record<string, { listMembership: number[] }> }>(
    "GET",
    `contacts/${later.id}/campaigns`,
  );
  assert.deepEqual(campaigns[campaign.id]?.listMembership, [segment.id]);
  // Without its segment nobody is there by himself.
  await send("POST", `campaigns/${campaign.id}/contact/${before.id}/add`);
  await send("DELETE", `segments/${segment.id}/delete`);
  await eventually(async () => {
    assert.deepEqual(
      (await members(campaign.id)).map(({ lead_id }) => lead_id),
      [String(before.id)],
    );
    assert.deepEqual((await readCampaign(campaign.id)).lists, []);
  });
});

test("a merged contact brings its memberships along, and a deleted one leaves", async () => {
  const campaign = await newCampaign();
  const [winner, loser] = [await newContact(), await newContact()];
  await send("POST", `campaigns/${campaign.id}/contact/${loser.id}/add`);
  await send("POST", `contacts/${winner.id}/merge/${loser.id}`);
  await eventually(async () => {
    assert.ok(await isMember(campaign.id, winner.id));
    assert.ok(!(await isMember(campaign.id, loser.id)));
  });
  await send("DELETE", `contacts/${winner.id}/delete`);
  await eventually(async () => assert.deepEqual(await members(campaign.id), []));
});

test("events are found by themselves, with their campaign", async () => {
  const campaign = await newCampaign(DRAWN);
  const opened = named(campaign, "Opened");
  const { event } = await send<{ event: CampaignEvent & { campaign: Entity } }>(
    "GET",
    `campaigns/events/${opened.id}`,
  );
  assert.deepEqual([event.id, event.campaign.id, event.children.length], [opened.id, campaign.id, 2]);
  assert.deepEqual(event.parent, opened.parent);
  const { total, events } = await send<{ total: number; events: Entity[] }>(
    "GET",
    `campaigns/events?where[0][col]=campaign_id&where[0][expr]=eq&where[0][val]=${campaign.id}`,
  );
  assert.deepEqual([total, events.length], [4, 4]);
});

test("an event of a contact is scheduled and marked as done, once", async () => {
  const [campaign, contact] = [await newCampaign(DRAWN), await newContact()];
  const [sent, opened] = [named(campaign, "Send"), named(campaign, "Opened")];
  const path = (event: Entity) => `campaigns/events/${event.id}/contact/${contact.id}/edit`;
  const told = async (method: string, where: string, sentBody?: object) => {
    const answer = await api(method, where, sentBody);
    assert.equal(answer.status, 409, answer.text);
    return answer.body.errors[0]?.message;
  };
  const ofMember = `campaigns/${campaign.id}/events/contact/${contact.id}`;
  const notThere = `The contact ${contact.id} is not in the campaign ${campaign.id}.`;
  assert.equal(await told("GET", ofMember), notThere);
  assert.equal(await told("PUT", path(sent), { triggerDate: "2030-01-01 10:00" }), notThere);
  await send("POST", `campaigns/${campaign.id}/contact/${contact.id}/add`);
  assert.match(
    (await told("PUT", path(sent), { channel: "email" })) ?? "",
    /must be scheduled or marked as complete/,
  );
  assert.match(
    (await told("PUT", path(opened), { triggerDate: "2030-01-01 10:00" })) ?? "",
    /^A decision type event/,
  );
  await send("PUT", path(sent), { triggerDate: "2030-01-01 10:00", metadata: { a: 1 } }, 201);
  const { event } = await send<{ event: { contactLog: Entity[] } }>("PUT", path(sent), {
    dateTriggered: "2026-01-01 10:00",
    ipAddress: "192.0.2.1",
  });
  const [log] = event.contactLog;
  assert.deepEqual(
    [log?.isScheduled, log?.dateTriggered, log?.ipAddress, log?.metadata],
    [false, "2026-01-01T10:00:00+00:00", "192.0.2.1", { a: 1 }],
  );
  assert.equal(
    await told("PUT", path(sent), { channel: "email" }),
    `The event ${sent.id} in the campaign ${campaign.id} has already been executed at 2026-01-01T10:00:00+00:00 for the contact ${contact.id}.`,
  );
  const { events, membership } = await send<{ events: { contactLog: object[] }[]; membership: Entity[] }>(
    "GET",
    ofMember,
  );
  assert.deepEqual(
    events.map(({ contactLog }) => contactLog.length),
    [1, 0, 0, 0],
  );
  assert.equal(membership[0]?.rotation, 1);
  const logs = await send<{ total: number; events: { event: Entity; campaign: Entity }[] }>(
    "GET",
    `campaigns/events/contact/${contact.id}`,
  );
  assert.deepEqual(
    [logs.total, logs.events[0]?.event.id, logs.events[0]?.campaign.id],
    [1, sent.id, campaign.id],
  );
  const batch = await send<{ events: Record<string, Entity>; errors: Record<string, { code: number }> }>(
    "PUT",
    "campaigns/events/batch/edit",
    [
      { eventId: opened.id, contactId: contact.id, dateTriggered: "2026-01-02 10:00" },
      { eventId: sent.id, contactId: contact.id, channel: "email" },
      { contactId: contact.id },
      { eventId: opened.id, contactId: 2_000_000_000 },
      "nothing",
    ],
  );
  assert.deepEqual(Object.keys(batch.events), [String(opened.id)]);
  assert.deepEqual(
    Object.entries(batch.errors).map(([key, { code }]) => [key, code]),
    [
      ["1", 409],
      ["2", 404],
      ["3", 404],
      ["4", 400],
    ],
  );
});

test("removing a contact stops what was scheduled, with the reason", async () => {
  const [campaign, contact] = [await newCampaign(DRAWN), await newContact()];
  const event = named(campaign, "Send");
  await send("POST", `campaigns/${campaign.id}/contact/${contact.id}/add`);
  await send(
    "PUT",
    `campaigns/events/${event.id}/contact/${contact.id}/edit`,
    { triggerDate: "2030-01-01 10:00" },
    201,
  );
  await send("POST", `campaigns/${campaign.id}/contact/${contact.id}/remove`);
  const rows = await query(
    stack.database,
    `select l.is_scheduled, f.reason from campaign.campaign_event_logs l
     join campaign.campaign_event_failures f on f.log_id = l.id where l.event_id = ${event.id}`,
  );
  assert.match(JSON.stringify(rows), /contact was removed from campaign on 2/);
});

test("edits at the same time lose no event", async () => {
  const campaign = await newCampaign();
  await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      send("PATCH", `campaigns/${campaign.id}/edit`, {
        events: [{ id: "new_1", name: `Tag ${index}`, type: "lead.changetags" }],
      }),
    ),
  );
  const { events } = await readCampaign(campaign.id);
  assert.equal(Object.keys(events).length, 12);
});

test("members and logs of a deleted campaign, and members of a deleted segment, are gone after a moment", async () => {
  const { list: segment } = await send<{ list: Entity }>(
    "POST",
    "segments/new",
    { name: name("Segment") },
    201,
  );
  const campaign = await newCampaign({ ...DRAWN, isPublished: true, lists: [{ id: segment.id }] });
  const [byHand, bySegment] = [await newContact(), await newContact()];
  await send("POST", `campaigns/${campaign.id}/contact/${byHand.id}/add`);
  await send("POST", `segments/${segment.id}/contact/${bySegment.id}/add`);
  const event = named(campaign, "Send");
  const edit = { dateTriggered: "2026-01-02 10:00" };
  await send("PUT", `campaigns/events/${event.id}/contact/${byHand.id}/edit`, edit, 201);
  const left = async () =>
    query(
      stack.database,
      `select (select count(*) from campaign.campaign_contacts where campaign_id = ${campaign.id}) as members,
              (select count(*) from campaign.campaign_event_logs where campaign_id = ${campaign.id}) as logs,
              (select count(*) from campaign.segment_contacts where segment_id = ${segment.id}) as found`,
    );
  await eventually(async () => assert.deepEqual(Object.values((await left())[0] ?? {}), ["2", "1", "1"]));
  await send("DELETE", `campaigns/${campaign.id}/delete`);
  await send("DELETE", `segments/${segment.id}/delete`);
  await eventually(async () => assert.deepEqual(Object.values((await left())[0] ?? {}), ["0", "0", "0"]));
});

const action = { type: "lead.changepoints", eventType: "action", properties: { points: 1 } };

test("without a canvas, events name parents and children by id, by an object with an id, or by what they are sent as", async () => {
  const campaign = await newCampaign({
    events: [
      { id: "new_1", name: "A", ...action, children: ["new_2", { id: "new_3" }] },
      { id: "new_2", name: "B", ...action },
      { id: "new_3", name: "C", ...action, parent: "new_1" },
    ],
  });
  const root = named(campaign, "A");
  assert.deepEqual(
    ["A", "B", "C"].map((each) => named(campaign, each).parent?.id),
    [undefined, root.id, root.id],
  );
});

test("PUT drops the connections of an event that it removes, and PATCH takes no source away", async () => {
  const { list } = await send<{ list: Entity }>("POST", "segments/new", { name: name("Source") }, 201);
  const lists = [{ id: list.id }];
  const connect = (sourceId: unknown, targetId: unknown) => ({
    nodes: [],
    connections: [{ sourceId, targetId, anchors: { source: "bottom", target: "top" } }],
  });
  const { id, ...made } = await newCampaign({
    lists,
    events: ["new_1", "new_2"].map((id) => ({ id, name: id, ...action })),
    canvasSettings: connect("new_1", "new_2"),
  });
  const [first, second] = ["new_1", "new_2"].map((each) => named({ id, ...made }, each).id);
  await send("PUT", `campaigns/${id}/edit`, {
    name: name("Smaller"),
    lists,
    events: [{ id: first, name: "new_1", ...action }],
    canvasSettings: connect(first, second),
  });
  assert.deepEqual(Object.keys((await readCampaign(id)).events), [String(first)]);
  await send("PATCH", `campaigns/${id}/edit`, { lists: [], forms: [] });
  assert.deepEqual(
    (await readCampaign(id)).lists.map((each) => each.id),
    [list.id],
  );
});

test("events are found by their ids, and a field is compared by an operator that there is", async () => {
  const campaign = await newCampaign({ events: [{ id: "new_1", name: "A", ...action }] });
  const { id } = named(campaign, "A");
  const { events } = await send<{ events: Entity[] }>("GET", `campaigns/events?search=ids:${id}`);
  assert.deepEqual(
    events.map((event) => event.id),
    [id],
  );
  const properties = { field: "city", operator: "resembles", value: "Rome" };
  const condition = {
    id: "new_1",
    name: "City",
    type: "lead.field_value",
    eventType: "condition",
    properties,
  };
  const answer = await api("POST", "campaigns/new", { name: name("Campaign"), events: [condition] });
  assert.equal(answer.status, 422, answer.text);
});

test("an event calls no private address, and an address with tokens is judged when it is called", async () => {
  const call = (url: string) => ({
    name: name("Campaign"),
    events: [
      { id: "new_1", name: "Call", type: "campaign.sendwebhook", properties: { url, method: "post" } },
    ],
  });
  for (const url of ["http://10.0.0.1/in", "http://169.254.169.254/latest", "http://[::1]/"]) {
    const answer = await api("POST", "campaigns/new", call(url));
    assert.equal(answer.status, 422, answer.text);
    assert.match(answer.text, /properties\.url/);
  }
  await send("POST", "campaigns/new", call("https://example.com/{contactfield=email}"), 201);
});
