import { parseArgs } from "node:util";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import { GRANT_TYPES, type GrantType } from "@tidings/gateway/oauth/client";
import { type ClientDraft, checkClient } from "@tidings/gateway/oauth/client-draft";
import { createClient, listRoles } from "@tidings/gateway/oauth/manage-clients";
import { createOutbox } from "@tidings/messaging/outbox";
import { invalid } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { identityDatabaseUrl } from "./identity-database.ts";

const USAGE = `npm run credentials -- create --name NAME [options]

  --redirect-uri URI   where users come back to; may be repeated
  --grant GRANT        ${GRANT_TYPES.join(", ")}; may be repeated
                       (authorization_code and refresh_token when left out)
  --role ROLE          id or name of the role of an app that acts on its own
  --public             an app without a secret`;

await main().catch((error: Error & { cause?: Error }) => {
  console.error(error.cause?.message ?? error.message);
  process.exitCode = 1;
});

/** Creates an API credential and prints it; the secret is shown only now. */
async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  if (values.help) return console.log(USAGE);
  if (positionals[0] !== "create" || positionals.length > 1 || values.name === undefined)
    throw new Error(USAGE);
  const url = identityDatabaseUrl(process.env);
  const database = openDatabase({ url, log: createLog("credentials", "silent"), connectionsMax: 1 });
  try {
    const draft: ClientDraft = {
      name: values.name.trim(),
      redirectUris: values["redirect-uri"],
      grants: grantsOf(values.grant),
      isPublic: values.public,
      roleId: values.role === undefined ? undefined : await roleIdOf(database, values.role),
    };
    const violations = checkClient(draft);
    if (violations.length > 0) throw invalid(violations);
    const author = { actor: undefined, clientIp: undefined };
    const { client, secret } = await createClient(
      { database, outbox: createOutbox() },
      draft,
      author,
      backgroundDeadline(),
    );
    console.log(JSON.stringify({ client_id: client.publicId, client_secret: secret }));
  } finally {
    await database.close();
  }
}

function readArguments() {
  return parseArgs({
    allowPositionals: true,
    options: {
      help: { type: "boolean", default: false },
      name: { type: "string" },
      "redirect-uri": { type: "string", multiple: true, default: [] },
      grant: { type: "string", multiple: true, default: ["authorization_code", "refresh_token"] },
      role: { type: "string" },
      public: { type: "boolean", default: false },
    },
  });
}

function grantsOf(names: string[]): GrantType[] {
  return names.map((name) => {
    const grant = GRANT_TYPES.find((type) => type === name);
    if (!grant) throw new Error(`There is no grant ${name}, only ${GRANT_TYPES.join(", ")}.`);
    return grant;
  });
}

async function roleIdOf(database: Database, wanted: string): Promise<number> {
  const roles = await listRoles(database, backgroundDeadline());
  const role = roles.find(({ id, name }) => String(id) === wanted || name === wanted);
  if (!role) throw new Error(`There is no role ${wanted}, only ${roles.map(({ name }) => name).join(", ")}.`);
  return role.id;
}
