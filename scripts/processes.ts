import { contactVariables } from "@tidings/contact/config";
import { migrations as contact } from "@tidings/contact/migrations";
import { gatewayVariables } from "@tidings/gateway/config";
import { migrations as identity } from "@tidings/gateway/migrations";
import type { Migrations } from "@tidings/store/migrate";
import { webhookVariables } from "@tidings/webhook/config";
import { migrations as webhook } from "@tidings/webhook/migrations";

export interface ProcessRow {
  name: ProcessName;
  /** The schema of the database that belongs to the process alone. */
  schema: string;
  migrations: Migrations;
  /** From the root of the repository. */
  entry: string;
  /** Every variable of the environment that it reads. */
  variables: string[];
}

export type ProcessName = "contact" | "webhook" | "gateway";

/** Every process of the product, in the order they are started. */
export const processes: ProcessRow[] = [
  {
    name: "contact",
    schema: "contact",
    migrations: contact,
    entry: "services/contact/src/main.ts",
    variables: Object.keys(contactVariables),
  },
  {
    name: "webhook",
    schema: "webhook",
    migrations: webhook,
    entry: "services/webhook/src/main.ts",
    variables: Object.keys(webhookVariables),
  },
  {
    name: "gateway",
    schema: "identity",
    migrations: identity,
    entry: "gateway/src/main.ts",
    variables: Object.keys(gatewayVariables),
  },
];
