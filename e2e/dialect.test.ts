import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { processes } from "@tidings/scripts/processes";
import { startReceiver } from "@tidings/testkit/receiver";
import Mautic from "node-mautic";
import type { Entity } from "./client.ts";
import { newPerson } from "./people.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";

/** Answers for clients of the product with the same API, with the one switch that README names. */

const API_DIALECT = "mautic";
const stack = await startTestStack({
  env: Object.fromEntries(
    processes
      .filter(({ variables }) => variables.includes("API_DIALECT"))
      .map(({ name }) => [name, { API_DIALECT }]),
  ),
});
after(() => stack.stop());
const { api } = stack;
const client = new Mautic({
  apiUrl: stack.baseUrl,
  ...ADMINISTRATOR,
  timeoutInSeconds: 20,
  logLevel: "none",
});

test("a client from a registry makes, reads, edits and deletes contacts, companies, segments, forms and webhooks", async () => {
  const contact = await client.contacts.createContact({ firstname: "Ada", email: "ada@example.com" });
  const { id } = contact.contact;
  assert.equal((await client.contacts.getContact(id)).contact.fields.all.firstname, "Ada");
  await client.contacts.editContact("PATCH", { lastname: "Lovelace" }, id);
  const segment = await client.segments.createSegment({ name: "Friends" });
  await client.segments.addContactToSegment(segment.list.id, id);
  assert.equal((await client.contacts.getSegmentMemberships(id)).total, 1);
  const company = await client.companies.createCompany({ companyname: "Engines" });
  await client.companies.addContactToCompany(company.company.id, id);
  const form = await client.forms.createForm({
    name: "Newsletter",
    fields: [{ label: "Email", type: "email", alias: "email" }],
  });
  assert.equal((await client.forms.getForm(form.form.id)).form.fields[0].alias, "email");
  const { triggers } = await client.webhooks.listAvailableWebhookTriggers();
  assert.ok("mautic.lead_post_save_new" in triggers);
  assert.equal((await client.contacts.deleteContact(id)).contact.id, null);
});

test("the version has the name and value that such clients compare", async () => {
  const { headers } = await api("GET", "contacts");
  assert.equal(headers.get("mautic-version"), "7.0.0");
});

test("fields, actions and events are ordered arrays, and filters are answered as they were sent", async () => {
  const filters = [
    {
      object: "lead",
      glue: "and",
      field: "city",
      type: "text",
      operator: "=",
      properties: { filter: "Rome" },
    },
  ];
  const segment = await api("POST", "segments/new", { name: "Rome", filters });
  assert.deepEqual((segment.body as unknown as { list: Entity }).list.filters, filters);
  const { id } = (segment.body as unknown as { list: Entity }).list;
  const read = await api("GET", `segments/${id}`);
  assert.deepEqual((read.body as unknown as { list: Entity }).list.filters, filters);

  const events = [{ id: "new_1", name: "Points", type: "lead.changepoints", properties: { points: 1 } }];
  const campaign = await api("POST", "campaigns/new", { name: "Campaign", events });
  assert.equal(campaign.status, 201, campaign.text);
  assert.ok(Array.isArray((campaign.body as unknown as { campaign: Entity }).campaign.events));
});

test("a receiver that checks the older signature accepts a delivery", async () => {
  const receiver = await startReceiver();
  after(() => receiver.stop());
  const secret = "s";
  const triggers = ["mautic.lead_post_save_new"];
  const hook = { name: "Trigger", webhookUrl: receiver.url, triggers, secret };
  assert.equal((await api("POST", "hooks/new", hook)).status, 201);
  await api("POST", "contacts/new", { firstname: "Grace", email: "grace@example.com" });
  const [request] = await receiver.waitFor(1);
  const signature = createHmac("sha256", secret)
    .update(request?.body ?? "")
    .digest("base64");
  assert.equal(request?.headers["webhook-signature"], signature);
  assert.deepEqual(Object.keys(JSON.parse(String(request?.body))), triggers);
});

test("an id of an entity that is not there is kept for a caller who sees all of the kind, and for nobody else", async () => {
  const trigger = {
    name: "Warm",
    events: [{ name: "Send", type: "email.send", properties: { email: 2_000_000_000 } }],
  };
  assert.equal((await api("POST", "points/triggers/new", trigger)).status, 201);
  const writer = await newPerson(stack, { "point:triggers": ["full"], "email:emails": ["viewown"] });
  const answer = await writer.api("POST", "points/triggers/new", trigger);
  assert.equal(answer.status, 400, answer.text);
});
