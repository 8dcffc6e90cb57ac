import { addressOf, type ProcessRow, processes } from "./processes.ts";

/** Files that say where each process finds others, who may call it and what it reads. `npm run generate` writes that into them. */
export const WIRED_FILES: { path: string; wired(text: string): string }[] = [
  { path: "charts/tidings/values.yaml", wired: wiredValues },
  { path: "compose.yaml", wired: wiredCompose },
];

/** Where the gateway finds what visitors see. */
const WEB = { variable: "CONTENT_WEB_ADDRESS", address: "content:8081" };
const GRPC_PORT = 50051;

/** Values of the chart: `consumers`, `callers` and `addresses` of each process come first. */
function wiredValues(text: string): string {
  return wiredBlocks(text, "", (row, block) => {
    const rest = block
      .replace(/^ {2}(consumers|addresses):\n(?: {4}.*\n)*/gm, "")
      .replace(/^ {2}callers: .*\n/m, "");
    return [
      ...section("consumers", row.durables.map(consumerLine)),
      `  callers: [${row.callers.join(", ")}]\n`,
      ...section(
        "addresses",
        addressesOf(row, "").map(([name, address]) => `    ${name}: ${address}\n`),
      ),
      rest,
    ].join("");
  });
}

function section(name: string, lines: string[]): string[] {
  return lines.length > 0 ? [`  ${name}:\n`, ...lines] : [];
}

function consumerLine(durable: string): string {
  const [stream, name] = durable.split("/");
  return `    - { stream: ${stream}, durable: ${name} }\n`;
}

/** The compose file: addresses follow the URL of the bus. */
function wiredCompose(text: string): string {
  return wiredBlocks(text, "  ", (row, block) => {
    const lines = addressesOf(row, `:${GRPC_PORT}`).map(([name, address]) => `      ${name}: ${address}\n`);
    return block
      .replaceAll(/^ {6}(?!INTERNAL)\w+_ADDRESS: .*\n/gm, "")
      .replace(/^ {6}NATS_URL: .*\n/m, (line) => line + lines.join(""));
  });
}

/** Replaces what stands below the name of each process. Throws when one has no place yet. */
function wiredBlocks(
  text: string,
  indent: string,
  wired: (row: ProcessRow, block: string) => string,
): string {
  return processes.reduce((all, row) => {
    const block = new RegExp(`(?<=^${indent}${row.name}:\\n)(?:${indent}  .*\\n)+`, "m");
    if (!block.test(all)) throw new Error(`There is no "${indent}${row.name}:" yet`);
    return all.replace(block, (lines) => wired(row, lines));
  }, text);
}

/** The addresses that a process reads, in the order of the processes. */
function addressesOf({ variables }: ProcessRow, port: string): [string, string][] {
  const called = processes
    .map((row): [string, string] => [addressOf(row), row.name + port])
    .filter(([variable]) => variables.includes(variable));
  return variables.includes(WEB.variable) ? [...called, [WEB.variable, WEB.address]] : called;
}
