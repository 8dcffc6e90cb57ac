import { roleUrl } from "@tidings/database/migrate";
import { generateActorKeyRing, trustedKeys } from "@tidings/scripts/actor-keys";
import { passwordVariableOf } from "@tidings/scripts/migrate-config";
import { type ProcessRow, processes } from "@tidings/scripts/processes";
import { generatePassword } from "@tidings/scripts/secrets";
import { kubectl } from "../kubectl.ts";
import { RELEASE, upgrade } from "../release.ts";
import type { Step, World } from "../step.ts";
import { underLoad } from "../under-load.ts";

type SecretData = Record<string, string>;

const OTHER_PREFIX = "next";
const TIMEOUT = "--timeout=4m";

/** Secrets are changed as docs/operations.md says, while the product is used. */
export const rotateSteps: Step[] = [
  {
    name: "rotate",
    run: async (world) => [
      await underLoad(world, { what: "change all actor keys", act: changeActorKeys }),
      await underLoad(world, {
        what: "change all database passwords",
        act: () => changeDatabasePasswords(world),
      }),
    ],
  },
];

/** Called processes trust both keys first, then callers sign with the new one, then the old one is forgotten. */
async function changeActorKeys(): Promise<void> {
  const ring = generateActorKeyRing();
  await changeSecrets(({ callers }, { ACTOR_PUBLIC_KEYS = "" }) => ({
    ACTOR_PUBLIC_KEYS: `${ACTOR_PUBLIC_KEYS},${trustedKeys(ring, callers)}`,
  }));
  await changeSecrets(
    ({ name }, { ACTOR_PRIVATE_KEY }): SecretData =>
      ACTOR_PRIVATE_KEY ? { ACTOR_PRIVATE_KEY: ring[name].privateKey } : {},
  );
  await changeSecrets(({ callers }) => ({ ACTOR_PUBLIC_KEYS: trustedKeys(ring, callers) }));
}

/** A second set of roles has the new passwords; the processes go over to them. */
async function changeDatabasePasswords({ installation }: World): Promise<void> {
  const passwords = new Map(processes.map(({ schema }) => [schema, generatePassword()]));
  const variables = [...passwords].map(([schema, password]) => [passwordVariableOf(schema), password]);
  await patchSecret("migrate", { ROLE_PREFIX: OTHER_PREFIX, ...Object.fromEntries(variables) });
  await upgrade(installation);
  const migration = ["--selector", "app.kubernetes.io/component=migrate"];
  await kubectl("wait", "--for=condition=complete", "job", ...migration, TIMEOUT);
  await changeSecrets(({ schema }, { DATABASE_URL = "" }) => ({
    DATABASE_URL: roleUrl(DATABASE_URL, `${OTHER_PREFIX}_${schema}`, passwords.get(schema) ?? ""),
  }));
}

/** Changes the secrets of every process, and lets new pods read them. */
async function changeSecrets(change: (row: ProcessRow, present: SecretData) => SecretData): Promise<void> {
  for (const row of processes) await patchSecret(row.name, change(row, await readSecret(row.name)));
  const ofRelease = ["--selector", `app.kubernetes.io/instance=${RELEASE}`];
  await kubectl("rollout", "restart", "deployment", ...ofRelease);
  await kubectl("rollout", "status", "deployment", ...ofRelease, TIMEOUT);
}

async function readSecret(name: string): Promise<SecretData> {
  const { data } = JSON.parse(await kubectl("get", "secret", `${RELEASE}-${name}`, "--output=json"));
  const entries = Object.entries(data as SecretData);
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}

async function patchSecret(name: string, stringData: SecretData): Promise<void> {
  await kubectl("patch", "secret", `${RELEASE}-${name}`, "--patch", JSON.stringify({ stringData }));
}
