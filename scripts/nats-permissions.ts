import { type ProcessName, type ProcessRow, processes } from "./processes.ts";

/** Where the configuration is kept that a NATS server includes. */
export const NATS_PERMISSIONS_FILE = "charts/tidings/files/nats-permissions.conf";

/**
 * The rights of each process on the bus, as a part of a NATS server's configuration: it publishes its own events, keeps its place in
 * the streams it reads, and receives its answers alone. A user has the name of its process; `passwordOf` returns the
 * password as the configuration wants it, in quotes.
 */
export function natsPermissions(passwordOf: (name: ProcessName) => string): string {
  const users = processes.map((row) => userOf(row, passwordOf(row.name)));
  return `authorization {\n  users = [\n${users.join("\n")}\n  ]\n}\n`;
}

/** For a NATS server that has the passwords in its environment. */
export function natsPermissionsFile(): string {
  const head = `# Made by npm run generate: who may do what on the bus. A NATS server includes it in its configuration.
# It has the passwords in its environment: CONTACT_NATS_PASSWORD and so on, each beginning with a letter.
`;
  return head + natsPermissions((name) => `$${name.toUpperCase()}_NATS_PASSWORD`);
}

function userOf({ name, schema, durables }: ProcessRow, password: string): string {
  const stream = schema.toUpperCase();
  const subscribed = [`_INBOX_${name}.>`, nudgesOf(stream)];
  return `    {
      user: ${name}
      password: ${password}
      permissions {
        publish: [
${quoted([...ownerSubjects(stream), ...durables.flatMap(readerSubjects)])}
        ]
        subscribe: [
${quoted(subscribed)}
        ]
      }
    }`;
}

function quoted(subjects: string[]): string {
  return [...new Set(subjects)].map((subject) => `          "${subject}"`).join("\n");
}

/** The processes of a schema wake each other. */
function nudgesOf(stream: string): string {
  return `nudge.*.${stream}`;
}

/** The subjects of the process whose events the stream holds. */
function ownerSubjects(stream: string): string[] {
  const owner = stream.toLowerCase();
  const store = `tidings-events-${owner}`;
  return [
    `tidings.${owner}.>`,
    nudgesOf(stream),
    "$JS.API.INFO",
    ...["INFO", "CREATE", "UPDATE", "DELETE", "MSG.GET"].map((call) => `$JS.API.STREAM.${call}.${stream}`),
    `$JS.API.CONSUMER.LIST.${stream}`,
    `$O.${store}.>`,
    ...["INFO", "CREATE", "MSG.GET", "PURGE"].map((call) => `$JS.API.STREAM.${call}.OBJ_${store}`),
  ];
}

/** The subjects of a process that reads by a durable, `stream/name`: its own place alone, and payloads that were too large for the stream. */
function readerSubjects(durable: string): string[] {
  const [stream = "", name] = durable.split("/");
  const store = `OBJ_tidings-events-${stream.toLowerCase()}`;
  return [
    `$JS.API.STREAM.INFO.${stream}`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${name}`,
    `$JS.API.CONSUMER.CREATE.${stream}.${name}`,
    `$JS.API.CONSUMER.CREATE.${stream}.${name}.>`,
    `$JS.API.CONSUMER.INFO.${stream}.${name}`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
    `$JS.ACK.${stream}.${name}.>`,
    // With the domain and the account, as later servers write it.
    `$JS.ACK.*.*.${stream}.${name}.>`,
    ...["INFO", "MSG.GET"].map((call) => `$JS.API.STREAM.${call}.${store}`),
    ...["CREATE", "INFO", "DELETE"].map((call) => `$JS.API.CONSUMER.${call}.${store}.>`),
    `$JS.API.CONSUMER.CREATE.${store}`,
    `$JS.FC.${store}.>`,
  ];
}
