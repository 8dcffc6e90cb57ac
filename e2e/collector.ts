import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Metadata, Server, ServerCredentials } from "@grpc/grpc-js";

type Value = string | number | boolean;
type Attributes = Record<string, Value>;

/** The process that something is of. */
interface Of {
  resource: Attributes;
  service: string;
}

export interface CollectedSpan extends Of {
  traceId: string;
  id: string;
  /** Empty at the root of a trace. */
  parentId: string;
  name: string;
  attributes: Attributes;
  isFailed: boolean;
  /** The spans that it links to, by id. */
  links: string[];
}

export interface CollectedMetric extends Of {
  name: string;
  unit: string;
  type: "gauge" | "counter" | "histogram";
}

export interface CollectedLog extends Of {
  body: string;
  severity: string;
  traceId: string;
  attributes: Attributes;
}

/** A request of an exporter. */
export interface Export {
  signal: "traces" | "metrics" | "logs";
  protocol: "grpc" | "http/protobuf" | "http/json";
  headers: Record<string, unknown>;
}

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  /** The same for the protocol `grpc`. */
  grpcUrl: string;
  exports: Export[];
  spans: CollectedSpan[];
  metrics: CollectedMetric[];
  logs: CollectedLog[];
  stop(): void;
}

/** A collector that processes export to: OTLP over HTTP, in protobuf and JSON, and over gRPC. */
export async function startCollector(): Promise<Collector> {
  const collected = {
    exports: [] as Export[],
    spans: [] as CollectedSpan[],
    metrics: [] as CollectedMetric[],
    logs: [] as CollectedLog[],
  };
  const take = (request: Export, body: Buffer) => {
    collected.exports.push(request);
    // Bodies of JSON are only looked at by their text: their form is the same.
    if (request.protocol === "http/json") return void JSON.parse(body.toString());
    if (request.signal === "traces") collected.spans.push(...readSpans(body));
    if (request.signal === "metrics") collected.metrics.push(...readMetrics(body));
    if (request.signal === "logs") collected.logs.push(...readLogs(body));
  };
  const server = createServer(async (request, response) => {
    take(httpExport(request.url ?? "", request.headers), await buffer(request));
    response.writeHead(200, { "content-type": request.headers["content-type"] ?? "" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const grpc = await startGrpc(take);
  return {
    ...collected,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    grpcUrl: `http://127.0.0.1:${grpc.port}`,
    stop() {
      server.close();
      grpc.server.forceShutdown();
    },
  };
}

function httpExport(path: string, headers: IncomingHttpHeaders): Export {
  const signal = path.replace("/v1/", "") as Export["signal"];
  const isJson = headers["content-type"]?.includes("json");
  return { signal, protocol: isJson ? "http/json" : "http/protobuf", headers };
}

const SERVICES = {
  traces: "trace.v1.TraceService",
  metrics: "metrics.v1.MetricsService",
  logs: "logs.v1.LogsService",
};

async function startGrpc(take: (request: Export, body: Buffer) => void) {
  const server = new Server();
  const asIs = (bytes: Buffer) => bytes;
  for (const [signal, name] of Object.entries(SERVICES)) {
    const path = `/opentelemetry.proto.collector.${name}/Export`;
    const method = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    server.addService(
      { Export: method },
      {
        Export(call: { request: Buffer; metadata: Metadata }, answer: (error: null, body: Buffer) => void) {
          const headers = call.metadata.getMap();
          take({ signal: signal as Export["signal"], protocol: "grpc", headers }, call.request);
          answer(null, Buffer.alloc(0));
        },
      },
    );
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { server, port };
}

/** The members of a message by their numbers: what has a length as its bytes, numbers as they are. */
type Members = Map<number, (Uint8Array | number)[]>;

function membersOf(message: Uint8Array): Members {
  const members: Members = new Map();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const value = readValue(reader, type);
    members.set(field, [...(members.get(field) ?? []), value]);
  }
  return members;
}

function readValue(reader: BinaryReader, type: WireType): Uint8Array | number {
  if (type === WireType.LengthDelimited) return reader.bytes();
  if (type === WireType.Varint) return Number(reader.int64());
  if (type === WireType.Bit64) return reader.double();
  reader.skip(type);
  return 0;
}

const all = (members: Members, field: number) =>
  (members.get(field) ?? []).flatMap((value) => (typeof value === "number" ? [] : [membersOf(value)]));
const bytes = (members: Members, field: number) => Buffer.from((members.get(field)?.[0] ?? "") as Uint8Array);
const hex = (members: Members, field: number) => bytes(members, field).toString("hex");
const text = (members: Members, field: number) => bytes(members, field).toString();

/** opentelemetry/proto/common/v1/common.proto: KeyValue, AnyValue. */
function attributesIn(members: Members, field: number): Attributes {
  return Object.fromEntries(
    all(members, field).map((attribute) => [text(attribute, 1), anyValue(all(attribute, 2)[0] ?? new Map())]),
  );
}

function anyValue(value: Members): Value {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return value.get(2)?.[0] === 1;
  return Number(value.get(3)?.[0] ?? value.get(4)?.[0] ?? Number.NaN);
}

/** The content of an export request, each part with its resource: all requests have the same form around it. */
function contentOf(message: Uint8Array): (Of & { item: Members })[] {
  return all(membersOf(message), 1).flatMap((ofResource) => {
    const resource = Object.assign(
      {},
      ...all(ofResource, 1).map((own) => attributesIn(own, 1)),
    ) as Attributes;
    const service = String(resource["service.name"] ?? "");
    return all(ofResource, 2).flatMap((ofScope) =>
      all(ofScope, 2).map((item) => ({ resource, service, item })),
    );
  });
}

/** opentelemetry/proto/trace/v1/trace.proto */
function readSpans(message: Uint8Array): CollectedSpan[] {
  return contentOf(message).map(({ item: span, ...of }) => ({
    ...of,
    traceId: hex(span, 1),
    id: hex(span, 2),
    parentId: hex(span, 4),
    name: text(span, 5),
    attributes: attributesIn(span, 9),
    isFailed: all(span, 15).some((status) => status.get(3)?.[0] === 2),
    links: all(span, 13).map((link) => hex(link, 2)),
  }));
}

/** opentelemetry/proto/metrics/v1/metrics.proto */
function readMetrics(message: Uint8Array): CollectedMetric[] {
  return contentOf(message).map(({ item: metric, ...of }) => ({
    ...of,
    name: text(metric, 1),
    unit: text(metric, 3),
    type: metric.has(7) ? "counter" : metric.has(9) ? "histogram" : "gauge",
  }));
}

/** opentelemetry/proto/logs/v1/logs.proto */
function readLogs(message: Uint8Array): CollectedLog[] {
  return contentOf(message).map(({ item: record, ...of }) => ({
    ...of,
    severity: text(record, 3),
    body: String(anyValue(all(record, 5)[0] ?? new Map())),
    attributes: attributesIn(record, 6),
    traceId: hex(record, 9),
  }));
}
