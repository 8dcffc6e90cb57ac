import { deepStrictEqual } from "node:assert/strict";
import { STATUS_CODES } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { type ReceivedRequest, type Receiver, startReceiver } from "@tidings/testkit/receiver";
import { Webhook } from "standardwebhooks";
import { stackOfCommand } from "./bench/temporary-stack.ts";

const NEW = "svc.lead_post_save_new";
const UPDATED = "svc.lead_post_save_update";
const POINTS = "svc.lead_points_change";
const DELETED = "svc.lead_post_delete";

const SHOWN_LENGTH = 260;
const DELIVERY_LIMIT_MS = 10_000;
/** Later deliveries would be unexpected ones: this long they may take to show up. */
const SILENCE_MS = 300;

interface Api {
  baseUrl: string;
  password: string;
}

interface Step {
  title: string;
  method: string;
  path: string;
  body?: object;
  status: number;
}

interface Answer {
  body: Record<string, Record<string, unknown>>;
  at: number;
}

/** There must be one delivery for each trigger since the last call, and no others. */
type ExpectDeliveries = (answer: Answer, triggers: string[]) => Promise<void>;

const own = stackOfCommand();
process.exit(await runDemo());

async function runDemo(): Promise<number> {
  const startedAt = Date.now();
  const receiver = await startReceiver();
  try {
    await tellStory(await findApi(), receiver);
    console.log(`\nAll of it happened, in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.`);
    return 0;
  } catch (error) {
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : error}`);
    return 1;
  } finally {
    await receiver.stop();
    await own.stop();
  }
}

/** The running product that BASE_URL names, else one of our own. */
async function findApi(): Promise<Api> {
  const { BASE_URL, ADMIN_PASSWORD } = process.env;
  if (BASE_URL) {
    if (!ADMIN_PASSWORD) throw new Error("BASE_URL needs ADMIN_PASSWORD, the password of the user admin.");
    console.log("Webhooks reach us only if that Tidings runs with OUTBOUND_ALLOW_CIDRS=127.0.0.0/8.");
    return { baseUrl: BASE_URL.replace(/\/$/, ""), password: ADMIN_PASSWORD };
  }
  console.log("Starting Postgres, NATS and Tidings in a temporary folder ...");
  return own.start({ env: { webhook: { OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" } } });
}

async function tellStory(api: Api, receiver: Receiver): Promise<void> {
  console.log(`The API is at ${api.baseUrl}/api, our receiver of webhooks at ${receiver.url}.`);
  const run = Date.now().toString(36);
  const { body } = await take(api, {
    title: "Ask for webhooks about contacts",
    method: "POST",
    path: "hooks/new",
    body: { name: `Demo ${run}`, webhookUrl: receiver.url, triggers: [NEW, UPDATED, POINTS, DELETED] },
    status: 201,
  });
  const expectDeliveries = deliveryReader(receiver, String(body.hook?.secret));
  const contact = await changeContacts(api, run, expectDeliveries);
  await take(api, {
    title: "Clean up: the webhook",
    method: "DELETE",
    path: `hooks/${body.hook?.id}/delete`,
    status: 200,
  });
  const last = await take(api, {
    title: "Clean up: the contact, which no webhook receives",
    method: "DELETE",
    path: `contacts/${contact}/delete`,
    status: 200,
  });
  await pause(SILENCE_MS);
  await expectDeliveries(last, []);
}

/** Returns the id of the contact that is left. */
async function changeContacts(api: Api, run: string, expectDeliveries: ExpectDeliveries): Promise<unknown> {
  const ada = await take(api, {
    title: "Create a contact",
    method: "POST",
    path: "contacts/new",
    body: { firstname: "Ada", lastname: "Lovelace", email: `ada.${run}@example.com` },
    status: 201,
  });
  await expectDeliveries(ada, [NEW]);
  const grace = await take(api, {
    title: "Create another, with tags",
    method: "POST",
    path: "contacts/new",
    body: { firstname: "Grace", email: `grace.${run}@example.com`, tags: ["navy", "compilers"] },
    status: 201,
  });
  await expectDeliveries(grace, [NEW]);
  const adaId = ada.body.contact?.id;
  const edited = await take(api, {
    title: "Edit the first one",
    method: "PATCH",
    path: `contacts/${adaId}/edit`,
    body: { position: "Analyst", city: "London" },
    status: 200,
  });
  await expectDeliveries(edited, [UPDATED]);
  const scored = await take(api, {
    title: "Score her",
    method: "POST",
    path: `contacts/${adaId}/points/plus/10`,
    body: { eventName: "Demo", actionName: "Read the engine notes" },
    status: 200,
  });
  await expectDeliveries(scored, [POINTS, UPDATED]);
  const deleted = await take(api, {
    title: "Delete the second one",
    method: "DELETE",
    path: `contacts/${grace.body.contact?.id}/delete`,
    status: 200,
  });
  await expectDeliveries(deleted, [DELETED]);
  return adaId;
}

/** Sends a request, shows it with its answer, and insists on the status. */
async function take(api: Api, { title, method, path, body, status }: Step): Promise<Answer> {
  console.log(`\n${title}\n  > ${method} /api/${path}`);
  if (body) console.log(`    ${JSON.stringify(body)}`);
  const response = await fetch(`${api.baseUrl}/api/${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`admin:${api.password}`).toString("base64")}`,
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const at = Date.now();
  console.log(`  < ${response.status} ${STATUS_CODES[response.status]}\n    ${shortened(text)}`);
  if (response.status !== status) throw new Error(`${method} ${path}: expected the status ${status}`);
  return { body: JSON.parse(text), at };
}

/** Reads the deliveries that follow an answer. */
function deliveryReader(receiver: Receiver, secret: string): ExpectDeliveries {
  const verifier = new Webhook(secret);
  let read = 0;
  return async (answer: Answer, triggers: string[]) => {
    const all = await eventually(
      () => {
        if (receiver.requests.length >= read + triggers.length) return receiver.requests;
        throw new Error(`no delivery of ${triggers.join(", ")} within ${DELIVERY_LIMIT_MS / 1000} s`);
      },
      { timeoutMs: DELIVERY_LIMIT_MS },
    );
    const found = all.slice(read).map((request) => showDelivery(verifier, request, answer));
    deepStrictEqual(found.toSorted(), triggers.toSorted(), "other deliveries than expected arrived");
    read = all.length;
  };
}

/** Verifies a delivery and returns its trigger. */
function showDelivery(verifier: Webhook, { headers, body, at }: ReceivedRequest, answer: Answer): string {
  const signed = {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"]),
  };
  verifier.verify(body, signed); // throws unless it is genuine
  const [trigger = ""] = Object.keys(JSON.parse(body));
  console.log(`  * webhook ${trigger}, ${Math.max(0, at - answer.at)} ms after the answer`);
  console.log(`    webhook-id: ${signed["webhook-id"]}`);
  console.log(`    webhook-signature: ${signed["webhook-signature"]}  (verified)`);
  console.log(`    ${shortened(body)}`);
  return trigger;
}

function shortened(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)} ... (${text.length} characters)` : text;
}
