import { deployments } from "./deployments.ts";
import { passwordVariableOf } from "./migrate-config.ts";
import { addressOf, type ProcessRow, processes, readersOf, webAddressOf } from "./processes.ts";

/** Files that say where processes listen, where each finds others, who may call it and what it reads. `npm run generate` writes that into them. */
export const WIRED_FILES: { path: string; wired(text: string): string }[] = [
  { path: "charts/tidings/values.yaml", wired: wiredValues },
  { path: "charts/tidings/values.schema.json", wired: wiredValuesSchema },
  { path: "charts/tidings/Chart.yaml", wired: wiredDependencies },
  { path: "charts/tidings/templates/network-policies.yaml", wired: (text) => wiredRedis(wiredList(text)) },
  { path: "charts/tidings/templates/stores/nats.yaml", wired: wiredList },
  { path: "charts/service/values.schema.json", wired: wiredNames },
  { path: "charts/service/templates/deployment.yaml", wired: wiredPorts },
  { path: "charts/service/templates/service.yaml", wired: wiredPorts },
  { path: "compose.yaml", wired: wiredCompose },
  { path: "charts/tidings/ci/minimal.yaml", wired: wiredProfile },
  { path: "charts/tidings/ci/production.yaml", wired: wiredProfile },
  { path: "cluster/values/here.yaml", wired: wiredProfile },
  { path: "cluster/values/load.yaml", wired: wiredProfile },
];

/** Values of the chart: what follows from its row stands first at each process. A new process gets the secrets that all have. */
function wiredValues(text: string): string {
  const withPasswords = text.replace(/(?:^ {4}[A-Z]+_PASSWORD: \{\}\n){2,}/m, () =>
    linesOf(passwords(""), (name) => `    ${name}: {}\n`),
  );
  return wiredBlocks(withPasswords, {
    indent: "",
    before: "ingress:",
    added: ({ variables }) =>
      `${section("secretEnv", secretsIn(variables), (name) => `    ${name}: {}\n`)}\n`,
    wired(row, block) {
      const rest = block
        .replace(/^ {2}(consumers|addresses):\n(?: {4}.*\n)*/gm, "")
        .replaceAll(/^ {2}(callers|http|internet): .*\n/gm, "");
      return [
        section("consumers", row.durables, consumerLine),
        `  callers: [${callersOf(row).join(", ")}]\n`,
        section("addresses", addressesOf(row, ""), ([name, address]) => `    ${name}: ${address}\n`),
        httpLine(row),
        row.callsOut ? "  internet: true\n" : "",
        rest,
      ].join("");
    },
  });
}

/** Senders call, too. */
function callersOf({ name }: ProcessRow): string[] {
  return deployments.find((deployment) => deployment.name === name)?.callers ?? [];
}

/** Without callers it is open to browsers. */
function httpLine({ ports: { http }, httpCallers }: ProcessRow): string {
  if (http === undefined) return "";
  const callers = httpCallers.length > 0 ? `, callers: [${httpCallers.join(", ")}]` : "";
  return `  http: { port: ${http}${callers} }\n`;
}

const SECRETS = ["DATABASE_URL", "NATS_URL", "ACTOR_PRIVATE_KEY", "ACTOR_PUBLIC_KEYS"];

function secretsIn(variables: string[]): string[] {
  return SECRETS.filter((variable) => variables.includes(variable));
}

function linesOf<T>(items: T[], line: (item: T) => string): string {
  return items.map(line).join("");
}

/** Nothing where there are no lines. */
function section<T>(name: string, items: T[], line: (item: T) => string): string {
  return items.length > 0 ? `  ${name}:\n${linesOf(items, line)}` : "";
}

function consumerLine(durable: string): string {
  const [stream, name] = durable.split("/");
  return `    - { stream: ${stream}, durable: ${name} }\n`;
}

function wiredValuesSchema(text: string): string {
  const schema = `{
      "description": "A process, whose values are those of the chart service.",
      "$comment": "of another chart",
      "type": "object"
    }`;
  return processes.reduce(
    (all, { name }) =>
      all.includes(`\n    "${name}": {`)
        ? all
        : all.replace('\n    "ingress": {', `\n    "${name}": ${schema},\n    "ingress": {`),
    text,
  );
}

/** The chart of a process stands for each of them, the gateway first. */
function wiredDependencies(text: string): string {
  const [, version = ""] = /version: (\S+), alias/.exec(text) ?? [];
  const line = ({ name }: ProcessRow) => `  - { name: service, version: ${version}, alias: ${name} }\n`;
  return text.replace(/(?<=^dependencies:\n)(?: {2}- .*\n)+/m, linesOf(gatewayFirst(), line));
}

/** A list of all processes in a template. */
function wiredList(text: string): string {
  const names = linesOf(gatewayFirst(), ({ name }) => ` "${name}"`);
  return text.replaceAll(/(?<=(?::= |\()list)(?: "[a-z]+"){2,}/g, names);
}

/** The processes that count limits together. */
function wiredRedis(text: string): string {
  const names = linesOf(readersOf("REDIS_URL"), (name) => ` "${name}"`);
  return text.replace(/(?<="redis" \(list)(?: "[a-z]+")+/, names);
}

/** Ports that all processes have, in templates. */
function wiredPorts(text: string): string {
  const [{ ports }] = processes as [ProcessRow];
  return text
    .replaceAll(/(?<=-grpc:|name: grpc, (?:containerPort|port): )\d+/g, String(ports.grpc))
    .replaceAll(/(?<=name: ops, (?:containerPort|port): )\d+/g, String(ports.ops));
}

/** Values for an occasion, a line for each process: a new one has the line of reporting, which is special in nothing. */
function wiredProfile(text: string): string {
  const missing = processes.filter(({ name }) => !new RegExp(`^${name}:`, "m").test(text));
  return text.replace(
    /^reporting(: .*\n)/m,
    (line, values: string) => line + linesOf(missing, ({ name }) => name + values),
  );
}

/** Names in a schema: of deployments as values, of processes in a pattern. */
function wiredNames(text: string): string {
  const names = processes.map(({ name }) => name);
  const callers = deployments.map(({ name }) => `"${name}"`);
  return text
    .replaceAll(/\["contact"(?:, "[a-z]+")+\]/g, `[${callers.join(", ")}]`)
    .replaceAll(/(?<="\^\()contact(?:\|[a-z]+)+(?=\))/g, names.join("|"));
}

/** The variables with the passwords of all roles of the database, or of all users of the bus. */
function passwords(kind: "" | "NATS_"): string[] {
  return gatewayFirst().map(({ name, schema }) => passwordVariableOf(kind === "" ? schema : `${name}_nats`));
}

function gatewayFirst(): ProcessRow[] {
  const isGateway = ({ name }: ProcessRow) => name === "gateway";
  return [...processes.filter(isGateway), ...processes.filter((row) => !isGateway(row))];
}

/** The compose file: addresses follow the URL of the bus. */
function wiredCompose(text: string): string {
  const passwordLines = (kind: "" | "NATS_") => () =>
    linesOf(passwords(kind), (name) => `      ${name}: \${${name}}\n`);
  const withPasswords = text
    .replace(/(?:^ {6}([A-Z]+_PASSWORD): \$\{\1\}\n){2,}/m, passwordLines(""))
    .replace(/(?:^ {6}([A-Z]+_NATS_PASSWORD): \$\{\1\}\n){2,}/m, passwordLines("NATS_"));
  return wiredBlocks(withPasswords, {
    indent: "  ",
    before: "  migrate:",
    added: composeBlock,
    wired(row, block) {
      const addresses = linesOf(
        addressesOf(row, `:${row.ports.grpc}`),
        ([name, at]) => `      ${name}: ${at}\n`,
      );
      const networks = isOutside(row) ? "    networks: [inside, outside]\n" : "";
      return block
        .replaceAll(/^ {6}(?!INTERNAL|MAIL_INBOX)\w+_ADDRESS: .*\n/gm, "")
        .replace(/^ {6}NATS_URL: .*\n/m, (line) => line + addresses)
        .replace(/^ {4}networks: .*\n/m, "")
        .replace(/^ {4}build: .*\n/m, (line) => line + networks)
        .replace(/(?<=\$\{PORT:-\d+\}:)\d+/, String(row.ports.http));
    },
  });
}

/** Does it connect to what is outside, or do browsers come to it? */
function isOutside({ callsOut, ports, httpCallers }: ProcessRow): boolean {
  return callsOut || (ports.http !== undefined && httpCallers.length === 0);
}

function composeBlock({ name, variables }: ProcessRow): string {
  const upper = name.toUpperCase();
  const keys = secretsIn(variables).filter((variable) => variable.startsWith("ACTOR_"));
  return `    <<: *process
    image: tidings-${name}:\${TIDINGS_TAG:-0.1.0}
    build: { context: ., args: { SERVICE: ${name} } }
    environment:
      DATABASE_URL: postgres://tidings_${name}:\${${upper}_PASSWORD}@postgres:5432/tidings
      NATS_URL: nats://${name}:\${${upper}_NATS_PASSWORD}@nats:4222
${linesOf(keys, (key) => `      ${key}: \${${upper}_${key}}\n`)}
`;
}

interface Blocks {
  indent: string;
  /** The line that follows the blocks of processes. */
  before: string;
  /** The lines below the name of a process that has no block yet. */
  added(row: ProcessRow): string;
  wired(row: ProcessRow, block: string): string;
}

/** Replaces the lines below the name of each process. */
function wiredBlocks(text: string, { indent, before, added, wired }: Blocks): string {
  // Another block of the file may refer to one.
  const head = ({ name }: ProcessRow) => `^${indent}${name}:(?: &\\S+)?\\n`;
  const missing = processes.filter((row) => !new RegExp(head(row), "m").test(text));
  const blocks = linesOf(missing, (row) => `${indent}${row.name}:\n${added(row)}`);
  return processes.reduce(
    (all, row) => {
      const block = new RegExp(`(?<=${head(row)})(?:${indent}  .*\\n)+`, "m");
      return all.replace(block, (lines) => wired(row, lines));
    },
    text.replace(`\n${before}\n`, () => `\n${blocks}${before}\n`),
  );
}

/** The addresses that a process reads, in the order of the processes; where browsers are passed on to come last. */
function addressesOf({ variables }: ProcessRow, port: string): [string, string][] {
  const calls = processes.map((row): [string, string] => [addressOf(row), row.name + port]);
  const web = processes.map((row): [string, string] => [webAddressOf(row), `${row.name}:${row.ports.http}`]);
  return [...calls, ...web].filter(([variable]) => variables.includes(variable));
}
