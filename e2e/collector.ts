import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

export interface CollectedSpan {
  traceId: string;
  id: string;
  /** Empty at the root of a trace. */
  parentId: string;
  name: string;
  /** The process that it is of. */
  service: string;
  /** The spans that it links to, by id. */
  links: string[];
}

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  spans: CollectedSpan[];
  stop(): void;
}

/** A collector that processes export their spans to: OTLP over HTTP, in protobuf. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const server = createServer(async (request, response) => {
    spans.push(...readExport(await buffer(request)));
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    stop: () => void server.close(),
  };
}

/** The members of a message that have a length, by their numbers: messages, texts and ids; the others are left out. */
type Members = Map<number, Uint8Array[]>;

function membersOf(message: Uint8Array): Members {
  const members: Members = new Map();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type !== WireType.LengthDelimited) reader.skip(type);
    else members.set(field, [...(members.get(field) ?? []), reader.bytes()]);
  }
  return members;
}

const all = (members: Members, field: number) => (members.get(field) ?? []).map(membersOf);
const hex = (members: Members, field: number) => Buffer.from(members.get(field)?.[0] ?? []).toString("hex");
const text = (members: Members, field: number) => Buffer.from(members.get(field)?.[0] ?? []).toString();

/** The numbers are those of opentelemetry/proto/trace/v1/trace.proto. */
function readExport(message: Uint8Array): CollectedSpan[] {
  return all(membersOf(message), 1).flatMap((resourceSpans) => {
    const attributes = all(resourceSpans, 1).flatMap((resource) => all(resource, 1));
    const name = attributes.find((attribute) => text(attribute, 1) === "service.name");
    const service = name ? all(name, 2).map((value) => text(value, 1))[0] : undefined;
    return all(resourceSpans, 2)
      .flatMap((scopeSpans) => all(scopeSpans, 2))
      .map((span) => ({
        traceId: hex(span, 1),
        id: hex(span, 2),
        parentId: hex(span, 4),
        name: text(span, 5),
        service: service ?? "",
        links: all(span, 13).map((link) => hex(link, 2)),
      }));
  });
}
