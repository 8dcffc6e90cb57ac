import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PUBLIC_PATHS } from "@tidings/rpc/public-paths";
import { processes as rows } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import fc from "fast-check";
import { BAITS, filledWith } from "../baits.ts";
import { FIRST_FIELD, MAIL_FIELD } from "../form-fields.ts";
import { assertDiscreet } from "../harmless.ts";
import { assertHoldsNothing } from "../hold-ups.ts";
import { hostileQuery, hostileSegment, hostileText } from "../hostile-input.ts";
import { make } from "../people.ts";
import { query } from "../query.ts";
import { type RawRequest, sendRaw } from "../raw-http.ts";
import { startTestStack } from "../stack.ts";
import { BROWSER, visitor } from "../visitor.ts";

/** Visitors with bad intentions, at every path of the public web. */

const stack = await startTestStack({
  env: {
    gateway: {
      FORM_RATE: "0",
      FORM_RATE_OF_ALL: "0",
      TRACKING_RATE: "0",
      DOWNLOAD_RATE: "0",
      PREVIEW_RATE: "0",
      PUBLIC_RATE_LIMIT: "0",
    },
    content: {
      MAIL_CALLBACKS:
        "generic:generic-secret-0123,mailgun:mailgun-key-0123456,ses:arn:aws:sns:eu-west-1:123456789012:x",
      SMS_CALLBACKS: "generic:generic-secret-0123,twilio:twilio-token-0123",
    },
  },
});
const { api, baseUrl, database } = stack;
const processes = rows.map(({ name }) => stack.process(name));
const pids = processes.map(({ pid }) => pid);
after(() => stack.stop());

await make(api, "forms", "form", {
  name: "Attacked",
  alias: "attacked",
  isPublished: true,
  postAction: "message",
  postActionProperty: "Thanks",
  fields: [
    FIRST_FIELD,
    MAIL_FIELD,
    { label: "Page", alias: "site", type: "url" },
    { label: "Phone", alias: "phone", type: "tel" },
    { label: "Number", alias: "number", type: "number" },
    { label: "Day", alias: "day", type: "date" },
    { label: "Country", alias: "country", type: "country" },
    { label: "File", alias: "file", type: "file" },
  ],
});
await make(api, "pages", "page", {
  title: "Attacked",
  alias: "attacked",
  isPublished: true,
  customHtml: "<html><head></head><body>{contactfield=firstname|friend} {form=1} {dwc=top}</body></html>",
});
await make(api, "dynamiccontents", "dynamicContent", {
  name: "Attacked",
  isPublished: true,
  isCampaignBased: false,
  slotName: "top",
  content: "Hello",
  filters: [
    {
      glue: "and",
      field: "firstname",
      object: "lead",
      type: "text",
      operator: "!=",
      properties: { filter: "Nobody" },
    },
  ],
});
await eventually(async () =>
  assert.equal((await visitor(baseUrl).hit({ page_url: "https://ready.example/" })).json.success, 1),
);

/** Members that the public web reads from queries and bodies. */
const MEMBERS =
  `page_url page_title page_referrer page_language preferred_locale timezone tags ct d hit left counter
  consent resolution fingerprint mtc_id mtc_sid svc_device_id utm_source utm_campaign utm_medium utm_content utm_term
  firstname email points svcform[first] svcform[mail] svcform[site] svcform[phone] svcform[number] svcform[day]
  svcform[country] svcform[file] svcform[first][] svcform[formId] svcform[return] svcform[submissionKey]
  svcform[messenger] svcform[__proto__] formId ntrd id name html js video hit_key focus type guid total_watched duration
  url`.split(/\s+/);
const HEADERS = ["referer", "user-agent", "cookie", "origin", "x-forwarded-for", "x-forwarded-host", "range"];

const SEED = 20_262;
const RUNS = 60;

const member = fc.tuple(fc.constantFrom(...MEMBERS), hostileText);
const members = fc.array(member, { maxLength: 8 });
const encoded = (entries: [string, string][]) =>
  new URLSearchParams(
    entries.map(([name, value]): [string, string] => [name, value.toWellFormed()]),
  ).toString();
const queryText = fc.oneof(members.map(encoded), hostileQuery);
/** Any byte that a header may have. */
const headerText = hostileText.map((text) =>
  Buffer.from(text)
    .toString("latin1")
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, " ")
    .trim(),
);
const headers = fc
  .array(fc.tuple(fc.constantFrom(...HEADERS), headerText), { maxLength: 3 })
  .map((entries) => Object.fromEntries(entries));

const FORM_TYPE = "application/x-www-form-urlencoded";
const MULTIPART_TYPE = "multipart/form-data; boundary=x";
const body = fc.oneof(
  members.map((entries) => ({ type: FORM_TYPE, body: encoded(entries) })),
  members.map((entries) => ({ type: MULTIPART_TYPE, body: multipart(entries) })),
  fc.string({ maxLength: 200 }).map((text) => ({ type: MULTIPART_TYPE, body: `--x\r\n${text}` })),
  fc.string({ maxLength: 200 }).map((text) => ({ type: "application/json", body: text })),
);

function multipart(entries: [string, string][]): string {
  const parts = entries.map(
    ([name, value], index) =>
      `--x\r\ncontent-disposition: form-data; name="${name}"${index % 2 ? '; filename="../a\u202e.php"' : ""}\r\n\r\n${value}\r\n`,
  );
  return `${parts.join("")}--x--\r\n`;
}

async function assertWithstood(sent: RawRequest): Promise<void> {
  const {
    status,
    headers: answered,
    text,
  } = await sendRaw(baseUrl, {
    ...sent,
    headers: { "user-agent": BROWSER, ...sent.headers },
  });
  assert.ok(status >= 200 && status < 500, `${status} ${text}`);
  if (status >= 400) assertDiscreet(text);
  if (status >= 300 && status < 400 && answered.location !== undefined)
    assert.match(
      String(answered.location),
      /^(?:\/(?![/\\])|http:\/\/localhost)/,
      "it leads to another site",
    );
}

const CALLBACKS = [
  ...["generic", "mailgun", "ses"].map((name) => `/mailer/callback/${name}`),
  ...["generic", "twilio"].map((name) => `/sms/${name}/callback`),
].map((path) => ({ path, methods: ["POST"] }));
const paths = [
  ...PUBLIC_PATHS,
  ...CALLBACKS,
  { path: "/attacked", methods: ["GET"] },
  { path: "/", methods: ["GET"] },
];
for (const { path, methods } of paths)
  for (const method of methods)
    test(`no visitor makes ${method} ${path} fail, hang or talk`, async () => {
      const target = path.endsWith("/")
        ? fc
            .array(hostileSegment, { minLength: 1, maxLength: 2 })
            .map((segments) => path + segments.join("/"))
        : fc.constant(path);
      const property = fc.asyncProperty(
        target,
        queryText,
        headers,
        body,
        async (place, text, sent, content) => {
          const asked = { method, path: text ? `${place}?${text}` : place };
          if (method === "GET") return assertWithstood({ ...asked, headers: sent });
          await assertWithstood({
            ...asked,
            headers: { ...sent, "content-type": content.type },
            body: content.body,
          });
        },
      );
      await fc.assert(property, { seed: SEED, numRuns: RUNS });
    });

const LONG = 50_000;
const TEXTS = filledWith([...BAITS, "{contactfield="], LONG);
const LAG_MAX_SECONDS = 1;

for (const path of [
  "/mtc/event",
  "/video/hit",
  "/focus/event",
  "/form/submit?formId=1",
  "/form/submit/ajax?formId=1",
])
  test(`no text in a member that is sent to ${path} holds up a process`, async () => {
    const held = { names: ["gateway", "content", "contact"], seconds: LAG_MAX_SECONDS };
    await assertHoldsNothing(stack, held, path, async () => {
      for (const [index, name] of MEMBERS.entries()) {
        const text = encoded([[name, TEXTS[index % TEXTS.length] as string]]);
        await assertWithstood({ method: "POST", path, headers: { "content-type": FORM_TYPE }, body: text });
      }
    });
  });

test("no process was lost to any of it, and no work was set aside", async () => {
  assert.deepEqual(
    processes.map(({ pid }) => pid),
    pids,
  );
  const open = () =>
    query(
      database,
      "select kind, state, reason, left(payload::text, 200) as payload from content.jobs where kind in ('visitor_identity', 'form_submission') limit 5",
    );
  await eventually(async () => assert.deepEqual(await open(), []));
});
