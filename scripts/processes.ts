import type { Migrations } from "@tidings/database/migrate";
import { gatewayVariables } from "@tidings/gateway/config";
import { migrations as identity } from "@tidings/gateway/migrations";
import type { z } from "zod";
import { campaignVariables } from "../services/campaign/src/config.ts";
import { migrations as campaign } from "../services/campaign/src/migrations.ts";
import { contactVariables } from "../services/contact/src/config.ts";
import { migrations as contact } from "../services/contact/src/migrations.ts";
import { contentVariables } from "../services/content/src/config.ts";
import { migrations as content } from "../services/content/src/migrations.ts";
import { AUDITED_OWNERS } from "../services/reporting/src/audited-owners.ts";
import { reportingVariables } from "../services/reporting/src/config.ts";
import { migrations as reporting } from "../services/reporting/src/migrations.ts";
import { webhookVariables } from "../services/webhook/src/config.ts";
import { migrations as webhook } from "../services/webhook/src/migrations.ts";

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
    AUDITED_OWNERS.map((owner) => `${owner.toUpperCase()}/reporting-audit-${owner}`),
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
