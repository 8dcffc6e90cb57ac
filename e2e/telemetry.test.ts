import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { type Collector, startCollector } from "./collector.ts";
import { query } from "./query.ts";
import { scrapeProcess } from "./scrape.ts";
import { startTestStack, type TestStack } from "./stack.ts";

/** The collector of each process, so that what came from whom needs no name. */
const collectors = new Map<string, Collector>();
for (const { name } of processes) collectors.set(name, await startCollector());
// Each signal of the process "reporting" has an endpoint of its own.
for (const name of ["reporting traces", "reporting logs"]) collectors.set(name, await startCollector());
const of = (name: string): Collector => collectors.get(name) as Collector;

const SOON = {
  OTEL_BSP_SCHEDULE_DELAY: "50",
  OTEL_BLRP_SCHEDULE_DELAY: "50",
  OTEL_METRIC_EXPORT_INTERVAL: "300",
};
let stack: TestStack;

before(async () => {
  stack = await startTestStack({
    env: {
      gateway: {
        ...SOON,
        OTEL_EXPORTER_OTLP_ENDPOINT: of("gateway").url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=ours,authorization=Bearer%20a",
        OTEL_SERVICE_NAME: "edge",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=ignored",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0",
      },
      contact: {
        ...SOON,
        OTEL_EXPORTER_OTLP_ENDPOINT: of("contact").grpcUrl,
        OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=ours",
        OTEL_METRICS_EXPORTER: "otlp",
        OTEL_LOGS_EXPORTER: "otlp",
        OTEL_TRACES_SAMPLER: "parentbased_always_off",
        TRACE_STATEMENTS_MS: "0",
        LOG_LEVEL: "debug",
      },
      content: {
        ...SOON,
        OTEL_EXPORTER_OTLP_ENDPOINT: of("content").url,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_METRICS_EXPORTER: "otlp",
        OTEL_LOGS_EXPORTER: "otlp",
        LOG_LEVEL: "info",
      },
      campaign: {
        ...SOON,
        OTEL_SDK_DISABLED: "true",
        OTEL_EXPORTER_OTLP_ENDPOINT: of("campaign").url,
        OTEL_METRICS_EXPORTER: "otlp",
      },
      reporting: {
        ...SOON,
        LOG_LEVEL: "info",
        // No process listens at this port, and the protocol and header are those of no signal.
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_HEADERS: "x-signal=any",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: of("reporting traces").grpcUrl,
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "grpc",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-signal=traces",
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${of("reporting").url}/v1/metrics`,
        OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf",
        OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-signal=metrics",
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${of("reporting logs").url}/v1/logs`,
        OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/protobuf",
        OTEL_EXPORTER_OTLP_LOGS_HEADERS: "x-signal=logs",
      },
      webhook: {
        ...SOON,
        OTEL_EXPORTER_OTLP_ENDPOINT: of("webhook").url,
        OTEL_TRACES_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "otlp",
        LOG_LEVEL: "info",
      },
    },
  });
});
after(async () => {
  await stack.stop();
  for (const collector of collectors.values()) collector.stop();
});

/** A header that has a request recorded by whoever respects its caller. */
function newTrace() {
  const traceId = randomBytes(16).toString("hex");
  return { traceId, headers: { traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-01` } };
}

async function traced(method: string, path: string, body?: object) {
  const { traceId, headers } = newTrace();
  const answer = await stack.api(method, path, body, headers);
  const spansOf = (name: string) => of(name).spans.filter((span) => span.traceId === traceId);
  return { answer, traceId, spansOf };
}

test("spans are sampled, named and sent as OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME, _RESOURCE_ATTRIBUTES and _HEADERS say", async () => {
  await stack.api("GET", "contacts");
  const { spansOf } = await traced("GET", "contacts?limit=1");
  const [span] = await eventually(() => {
    assert.equal(spansOf("gateway").length, 1);
    return spansOf("gateway");
  });
  assert.equal(span?.service, "edge");
  assert.equal(span.resource["service.namespace"], "tidings");
  assert.equal(span.resource["deployment.environment.name"], "test");
  assert.equal(
    of("gateway").spans.length,
    1,
    "a trace that no caller asked for is not recorded at a ratio of 0",
  );
  const [sent] = of("gateway").exports;
  assert.equal(sent?.protocol, "http/protobuf");
  assert.equal(sent.headers["x-tenant"], "ours");
  assert.equal(sent.headers.authorization, "Bearer a");
});

test("spans of requests and calls have the attributes of the semantic conventions, and only our faults are failures", async () => {
  const { spansOf } = await traced("GET", "contacts/999999999");
  await eventually(() => assert.ok(spansOf("gateway").length === 1 && spansOf("contact").length >= 1));
  const [request] = spansOf("gateway");
  assert.equal(request?.name, "GET /api/contacts/:id");
  assert.equal(request.attributes["http.request.method"], "GET");
  assert.equal(request.attributes["http.route"], "/api/contacts/:id");
  assert.equal(request.attributes["url.path"], "/api/contacts/999999999");
  assert.equal(request.attributes["http.response.status_code"], 404);
  assert.equal(request.isFailed, false);
  const call = spansOf("contact").find(({ attributes }) => attributes["rpc.method"]);
  assert.equal(call?.name, "tidings.contact.v1.ContactService/GetContact");
  assert.equal(call.attributes["rpc.system.name"], "grpc");
  assert.equal(call.attributes["rpc.response.status_code"], "NOT_FOUND");
  assert.equal(call.isFailed, false);
});

test("a statement that takes TRACE_STATEMENTS_MS has a span within that of its call, without a value", async () => {
  const { spansOf } = await traced("POST", "contacts/new", { firstname: "Xanthippe" });
  await eventually(() => {
    const call = spansOf("contact").find(({ attributes }) => attributes["rpc.method"]);
    const statements = spansOf("contact").filter(
      ({ attributes }) => attributes["db.system.name"] === "postgresql",
    );
    assert.ok(call && statements.length > 0);
    assert.ok(
      statements.every(({ attributes }) => attributes["db.query.summary"] && attributes["db.query.text"]),
    );
    assert.ok(statements.some(({ parentId }) => parentId === call.id));
    assert.doesNotMatch(JSON.stringify(statements), /Xanthippe/);
  });
});

test("metrics are those of /metrics under the names that a receiver makes of them", async () => {
  const UNITS: Record<string, string> = { s: "_seconds", By: "_bytes" };
  for (const name of ["contact", "reporting"]) {
    await eventually(async () => {
      // Read again at each try: nodejs_active_requests is there only while a request to the system is open.
      const { metrics, samples } = await scrapeProcess(stack, name);
      const seen = new Set(samples.map((sample) => sample.name.replace(/_(bucket|sum|count)$/, "")));
      const known = [...metrics.keys()].filter((metric) => seen.has(metric));
      const told = new Set(
        of(name).metrics.map(
          ({ name, unit, type }) => `${name}${UNITS[unit] ?? ""}${type === "counter" ? "_total" : ""}`,
        ),
      );
      const missing = known.filter((metric) => !told.has(metric));
      assert.deepEqual(missing, []);
    });
  }
  assert.equal(of("contact").exports.find(({ signal }) => signal === "metrics")?.protocol, "grpc");
  assert.deepEqual(new Set(of("reporting").exports.map(({ signal }) => signal)), new Set(["metrics"]));
});

test("lines of the log are records with their level, and with the trace in which they were written", async () => {
  await eventually(() => {
    const ready = of("webhook").logs.find(({ body }) => body === "ready");
    assert.equal(ready?.severity, "info");
    assert.equal(ready.service, "webhook");
  });
  assert.deepEqual(new Set(of("webhook").exports.map(({ signal }) => signal)), new Set(["logs"]));
  // A table that is gone is our fault: its line stands in the log of both, in the trace of the request.
  await query(stack.database, "alter table contact.tags rename to tags_away");
  const { answer, traceId } = await traced("GET", "tags");
  await query(stack.database, "alter table contact.tags_away rename to tags");
  assert.equal(answer.status, 500);
  await eventually(() => {
    const [record] = of("contact").logs.filter(({ body }) => body === "call failed");
    assert.equal(record?.traceId, traceId);
    assert.equal(record.severity, "error");
    assert.equal(record.attributes.method, "tidings.contact.v1.TagService/ListTags");
    for (const name of ["contact", "gateway"])
      assert.ok(
        stack.lines.of(name).some((line) => line.includes(`"trace_id":"${traceId}"`)),
        name,
      );
  });
  const failed = () => of("gateway").spans.find((span) => span.traceId === traceId);
  await eventually(() => assert.equal(failed()?.isFailed, true));
  assert.equal(failed()?.attributes["error.type"], "500");
});

test("http/json is spoken for each signal", () =>
  eventually(() => {
    const seen = of("content").exports.map(({ signal, protocol }) => `${signal} ${protocol}`);
    for (const signal of ["metrics", "logs"]) assert.ok(seen.includes(`${signal} http/json`), seen.join());
  }));

test("the endpoint, protocol and headers of a signal are used in place of those of all signals", async () => {
  const { spansOf } = await traced("GET", "audit?limit=1");
  await eventually(() => {
    assert.ok(spansOf("reporting traces").some(({ service }) => service === "reporting"));
    assert.ok(of("reporting logs").logs.some(({ body }) => body === "ready"));
    assert.ok(of("reporting").metrics.length > 0);
  });
  for (const [name, ...expected] of [
    ["reporting traces", "traces", "grpc"],
    ["reporting", "metrics", "http/protobuf"],
    ["reporting logs", "logs", "http/protobuf"],
  ] as const) {
    const seen = of(name).exports.map((sent) => [sent.signal, sent.protocol, sent.headers["x-signal"]]);
    assert.deepEqual([...new Set(seen.map(String))], [[...expected, expected[0]].join()]);
  }
});

test("OTEL_SDK_DISABLED sends nothing", () => {
  assert.deepEqual(of("campaign").exports, []);
});

test("a process that stops sends what it has", async () => {
  const { traceId, headers } = newTrace();
  await stack.api("GET", "contacts?limit=1", undefined, headers);
  await stack.process("contact").stop();
  assert.ok(of("contact").spans.some((span) => span.traceId === traceId));
  await eventually(() => assert.ok(of("contact").logs.some(({ body }) => body === "stopping")));
});
