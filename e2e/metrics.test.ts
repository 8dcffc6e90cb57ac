import assert from "node:assert/strict";
import { after, test } from "node:test";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { startReceiver } from "@tidings/testkit/receiver";
import { Client } from "pg";
import { commonMetrics, metricTable } from "./metric-table.ts";
import { scrapeProcess } from "./scrape.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(stack.stop);
const scrape = (name: string) => scrapeProcess(stack, name);
const names: string[] = processes.map(({ name }) => name);

/** The processes that have a metric. */
function tellers(toldBy: string): string[] {
  if (toldBy === "all") return names;
  if (toldBy === "services") return names.filter((name) => name !== "gateway");
  return toldBy.split(", ");
}

test("docs/metrics.md lists the metrics of each process, and no other", async () => {
  const scrapes = await Promise.all(names.map(async (name) => ({ name, ...(await scrape(name)) })));
  const told = new Set(scrapes.flatMap(({ metrics }) => [...metrics.keys()]));
  const ours = [...told].filter((name) => name.startsWith("tidings_"));
  assert.deepEqual(metricTable.map(({ name }) => name).toSorted(), ours.toSorted());
  for (const { name, type, labels, toldBy, help } of metricTable) {
    const having = scrapes.filter(({ metrics }) => metrics.has(name));
    assert.deepEqual(
      having.map((process) => process.name),
      tellers(toldBy),
      name,
    );
    for (const { metrics } of having) {
      const { labels: seen = new Set(), ...said } = metrics.get(name) ?? {};
      assert.deepEqual(said, { type, help }, name);
      const own = [...seen].filter((label) => label !== "le" && label !== "process");
      if (own.length > 0) assert.deepEqual(new Set(own), labels, name);
    }
  }
  for (const name of commonMetrics) assert.ok(told.has(name), name);
});

test("a request is measured where it comes in and where it is answered", async () => {
  const { body } = await stack.api("POST", "contacts/new", { firstname: "Ada" });
  const measures = async () => {
    const [gateway, contact] = await Promise.all([scrape("gateway"), scrape("contact")]);
    return [
      gateway.value("tidings_http_request_duration_seconds_count", {
        route: "/api/contacts/:id",
        method: "GET",
        status: "200",
      }),
      contact.value("tidings_rpc_duration_seconds_count", {
        method: "tidings.contact.v1.ContactService/GetContact",
        code: "OK",
      }),
    ];
  };
  const [requests = 0, calls = 0] = await measures();
  await stack.api("GET", `contacts/${body.contact.id}`);
  await eventually(async () => assert.deepEqual(await measures(), [requests + 1, calls + 1]));
});

test("a webhook is measured from its plan to its receiver", async () => {
  const receiver = await startReceiver();
  const triggers = ["svc.lead_post_save_new"];
  await stack.api("POST", "hooks/new", { name: "Measured", webhookUrl: receiver.url, triggers });
  await stack.api("POST", "contacts/new", { firstname: "Cleo" });
  await receiver.waitFor(1);
  await eventually(async () => {
    const { value } = await scrape("webhook");
    assert.equal(value("tidings_delivery_attempt_duration_seconds_count", { result: "delivered" }), 1);
    assert.equal(value("tidings_delivery_age_seconds_count"), 1);
    assert.equal(value("tidings_deliveries_waiting"), 0);
    assert.equal(value("tidings_deliveries_overdue_seconds"), 0);
  });
  await receiver.stop();
});

test("while NATS is away metrics have the age of the outbox, and none of consumers", async () => {
  await stack.nats.stop();
  await stack.api("POST", "contacts/new", { firstname: "Bea" });
  await eventually(async () => {
    const away = await scrape("contact");
    assert.equal(away.value("tidings_bus_connected"), 0);
    assert.equal(away.value("tidings_scrape_source_up", { source: "consumers" }), 0);
    assert.equal(away.value("tidings_scrape_source_up", { source: "outbox" }), 1);
    assert.equal(away.value("tidings_outbox_waiting_events"), 1);
    assert.ok((away.value("tidings_outbox_oldest_seconds") ?? 0) > 1);
    assert.ok(!away.samples.some(({ name }) => name.startsWith("tidings_consumer_pending")));
  });
  await stack.nats.start();
  await eventually(async () => {
    const back = await scrape("contact");
    assert.equal(back.value("tidings_outbox_waiting_events"), 0);
    assert.equal(back.value("tidings_outbox_oldest_seconds"), 0);
    assert.equal(back.value("tidings_scrape_source_up", { source: "consumers" }), 1);
  });
});

test("a job that nobody gets to is overdue", async () => {
  const of = "kind = 'segment_day' and key = 'held'";
  await queryAsSuperuser(
    stack.database,
    `insert into contact.jobs (kind, key, state, due_at) values ('segment_day', 'held', 'set_aside', now() - interval '1 hour')`,
  );
  const holder = new Client({ connectionString: stack.database.adminUrl });
  await holder.connect();
  try {
    await holder.query("begin");
    // Lets it be changed, and not be claimed.
    await holder.query(`select from contact.jobs where ${of} for key share`);
    await eventually(async () => {
      const { value } = await scrape("contact");
      assert.equal(value("tidings_jobs_set_aside", { kind: "segment_day" }), 1);
    });
    await queryAsSuperuser(stack.database, `update contact.jobs set state = 'waiting' where ${of}`);
    await eventually(async () => {
      const held = await scrape("contact");
      assert.ok((held.value("tidings_jobs_overdue_seconds", { kind: "segment_day" }) ?? 0) >= 3_600);
      assert.equal(held.value("tidings_jobs_set_aside", { kind: "segment_day" }), 0);
    });
    await holder.query(`delete from contact.jobs where ${of}`);
    await holder.query("commit");
  } finally {
    await holder.end();
  }
  await eventually(async () => {
    const { value } = await scrape("contact");
    assert.equal(value("tidings_jobs_overdue_seconds", { kind: "segment_day" }), 0);
  });
});

test("dead letters are counted until they are removed", async () => {
  const kept = async () => (await scrape("contact")).value("tidings_dead_letters_kept");
  await queryAsSuperuser(
    stack.database,
    `insert into contact.dead_letter (consumer, event_id, subject, payload, headers, error, attempts)
     values ('contact-segments', '1', 'tidings.contact.contact.updated', '', '{}', 'bug', 10)`,
  );
  await eventually(async () => assert.equal(await kept(), 1));
  await queryAsSuperuser(stack.database, "delete from contact.dead_letter");
  await eventually(async () => assert.equal(await kept(), undefined));
});

test("without its database a process has its other metrics, and is not ready", async () => {
  const name = new URL(stack.database.adminUrl).pathname.slice(1);
  // From another database of the server: a session cannot close the database that it is in.
  const server = { adminUrl: new URL("/postgres", stack.database.adminUrl).href };
  await queryAsSuperuser(server, `alter database ${name} allow_connections false`);
  await queryAsSuperuser(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
  await eventually(async () => {
    const away = await scrape("webhook");
    assert.equal(away.value("tidings_ready"), 0);
    for (const source of ["outbox", "dead_letters", "deliveries", "projections"])
      assert.equal(away.value("tidings_scrape_source_up", { source }), 0);
    assert.equal(away.value("tidings_deliveries_waiting"), undefined);
    assert.equal(away.value("tidings_scrape_source_up", { source: "consumers" }), 1);
    assert.equal(away.value("tidings_leader", { of: "relay" }), 0);
  });
  await queryAsSuperuser(server, `alter database ${name} allow_connections true`);
  await eventually(async () => {
    const back = await scrape("webhook");
    assert.equal(back.value("tidings_ready"), 1);
    assert.equal(back.value("tidings_scrape_source_up", { source: "deliveries" }), 1);
    assert.equal(back.value("tidings_leader", { of: "relay" }), 1);
  });
});
