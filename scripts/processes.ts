import { campaignVariables } from "@tidings/campaign/config";
import { migrations as campaign } from "@tidings/campaign/migrations";
import { contactVariables } from "@tidings/contact/config";
import { migrations as contact } from "@tidings/contact/migrations";
import { contentVariables } from "@tidings/content/config";
import { migrations as content } from "@tidings/content/migrations";
import type { Migrations } from "@tidings/database/migrate";
import { gatewayVariables } from "@tidings/gateway/config";
import { migrations as identity } from "@tidings/gateway/migrations";
import { reportingVariables } from "@tidings/reporting/config";
import { migrations as reporting } from "@tidings/reporting/migrations";
import { webhookVariables } from "@tidings/webhook/config";
import { migrations as webhook } from "@tidings/webhook/migrations";
import type { z } from "zod";

interface Row<N extends string> {
  name: N;
  /** The schema of the database that belongs to the process alone. */
  schema: string;
  migrations: Migrations;
  /** From the root of the repository. */
  entry: string;
  /** Every variable of the environment that it reads, and what it may be. */
  shape: z.ZodRawShape;
  /** The names of these. */
  variables: string[];
  /** The durables by which it reads events: `<stream>/<name>`. */
  durables: string[];
}

const rows = [
  service("contact", contact, contactVariables, [
    "CONTACT/contact-segments",
    ...projections("contact", ["identity", "content", "campaign"]),
  ]),
  service("content", content, contentVariables, projections("content", ["contact"])),
  service("campaign", campaign, campaignVariables, projections("campaign", ["contact", "content"])),
  service(
    "reporting",
    reporting,
    reportingVariables,
    ["contact", "content", "campaign", "webhook", "identity"].map(
      (owner) => `${owner.toUpperCase()}/reporting-audit-${owner}`,
    ),
  ),
  service("webhook", webhook, webhookVariables, [
    "CONTACT/webhook-fan-out",
    "CONTENT/webhook-fan-out-content",
    ...projections("webhook", ["contact", "content", "campaign", "identity"]),
  ]),
  {
    ...service("gateway", identity, gatewayVariables, []),
    schema: "identity",
    entry: "gateway/src/main.ts",
  },
];

export type ProcessName = (typeof rows)[number]["name"];

export interface ProcessRow extends Row<ProcessName> {
  /** The processes that may call it: those that read its address. */
  callers: ProcessName[];
}

/** Every process of the product, in the order they are started. */
export const processes: ProcessRow[] = rows.map((row) => ({
  ...row,
  callers: rows.filter(({ variables }) => variables.includes(addressOf(row))).map(({ name }) => name),
}));

/** The variable with the address of a process, which is called by the name of its schema. */
export function addressOf({ schema }: Pick<ProcessRow, "schema">): string {
  return `${schema.toUpperCase()}_ADDRESS`;
}

function service<N extends string>(
  name: N,
  migrations: Migrations,
  shape: z.ZodRawShape,
  durables: string[],
): Row<N> {
  const entry = `services/${name}/src/main.ts`;
  return { name, schema: name, migrations, entry, shape, variables: Object.keys(shape), durables };
}

/** The durables of the replicas that a process keeps of what these owners have. */
function projections(name: string, owners: string[]): string[] {
  return owners.map((owner) => `${owner.toUpperCase()}/${name}-projection-${owner}`);
}
