import type { CampaignEvent } from "@tidings/proto/tidings/campaign/v1/campaign";
import { isObject, jsonBytes, jsonOf, notValid } from "@tidings/resource/json-member";
import type { Violation } from "@tidings/rpc/fault";
import { entriesOf, readName } from "./json.ts";

/** Where contacts come from, as a canvas names it: these are no events. */
const SOURCES: ReadonlySet<string> = new Set(["lists", "forms"]);
const FROM_SOURCE = "leadsource";

interface Node {
  id: string;
  positionX: string;
  positionY: string;
}

interface Connection {
  sourceId: string;
  targetId: string;
  anchors: { source: string; target: string };
}

/** The drawing of a campaign. Events have the names that the sender gave them. */
export interface Canvas {
  nodes: Node[];
  connections: Connection[];
}

const NODES_MAX = 510;
const CONNECTIONS_MAX = 2_000;

/** Reads what callers send; the older form of anchors is rewritten. */
export function readCanvas(bytes: Uint8Array | undefined): Canvas | Violation {
  const value = jsonOf(bytes);
  const { nodes = [], connections = [] } = isObject(value) ? value : {};
  const isList = Array.isArray(value) && value.length === 0;
  const sent = [entriesOf(nodes), entriesOf(connections)] as const;
  if ((!isObject(value) && !isList) || sent[0].length > NODES_MAX || sent[1].length > CONNECTIONS_MAX)
    return notValid(
      "canvasSettings",
      `It has at most ${NODES_MAX} nodes and ${CONNECTIONS_MAX} connections.`,
    );
  const canvas: Canvas = { nodes: [], connections: [] };
  for (const [index, each] of sent[0].entries()) {
    const node = readNode(each);
    if (!node) return notValid(`canvasSettings.nodes[${index}]`);
    canvas.nodes.push(node);
  }
  for (const [index, each] of sent[1].entries()) {
    const connection = readConnection(each);
    if (!connection) return notValid(`canvasSettings.connections[${index}]`);
    canvas.connections.push(connection);
  }
  return canvas;
}

function readNode(value: unknown): Node | undefined {
  if (!isObject(value)) return undefined;
  const [id, positionX, positionY] = [
    readName(value.id),
    readPlace(value.positionX),
    readPlace(value.positionY),
  ];
  return id && positionX && positionY ? { id, positionX, positionY } : undefined;
}

/** Pixels, as a number or a text. */
function readPlace(value: unknown): string | undefined {
  const text = typeof value === "number" || typeof value === "string" ? String(value).trim() : "";
  return text !== "" && text.length <= 20 && Number.isFinite(Number(text)) ? text : undefined;
}

function readConnection(value: unknown): Connection | undefined {
  if (!isObject(value)) return undefined;
  const [sourceId, targetId] = [readName(value.sourceId), readName(value.targetId)];
  const anchors = readAnchors(value.anchors);
  return sourceId && targetId && anchors ? { sourceId, targetId, anchors } : undefined;
}

function readAnchors(value: unknown): Connection["anchors"] | undefined {
  const isOlder = Array.isArray(value);
  const [first, second] = isOlder ? value : [];
  const named = isOlder ? { source: endpointOf(first), target: endpointOf(second) } : value;
  const { source = "bottom", target = "top" } = isObject(named) ? named : {};
  const isShort = (anchor: unknown): anchor is string => typeof anchor === "string" && anchor.length <= 50;
  return isShort(source) && isShort(target) ? { source, target } : undefined;
}

function endpointOf(value: unknown): unknown {
  return isObject(value) ? value.endpoint : undefined;
}

/** Which event leads to which, by their names. */
export interface Link {
  parent: string;
  child: string;
  path: string | undefined;
  /** Where that is said. */
  field: string;
}

export function linksIn({ connections }: Canvas): Link[] {
  return connections.flatMap((connection, index) =>
    isFromSource(connection)
      ? []
      : [
          {
            parent: connection.sourceId,
            child: connection.targetId,
            path: ["yes", "no"].includes(connection.anchors.source) ? connection.anchors.source : undefined,
            field: `canvasSettings.connections[${index}]`,
          },
        ],
  );
}

function isFromSource({ sourceId, anchors }: Connection): boolean {
  return SOURCES.has(sourceId) || anchors.source === FROM_SOURCE;
}

const COLUMN = 200;
const ROW = 150;

/**
 * The canvas of a campaign whose events are resolved: what was drawn stays where it was, events that were not are laid out
 * below each other. `sources` are those it has.
 */
export function writeCanvas(
  canvas: Canvas,
  events: CampaignEvent[],
  { named, sources }: { named: ReadonlyMap<string, CampaignEvent>; sources: string[] },
): Uint8Array {
  const realName = (name: string) => (SOURCES.has(name) ? name : named.get(name)?.id.toString());
  const places = new Map<string, Node>();
  for (const node of canvas.nodes) {
    const id = realName(node.id);
    if (id) places.set(id, { ...node, id });
  }
  const inRow = new Map<number, number>();
  const place = (id: string, row: number) => {
    const column = inRow.get(row) ?? 0;
    inRow.set(row, column + 1);
    return (
      places.get(id) ?? { id, positionX: String(300 + column * COLUMN), positionY: String(50 + row * ROW) }
    );
  };
  const drawn = events.length > 0 || canvas.nodes.length > 0;
  const shown = [...SOURCES].filter((source) => places.has(source) || (drawn && sources.includes(source)));
  const nodes = [
    ...shown.map((id) => place(id, 0)),
    ...events.map(({ id, order }) => place(String(id), order)),
  ];
  if (nodes.length === 0) return jsonBytes([]);
  const connections = [...fromSources(canvas, events, { realName, shown }), ...events.flatMap(connectionOf)];
  return jsonBytes({ nodes, connections });
}

/** Roots that are connected with no source yet are with the first. */
function fromSources(
  { connections }: Canvas,
  events: CampaignEvent[],
  { realName, shown }: { realName(name: string): string | undefined; shown: string[] },
): Connection[] {
  const roots = new Set(events.filter(({ parent }) => !parent).map(({ id }) => String(id)));
  const kept = connections.filter(isFromSource).flatMap((connection) => {
    const targetId = realName(connection.targetId);
    const isThere = shown.includes(connection.sourceId) && targetId && roots.has(targetId);
    return isThere ? [{ ...connection, targetId }] : [];
  });
  const connected = new Set(kept.map(({ targetId }) => targetId));
  const [sourceId] = shown;
  const anchors = { source: FROM_SOURCE, target: "top" };
  const added = [...roots].filter((root) => sourceId && !connected.has(root));
  return [...kept, ...added.map((targetId) => ({ sourceId: sourceId ?? "", targetId, anchors }))];
}

function connectionOf({ id, parent, decisionPath }: CampaignEvent): Connection[] {
  if (!parent) return [];
  const anchors = { source: decisionPath ?? "bottom", target: "top" };
  return [{ sourceId: String(parent.id), targetId: String(id), anchors }];
}
