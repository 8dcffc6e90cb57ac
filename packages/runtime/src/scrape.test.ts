import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { Gauge } from "prom-client";
import { createLog } from "./log.ts";
import { addSource, type Source, scrape } from "./scrape.ts";

const log = createLog("test", "silent");
const gauge = (name: string) => new Gauge({ name, help: name });
const sampleOf = (text: string, name: string) =>
  text
    .split("\n")
    .find((line) => line.startsWith(`${name} `))
    ?.split(" ")[1];
const upOf = (text: string, source: string) => sampleOf(text, `tidings_scrape_source_up{source="${source}"}`);
/** Readings are reused for a second. */
const afterTheLast = () => pause(1_100);

test("many who scrape at once have everything looked up once, and nobody looks when nobody scrapes", async () => {
  let reads = 0;
  const value = gauge("test_reads");
  const read = async () => [{ gauge: value, value: ++reads }];
  const end = addSource({ name: "counted", asks: "nothing", gauges: [value], read });
  assert.equal(reads, 0);
  const texts = await Promise.all([scrape(log), scrape(log), scrape(log)]);
  assert.deepEqual(
    texts.map((text) => sampleOf(text, "test_reads")),
    ["1", "1", "1"],
  );
  await eventually(async () => assert.equal(sampleOf(await scrape(log), "test_reads"), "2"));
  end();
  await afterTheLast();
});

test("a source that fails has no value, and all other sources are reported", async () => {
  const [fine, failing, hanging] = ["fine", "failing", "hanging"].map((name) => gauge(`test_${name}`)) as [
    Gauge,
    Gauge,
    Gauge,
  ];
  let isAway = false;
  const reading = (own: Gauge, asks: string, away: () => Promise<never>): Source => ({
    name: asks,
    asks,
    gauges: [own],
    read: () => (isAway ? away() : Promise.resolve([{ gauge: own, value: 7 }])),
  });
  const ends = [
    reading(failing, "failing", () => Promise.reject(new Error("away"))),
    reading(hanging, "hanging", () => new Promise(() => undefined)),
    { ...reading(fine, "fine", () => Promise.reject()), read: async () => [{ gauge: fine, value: 1 }] },
  ].map(addSource);
  const before = await scrape(log);
  assert.deepEqual(
    ["test_failing", "test_hanging", "test_fine"].map((name) => sampleOf(before, name)),
    ["7", "7", "1"],
  );
  isAway = true;
  await afterTheLast();
  const text = await scrape(log);
  assert.equal(sampleOf(text, "test_fine"), "1");
  assert.equal(sampleOf(text, "test_failing"), undefined);
  assert.equal(sampleOf(text, "test_hanging"), undefined);
  assert.deepEqual(
    ["fine", "failing", "hanging"].map((source) => upOf(text, source)),
    ["1", "0", "0"],
  );
  // One that still has not answered is not asked a second time.
  isAway = false;
  await afterTheLast();
  const later = await scrape(log);
  assert.deepEqual([upOf(later, "failing"), upOf(later, "hanging")], ["1", "0"]);
  for (const end of ends) end();
  await afterTheLast();
});

test("whatever holds up the event loop is seen, from the first scrape on", async () => {
  const count = (text: string, bucket: string) =>
    Number(sampleOf(text, `tidings_event_loop_delay_seconds_bucket{le="${bucket}"}`));
  await scrape(log);
  await eventually(async () => assert.ok(count(await scrape(log), "+Inf") > 0));
  const before = await scrape(log);
  const slow = (text: string) => count(text, "+Inf") - count(text, "0.25");
  const until = performance.now() + 450;
  while (performance.now() < until);
  await eventually(async () => assert.ok(slow(await scrape(log)) > slow(before)));
  const busy = (text: string) => Number(sampleOf(text, "tidings_event_loop_busy_seconds_total"));
  assert.ok(busy(await scrape(log)) - busy(before) > 0.4);
});
