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

export interface ProcessRow {
  name: ProcessName;
  /** The schema of the database that belongs to the process alone. */
  schema: string;
  migrations: Migrations;
  /** From the root of the repository. */
  entry: string;
  /** Every variable of the environment that it reads, and what it may be. */
  shape: z.ZodRawShape;
  /** The names of these. */
  variables: string[];
  /** The processes that may call it. */
  callers: ProcessName[];
}

export type ProcessName = "contact" | "content" | "campaign" | "reporting" | "webhook" | "gateway";

/** Every process of the product, in the order they are started. */
export const processes: ProcessRow[] = [
  service("contact", contact, contactVariables, ["gateway", "webhook", "content", "campaign"]),
  service("content", content, contentVariables, ["gateway", "contact", "campaign", "webhook"]),
  service("campaign", campaign, campaignVariables, ["gateway", "contact", "content"]),
  service("reporting", reporting, reportingVariables, ["gateway"]),
  service("webhook", webhook, webhookVariables, ["gateway"]),
  {
    name: "gateway",
    schema: "identity",
    migrations: identity,
    entry: "gateway/src/main.ts",
    shape: gatewayVariables,
    variables: Object.keys(gatewayVariables),
    callers: ["contact", "content", "campaign", "webhook"],
  },
];

function service(
  name: ProcessName,
  migrations: Migrations,
  shape: z.ZodRawShape,
  callers: ProcessName[],
): ProcessRow {
  const entry = `services/${name}/src/main.ts`;
  return { name, schema: name, migrations, entry, shape, variables: Object.keys(shape), callers };
}
