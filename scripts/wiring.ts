import { addressOf, type ProcessRow, processes } from "./processes.ts";

/** Files that say where each process finds others, who may call it and what it reads. `npm run generate` writes that into them. */
export const WIRED_FILES: { path: string; wired(text: string): string }[] = [
  { path: "charts/tidings/values.yaml", wired: wiredValues },
  { path: "charts/tidings/values.schema.json", wired: wiredValuesSchema },
  { path: "charts/tidings/Chart.yaml", wired: wiredDependencies },
  { path: "charts/tidings/templates/network-policies.yaml", wired: wiredList },
  { path: "charts/tidings/templates/stores/nats.yaml", wired: wiredList },
  { path: "charts/service/values.schema.json", wired: wiredNames },
  { path: "compose.yaml", wired: wiredCompose },
];

/** Where the gateway finds what visitors see. */
const WEB = { variable: "CONTENT_WEB_ADDRESS", address: "content:8081" };
const GRPC_PORT = 50051;

/** Values of the chart: `consumers`, `callers` and `addresses` of each process come first. A new process gets the secrets that all have. */
function wiredValues(text: string): string {
  const added = ({ name, variables }: ProcessRow) => {
    const secrets = SECRETS.filter((variable) => variables.includes(variable));
    return `${name}:\n${section(
      "secretEnv",
      secrets.map((variable) => `    ${variable}: {}\n`),
    ).join("")}\n`;
  };
  const withPasswords = text.replace(/(?:^ {4}[A-Z]+_PASSWORD: \{\}\n){2,}/m, () =>
    passwords("")
      .map((name) => `    ${name}: {}\n`)
      .join(""),
  );
  return wiredBlocks(
    withBlocks(withPasswords, { indent: "", before: "ingress:", added }),
    "",
    (row, block) => {
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
    },
  );
}

const SECRETS = ["DATABASE_URL", "NATS_URL", "ACTOR_PRIVATE_KEY", "ACTOR_PUBLIC_KEYS"];

function section(name: string, lines: string[]): string[] {
  return lines.length > 0 ? [`  ${name}:\n`, ...lines] : [];
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
  const lines = gatewayFirst().map((name) => `  - { name: service, version: ${version}, alias: ${name} }\n`);
  return text.replace(/(?<=^dependencies:\n)(?: {2}- .*\n)+/m, lines.join(""));
}

/** A list of all processes in a template. */
function wiredList(text: string): string {
  const names = gatewayFirst().map((name) => ` "${name}"`);
  return text.replaceAll(/(?<=:= list)(?: "[a-z]+"){2,}/g, names.join(""));
}

/** The names of processes in a schema, as values and in a pattern. */
function wiredNames(text: string): string {
  const names = processes.map(({ name }) => name);
  return text
    .replaceAll(/\["contact"(?:, "[a-z]+")+\]/g, `[${names.map((name) => `"${name}"`).join(", ")}]`)
    .replaceAll(/(?<="\^\()contact(?:\|[a-z]+)+(?=\))/g, names.join("|"));
}

/** The variables with the passwords of all roles of the database, or of all users of the bus, that of the gateway first. */
function passwords(kind: "" | "NATS_"): string[] {
  const names = processes.map(({ name, schema }) => (kind === "" ? schema : name).toUpperCase());
  return [...names.slice(-1), ...names.slice(0, -1)].map((name) => `${name}_${kind}PASSWORD`);
}

function gatewayFirst(): string[] {
  return ["gateway", ...processes.map(({ name }) => name).filter((name) => name !== "gateway")];
}

/** The compose file: addresses follow the URL of the bus. */
function wiredCompose(text: string): string {
  const added = ({ name, variables }: ProcessRow) => `  ${name}:
    <<: *process
    image: tidings-${name}:\${TIDINGS_TAG:-0.1.0}
    build: { context: ., args: { SERVICE: ${name} } }
    environment:
      DATABASE_URL: postgres://tidings_${name}:\${${name.toUpperCase()}_PASSWORD}@postgres:5432/tidings
      NATS_URL: nats://${name}:\${${name.toUpperCase()}_NATS_PASSWORD}@nats:4222
${SECRETS.slice(2)
  .filter((variable) => variables.includes(variable))
  .map((variable) => `      ${variable}: \${${name.toUpperCase()}_${variable}}\n`)
  .join("")}
`;
  const lines = (kind: "" | "NATS_") => () =>
    passwords(kind)
      .map((name) => `      ${name}: \${${name}}\n`)
      .join("");
  const withPasswords = text
    .replace(/(?:^ {6}([A-Z]+_PASSWORD): \$\{\1\}\n){2,}/m, lines(""))
    .replace(/(?:^ {6}([A-Z]+_NATS_PASSWORD): \$\{\1\}\n){2,}/m, lines("NATS_"));
  return wiredBlocks(
    withBlocks(withPasswords, { indent: "  ", before: "  migrate:", added }),
    "  ",
    (row, block) => {
      const lines = addressesOf(row, `:${GRPC_PORT}`).map(([name, address]) => `      ${name}: ${address}\n`);
      return block
        .replaceAll(/^ {6}(?!INTERNAL)\w+_ADDRESS: .*\n/gm, "")
        .replace(/^ {6}NATS_URL: .*\n/m, (line) => line + lines.join(""));
    },
  );
}

/** Adds a block for each process that has none yet. */
function withBlocks(
  text: string,
  { indent, before, added }: { indent: string; before: string; added(row: ProcessRow): string },
): string {
  const missing = processes.filter(({ name }) => !text.includes(`\n${indent}${name}:\n`));
  return text.replace(`\n${before}\n`, () => `\n${missing.map(added).join("")}${before}\n`);
}

/** Replaces the lines below the name of each process. */
function wiredBlocks(
  text: string,
  indent: string,
  wired: (row: ProcessRow, block: string) => string,
): string {
  return processes.reduce((all, row) => {
    const block = new RegExp(`(?<=^${indent}${row.name}:\\n)(?:${indent}  .*\\n)+`, "m");
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
