import { type DurablePlace, durableKey } from "@tidings/bus/streams";
import type { Migrations } from "@tidings/database/migrate";
import { gatewayVariables } from "@tidings/gateway/config";
import { migrations as identity } from "@tidings/gateway/migrations";
import { z } from "zod";
import { campaignVariables } from "../services/campaign/src/config.ts";
import { durables as campaignDurables } from "../services/campaign/src/durables.ts";
import { migrations as campaign } from "../services/campaign/src/migrations.ts";
import { contactVariables } from "../services/contact/src/config.ts";
import { durables as contactDurables } from "../services/contact/src/durables.ts";
import { migrations as contact } from "../services/contact/src/migrations.ts";
import { contentVariables } from "../services/content/src/config.ts";
import { durables as contentDurables } from "../services/content/src/durables.ts";
import { migrations as content } from "../services/content/src/migrations.ts";
import { reportingVariables } from "../services/reporting/src/config.ts";
import { durables as reportingDurables } from "../services/reporting/src/durables.ts";
import { migrations as reporting } from "../services/reporting/src/migrations.ts";
import { webhookVariables } from "../services/webhook/src/config.ts";
import { durables as webhookDurables } from "../services/webhook/src/durables.ts";
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
  /** Does it connect to addresses that users name? */
  callsOut: boolean;
}

const rows = [
  service("contact", contact, contactVariables, contactDurables),
  { ...service("content", content, contentVariables, contentDurables), callsOut: true },
  service("campaign", campaign, campaignVariables, campaignDurables),
  service("reporting", reporting, reportingVariables, reportingDurables),
  { ...service("webhook", webhook, webhookVariables, webhookDurables), callsOut: true },
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
  /** Where it listens unless a variable says otherwise; `http` is where it answers browsers. */
  ports: { grpc: number; ops: number; http: number | undefined };
  /** The processes that pass browsers on to it. Browsers come to it themselves where there are none. */
  httpCallers: ProcessName[];
}

/** Every process of the product, in the order they are started. */
export const processes: ProcessRow[] = rows.map((row) => ({
  ...row,
  callers: readersOf(addressOf(row)),
  ports: {
    grpc: defaultPort(row, "GRPC_PORT"),
    ops: defaultPort(row, "OPS_PORT"),
    http: httpPort(row),
  },
  httpCallers: readersOf(webAddressOf(row)),
}));

/** The variable with the address of a process, which is called by the name of its schema. */
export function addressOf({ schema }: Pick<ProcessRow, "schema">): string {
  return `${schema.toUpperCase()}_ADDRESS`;
}

/** The variable with the address at which a process answers browsers. */
export function webAddressOf({ schema }: Pick<ProcessRow, "schema">): string {
  return `${schema.toUpperCase()}_WEB_ADDRESS`;
}

/** The processes that read a variable. */
export function readersOf(variable: string): ProcessName[] {
  return rows.filter(({ variables }) => variables.includes(variable)).map(({ name }) => name);
}

function httpPort(row: Pick<ProcessRow, "variables" | "shape">): number | undefined {
  const variable = ["PORT", "WEB_PORT"].find((name) => row.variables.includes(name));
  return variable === undefined ? undefined : defaultPort(row, variable);
}

/** Throws where the process does not read the variable. */
function defaultPort({ shape }: Pick<ProcessRow, "shape">, variable: string): number {
  const port = shape[variable];
  if (!port) throw new Error(`No process is without ${variable}`);
  return Number(z.parse(port, undefined));
}

function service<N extends string>(
  name: N,
  migrations: Migrations,
  shape: z.ZodRawShape,
  places: DurablePlace[],
): Row<N> {
  const entry = `services/${name}/src/main.ts`;
  const durables = places.map(durableKey);
  const variables = Object.keys(shape);
  return { name, schema: name, migrations, entry, shape, variables, durables, callsOut: false };
}
